"""A few laws: controllers that fit on a slide, for nine problems."""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean, median_low
from typing import Any

from spaql.analysis.numbers import NOTHING, number, short, span
from spaql.analysis.tables import Column, Row, Table, half_width
from spaql.learners.registry import learners
from spaql.plants.catalog import CATALOG
from spaql.policy.policy import Policy
from spaql.runs.checkpoints import worst_part
from spaql.runs.rows import Run
from spaql.runs.spec import Spec
from spaql.studies.atlas.plan import fresh_of, seeds_of
from spaql.studies.parts import TITLES, Effort, Results
from spaql.studies.study import Experiment, Finished, Published, Section, Study, without_columns

# -- slides: controllers of a few affine laws for nine problems, as data. How many laws, and how many samples ----------
#
# Seeds from 1000 on; whatever was tuned was tuned on seeds below 100. The environments of MuJoCo and Box2D need extras;
# their runs come with the package.

SEEDS = 10
FRESH_IN_PYTHON = 100  # episodes of the fresh evaluation in an environment
QUICK = 0.02  # of the samples, for a quick look
SEARCHER = next(card.name for card in learners() if card.simulator)


@dataclass(frozen=True)
class Slide:
    """At most so many laws, after so many samples."""

    leaves: int
    samples: int


SLIDES: dict[str, tuple[Slide, ...]] = {
    "pendulum": (Slide(2, 180_000_000), Slide(8, 1_200_000_000)),
    "cartpole-500": (Slide(1, 100_000_000),),
    "cartpole-swing-up": (Slide(3, 200_000_000),),
    "mountain-car": (Slide(2, 200_000_000),),
    "mountain-car-continuous": (Slide(3, 1_500_000_000),),
    "acrobot": (Slide(2, 300_000_000),),
    "InvertedPendulum-v5": (Slide(1, 20_000),),
    "InvertedDoublePendulum-v5": (Slide(1, 20_000),),
    "LunarLanderContinuous-v3": (Slide(1, 1_500_000),),
    "LunarLander-v3": (Slide(1, 1_500_000),),
}
COMPILED = tuple(name for name in SLIDES if name in CATALOG)
MUJOCO = ("InvertedPendulum-v5", "InvertedDoublePendulum-v5")
BOX2D = ("LunarLanderContinuous-v3", "LunarLander-v3")


def laws_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """The search with every size of the problem."""
    compiled, share = problem in CATALOG, QUICK if effort.quick else 1.0
    fresh = fresh_of(effort) if compiled else FRESH_IN_PYTHON
    return [
        Spec(
            problem, SEARCHER, seed, 0, 0, fresh, (("max_leaves", slide.leaves),),
            (slide.samples if slide.samples < 10**6 else int(share * slide.samples),),
        )
        for slide in SLIDES[problem]
        for seed in seeds_of(effort, SEEDS)
    ]  # fmt: skip


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    return f"{span(int(run.checkpoints[-1]) for run in runs)} samples", NOTHING


LAWS = Experiment("laws", "a few laws", COMPILED, laws_specs, lengths=_lengths)


def _elsewhere(name: str, module: str, problems: tuple[str, ...]) -> Experiment:
    """Environments that need an extra."""
    label = f"{name} as published"
    published = Published(module, f"the environments of {name} need", label, beside=("laws",), extra=name)
    titles = {problem: f"{problem}: a few laws" for problem in problems}
    return Experiment(name, "a few laws", (), laws_specs, titles, published=published, lengths=_lengths)


IN_MUJOCO = _elsewhere("mujoco", "mujoco", MUJOCO)
IN_BOX2D = _elsewhere("box2d", "Box2D", BOX2D)
EXPERIMENTS = (LAWS, IN_MUJOCO, IN_BOX2D)


# -- what a few laws reach, beside what others have published ----------------------------------------------------------

NAMED = (("leaves", "law"), ("numbers", "number"))


@functools.cache
def others() -> Any:
    """By problem: what it is, its mean return, and where that was published."""
    return json.loads(files("spaql.studies.laws").joinpath("others.json").read_text("utf-8"))


def law_tables(results: Results) -> list[Table]:
    """What was reached, the controllers, and others beside it."""
    rows = [row for problem in SLIDES for row in rows_of(results, problem)]
    return [_reached(rows), _controllers(rows), _beside(rows)] if rows else []


def rows_of(results: Results, problem: str) -> list[Row]:
    """One row for each size with runs."""
    runs = [run for experiment in EXPERIMENTS for run in results.runs(experiment.name, problem)]
    groups = [[run for run in runs if run.options.get("max_leaves") == slide.leaves] for slide in SLIDES[problem]]
    return [_row(problem, group) for group in groups if group]


