"""Workers on this machine: threads for compiled code, which lets go of Python's lock, and processes.

Ctrl-C is for the process that coordinates others, and they end with it.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from multiprocessing.connection import wait
from typing import Any, TypeVar

from spaql.ground.errors import SpaqlWarning
from spaql.ground.numba_public import keeps, nothing_there

Result = TypeVar("Result")


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parts_of(count: int, least: int) -> list[tuple[int, int]]:
    """Equal parts of what is to be done, one for each core; none has fewer than `least`, if there is a second one."""
    parts = max(1, min(cores(), count // least))
    ends = [count * part // parts for part in range(parts + 1)]
    return list(pairwise(ends))


def side_by_side(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """What tasks give, each in a thread of its own; they must not depend on each other.

    Nor may they compute a cached property that others use: from Python 3.12 on, two threads may both compute it.
    """
    if len(tasks) == 1:
        return [tasks[0]()]
    with ThreadPoolExecutor(len(tasks)) as pool:
        return [done.result() for done in [pool.submit(task) for task in tasks]]


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
