"""Ctrl-C: the first asks the work to stop, the second interrupts it. SIGTERM does what Ctrl-C does."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from spaql.ground.errors import SpaqlError

ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
AGAIN_SECONDS = 0.05
_raised: list[int] = []  # signals that became exceptions, while the command is under way
_came: list[int] = []  # those that are not Ctrl-C
_asked: list[Callable[[int, object], None]] = []  # how to ask the work under way to stop, the innermost last


@contextlib.contextmanager
def stop_on_interrupt(stop: threading.Event) -> Iterator[None]:
    """The first Ctrl-C sets `stop`, which asks the work to end after its current piece; the second interrupts it.

    An exception could come between any two lines and leave half a piece behind. Only the main thread gets Ctrl-C. Where
    it is ignored, as in the background of a script, it stays so.
    """
    if threading.current_thread() is not threading.main_thread() or stop.is_set():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if _raised:  # an exception that is still not there was swallowed on its way
        stop.set()

    def pressed(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, pressed)
    _asked.append(pressed)
    try:
        yield
    finally:
        _asked.remove(pressed)
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


# -- of a command ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def signals_of_command() -> Iterator[list[int]]:
    """Until `keep_from_now_on` is called, Ctrl-C and SIGTERM end the process with one line: nothing is under way.

    Yields the list of signals that came afterwards, other than Ctrl-C. What somebody wants ignored stays so, as shells
    want Ctrl-C for commands in the background; other threads than the main one get no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDS)}
    unraisable, printed = sys.unraisablehook, sys.excepthook
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, _gone)
    sys.unraisablehook = lambda lost: _again(lost, unraisable)
    _came.clear()
    try:
        yield _came
    finally:
        _raised.clear()
        sys.unraisablehook, sys.excepthook = unraisable, printed
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def keep_from_now_on() -> None:
    """Work begins: Ctrl-C is an exception, and the other signals do what it does, so that as much is kept."""
    for number in (signal.SIGINT, *ENDS):
        if signal.getsignal(number) is _gone:
            signal.signal(number, _interrupt if number == signal.SIGINT else _as_interrupt)
    printed = sys.excepthook  # now: typer has its own
    # some modules print what interrupts their loading, before they fail because of it
    sys.excepthook = lambda kind, *more: None if issubclass(kind, KeyboardInterrupt) else printed(kind, *more)


def interrupted(error: BaseException) -> bool:
    """Whether Ctrl-C or SIGTERM led to this error: what is interrupted while a module is loaded fails in any way."""
    return isinstance(error, KeyboardInterrupt) or (bool(_raised) and not isinstance(error, SpaqlError))


def raise_swallowed() -> None:
    """Work goes on although an interrupt was raised: a library has swallowed it, as those do that can do without a
    module which failed to load."""
    if _raised and not _asked and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt  # else what is under way has its own way to stop


def _gone(number: int, frame: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(128 + number)


def _interrupt(number: int, frame: object) -> None:
    _raised.append(number)
    raise KeyboardInterrupt


def _as_interrupt(number: int, frame: Any) -> None:
    _came.append(number)
    (_asked[-1] if _asked else _interrupt)(signal.SIGINT, frame)


def _again(unraisable: Any, hook: Callable[[Any], Any]) -> None:
    """LLVM calls Python while it compiles, and cannot be interrupted there: the interrupt comes a moment later."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        number = _came[-1] if _came else signal.SIGINT  # Ctrl-C may be ignored where SIGTERM is not
        threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), number)).start()
    else:
        hook(unraisable)
