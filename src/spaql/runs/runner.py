"""Computing what a store does not have yet, over any executor."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from spaql.ground.errors import SpaqlError
from spaql.ground.interrupts import stop_on_interrupt
from spaql.runs.compute import compute
from spaql.runs.executors import Open
from spaql.runs.spec import Spec
from spaql.runs.store import Store

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
        for future in [one for one in pending if one in done]:  # in the order in which they were handed out
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
