"""Ctrl-C: the first asks the work to stop, the second interrupts it."""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def stop_on_interrupt(stop: threading.Event) -> Iterator[None]:
    """The first Ctrl-C sets `stop`, which asks the work to end after its current piece; the second interrupts it.

    An exception could come between any two lines and leave half a piece behind. Only the main thread gets Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread() or stop.is_set():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def pressed(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
