"""Beyond the paper: Atlas against SPAQL and common algorithms, over all samples; and Atlas without its parts."""

from collections.abc import Sequence
from functools import partial
from statistics import fmean, median

import numpy as np

from spaql.learners.registry import CARDS, learners
from spaql.plants.catalog import CATALOG
from spaql_studies.benchmark import MODEL_BASED, Contender, Options, benchmark, columns_of, figures_of, groups_of
from spaql_studies.over_samples import Line, contest_of, over_samples
from spaql_studies.parts import TITLES
from spaql_studies.runs.rows import Run
from spaql_studies.study import Drawing, Part, Published, Results, Section, Study, terminal_view
from spaql_studies.tables import NOTHING, Column, Row, Table, half_width, spread

# -- as data -----------------------------------------------------------------------------------------------------------

QUICK_SHARE = 0.1  # of the samples: a quick look goes only so far
MOST_SEEDS = {"SAC": 10}  # a run of SAC takes minutes
TABLE: Options = (("controller", "table"),)  # what this study is about; laws: the study few


def _first(samples: Sequence[int]) -> tuple[int, ...]:
    """Those of a quick look: up to its share of the last, the first in any case."""
    return tuple(at for at in samples if at <= max(QUICK_SHARE * samples[-1], samples[0]))


def _contest(
    problem: str, atlas: tuple[int, ...], leaves: int, rivals: dict[str, tuple[int, ...]], spaql: tuple[int, ...],
    oblique: bool = False,
) -> list[Contender]:  # fmt: skip
    """Where Atlas is looked at, how small its tree shall be, and who else takes part, looked at where."""
    entry = CATALOG[problem]  # the paper's protocol: as many evaluation rollouts as there, and its xi where it has one
    keeping = [card.name for card in learners() if card.keeps_best and card.in_paper]
    scales: dict[str, Options] = {name: (("xi", (entry.xi or entry.study_xi)[name]),) for name in keeping}
    return [
        Contender(problem, MODEL_BASED, atlas, _first(atlas), TABLE, leaves=leaves, oblique=oblique),
        *(Contender(problem, name, spaql, _first(spaql), xi, rollouts=entry.rollouts) for name, xi in scales.items()),
        *(Contender(problem, name, at, _first(at), most_seeds=MOST_SEEDS.get(name)) for name, at in rivals.items()),
    ]


_SPAQL = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000)
_DQN = (1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000, 20_000, 30_000, 40_000, 50_000)
_PPO = (1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)
_SLOW_DQN = (1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)
_SAC = (500, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000)
_SLOW_SAC = (1_000, 2_000, 3_000, 5_000, 10_000, 15_000, 20_000)
_CONTESTS = (
    _contest("pendulum", (500, 1_000, 2_000, 5_000, 20_000), 64, {"SAC": _SAC}, _SPAQL, oblique=True),
    _contest("cartpole", (500, 1_000, 2_000), 8, {"DQN": _DQN, "PPO": _PPO}, _SPAQL),
    _contest("cartpole-500", (1_000, 2_000, 5_000), 8, {"DQN": _DQN, "PPO": _PPO}, _SPAQL),
    _contest("mountain-car", (2_000, 5_000, 10_000), 8, {"DQN": (*_SLOW_DQN, 120_000)}, _SPAQL),
    _contest("mountain-car-continuous", (1_000, 2_000, 5_000), 16, {"SAC": _SLOW_SAC}, _SPAQL[3:]),
    _contest("acrobot", (5_000, 20_000), 8, {"DQN": _SLOW_DQN}, _SPAQL[3:]),
)
CONTESTS = {tasks[0].problem: tasks for tasks in _CONTESTS}
ABLATED = ("pendulum", "cartpole-500")
ABLATION_SAMPLES = 5_000
ABLATIONS: dict[str, Options] = {
    "as it is": (),
    "no interpolation": (("neighbours", 1),),
    "one affine model": (("model_cells", 1),),
    "250 cells": (("cells", 250),),
    "500 cells": (("cells", 500),),
    "no exploring episodes": (("explore", False),),
    "no holding in planning": (("hold", 1),),
    "three levels of torque": (("levels", 3),),
}
ABLATION = Part("atlas", "ablation")
ABLATION_TASKS = [
    Contender(problem, MODEL_BASED, (ABLATION_SAMPLES,), (int(QUICK_SHARE * ABLATION_SAMPLES),), TABLE + options, label)
    for problem in ABLATED
    for label, options in ABLATIONS.items()
    if problem == "pendulum" or "levels" not in dict(options)  # a finite set of actions has no levels
]


