"""A progress bar over the steps of a search, on demand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spaql.progress import at_work, progress_bars

SEARCH = "searching for small trees"


@contextmanager
def progress_bar(wanted: bool, budget: int) -> Iterator[Callable[[int], None]]:
    """What to call with the steps made so far. `wanted`: a bar of its own; else it tells whoever shows one."""
    if not wanted:
        at_work(SEARCH, 0, budget)
        yield lambda steps: at_work(SEARCH, steps, budget)
        return
    with progress_bars() as bar:
        task = bar.add_task(SEARCH, total=budget, note="")
        yield lambda steps: bar.update(task, completed=steps)
