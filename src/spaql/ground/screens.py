"""Work that takes long, and where whoever waits is told how far it is: in a terminal, in a notebook, or in a log."""

import sys
import time
from abc import ABC, abstractmethod
from typing import Any

SILENT_SECONDS = 2.0  # before anything is shown that was not asked for, and before a time is estimated
KNOWN = 0.1  # of the work that must be done before a time is estimated
LINE_SECONDS = 60.0  # between two lines of a log, at most; the first ones come sooner


class ShownTask:
    """Some work: how far it is, and the part of it that is being done just now."""

    def __init__(self, title: str, total: float | None = None, unit: str = "") -> None:
        self.title, self.total, self.unit, self.note = title, total, unit, ""
        self.done, self.ahead = 0.0, 0.0  # and how much the part adds that is being done
        self.count: tuple[float, float] | None = None  # to be shown, where `done` counts something else
        self.begun = self.part_begun = time.monotonic()
        self.part, self.part_done, self.part_of = "", 0.0, 0.0
        self.furthest = 0.0  # a bar does not go back where parts are found to be longer than was thought

    def advance(self, done: float, note: str | None, count: tuple[float, float] | None, ahead: float = 0.0) -> None:
        self.done, self.count, self.ahead = done, count, ahead
        if note is not None:
            self.note = note
            self.tell("")

    def tell(self, part: str, done: float = 0.0, of: float | None = None) -> None:
        if (part, of or 0.0) != (self.part, self.part_of):  # other work: its time begins anew
            self.part_begun = time.monotonic()
        self.part, self.part_done, self.part_of = part, done, of or 0.0

    @property
    def share(self) -> float | None:
        """Of the work that is done; None if nobody knows how much there is."""
        part = min(self.part_done / self.part_of, 1.0) if self.part_of else None
        if not self.total:
            return part
        self.furthest = max(self.furthest, min((self.done + self.ahead * (part or 0.0)) / self.total, 1.0))
        return self.furthest

    @property
    def text(self) -> str:
        return self.title if self.total is not None or not self.part else self.part

    @property
    def counted(self) -> str:
        """How far it is, in its unit."""
        if self.total is None:
            done, of = self.part_done, self.part_of
        else:
            done, of = self.count or (self.done, self.total)
        if not of:
            return ""
        digits, size, millions = (1, 1e6, " M") if of >= 1e6 else (0, 1.0, "")
        return f"{done / size:,.{digits}f}/{of / size:,.{digits}f}{millions}"

    @property
    def times(self) -> str:
        """How long it has taken, and how long it may still take."""
        gone, share = time.monotonic() - self.begun, self.share
        since = gone if self.total else time.monotonic() - self.part_begun
        if not share or not KNOWN <= share < 1.0 or since < SILENT_SECONDS:
            return _clock(gone)
        return f"{_clock(gone)}, {_clock(since * (1.0 - share) / share)} left"

    @property
    def remark(self) -> str:
        """What is being done just now, or else what came out last."""
        if self.total is None or not self.part:
            return self.note
        return f"{self.part} {100 * self.part_done / self.part_of:.0f} %" if self.part_of else self.part

    def __str__(self) -> str:
        counted = f"{self.counted} {self.unit}".strip()
        return ", ".join(part for part in (f"{self.text}: {self.times}", counted, self.remark) if part)


class TaskPart(ShownTask):
    """Work within other work: how far it is, is told to the task that is shown."""

    def __init__(self, within: ShownTask, title: str, total: float | None) -> None:
        super().__init__(title, total)
        self.within = within
        within.tell(title, 0.0, total)

    def advance(self, done: float, note: str | None, count: tuple[float, float] | None, ahead: float = 0.0) -> None:
        self.within.tell(self.title, done, self.total)

    def tell(self, part: str, done: float = 0.0, of: float | None = None) -> None:
        if self.total is None:
            self.within.tell(part, done, of)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


# -- where tasks are shown ---------------------------------------------------------------------------------------------


class Screen(ABC):
    """Tasks are shown again and again until all is done."""

    at_once = True  # what was asked for is shown from its beginning
    seconds = 0.0  # between two pictures

    @abstractmethod
    def show(self, tasks: list[ShownTask]) -> None:
        """As they are now."""

    def pause(self) -> float:
        """Seconds until they are to be shown again."""
        return self.seconds

    def close(self, tasks: list[ShownTask]) -> None:
        """All is done."""
        self.show(tasks)


def screen_for(keeps: bool) -> Screen:
    """`keeps`: what is shown last stays."""
    if sys.stderr.isatty():
        return Bars(keeps)
    return Cell() if _in_notebook() else Lines(keeps)


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


class Bars(Screen):
    """In a terminal: in a narrow one bar and remark give way, numbers do not."""

    seconds = 0.1

    def __init__(self, keeps: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.table import Column

        def number(name: str) -> TextColumn:
            column = Column(no_wrap=True, justify="right")
            return TextColumn(f"{{task.fields[{name}]}}", justify="right", table_column=column, markup=False)

        cut = Column(no_wrap=True, overflow="ellipsis")
        remark = TextColumn("{task.fields[remark]}", markup=False, table_column=cut)
        self.bars = Progress(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(16),
            number("counted"), number("times"), remark,
            console=Console(file=sys.stderr), transient=not keeps, auto_refresh=False,
        )  # fmt: skip
        self.rows: dict[int, Any] = {}  # by the identity of a task
        self.begun = False

    def show(self, tasks: list[ShownTask]) -> None:
        if not self.begun:
            self.bars.start()
            self.begun = True
        for key in self.rows.keys() - {id(task) for task in tasks}:
            self.bars.remove_task(self.rows.pop(key))
        for task in tasks:
            columns: dict[str, Any] = {"counted": task.counted, "times": task.times, "remark": task.remark}
            if id(task) not in self.rows:
                self.rows[id(task)] = self.bars.add_task(task.text, **columns)
            share, of = task.share, None if task.share is None else 1.0
            self.bars.update(self.rows[id(task)], description=task.text, completed=share or 0.0, total=of, **columns)
        self.bars.refresh()

    def close(self, tasks: list[ShownTask]) -> None:
        super().close(tasks)
        self.bars.stop()


class Cell(Screen):
    """In a notebook: a line that changes."""

    seconds = 1.0

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, tasks: list[ShownTask]) -> None:
        from IPython.display import display as new_output

        text = {"text/plain": "\n".join(map(str, tasks))}
        if self.handle is None:
            self.handle = new_output(text, raw=True, display_id=True)  # type: ignore[no-untyped-call, unused-ignore]  # without IPython
        else:
            self.handle.update(text, raw=True)

class Lines(Screen):
    """In a log: a line now and then."""

    at_once = False

    def __init__(self, keeps: bool) -> None:
        self.begun, self.file, self.keeps = time.monotonic(), sys.stderr, keeps

    def show(self, tasks: list[ShownTask]) -> None:
        for task in [*tasks[:1], *tasks[1:][-1:]]:  # what is compiled comes last
            print(f"spaql: {task}", file=self.file, flush=True)

    def pause(self) -> float:
        return min(LINE_SECONDS, SILENT_SECONDS + time.monotonic() - self.begun)

    def close(self, tasks: list[ShownTask]) -> None:
        if self.keeps:
            self.show(tasks)