def _of_rivals(rival: bool) -> dict[str, list[Contender]]:
    return {
        problem: [task for task in tasks if CARDS[task.algorithm].rival == rival] for problem, tasks in CONTESTS.items()
    }


ATLAS = benchmark(
    "atlas",
    "the table of Atlas over samples",
    _of_rivals(False) | {ABLATION.problem: ABLATION_TASKS},
    other_parts={ABLATION.problem: "Atlas with single parts removed"},
    along=("few",),
)
BESIDE = ("atlas", "results", "few")
RIVALS = benchmark(
    "rivals",
    "common algorithms for comparison",
    _of_rivals(True),
    published=Published("stable_baselines3", "the rivals need", "rivals as published", BESIDE),
)


# -- everybody at the same numbers of samples --------------------------------------------------------------------------

SHOWN = (1_000, 2_000, 5_000, 10_000, 100_000, 1_000_000)  # and the last of each: more rows would hide what matters


def atlas_tables(results: Results) -> list[Table]:
    """One table per problem there are runs for, and the ablation."""
    tables = [*(_contest_table(results, problem) for problem in CONTESTS), _ablation_table(results)]
    return [table for table in tables if table is not None]


def _digits(seconds: float) -> int:
    return 1 if seconds >= 1.0 else 2


REACHED = columns_of("samples agents fresh worst_agent")
CPU_SECONDS = Column.number("CPU s", "cpu_seconds", _digits)
TREES = (
    Column("leaves of the tree", lambda row: NOTHING if row["tree_leaves"] is None else f"{row['tree_leaves']:g}"),
    Column("its fresh return", lambda row: spread(row["tree_fresh"], row["tree_half_width"], 1)),
    Column.number("its worst agent", "tree_worst_agent", 1),
    Column.number("its CPU s", "tree_cpu_seconds", _digits),
)


def _contest_table(results: Results, problem: str) -> Table | None:
    lines = contest_of(results, problem, CONTESTS[problem])
    if not lines:
        return None
    rows = [
        _row(problem, line, place)
        for line in lines
        for place, at in enumerate(line.nominal)
        if place == len(line.nominal) - 1 or (line.fresh and at in SHOWN)
    ]
    trees = TREES if any(row["tree_leaves"] is not None for row in rows) else ()
    columns = (Column.text("algorithm", "algorithm"), *REACHED, CPU_SECONDS, *trees)
    title = f"{TITLES[problem]}: fresh return by samples"
    return Table(f"atlas-{problem}", title, columns, rows, _notes(results, problem, lines))


def _row(problem: str, line: Line, place: int) -> Row:
    row: Row = {"problem": problem, "algorithm": line.algorithm, "samples": float(line.samples[place])}
    returns, trees = (values[:, place].tolist() for values in (line.returns, line.tree_returns))
    row |= {"agents": len(returns), "fresh": fmean(returns), "fresh_half_width": half_width(returns)}
    row |= {"worst_agent": min(returns), "cpu_seconds": fmean(line.seconds[:, place])}
    names = ("tree_leaves", "tree_fresh", "tree_half_width", "tree_worst_agent", "tree_cpu_seconds")
    if not np.isfinite(trees).all():
        return row | dict.fromkeys(names)
    leaves, spent = median(line.tree_leaves[:, place].tolist()), fmean(line.tree_seconds[:, place])
    return row | dict(zip(names, (leaves, fmean(trees), half_width(trees), min(trees), spent), strict=True))


