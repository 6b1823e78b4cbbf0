"""Worker processes on this machine: Ctrl-C is for the process that coordinates them, and they end with it."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from typing import Any

from spaql.ground.errors import SpaqlWarning
from spaql.ground.numba_public import keeps, nothing_there


@contextlib.contextmanager
def worker_processes(jobs: int, first: Callable[..., None] | None = None, *given: Any) -> Iterator[ProcessPoolExecutor]:
    """So many processes; each calls `first(*given)` when it begins."""
    if nothing_there():
        keeps()  # said here once, not by every worker
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin, (first, given))
    try:
        with _interrupts_ignored():  # inherited by the workers
            for _ in range(jobs):
                pool.submit(os.getpid)
        yield pool
    finally:
        pool.shutdown(wait=sys.exc_info()[0] is None, cancel_futures=True)


def _begin(first: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    """In a new worker: signals of the terminal do not reach it, and it ends with the coordinator, also by kill -9."""
    if hasattr(os, "setsid"):
        os.setsid()
    warnings.simplefilter("ignore", SpaqlWarning)  # whoever looks at a result is told; here it would be told per run
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()
    if first is not None:
        first(*given)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
