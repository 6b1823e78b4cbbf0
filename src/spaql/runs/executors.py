"""Who computes the runs: processes on this machine, or a Dask cluster.

Anything with the interface of `concurrent.futures` can be added.
"""

import contextlib
import logging
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any

from spaql.ground.checks import whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.processes import worker_processes

SECONDS_TO_ANSWER = 10  # of a Dask scheduler
LOGGERS = ("distributed", "distributed.client", "distributed.core", "distributed.comm", "tornado", "asyncio")
Opened = tuple[Executor, int]  # the executor, and how many runs it computes at once
Open = Callable[[], contextlib.AbstractContextManager[Opened]]


def executor_of(address: str | None, jobs: int | None) -> Open:
    """How to open an executor: None or "local" for processes on this machine, "dask://HOST:PORT" for a cluster."""
    if address is None or address == "local":
        count = whole("jobs", cores() if jobs is None else jobs, 1, 10_000)
        return lambda: _local(count)
    if address.startswith("dask://") and len(address) > len("dask://"):
        if jobs is not None:
            raise SpaqlError("--jobs is for local processes: the Dask cluster has its own number of workers")
        with _dask(address.removeprefix("dask://")):
            pass  # a scheduler that does not answer is an error now, not after the plans are written
        return lambda: _dask(address.removeprefix("dask://"))
    raise SpaqlError(f"unknown executor {echoed(address)}: use local or dask://HOST:PORT")


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _local(jobs: int) -> Iterator[Opened]:
    with worker_processes(jobs) as pool:
        yield pool, jobs


def _knock(address: str) -> None:
    """Raise at once if nobody listens: Dask itself would go on trying until its time is over."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    if "://" not in host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_TO_ANSWER).close()


@contextlib.contextmanager
def _dask(address: str) -> Iterator[Opened]:
    try:
        from distributed import Client
    except ImportError as error:
        raise SpaqlError("a Dask cluster needs the extra: pip install 'spaql[dask]'") from error
    try:
        _knock(address)
        client: Any = Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise SpaqlError(
            f"no Dask scheduler answers at {address}: start `dask scheduler`, then `dask worker {address}`"
        ) from error
    with _quiet():
        try:
            workers = sum(client.nthreads().values())
            if workers == 0:
                raise SpaqlError(
                    f"the Dask scheduler at {address} has no workers: start some with `dask worker {address}`"
                )
            yield client.get_executor(pure=False), workers
        finally:
            client.close()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask logs the tracebacks of whatever failed because a scheduler was lost; the runner says it in one line."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
