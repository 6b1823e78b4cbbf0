"""How far `spaql reproduce` is: the whole and each part."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from spaql.progress import display
from spaql.runs.spec import Spec
from spaql.studies import experiments
from spaql.studies.parts import Part
from spaql.tasks import Task

Todo = Mapping[Part, list[Spec]]  # the runs still to compute
# Begins a stage; the function that it returns is called with each finished run.
Show = Callable[[Todo], Callable[[Spec], None]]


@contextlib.contextmanager
def progress_of_parts(wanted: bool) -> Iterator[Show]:
    """Plant steps are counted, so that the time left is right although runs differ."""
    with display(None if wanted else False) as shown:

        def stage(todo: Todo) -> Callable[[Spec], None]:
            everything = [spec for runs in todo.values() for spec in runs]
            whole = shown.task("all", _cost(everything), "runs")
            whole.count, of = (0, len(everything)), dict[Spec, tuple[Part, Task]]()
            for part, runs in todo.items():
                task = shown.task(f"  {experiments()[part.experiment].title}, {part.problem}", _cost(runs), "runs")
                task.count, task.note = (0, len(runs)), "" if runs else "all there"
                of |= dict.fromkeys(runs, (part, task))

            def done(spec: Spec) -> None:
                part, task = of[spec]
                for other in (whole, task):
                    finished, runs = other.count or (0, 0)
                    other.advance(other.done + spec.steps, None, (finished + 1, runs))
                if wanted and not sys.stderr.isatty() and task.count == (len(todo[part]), len(todo[part])):
                    print(f"{part}: {len(todo[part])} runs done", file=sys.stderr, flush=True)

            return done

        yield stage


def _cost(specs: Iterable[Spec]) -> float:
    return float(sum(spec.steps for spec in specs))
