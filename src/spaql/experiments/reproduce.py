"""`spaql reproduce`: the whole paper, or parts of it, into a store."""

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spaql.checks import whole
from spaql.errors import SpaqlError
from spaql.experiments.executors import executor_of
from spaql.experiments.plan import LEARNERS, MAIN, PAPER, QUICK, STUDY_OF, TITLES, Protocol, Tuned, chosen_parts, specs_of, studies_of
from spaql.experiments.results import plan_of
from spaql.experiments.rows import DamagedError, Run
from spaql.experiments.runner import run_missing
from spaql.experiments.spec import Spec
from spaql.experiments.store import Store


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
    def protocol(self) -> Protocol:
        base = QUICK if self.quick else PAPER
        return base if self.seeds is None else replace(base, seeds=(count := whole("seeds", self.seeds, 2, 10_000)), atlas_seeds=count)

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


def reproduce(request: Request, progress: bool = True) -> Summary:
    """Compute what the store does not have. Raises after an error or a lost worker; finished runs are kept in any case."""
    parts, protocol = chosen_parts(request.only, request.tuned), request.protocol
    open_executor = executor_of(request.executor, request.jobs)
    _check_extras(parts)
    store = Store(request.store)
    store.tidy()
    studies = studies_of(parts)
    stages = [list(dict.fromkeys([*studies, *(part for part in parts if part.startswith("scaling-"))]))]
    stages.append([part for part in parts if part not in stages[0]])
    if not studies:
        stages = [stages[0] + stages[1]]
    summary = Summary(store)
    tuned: Tuned | None = None
    with _progress(progress) as bars:
        for stage in stages:
            specs = {part: specs_of(part, protocol, tuned) for part in stage}
            todo = _plan_stage(store, specs, request, summary)
            show = bars(specs, todo) if bars else (lambda spec: None)
            outcome = run_missing([spec for part in stage for spec in todo[part]], store, open_executor, show)
            summary.computed += outcome.computed
            if outcome.error is not None:
                _fail(outcome.error, outcome.spec, summary)
            if outcome.interrupted:
                summary.interrupted = True
                return summary
            if studies and tuned is None:
                tuned = best_xi(store, {part: specs[part] for part in studies})
    return summary


def _plan_stage(store: Store, specs: dict[str, list[Spec]], request: Request, summary: Summary) -> dict[str, list[Spec]]:
    """Write the plans; the runs still to compute, by part. A damaged file is an error now, not after an hour."""
    todo: dict[str, list[Spec]] = {}
    for part, runs in specs.items():
        now = datetime.now(UTC).replace(microsecond=0).isoformat()
        store.write_plan(part, plan_of(runs, command=request.command, quick=request.quick, written=now))
        todo[part] = [spec for spec in runs if not usable(store, spec, request.repair)]
        summary.there += len(runs) - len(todo[part])
    return todo


def usable(store: Store, spec: Spec, repair: bool) -> bool:
    try:
        return store.read(spec) is not None
    except DamagedError as error:
        if not repair:
            raise
        store.remove(error.path)
        return False


def best_xi(store: Store, studies: dict[str, list[Spec]]) -> Tuned:
    """The xi with the best mean fresh return in our own study: other seeds than those reported, and not the biased best seen."""
    scores: dict[tuple[str, str], dict[float, list[float]]] = {}
    for specs in studies.values():
        for spec in specs:
            run = store.read(spec)
            assert isinstance(run, Run)
            assert run.xi is not None
            scores.setdefault((run.problem, run.algorithm), {}).setdefault(run.xi, []).append(run.fresh)
    best = {pair: max(by_xi, key=lambda xi: sum(by_xi[xi]) / len(by_xi[xi])) for pair, by_xi in scores.items()}
    chosen = {(problem, algorithm): best.get((STUDY_OF.get(problem, problem), algorithm)) for problem in MAIN for algorithm in LEARNERS}
    return {pair: xi for pair, xi in chosen.items() if xi is not None}


def _check_extras(parts: Sequence[str]) -> None:
    from importlib.util import find_spec

    for group, module, who in (("trpo", "sb3_contrib", "TRPO needs"), ("rivals", "stable_baselines3", "the rivals need")):
        if any(part.startswith(f"{group}-") for part in parts) and find_spec(module) is None:
            raise SpaqlError(f"{who} the extra: pip install 'spaql[trpo]' (without --only {group} the published curves are used)")


def _fail(error: Exception, spec: Spec | None, summary: Summary) -> None:
    kept = f"{summary.there + summary.computed} finished runs are kept"
    if isinstance(error, (SpaqlError, OSError)):
        raise SpaqlError(f"{error} ({kept})") from error
    raise SpaqlError(f"{spec} failed: {type(error).__name__}: {error} ({kept})") from error


Bars = Callable[[dict[str, list[Spec]], dict[str, list[Spec]]], Callable[[Spec], None]]


@contextlib.contextmanager
def _progress(wanted: bool) -> Iterator[Bars | None]:
    """A bar for the whole and one for each part. They count plant steps, so that the time left is right although runs differ."""
    if not wanted:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[done]}/{task.fields[of]} runs", justify="right"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console) as bar:

        def stage(specs: dict[str, list[Spec]], todo: dict[str, list[Spec]]) -> Callable[[Spec], None]:
            tasks: dict[Any, Any] = {}
            whole_task = bar.add_task("all", total=_cost(todo.values()), done=0, of=sum(map(len, todo.values())))
            for part, runs in todo.items():
                group, problem = part.split("-", 1)
                task = bar.add_task(f"  {TITLES[group]}, {problem}", total=_cost([runs]) or 1, done=0, of=len(runs), start=False)
                if not runs:
                    bar.update(task, completed=1, description=f"  {TITLES[group]}, {problem}: all there")
                tasks |= dict.fromkeys(runs, task)

            def done(spec: Spec) -> None:
                for task in (whole_task, tasks[spec]):
                    bar.start_task(task) if bar.tasks[task].start_time is None else None
                    bar.update(task, advance=spec.steps, done=bar.tasks[task].fields["done"] + 1)

            return done

        yield stage
    sys.stderr.flush()


def _lines(specs: dict[str, list[Spec]], todo: dict[str, list[Spec]]) -> Callable[[Spec], None]:
    """For logs: a line when a part is finished."""
    part_of = {spec: part for part, runs in todo.items() for spec in runs}
    left = {part: len(runs) for part, runs in todo.items()}

    def done(spec: Spec) -> None:
        part = part_of[spec]
        left[part] -= 1
        if left[part] == 0:
            print(f"{part}: {len(todo[part])} runs done", file=sys.stderr, flush=True)

    return done


def _cost(parts: Any) -> float:
    return float(sum(spec.steps for runs in parts for spec in runs))
