"""One agent, several threads: any number may look at it, or one may train it.

Compiled code would not survive both at once.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spaql.errors import SpaqlError


class Guard:
    """Refuses instead of waiting: two threads that train one agent are a mistake."""

    def __init__(self) -> None:
        self.mutex = threading.Lock()
        self.writer: int | None = None
        self.readers = 0

    @contextmanager
    def read(self) -> Iterator[None]:
        """Reading; the thread that trains may read too (in callbacks)."""
        with self.mutex:
            if self.writer not in (None, threading.get_ident()):
                raise SpaqlError("this agent is being trained in another thread: wait for it, or load a copy")
            self.readers += 1
        try:
            yield
        finally:
            with self.mutex:
                self.readers -= 1

    @contextmanager
    def write(self) -> Iterator[None]:
        """Changing; a callback of the training thread may change the agent too."""
        me = threading.get_ident()
        with self.mutex:
            before = self.writer
            if before not in (None, me) or (before is None and self.readers > 0):
                raise SpaqlError("this agent is in use in another thread: train each agent in one thread at a time")
            self.writer = me
        try:
            yield
        finally:
            with self.mutex:
                self.writer = before

    def __deepcopy__(self, memo: Any) -> "Guard":
        return Guard()

    def __reduce__(self) -> tuple[Any, ...]:
        return Guard, ()  # a copy in another process has its own threads
