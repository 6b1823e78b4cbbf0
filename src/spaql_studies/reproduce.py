"""`spaql reproduce`: the studies, or parts of them, into a store."""

import contextlib
import importlib.util
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from spaql.ground.checks import whole
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import display
from spaql.ground.screens import ShownTask
from spaql_studies.load import plan_of
from spaql_studies.parts import chosen_parts, experiments, specs_of, stages_of
from spaql_studies.runs.rows import DamagedError, Run
from spaql_studies.runs.runner import executor_of, run_missing
from spaql_studies.runs.spec import Spec
from spaql_studies.runs.store import Store
from spaql_studies.study import Effort, Part

# -- how far `spaql reproduce` is: the whole and each part -------------------------------------------------------------

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
            whole.count, of = (0, len(everything)), dict[Spec, tuple[Part, ShownTask]]()
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


# -- `spaql reproduce`: the studies, or parts of them, into a store ----------------------------------------------------

@dataclass(frozen=True)
class Request:
    """What was asked for."""

    store: Path
    only: tuple[str, ...] = ()
    quick: bool = False
    tuned: bool = False
    seeds: int | None = None
    jobs: int | None = None
    executor: str | None = None
    repair: bool = False

    @property
    def effort(self) -> Effort:
        return Effort(self.quick, None if self.seeds is None else whole("seeds", self.seeds, 2, 10_000))

    @property
    def command(self) -> str:
        """The command that does the same again."""
        words = ["spaql", "reproduce"] + [word for name in self.only for word in ("--only", name)]
        words += ["--quick"] * self.quick + ["--tuned"] * self.tuned
        words += [] if self.seeds is None else ["--seeds", str(self.seeds)]
        return shlex.join([*words, "--store", str(self.store)])


@dataclass
class Summary:
    """What was done: runs there before, computed now, and whether it came to its end."""

    store: Store
    there: int = 0
    computed: int = 0
    interrupted: bool = False
    left_out: dict[Part, str] = field(default_factory=dict)  # parts whose extra is not installed, with its name


def reproduce(request: Request, progress: bool = True) -> Summary:
    """Compute what the store does not have.

    Raises after an error or a lost worker; finished runs are kept in any case.
    """
    chosen, effort = chosen_parts(request.only, request.tuned), request.effort
    open_executor = executor_of(request.executor, request.jobs)
    _check_extras(chosen)
    left_out = _left_out(chosen, request.only)
    parts = [part for part in chosen if part not in left_out]
    store = Store(request.store)
    store.tidy()
    summary = Summary(store, left_out=left_out)
    finished: dict[Part, list[Run]] = {}
    with progress_of_parts(progress) as show:
        for stage in stages_of(parts):
            specs = {part: specs_of(part, effort, finished) for part in stage}
            todo = _plan_stage(store, specs, request, summary)
            outcome = run_missing([spec for part in stage for spec in todo[part]], store, open_executor, show(todo))
            summary.computed += outcome.computed
            if outcome.error is not None:
                kept = f"{summary.there + summary.computed} finished runs are kept"
                raise failure(outcome.error, outcome.spec, kept) from outcome.error
            if outcome.interrupted:
                summary.interrupted = True
                return summary
            finished |= {part: [run for spec in specs[part] if (run := store.read(spec)) is not None] for part in stage}
    return summary


def _plan_stage(
    store: Store, specs: Mapping[Part, list[Spec]], request: Request, summary: Summary
) -> dict[Part, list[Spec]]:
    """Write the plans; the runs still to compute, by part. A damaged file is an error now, not after an hour."""
    todo: dict[Part, list[Spec]] = {}
    for part, runs in specs.items():
        now = datetime.now(UTC).replace(microsecond=0).isoformat()
        store.write_plan(str(part), plan_of(runs, command=request.command, quick=request.quick, written=now))
        todo[part] = [spec for spec in runs if not usable(store, spec, request.repair)]
        summary.there += len(runs) - len(todo[part])
    return todo


def usable(store: Store, spec: Spec, repair: bool) -> bool:
    """Whether the store has the run. With `repair` a damaged file is removed, to be computed again."""
    try:
        return store.read(spec) is not None
    except DamagedError as error:
        if not repair:
            raise
        store.remove(error.path)
        return False


def _check_extras(parts: Sequence[Part]) -> None:
    for name in dict.fromkeys(part.experiment for part in parts):
        published = experiments()[name].published
        if published is not None and importlib.util.find_spec(published.module) is None:
            extra = f"the extra: pip install 'spaql[{published.extra}]'"
            raise SpaqlError(f"{published.needed_by} {extra} (without --only {name} the published runs are used)")


def _left_out(parts: Sequence[Part], only: Sequence[str]) -> dict[Part, str]:
    """Parts whose extra is not installed: left out of a whole experiment, an error where one was asked for by name."""
    extras = {part: experiments()[part.experiment].extras.get(part.problem) for part in parts}
    missing = {part: extra.name for part, extra in extras.items() if extra is not None and not extra.there}
    for part, extra in missing.items():
        if str(part) in only:
            raise SpaqlError(f"{part} needs the extra: pip install 'spaql[{extra}]'")
    return missing


def failure(error: Exception, spec: Spec | None, kept: str) -> SpaqlError:
    """Why runs could not go on. Bad input and full disks are not the fault of the run that met them."""
    if isinstance(error, (SpaqlError, OSError)):
        return SpaqlError(f"{error} ({kept})")
    return SpaqlError(f"{spec} failed: {type(error).__name__}: {error} ({kept})")
