"""Laws after few samples: Atlas with laws as its controller, what its model says of them, and others beside it.

One setting for all problems. Plants that are not in the catalog (pc-gym's, a noisy motor): benchmarks/few_samples.py.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean

import numpy as np

from spaql.plants.catalog import CATALOG
from spaql_studies import benchmark
from spaql_studies.over_samples import RIVALS, few_figure
from spaql_studies.study import Drawing, Extra, Part, Results, Section, Study, terminal_view
from spaql_studies.tables import NOTHING, Column, Row, Table, shown, span

QUICK_SAMPLES = 120  # of a quick look, which has one agent of the first kind: a search takes 10 to 60 s


def _task(
    problem: str, samples: tuple[int, ...], label: str = "", controller: str = "laws", known: bool = False,
    noise: float = 0.0,
) -> benchmark.Contender:  # fmt: skip
    """`known`: reward and end of episodes; `noise`: its standard deviation on all that is observed."""
    names = [axis.name for axis in CATALOG[problem].interface(CATALOG[problem].parameters)[0]] if noise else []
    return benchmark.Contender(
        problem,
        benchmark.MODEL_BASED,
        samples,
        (min(QUICK_SAMPLES, samples[0]),),
        (("controller", controller), ("use_known", known)),
        label,
        json.dumps({"observation_noise": dict.fromkeys(names, noise)}) if names else "",
        benchmark.FRESH if problem in CATALOG else benchmark.FRESH_IN_PYTHON,
        quick_seeds=1,
    )


_ALL = (
    _task("cartpole-swing-up", (280, 320), "reward known", known=True),
    _task("cartpole-swing-up", (400,), "reward learned"),
    _task("cartpole-swing-up", (400,), "noise 0.01", noise=0.01),
    _task("pendulum", (300, 1_000), "laws"),
    _task("pendulum", (1_000, 5_000), "laws or table", "best"),
    _task("cartpole-500", (300,)),
    _task("mountain-car", (5_000,), controller="best"),
    _task("mountain-car-continuous", (3_000,), controller="best"),
    _task("acrobot", (10_000,), controller="best"),
    _task("InvertedPendulum-v5", (200,)),
    _task("InvertedDoublePendulum-v5", (5_000,)),
    _task("Reacher-v5", (10_000,)),
    _task("LunarLanderContinuous-v3", (50_000,)),
)
TASKS: dict[str, list[benchmark.Contender]] = {task.problem: [] for task in _ALL}
for _each in _ALL:
    TASKS[_each.problem].append(replace(_each, quick=()) if TASKS[_each.problem] else _each)
ELSEWHERE = tuple(name for name in TASKS if name not in CATALOG)
BOX2D, MUJOCO = Extra("Box2D", "box2d"), Extra("mujoco", "mujoco")
EXTRAS = {name: BOX2D if name.startswith("Lunar") else MUJOCO for name in ELSEWHERE}
FEW = benchmark.benchmark("few", "laws after few samples", TASKS, extras=EXTRAS)


# -- what laws reach after few samples, and what their model says of them ----------------------------------------------

ROW = (
    "samples", "agents", "fresh", "fresh_half_width", "worst_agent", "worst_episodes", "model_minus_plant",
    "model_most_wrong", "agents_in_doubt", "tables", "leaves", "numbers", "cpu_seconds",
)  # fmt: skip


def few_tables(results: Results) -> list[Table]:
    """What was reached, and others beside it."""
    rows: list[Row] = [
        {"problem": problem, "task": task.label}
        | {"controller": dict(task.options)["controller"], "known": dict(task.options)["use_known"]}
        | benchmark.figures_of(benchmark.at_checkpoint(runs, place), *ROW)
        for problem, task, runs in benchmark.groups_of(results, TASKS, "few")
        for place in range(min(len(run.checkpoints) for run in runs))
    ]
    if not rows:
        return []
    names, note = "problem samples who return how source", "start states, noise, episodes"
    beside = benchmark.beside_others("few-others", names, rows, partial(_beside, results), digits_of, note)
    return [_reached(rows, results), beside]


def digits_of(value: float) -> int:
    return 1 if abs(value) >= 100.0 else 2


def _reached(rows: list[Row], results: Results) -> Table:
    def name(row: Row) -> str:
        return benchmark.title_of_problem(row["problem"]) + (f", {row['task']}" if row["task"] else "")

    def laws(row: Row) -> str:
        table = f"table {row['tables']} of {row['agents']}" if row["tables"] else ""
        return "; ".join(text for text in (row["leaves"], table) if text not in ("", NOTHING))

    columns = (
        Column("problem", name, words=True),
        *benchmark.columns_of("samples agents fresh worst_agent worst_episodes", digits_of),
        Column("model minus plant", lambda row: f"{row['model_minus_plant']:+,.3g}"),
        Column("at most", lambda row: f"{row['model_most_wrong']:,.3g}"),
        Column("agents in doubt", lambda row: f"{row['agents_in_doubt']} of {row['agents']}"),
        Column("laws", laws),
        *benchmark.columns_of("numbers cpu_seconds"),
    )
    runs = [run for problem in TASKS for run in results.runs("few", problem)]
    notes = (
        "Reward and end of episodes are learned, unless the row says that they are known. All samples are counted, "
        f"except the {span(run.episodes for run in runs)} fresh episodes on which each agent is evaluated. "
        "± is half of Student's 95 % interval over the agents.",
        "Model minus plant: the return that the agent's own model predicts (`trust().mean`) less its fresh return; at "
        "most: the largest such difference of one agent. Agents in doubt: those whose `trust().doubts` is not empty. "
        "Numbers: how many the printed controller contains. CPU seconds: learning and the last search.",
    )
    return Table("few", "Laws after few samples", columns, rows, notes)


def _beside(results: Results, problem: str, rows: list[Row]) -> list[Row]:
    """Ours, rivals and published ones, by samples."""
    lines = []
    for row in rows:
        how = f"mean of {row['agents']} agents, worst {shown(row['worst_agent'], digits_of)}"
        who = f"spaql: {row['task']}" if row["task"] else "spaql"
        how = how if row["agents"] > 1 else "one agent"
        lines.append(benchmark.line_of(problem, who, row["samples"], row["fresh"], how, "the table above"))
    near = rivals_of(results, problem, [row["samples"] for row in rows])
    return sorted([*lines, *near, *benchmark.published_of(problem)], key=lambda line: float(line["samples"]))


def rivals_of(results: Results, problem: str, samples: Sequence[float]) -> list[Row]:
    """Rivals at the first of their checkpoints that is not before any of these numbers of samples."""
    lines: list[Row] = []
    published = Part("rivals", problem) in results.published
    source = "runs published with the package" if published else "computed here"
    for name in RIVALS:
        runs = results.runs("rivals", problem, name)
        length = min((len(run.checkpoints) for run in runs), default=0)
        at = np.array([run.checkpoints[:length] for run in runs], float).mean(axis=0) if length else np.zeros(0)
        for place in sorted({int(np.searchsorted(at, most)) for most in samples} - {len(at)}):
            fresh, how = fmean(float(run.checkpoint_returns[place]) for run in runs), f"mean of {len(runs)} agents"
            lines.append(benchmark.line_of(problem, name, float(at[place]), fresh, how, source))
    return lines


WORDS = (
    "Atlas with one to three affine laws as its controller, found in a Gaussian-process model of a few hundred or "
    "thousand samples; with one setting for all problems, on seeds that were not used for tuning. All agents count, "
    "not only the best one. For comparison there are published results."
)
TITLE = "Laws after few samples"
STUDY = Study(
    "few",
    experiments=(FEW,),
    tables=few_tables,
    sections=(Section("few", TITLE, WORDS, tables=None, figures=True),),
    figures=(Drawing("few", TITLE, partial(few_figure, tasks=TASKS), 5.0),),
    in_terminal=terminal_view(("few-others",), ("agents", "worst 5 %", "at most", "numbers")),
)
