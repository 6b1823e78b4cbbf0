"""A benchmark: learners on problems as data, their runs, what they reach, and what others have published.

A study states its tasks by part, the figures of a row and the columns of its table; runs, rows, columns and the
lines of others follow from here. Seeds are from 1000 on: whatever was tuned was tuned on seeds below 100.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median_low
from typing import Any

from spaql.learners.registry import learners
from spaql.plants.catalog import CATALOG
from spaql.policy.policy import Policy
from spaql_studies.load import others
from spaql_studies.parts import TITLES
from spaql_studies.runs.compute import worst_part
from spaql_studies.runs.rows import Run
from spaql_studies.runs.spec import Option, Spec
from spaql_studies.study import Effort, Experiment, Finished, Results
from spaql_studies.tables import Column, Digits, Row, Table, half_width, shown, span

Options = tuple[tuple[str, Option], ...]
FIRST_SEED = 1000
FRESH = (1000, 400)  # episodes of the fresh evaluation of an agent, and of a quick look
FRESH_IN_PYTHON = (100, 100)  # the same in an environment, which is slow
MODEL_BASED = next(card.name for card in learners() if card.model_based)


@dataclass(frozen=True)
class Contender:
    """A learner on a problem with its settings: agents that differ in nothing but their seed."""

    problem: str  # a name of the catalog, or an id of Gymnasium
    algorithm: str
    samples: tuple[int, ...]  # after which the agents are evaluated
    quick: tuple[int, ...]  # the same in a quick look; none: it has no part in it
    options: Options = ()
    label: str = ""  # what is special about it, beside other tasks on the problem
    parameters: str = ""  # of the problem, as JSON
    fresh: tuple[int, int] = FRESH
    rollouts: int = 0  # after every iteration
    leaves: int = 0  # of the small tree made at the end; 0: no tree
    oblique: bool = False  # tests of that tree may weigh two variables
    most_seeds: int | None = None
    quick_seeds: int = 3  # unless their number is given

    def runs(self, results: Results, experiments: Iterable[str], part: str = "") -> list[Run]:
        """Its finished runs in these experiments, in the part of its problem or another one."""
        return [
            run
            for experiment in experiments
            for run in results.runs(experiment, part or self.problem, self.algorithm)
            if run.problem == self.problem
            and run.options == dict(self.options)
            and run.parameters == self.parameters
        ]


Tasks = Mapping[str, Sequence[Contender]]  # by part


Group = tuple[str, Contender, list[Run]]


def groups_of(results: Results, tasks: Tasks, *experiments: str) -> Iterator[Group]:
    """The tasks that have runs in one of the experiments: part, task and runs."""
    for part, several in tasks.items():
        for task in several:
            if runs := task.runs(results, experiments, part):
                yield part, task, runs


def seeds_of(effort: Effort, most: int | None = None, quick: int = 3) -> range:
    """Seeds of the reported agents."""
    count = effort.seeds or (quick if effort.quick else 20)
    return range(FIRST_SEED, FIRST_SEED + (count if most is None else min(count, most)))


def specs_of_tasks(tasks: Iterable[Contender], effort: Effort) -> list[Spec]:
    return [
        Spec(
            each.problem, each.algorithm, seed, 0, each.rollouts, each.fresh[effort.quick], each.options,
            each.quick if effort.quick else each.samples, each.leaves, each.oblique, each.parameters,
        )
        for each in tasks
        if each.quick or not effort.quick
        for seed in seeds_of(effort, each.most_seeds, each.quick_seeds)
    ]  # fmt: skip


def benchmark(name: str, title: str, tasks: Tasks, **more: Any) -> Experiment:
    """The experiment with these tasks; `more`: fields of `Experiment`."""

    def specs(part: str, effort: Effort, finished: Finished) -> list[Spec]:
        return specs_of_tasks(tasks[part], effort)

    elsewhere = {part: f"{part}: {title}" for part in tasks if part not in CATALOG}
    compiled = tuple(part for part in tasks if part in CATALOG)
    return Experiment(name, title, compiled, specs, **({"other_parts": elsewhere} | more))


def title_of_problem(problem: str) -> str:
    return TITLES.get(problem, problem)


# -- what the agents of a task reach -----------------------------------------------------------------------------------


@functools.lru_cache(1000)
def _policy(controller: str) -> Policy:
    return Policy.from_json(controller)


def _typical(runs: Sequence[Run]) -> Run:
    """The agent in the middle, not the best."""
    middle = median_low([run.fresh for run in runs])
    return next(run for run in runs if run.fresh == middle)


def printed(run: Run) -> str:
    """The controller as it is printed; a table of cells is too long to be."""
    return _policy(run.controller).to_text(share=False).split("\n\n", 1)[-1].strip() if run.controller else ""


def _laws(run: Run) -> tuple[int, int]:
    """How many laws its controller has, and how many numbers a reader sees of them; none of a table."""
    if len(run.law_leaves):
        return int(run.law_leaves[-1]), int(run.law_numbers[-1])
    return (_policy(run.controller).n_leaves, _policy(run.controller).numbers) if run.controller else (0, 0)


def _worst_episodes(run: Run) -> float:
    return float(run.worst_returns[-1]) if len(run.worst_returns) else worst_part(run.fresh_returns)


FIGURES: dict[str, Callable[[Sequence[Run]], Any]] = {
    "agents": len,
    "samples": lambda runs: fmean(run.train_samples + run.eval_samples for run in runs),
    "train_samples": lambda runs: fmean(run.train_samples for run in runs),
    "eval_samples": lambda runs: fmean(run.eval_samples for run in runs),
    "episodes": lambda runs: max(run.episodes for run in runs),
    "fresh": lambda runs: fmean(run.fresh for run in runs),
    "fresh_half_width": lambda runs: half_width([run.fresh for run in runs]),
    "worst_agent": lambda runs: min(run.fresh for run in runs),
    "best_agent": lambda runs: max(run.fresh for run in runs),
    "worst_episodes": lambda runs: fmean(map(_worst_episodes, runs)),
    "model_minus_plant": lambda runs: fmean(run.model_returns[-1] - run.fresh for run in runs),
    "model_most_wrong": lambda runs: max(abs(float(run.model_returns[-1]) - run.fresh) for run in runs),
    "agents_in_doubt": lambda runs: sum(int(run.doubts[-1]) > 0 for run in runs),
    "tables": lambda runs: sum(_laws(run)[0] == 0 for run in runs),
    "leaves": lambda runs: span(leaves for leaves, _ in map(_laws, runs) if leaves),
    "numbers": lambda runs: span(numbers for leaves, numbers in map(_laws, runs) if leaves),
    "cpu_seconds": lambda runs: fmean(run.cpu_curve[-1] for run in runs),
    "typical_seed": lambda runs: _typical(runs).seed,
    "typical_fresh": lambda runs: _typical(runs).fresh,
    "controller": lambda runs: printed(_typical(runs)),
}


def figures_of(runs: Sequence[Run], *names: str) -> Row:
    """These figures of agents that differ in nothing but their seed, in this order."""
    return {name: FIGURES[name](runs) for name in names}


def at_checkpoint(runs: Sequence[Run], place: int) -> list[Run]:
    """The agents as they were at a checkpoint."""
    curves = ("cpu_curve", "worst_returns", "law_leaves", "law_numbers", "model_returns", "doubts")
    return [
        replace(
            run, fresh=float(run.checkpoint_returns[place]), train_samples=int(run.checkpoints[place]), eval_samples=0,
            **{name: getattr(run, name)[: place + 1] for name in curves},
        )
        for run in runs
    ]  # fmt: skip


def plural(count: str, noun: str) -> str:
    """ "1 law", "2 to 3 laws"."""
    return f"{count} {noun}{'' if count == '1' else 's'}"


# -- tables ------------------------------------------------------------------------------------------------------------

PROBLEM = Column("problem", lambda row: title_of_problem(row["problem"]), words=True)
TEXTS = {"who": "controller", "how": "how", "source": "source", "size": "size"}
COUNTS = {"agents": "agents", "numbers": "numbers"}
AMOUNTS = {"samples": "samples", "cpu_seconds": "CPU s"}
RETURNS = {"worst_agent": "worst agent", "worst_episodes": "worst 5 % of episodes"}


def columns_of(names: str, digits: Digits = 1) -> tuple[Column, ...]:
    """The columns of these figures; returns with so many digits."""

    def column(name: str) -> Column:
        if name == "problem":
            return PROBLEM
        if name == "fresh":
            return Column.mean("fresh return", name, digits)
        if name == "return":
            return Column("return", lambda row: return_of(row, digits))
        if name in TEXTS:
            return Column.text(TEXTS[name], name)
        if name in COUNTS:
            return Column.count(COUNTS[name], name)
        return Column.number((AMOUNTS | RETURNS)[name], name, 0 if name in AMOUNTS else digits)

    return tuple(column(name) for name in names.split())


def published_of(problem: str, kind: str = "samples") -> list[Row]:
    """What others have published; `fresh` and `most` are the ends of their return, or None."""
    lines: list[Row] = []
    for who, samples, returns, how, source in others(kind)[problem]:
        low, high = returns if isinstance(returns, list) else (returns, returns)
        lines.append(line_of(problem, who, samples, low, how, source) | {"most": high})
    return lines


def line_of(problem: str, who: str, samples: float | None, fresh: float | None, how: str, source: str) -> Row:
    """A line of a table in which ours stand beside those of others."""
    line = {"problem": problem, "who": who, "samples": samples, "fresh": fresh, "most": fresh}
    return line | {"how": how, "source": source}


def return_of(row: Row, digits: Digits) -> str:
    """A return, or its two ends."""
    low, high = row["fresh"], row.get("most", row["fresh"])
    return shown(low, digits) if low == high else f"{shown(low, digits)} to {shown(high, digits)}"


def beside_others(
    name: str, names: str, rows: Sequence[Row], lines: Callable[[str, list[Row]], list[Row]], digits: Digits, note: str
) -> Table:
    """`lines(problem, rows)`: ours and those of others on a problem, in their order; `names`: of the columns."""
    problems = dict.fromkeys(row["problem"] for row in rows)
    by_problem = {problem: [row for row in rows if row["problem"] == problem] for problem in problems}
    every = [line for problem, own in by_problem.items() for line in lines(problem, own)]
    title = "The same, with published results"
    return Table(name, title, columns_of(names, digits), every, (compare_roughly(note),))


def compare_roughly(differences: str) -> str:
    """The note below a table with published results."""
    ways = f"The sources measure returns in different ways ({differences}, choice of the best agent)"
    return f"{ways}: compare the figures roughly."


def controllers_table(
    name: str, title: str, columns: Sequence[Column], rows: list[Row], digits: Digits = 1, note: str = ""
) -> Table:
    """The controller of the agent in the middle of each row, not that of the best; `columns`: whose it is."""
    controller = (
        Column.text("controller", "controller"),
        Column.number("its return", "typical_fresh", digits),
        Column.count("seed", "typical_seed"),
    )
    said = f"For each row above, the agent with the median return.{note}"
    return Table(name, title, (*columns, *controller), rows, (said,))
