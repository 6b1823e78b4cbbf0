"""Computing what a store does not have yet: on processes of this machine, or a Dask cluster."""

import asyncio
import contextlib
import logging
import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from spaql.ground.checks import whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.interrupts import stop_on_interrupt
from spaql.ground.workers import worker_processes
from spaql_studies.runs.compute import compute
from spaql_studies.runs.spec import Spec
from spaql_studies.runs.store import Store

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


AHEAD = 2  # runs handed out per worker: enough to keep it busy, few enough to stop soon and to share a store
LOST = "the scheduler of the runs is gone: start it and its workers again, and the same command goes on from there"
MOST_BREAKS = 3  # broken pools in a row without a finished run


@dataclass
class Outcome:
    """What became of a call: runs computed, and why it ended early."""

    computed: int = 0
    interrupted: bool = False
    error: Exception | None = None
    spec: Spec | None = None  # the run that failed


@dataclass
class _Work:
    """The runs still to do. A run that another process has claimed goes to the end of the queue once."""

    store: Store
    queue: deque[Spec]
    put_off: set[Spec] = field(default_factory=set)

    def next(self, on_done: Callable[[Spec], None]) -> Spec | None:
        while self.queue:
            spec = self.queue.popleft()
            if self.store.has(spec):
                on_done(spec)  # another process was faster
            elif self.store.claim(spec) or spec in self.put_off:
                return spec
            else:
                self.put_off.add(spec)
                self.queue.append(spec)
        return None


def run_missing(specs: Sequence[Spec], store: Store, open_executor: Open, on_done: Callable[[Spec], None]) -> Outcome:
    """Compute the runs and keep each as soon as it is there.

    Ctrl-C and errors end it; runs that are finished or under way are kept.
    """
    outcome, work, breaks, stop = Outcome(), _Work(store, deque(specs)), 0, threading.Event()
    with stop_on_interrupt(stop):
        while work.queue and not stop.is_set() and outcome.error is None:
            before = outcome.computed
            pending: dict[Future[dict[str, Any]], Spec] = {}
            try:
                with open_executor() as (executor, width):
                    _drain(executor, AHEAD * width, work, pending, outcome, stop, on_done)
            except BrokenExecutor as error:  # a worker was killed: its runs go back to the queue
                breaks = 0 if outcome.computed > before else breaks + 1
                work.queue.extendleft(pending.values())
                work.put_off.update(work.queue)
                if breaks >= MOST_BREAKS:
                    outcome.error = SpaqlError(
                        f"the workers keep dying, last in {outcome.spec}: out of memory? Try --jobs 1 ({error})"
                    )
            finally:
                for spec in pending.values():
                    store.release(spec)
    outcome.interrupted = stop.is_set()
    return outcome


def _drain(
    executor: Executor, room: int, work: _Work, pending: dict[Future[dict[str, Any]], Spec], outcome: Outcome,
    stop: threading.Event, on_done: Callable[[Spec], None],
) -> None:  # fmt: skip
    """Hand out runs and keep their results until nothing is left, or until `stop` is set."""
    while True:
        while len(pending) < room and not stop.is_set() and outcome.error is None:
            spec = work.next(on_done)
            if spec is None:
                break
            try:
                pending[executor.submit(compute, spec)] = spec
            except BrokenExecutor:
                work.queue.appendleft(spec)
                raise
            except Exception as error:  # of a scheduler that is gone
                work.store.release(spec)
                outcome.error = SpaqlError(f"{LOST} ({type(error).__name__})")
        if not pending:
            return
        if stop.is_set() or outcome.error is not None:
            for future in list(pending):
                if future.cancel():
                    work.store.release(pending.pop(future))
        done, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in [future for future in pending if future in done]:  # in the order in which they were handed out
            spec = pending[future]
            try:
                work.store.write(spec, future.result())
                outcome.computed += 1
                on_done(spec)
            except BrokenExecutor:
                outcome.spec = spec
                raise
            except (CancelledError, asyncio.CancelledError):  # by nobody here: these are no longer pending
                outcome.error = outcome.error or SpaqlError(LOST)
            except Exception as error:
                outcome.error, outcome.spec = outcome.error or error, outcome.spec or spec
            pending.pop(future)
            work.store.release(spec)
