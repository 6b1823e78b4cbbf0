"""Signs of life, on the standard error: what is being done, how far it is, and about how long it still takes.

    with working("reading the agent"):        around everything that may take long; inside of another one it is a part
        at_work("ranking laws", 3, 10)        what is being done just now, told from however deep inside
        advance(400, "best law 190.1")        how far the whole is

A terminal gets bars, a notebook a line that changes, a log file a line now and then. What takes less than two seconds
shows nothing, unless it was asked for. SPAQL_PROGRESS=0 in the environment shows nothing at all.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from spaql.ground.interrupts import raise_swallowed
from spaql.ground.screens import SILENT_SECONDS, ShownTask, TaskPart, screen_for

EPISODES = "running fresh episodes"
_here = threading.local()  # .task: what this thread is working on; .quiet: nobody is to see it


def at_work(part: str, done: float = 0, of: float | None = None) -> None:
    """Tell what is being done, and how far it is where that is known. Costs nothing if nobody listens."""
    raise_swallowed()
    if (task := getattr(_here, "task", None)) is not None:
        task.tell(part, done, of)


def advance(
    done: float, note: str | None = None, count: tuple[float, float] | None = None, ahead: float = 0.0
) -> None:
    """How far the whole is. `count`: to be shown instead. `ahead`: how much of the whole the part told next is."""
    if (task := getattr(_here, "task", None)) is not None:
        task.advance(done, note, count, ahead)


@contextmanager
def working(title: str, wanted: bool | None = None, total: float | None = None, unit: str = "") -> Iterator[None]:
    """Shows what this thread is working on. `wanted`: None for what takes longer than two seconds, False for nothing.

    Within other work that is shown, this is a part of it.
    """
    raise_swallowed()
    if (task := getattr(_here, "task", None)) is not None:
        with doing(TaskPart(task, title, total)):
            yield
        return
    if wanted is False:
        with quietly():
            yield
        return
    with display(wanted) as shown, doing(shown.task(title, total, unit)):
        yield


@contextmanager
def doing(task: ShownTask | None) -> Iterator[None]:
    """What this thread tells is about this task."""
    before, _here.task = getattr(_here, "task", None), task
    try:
        yield
    finally:
        _here.task = before


@contextmanager
def quietly() -> Iterator[None]:
    """Nothing that this thread does is shown."""
    before, _here.quiet = getattr(_here, "quiet", False), True
    try:
        with doing(None):
            yield
    finally:
        _here.quiet = before


def display(wanted: bool | None = None) -> "closing[Display]":
    """What shows tasks, from a thread of its own."""
    hidden = getattr(_here, "quiet", False) or os.environ.get("SPAQL_PROGRESS") == "0"
    return closing(Display(bool(wanted), hidden or wanted is False))


class Compilation:
    """What is being compiled just now: told by those who compile, shown by every display.

    Which functions will be needed is read off the sources: some may be left out.
    """

    def __init__(self) -> None:
        self.count = 0  # functions compiled since the process began
        self.needed: set[str] = set()
        self.done: set[str] = set()
        self.task: ShownTask | None = None

    def begun(self, name: str, needed: set[str]) -> None:
        """A kernel is going to be compiled, with all these functions."""
        self.needed |= needed
        self._show(name)

    def compiled(self, name: str) -> None:
        """A function has been compiled."""
        self.done.add(name)
        self._show(name)

    def ended(self) -> None:
        """The kernel can be called."""
        self.needed, self.done, self.task = set(), set(), None

    def _show(self, name: str) -> None:
        self.count += 1
        if self.needed:
            task = self.task or ShownTask("compiling, the first time only", 1.0)
            task.done, task.total = float(len(self.done & self.needed)), float(len(self.needed))
            task.note = name.removeprefix("spaql.")
            self.task = task


compilation = Compilation()


class Display:
    """Tasks, shown again and again until it is closed."""

    def __init__(self, wanted: bool, hidden: bool) -> None:
        self.tasks: list[ShownTask] = []
        self.wanted, self.ended = wanted, threading.Event()
        self.screen = None if hidden else screen_for(keeps=wanted)
        self.thread = threading.Thread(target=self._run, name="spaql-progress", daemon=True)
        if self.screen is not None:
            self.thread.start()

    def task(self, title: str, total: float | None = None, unit: str = "") -> ShownTask:
        task = ShownTask(title, total, unit)
        self.tasks.append(task)
        return task

    def close(self) -> None:
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()

    def _run(self) -> None:
        screen = self.screen
        assert screen is not None
        shown = (self.wanted and screen.at_once) or not self.ended.wait(SILENT_SECONDS)
        with suppress(OSError, ValueError):  # a terminal that was closed is no reason to stop working
            while shown:
                screen.show([*self.tasks, *filter(None, [compilation.task])])
                if self.ended.wait(screen.pause()):
                    break
            if shown or self.wanted:
                screen.close(self.tasks)
