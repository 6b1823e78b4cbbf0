"""The live loop of a trial, for machines that Python can reach: it owns the clock, and ends with the safe action.

    read -> check -> controller -> write -> log, once per period

Whatever ends the loop, the safe action is written: the last step, an exception, Ctrl-C, SIGTERM, a violated limit, no
measurement for longer than the watchdog allows. While `read` or `write` hangs, another thread writes it. Every step is
handed to the operating system before the next one begins, so that a killed program loses none.
"""

import contextlib
import gc
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import FAR
from spaql.ground.errors import one_line
from spaql.ground.writing import refusal
from spaql.policy.digits import counted
from spaql.policy.policy import Policy
from spaql.rig.description import Description

LATE = 0.1  # of the period: a step that begins later has missed its deadline
TRIES = 3  # at writing the safe action
Read = Callable[[], Any]
Write = Callable[..., Any]


class Terminated(BaseException):
    """SIGTERM came."""


@dataclass(frozen=True)
class Live:
    """What came of a live loop; its log is on the disk."""

    log: Path
    steps: int
    stopped: str  # why it ended before the trial did; "": it did not
    safe: bool  # the safe action was written at the end
    missed: int  # deadlines, by more than a tenth of the period
    latest: float  # s, by which the latest step was late
    lost: int  # steps without a measurement, in which the last action was held

    def __str__(self) -> str:
        lines = [f"{counted(self.steps, 'step')}, log in {self.log}"]
        lines += [f"STOPPED: {self.stopped}"] if self.stopped else []
        lines += [] if self.safe else ["THE SAFE ACTION COULD NOT BE WRITTEN: stop the machine by hand"]
        lines.append(
            f"deadlines missed: {self.missed}, latest by {1000 * self.latest:.3g} ms; measurements lost: {self.lost}"
        )
        return "\n".join(lines)


class Watchdog:
    """Writes the safe action if nothing has happened for too long."""

    def __init__(self, seconds: float, write: Callable[[], bool]) -> None:
        self.seconds, self.write, self.beat = seconds, write, time.monotonic()
        self.bitten, self.over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._watch, name="spaql watchdog", daemon=True)

    def _watch(self) -> None:
        while not self.over.wait(self.seconds / 4):
            if time.monotonic() - self.beat > self.seconds and not self.over.is_set():
                self.bitten.set()
                self.write()
                return

    @contextlib.contextmanager
    def watching(self) -> Iterator["Watchdog"]:
        self.thread.start()
        try:
            yield self
        finally:
            self.over.set()


class EarlyEndError(Exception):
    """The loop ends before the trial does."""


class LiveLoop:
    """One run of a trial."""

    def __init__(
        self, described: Description, policy: Policy, plan: Array, read: Read, write: Write, log: Path
    ) -> None:
        self.described, self.policy, self.plan = described, policy, plan
        self.read, self.write, self.log = read, write, log
        self.names = [axis.name for axis in described.state]
        self.steps = self.missed = self.lost = 0
        self.latest = 0.0
        self.action = list(described.safe)  # what is held while nothing is measured
        signals = policy.problem.signals
        assert signals is not None
        self.header = ["time", *self.names, *described.actions.axis_names, *(each.name for each in signals.references)]

    def run(self) -> Live:
        """Until the trial is over, or something ends it."""
        self._warm()
        stopped, terminated = "", False
        try:
            file = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except OSError as error:
            raise refusal(f"cannot write {self.log}", error) from error
        watchdog = Watchdog(self.described.watchdog, self._make_safe)
        collecting = gc.isenabled()
        gc.disable()
        try:
            with watchdog.watching(), _terminable():
                self._row(file, self.header)
                self._loop(file, watchdog)
        except EarlyEndError as end:
            stopped = str(end)
        except KeyboardInterrupt:
            stopped = "Ctrl-C"
        except Terminated:
            stopped, terminated = "SIGTERM", True
        except Exception as error:  # of the user's functions, or a full disk
            stopped = one_line(f"{type(error).__name__}: {error}")
        finally:
            safe = self._make_safe()
            if collecting:
                gc.enable()
            with contextlib.suppress(OSError):
                os.fsync(file)
            os.close(file)
        if terminated:
            raise SystemExit(128 + signal.SIGTERM)
        return Live(self.log, self.steps, stopped, safe, self.missed, self.latest, self.lost)

    def _warm(self) -> None:
        """What is compiled at the first call is compiled before the clock runs."""
        middle = [0.5 * (axis.low + axis.high) for axis in self.described.state]
        self.policy.predict([*middle, *self.plan[0]], state=self.policy.memory())

    def _loop(self, file: int, watchdog: Watchdog) -> None:
        period, memory = self.described.period, self.policy.memory()
        begin = due = seen = time.monotonic()
        watchdog.beat = begin
        for step in range(len(self.plan) + 1):
            late = self._wait(due)
            values = self._measured(self.read())
            now = time.monotonic()
            if watchdog.bitten.is_set():
                raise EarlyEndError(f"the watchdog: read or write took longer than {self.described.watchdog:g} s")
            if values is None:
                self.lost += 1
                if now - seen > self.described.watchdog:
                    raise EarlyEndError(f"no measurement for {now - seen:.3g} s")
            else:
                seen = now
                self._within_limits(values, file, now - begin)
            last = step == len(self.plan)
            if not last:
                if values is not None:  # else the last action is held
                    action, memory = self.policy.predict([*values, *self.plan[step]], state=memory)
                    self.action = np.asarray(action, float).tolist()
                self.write(*self.action)
            row: Sequence[float | None] = values if values is not None else [None] * len(self.names)
            rest = [None] * (len(self.header) - 1 - len(row)) if last else [*self.action, *self.plan[step].tolist()]
            self._row(file, [now - begin, *row, *rest])
            self.steps += not last
            watchdog.beat = time.monotonic()
            due = due + period if late < period else watchdog.beat + period  # after an overrun it does not hurry

    def _wait(self, due: float) -> float:
        """Until a step is due; by how much it is late."""
        while (left := due - time.monotonic()) > 0.0:
            time.sleep(left)
        late = time.monotonic() - due
        self.latest = max(self.latest, late)
        self.missed += late > LATE * self.described.period
        return late

    def _measured(self, given: Any) -> list[float] | None:
        """Numbers in the order of rig.toml; None, if there is no measurement that can be used."""
        if given is None:
            return None
        if isinstance(given, Mapping):
            given = [given.get(name, math.nan) for name in self.names]
        values = [float(value) for value in np.ravel(given)]
        if len(values) != len(self.names):
            raise EarlyEndError(f"read gave {counted(len(values), 'number')} for {', '.join(self.names)}")
        return values if all(abs(value) <= FAR for value in values) else None

    def _within_limits(self, values: Sequence[float], file: int, now: float) -> None:
        for limit in self.described.limits:
            value = values[self.names.index(limit.variable)]
            if not limit.low <= value <= limit.high:
                self._row(file, [now, *values, *[None] * (len(self.header) - 1 - len(values))])
                raise EarlyEndError(f"the limit {limit.text()} is violated: {limit.variable} is {value:g}")

    def _make_safe(self) -> bool:
        """Write the safe action; whether it could be written."""
        for _ in range(TRIES):
            with contextlib.suppress(Exception):
                self.write(*self.described.safe)
                return True
        return False

    def _row(self, file: int, row: Sequence[Any]) -> None:
        os.write(file, (",".join("" if value is None else str(value) for value in row) + "\n").encode())


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends what is inside; only the main thread may ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def come(_number: int, _frame: Any) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, come)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