def _notes(results: Results, problem: str, lines: list[Line]) -> tuple[str, ...]:
    episodes = max(run.episodes for run in results.runs("atlas", problem))
    notes = [
        "All samples are counted, those of evaluation rollouts too (SPAQL and SPAQL-TS need them to choose an agent). "
        f"Every agent is then run on {episodes:,} fresh episodes, which are not counted. ± is half of Student's 95 % "
        "interval over the agents. CPU seconds are those of learning, without compiling and without the fresh "
        "episodes.",
    ]
    if any(CARDS[line.algorithm].model_based for line in lines):
        notes.append(
            "The tree is searched in the learned model, without further samples; its CPU seconds come on top. "
            "Leaves: the median."
        )
        if any(task.oblique for task in CONTESTS[problem]):
            notes.append("Its tests may be weighted sums of two variables.")
    if Part("rivals", problem) in results.published:
        notes.append(
            "SAC, DQN and PPO: the runs published with the package (made by `make rivals`), not computed here."
        )
    if any(not line.fresh for line in lines):
        notes.append("TRPO: wall-clock seconds, with its fresh episodes.")
    return tuple(notes)


# -- Atlas without its parts -------------------------------------------------------------------------------------------


def _ablation_table(results: Results) -> Table | None:
    groups = list(groups_of(results, {ABLATION.problem: ABLATION_TASKS}, ABLATION.experiment))
    if not groups:
        return None
    whole = {task.problem: runs for _, task, runs in groups if task.options == TABLE}
    rows = [_ablated(task, runs, whole.get(task.problem, [])) for _, task, runs in groups]
    variant, difference = Column.text("Atlas", "variant"), Column.mean("difference", "difference", 1)
    columns = (*columns_of("problem"), variant, *REACHED, difference, CPU_SECONDS)
    note = "Difference: to the complete Atlas on the same problem, with Welch's 95 % interval. One part is removed "
    note += "at a time."
    return Table(str(ABLATION), "What each part of Atlas contributes", columns, rows, (note,))


def _ablated(task: Contender, runs: list[Run], whole: list[Run]) -> Row:
    """`whole`: the runs with all parts."""
    from spaql.analysis.statistics import welch

    row: Row = {"problem": task.problem, "variant": task.label, "options": runs[0].options}
    row |= {"samples": fmean(run.train_samples for run in runs)}
    row |= figures_of(runs, "agents", "fresh", "fresh_half_width", "worst_agent")
    row |= {"difference": None, "difference_half_width": None} | figures_of(runs, "cpu_seconds")
    if task.options != TABLE and min(len(runs), len(whole)) > 1:
        test = welch([run.fresh for run in runs], [run.fresh for run in whole])
        row |= {"difference": test.difference, "difference_half_width": (test.interval[1] - test.interval[0]) / 2}
    return row


WORDS = (
    "Atlas keeps every sample, learns a model on cells of the state space, plans in it and returns a table or a "
    "small tree. Here it is compared with the paper’s algorithms and with common choices from Stable-Baselines3, over "
    "all samples, on seeds that were not used for tuning."
)


def _drawing(problem: str) -> Drawing:
    draw = partial(over_samples, problem=problem, tasks=CONTESTS[problem])
    return Drawing(f"atlas-{problem}", f"Atlas on {TITLES[problem]}", draw, 3.4)


STUDY = Study(
    "atlas",
    experiments=(ATLAS, RIVALS),
    tables=atlas_tables,
    sections=(Section("beyond", "Beyond the paper: Atlas", WORDS, tables=None, figures=True),),
    figures=tuple(_drawing(problem) for problem in CONTESTS),
    in_terminal=terminal_view(narrow=("agents", "its")),
)
