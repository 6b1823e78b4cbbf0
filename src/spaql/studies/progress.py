"""How far `spaql reproduce` is: a bar for the whole and one for each part, or lines in a log."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from spaql.progress import progress_bars
from spaql.runs.spec import Spec
from spaql.studies import experiments
from spaql.studies.parts import Part

Todo = Mapping[Part, list[Spec]]  # the runs still to compute
# Begins a stage; the function that it returns is called with each finished run.
Show = Callable[[Todo], Callable[[Spec], None]]


@contextlib.contextmanager
def progress_of_parts(wanted: bool) -> Iterator[Show]:
    """Bars count plant steps, so that the time left is right although runs differ."""
    if not wanted:
        yield lambda todo: lambda spec: None
        return
    bars = progress_bars("{task.fields[done]}/{task.fields[of]} runs")
    if not bars.console.is_terminal:
        yield _lines
        return
    with bars:

        def stage(todo: Todo) -> Callable[[Spec], None]:
            tasks: dict[Spec, Any] = {}
            everything = [spec for runs in todo.values() for spec in runs]
            whole = bars.add_task("all", total=_cost(everything), done=0, of=len(everything), note="")
            for part, runs in todo.items():
                name = f"  {experiments()[part.experiment].title}, {part.problem}"
                task = bars.add_task(name, total=_cost(runs) or 1, done=0, of=len(runs), start=False, note="")
                if not runs:
                    bars.update(task, completed=1, note="all there")
                tasks |= dict.fromkeys(runs, task)

            def done(spec: Spec) -> None:
                for task in (whole, tasks[spec]):
                    if bars.tasks[task].start_time is None:
                        bars.start_task(task)
                    bars.update(task, advance=spec.steps, done=bars.tasks[task].fields["done"] + 1)

            return done

        yield stage
    sys.stderr.flush()


def _lines(todo: Todo) -> Callable[[Spec], None]:
    """For logs: a line when a part is finished."""
    part_of = {spec: part for part, runs in todo.items() for spec in runs}
    left = {part: len(runs) for part, runs in todo.items()}

    def done(spec: Spec) -> None:
        part = part_of[spec]
        left[part] -= 1
        if left[part] == 0:
            print(f"{part}: {len(todo[part])} runs done", file=sys.stderr, flush=True)

    return done


def _cost(specs: Iterable[Spec]) -> float:
    return float(sum(spec.steps for spec in specs))