def _row(problem: str, runs: Sequence[Run]) -> Row:
    fresh = [run.fresh for run in runs]
    typical = next(run for run in runs if run.fresh == median_low(fresh))
    policies = [Policy.from_json(run.controller) for run in runs]
    return {
        "problem": problem,
        "at_most": runs[0].options["max_leaves"],
        "agents": len(runs),
        "fresh": fmean(fresh),
        "fresh_half_width": half_width(fresh),
        "worst_agent": min(fresh),
        "worst_episodes": fmean(worst_part(run.fresh_returns) for run in runs),
        "leaves": span(policy.n_leaves for policy in policies),
        "numbers": span(policy.numbers for policy in policies),
        "samples": fmean(run.train_samples + run.eval_samples for run in runs),
        "cpu_seconds": fmean(run.cpu_curve[-1] for run in runs),
        "episodes": max(run.episodes for run in runs),
        "typical_seed": typical.seed,
        "typical_fresh": typical.fresh,
        "controller": Policy.from_json(typical.controller).to_text(share=False).split("\n\n", 1)[-1].strip(),
    }


def title_of(problem: str) -> str:
    return TITLES.get(problem, problem)


def _reached(rows: list[Row]) -> Table:
    columns = (
        Column("problem", lambda row: title_of(row["problem"]), words=True),
        Column("laws at most", lambda row: str(row["at_most"])),
        Column("agents", lambda row: str(row["agents"])),
        Column("fresh return", lambda row: number(row["fresh"], 1)),
        Column("worst agent", lambda row: number(row["worst_agent"], 1)),
        Column("worst 5 % of episodes", lambda row: number(row["worst_episodes"], 1)),
        Column("laws", lambda row: row["leaves"]),
        Column("numbers", lambda row: row["numbers"]),
        Column("samples", lambda row: short(row["samples"])),
        Column("CPU s", lambda row: number(row["cpu_seconds"], 0)),
    )
    note = (
        "All samples are counted, those of tidying and confirmation included, except the "
        f"{span(row['episodes'] for row in rows)} fresh episodes on which each agent is evaluated. Numbers: how many "
        "the printed controller contains. CPU seconds: learning, without compiling."
    )
    return Table("laws", "A few laws: what they reach", columns, rows, (note,))


def _controllers(rows: list[Row]) -> Table:
    """The agent in the middle of each row, not the best."""
    columns = (
        Column("problem", lambda row: title_of(row["problem"]), words=True),
        Column("controller", lambda row: row["controller"], words=True),
        Column("its return", lambda row: number(row["typical_fresh"], 1)),
        Column("seed", lambda row: str(row["typical_seed"])),
    )
    note = "For each row above, the agent with the median return."
    return Table("laws-controllers", "The controllers, as they are printed", columns, rows, (note,))


def _beside(rows: list[Row]) -> Table:
    lines: list[Row] = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [_own(row) for row in rows if row["problem"] == problem]
        found = [{"problem": problem, "what": a, "fresh": b, "source": c} for a, b, c in others()[problem]]
        lines += sorted([*own, *found], key=lambda line: -line["fresh"])
    columns = (
        Column("problem", lambda row: title_of(row["problem"]), words=True),
        Column("controller", lambda row: row["what"], words=True),
        Column("return", lambda row: number(row["fresh"], 1)),
        Column("source", lambda row: row["source"], words=True),
    )
    note = (
        "The sources measure returns in different ways (start states, episodes, choice of the best agent): compare "
        "the figures roughly."
    )
    return Table("laws-others", "The same, with published results", columns, lines, (note,))


def _own(row: Row) -> Row:
    laws, numbers = (f"{row[name]} {word}{'' if row[name] == '1' else 's'}" for name, word in NAMED)
    source = f"mean of {row['agents']} agents, worst {number(row['worst_agent'], 1)}"
    return {"problem": row["problem"], "what": f"spaql: {laws}, {numbers}", "fresh": row["fresh"], "source": source}


# -- A few laws: controllers that fit on a slide, for nine problems ----------------------------------------------------

WORDS = (
    "Trees of one to eight affine laws, searched for on the plant: tests and laws are weighted sums of the observed "
    "variables, with numbers of one or two digits. Seeds were not used for tuning, and all agents count, not only the "
    "best one."
)


def _in_terminal(table: Table, roomy: bool) -> Table | None:
    if table.name == "laws-controllers":
        return None  # too wide; `spaql report` shows it
    return table if roomy else without_columns(table, "agents", "worst 5 %", "CPU")


STUDY = Study(
    "laws",
    experiments=EXPERIMENTS,
    tables=law_tables,
    sections=(Section("laws", "A few laws", WORDS, tables=None),),
    in_terminal=_in_terminal,
)
