"""Progress bars, on the standard error and in one form. While something is being compiled, a bar says so."""

from typing import TYPE_CHECKING

from spaql.compilation import News, watch

if TYPE_CHECKING:
    from rich.progress import Progress


def progress_bars(count: str | None = None) -> "Progress":
    """Bars whose tasks have a `note`, shown at the end.

    `count`: the text of how far a task is; None for steps of the total.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

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
                self.compiling = self.add_task("compiling, the first time only", note="", done=0, of=0)
            if self.compiling is not None and news.of:
                note, (_, done, of) = news.name.removeprefix("spaql."), news
                self.update(self.compiling, completed=done, total=of, note=note, done=done, of=of)
            elif self.compiling is not None:
                self.remove_task(self.compiling)
                self.compiling = None

    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn() if count is None else TextColumn(count, justify="right"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
    )
