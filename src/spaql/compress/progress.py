"""A progress bar over the steps of a search, on demand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spaql.progress import progress_bars


@contextmanager
def progress_bar(wanted: bool, budget: int) -> Iterator[Callable[[int], None]]:
    """What to call with the steps made so far."""
    if not wanted:
        yield lambda steps: None
        return
    with progress_bars() as bar:
        task = bar.add_task("searching for small trees", total=budget, note="")
        yield lambda steps: bar.update(task, completed=steps)
