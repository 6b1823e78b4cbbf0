"""Progress bars, on the standard error and in one form: what is done, how far it is, how long it still takes.

While something is being compiled, a bar says so.

Work that takes long says how far it is with `at_work`, whoever has called it; `working` shows what it says.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spaql.compilation import News, watch
from spaql.interrupts import raise_swallowed

if TYPE_CHECKING:
    from rich.progress import Progress

EPISODES = "running fresh episodes"
Say = Callable[[str, float, float | None], None]
_listening: list[Say] = []


def at_work(what: str, done: float = 0, of: float | None = None) -> None:
    """Tell what is being done, and how far it is where that is known. Costs nothing if nobody listens."""
    raise_swallowed()
    if _listening:
        _listening[-1](what, done, of)


@contextmanager
def working(what: str, wanted: bool | None = None) -> Iterator[None]:
    """A bar for as long as this takes, which shows `what` and then what `at_work` tells; it goes when all is done.

    `wanted`: None for a bar if somebody sits at the terminal.
    """
    raise_swallowed()
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield
        return
    bars = progress_bars(transient=True)
    task = bars.add_task(what, total=None, note="")

    shown: tuple[str, float | None] = what, None

    def say(text: str, done: float, of: float | None) -> None:
        nonlocal task, shown
        if shown != (text, of):  # other work: its time begins anew
            bars.remove_task(task)
            task, shown = bars.add_task(text, total=of, note=""), (text, of)
        bars.update(task, completed=done)

    _listening.append(say)
    try:
        with bars:
            yield
    finally:
        _listening.remove(say)


def progress_bars(count: str | None = None, transient: bool = False) -> "Progress":
    """Bars whose tasks have a `note`, shown at the end: in a narrow terminal bar and note give way, numbers do not.

    `count`: the text of how far a task is; None for steps of the total. `transient`: they go when all is done.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class Count(ProgressColumn):
        def render(self, task: Any) -> Text:
            if task.total is None:
                return Text("")
            millions = task.total >= 1e6
            done, of = (f"{one / 1e6:,.1f}" if millions else f"{one:,.0f}" for one in (task.completed, task.total))
            return Text(f"{done}/{of}{' M' if millions else ''}")

    class Note(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(task.fields["note"], no_wrap=True, overflow="ellipsis")

    def narrow() -> Column:
        return Column(no_wrap=True, justify="right")

    class Bars(Progress):
        """Bars with one more while something is being compiled."""

        compiling = None

        def start(self) -> None:
            super().start()
            self.unwatch = watch(self.tell)

        def stop(self) -> None:
            self.unwatch()
            super().stop()

        def tell(self, news: News) -> None:
            if self.compiling is None and news.of:
                self.compiling = self.add_task("compiling, the first time only", total=news.of, note="", done=0, of=0)
            if self.compiling is not None and news.of:
                note, (_, done, of) = news.name.removeprefix("spaql."), news
                self.update(self.compiling, completed=done, total=of, note=note, done=done, of=of)
            elif self.compiling is not None:
                self.remove_task(self.compiling)
                self.compiling = None

    return Bars(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        Count(narrow()) if count is None else TextColumn(count, justify="right", table_column=narrow()),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True, table_column=narrow()),
        Note(),
        console=Console(stderr=True),
        transient=transient,
    )
