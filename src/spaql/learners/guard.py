"""One agent, several threads: any number may look at it, or one may change it, and the others wait for their turn.

Compiled code would not survive both at once. Only what could never get its turn is refused.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from spaql.ground.errors import SpaqlError

HEAR_SECONDS = 0.25  # a Ctrl-C that comes just before a wait is heard after it


class Guard:
    """Whoever trains lets those in who wait to look, between two stretches and while callbacks run."""

    def __init__(self) -> None:
        self.turn = threading.Condition()
        self.writer: int | None = None  # the thread that may change the agent now
        self.trainer: int | None = None  # the thread that trains it, also while it lets others look
        self.readers: dict[int, int] = {}  # threads that look, and how deep
        self.looking = 0  # threads that wait to look
        self.changing = 0  # threads that wait to change: they come before those who want to look
        self.invited = 0  # of those who wait to look, how many come before

    @contextmanager
    def read(self) -> Iterator[None]:
        """Reading, after waiting for the thread that changes the agent; which itself may read too (in callbacks)."""
        me = threading.get_ident()
        with self.turn:
            if self.writer != me and me not in self.readers:
                self._wait_to_look()
            self.readers[me] = self.readers.get(me, 0) + 1
        try:
            yield
        finally:
            with self.turn:
                self.readers[me] -= 1
                if not self.readers[me]:
                    del self.readers[me]
                self.turn.notify_all()

    @contextmanager
    def write(self, training: bool = False) -> Iterator[None]:
        """Changing, after waiting for those who look; a callback of the training thread may change the agent too.

        `training`: it takes long, so that another thread that wants to change the agent meanwhile is mistaken.
        """
        me = threading.get_ident()
        with self.turn:
            before = self.writer, self.trainer
            if self.writer != me:
                if me in self.readers:
                    raise SpaqlError(
                        "an agent cannot be changed while it is being read: change it afterwards, or change a copy"
                    )
                self._wait_to_change(lambda: self._trained_elsewhere() or self._free())
                if self._trained_elsewhere():
                    raise SpaqlError(
                        "this agent is being trained in another thread: train an agent in one thread at a time"
                    )
                before = None, self.trainer
            self.writer, self.trainer = me, me if training else self.trainer
        try:
            yield
        finally:
            with self.turn:
                self.writer, self.trainer = before
                self.turn.notify_all()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Inside of `write`: others may look until the end of the block, and those who wait to look do."""
        me = threading.get_ident()
        with self.turn:
            held = self.writer == me
            if held:
                self.writer, self.invited = None, self.looking
                self.turn.notify_all()
        try:
            yield
        finally:
            if held:
                with self.turn:
                    self._wait_to_change(self._free)
                    self.writer = me

    def _free(self) -> bool:
        return self.writer is None and not self.readers and self.invited == 0

    def _trained_elsewhere(self) -> bool:
        return self.trainer not in (None, threading.get_ident())

    def _wait_to_look(self) -> None:
        self.looking += 1
        try:
            self._wait(lambda: self.writer is None and (self.changing == 0 or self.invited > 0))
        finally:  # also if Ctrl-C ends the waiting: nobody shall wait for a guest who does not come
            self.looking -= 1
            self.invited = max(0, self.invited - 1)

    def _wait_to_change(self, free: Callable[[], bool]) -> None:
        self.changing += 1
        try:
            self._wait(free)
        finally:
            self.changing -= 1

    def _wait(self, free: Callable[[], bool]) -> None:
        while not self.turn.wait_for(free, HEAR_SECONDS):
            pass

    def __deepcopy__(self, memo: Any) -> "Guard":
        return Guard()

    def __reduce__(self) -> tuple[Any, ...]:
        return Guard, ()  # a copy in another process has its own threads
