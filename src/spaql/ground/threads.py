"""Kernels side by side: compiled code lets go of Python's lock, so that threads use all cores."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

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
