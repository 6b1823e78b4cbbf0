"""Where whoever waits is told how far work is: in a terminal, in a notebook, or in a log."""

import sys
import time
from typing import Any, Protocol

from spaql.ground.tasks import SILENT_SECONDS, ShownTask

FRAME_SECONDS = 0.1  # between two pictures of a terminal
CELL_SECONDS = 1.0  # the same in a notebook
LINE_SECONDS = 60.0  # between two lines of a log, at most; the first ones come sooner


class Screen(Protocol):
    """Where tasks are shown."""

    at_once: bool  # what was asked for is shown from its beginning

    def show(self, tasks: list[ShownTask]) -> None:
        """As they are now."""

    def pause(self) -> float:
        """Seconds until they are to be shown again."""

    def close(self, tasks: list[ShownTask]) -> None:
        """All is done."""


def screen_for(keeps: bool) -> Screen:
    """`keeps`: what is shown last stays."""
    if sys.stderr.isatty():
        return Bars(keeps)
    return Cell() if _in_notebook() else Lines(keeps)


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


class Bars:
    """In a terminal: in a narrow one bar and remark give way, numbers do not."""

    at_once = True

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
            told: dict[str, Any] = {"counted": task.counted, "times": task.times, "remark": task.remark}
            if id(task) not in self.rows:
                self.rows[id(task)] = self.bars.add_task(task.text, **told)
            share, of = task.share, None if task.share is None else 1.0
            self.bars.update(self.rows[id(task)], description=task.text, completed=share or 0.0, total=of, **told)
        self.bars.refresh()

    def pause(self) -> float:
        return FRAME_SECONDS

    def close(self, tasks: list[ShownTask]) -> None:
        self.show(tasks)
        self.bars.stop()


class Cell:
    """In a notebook: a line that changes."""

    at_once = True

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, tasks: list[ShownTask]) -> None:
        from IPython.display import display as new_output

        text = {"text/plain": "\n".join(map(str, tasks))}
        if self.handle is None:
            self.handle = new_output(text, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self.handle.update(text, raw=True)

    def pause(self) -> float:
        return CELL_SECONDS

    def close(self, tasks: list[ShownTask]) -> None:
        self.show(tasks)


class Lines:
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
