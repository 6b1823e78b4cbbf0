"""Laws after few samples: Atlas with laws as its controller, what its model says of them, and others beside it.

One setting for all problems. Plants that are not in the catalog (pc-gym's, a noisy motor): benchmarks/few_samples.py.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean

import numpy as np

from spaql.analysis.tables import NOTHING, Column, Row, Table, shown, span
from spaql.ground.arrays import Array
from spaql.learners.registry import rivals
from spaql.plants.catalog import CATALOG
from spaql_studies.benchmark import (
    CPU_SECONDS,
    FRESH,
    FRESH_IN_PYTHON,
    MODEL_BASED,
    PROBLEM,
    SAMPLES,
    Contender,
    at_checkpoint,
    benchmark,
    compare_roughly,
    figures_of,
    published_of,
    return_of,
    title_of_problem,
)
from spaql_studies.over_samples import few_figure, runs_of
from spaql_studies.parts import Part, Results
from spaql_studies.runs.rows import Run
from spaql_studies.study import Drawing, Extra, Section, Study, terminal_view

QUICK_SAMPLES = 120  # of a quick look, which has one agent of the first kind: a search takes 10 to 60 s


def _task(
    problem: str, samples: tuple[int, ...], label: str = "", controller: str = "laws", known: bool = False,
    noise: float = 0.0,
) -> Contender:  # fmt: skip
    """`known`: reward and end of episodes; `noise`: its standard deviation on all that is observed."""
    names = [axis.name for axis in CATALOG[problem].interface(CATALOG[problem].parameters)[0]] if noise else []
    return Contender(
        problem,
        MODEL_BASED,
        samples,
        (min(QUICK_SAMPLES, samples[0]),),
        (("controller", controller), ("use_known", known)),
        label,
        json.dumps({"observation_noise": dict.fromkeys(names, noise)}) if names else "",
        FRESH if problem in CATALOG else FRESH_IN_PYTHON,
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
TASKS: dict[str, list[Contender]] = {task.problem: [] for task in _ALL}
for _each in _ALL:
    TASKS[_each.problem].append(replace(_each, quick=()) if TASKS[_each.problem] else _each)
ELSEWHERE = tuple(name for name in TASKS if name not in CATALOG)
BOX2D, MUJOCO = Extra("Box2D", "box2d"), Extra("mujoco", "mujoco")
EXTRAS = {name: BOX2D if name.startswith("Lunar") else MUJOCO for name in ELSEWHERE}
FEW = benchmark("few", "laws after few samples", TASKS, extras=EXTRAS)


# -- what laws reach after few samples, and what their model says of them ----------------------------------------------

PACKAGE = "runs published with the package"


def few_tables(results: Results) -> list[Table]:
    """What was reached, and others beside it."""
    rows = [
        _row(task, runs, place)
        for tasks in TASKS.values()
        for task in tasks
        if (runs := runs_of(results, task))
        for place in range(min(len(run.checkpoints) for run in runs))
    ]
    return [_reached(rows, results), _beside(rows, results)] if rows else []


def _row(task: Contender, runs: Sequence[Run], place: int) -> Row:
    """After so many samples."""

    def at(name: str) -> Array:
        return np.array([getattr(run, name)[place] for run in runs])

    leaves, wrong, agents = at("law_leaves"), at("model_returns") - at("checkpoint_returns"), at_checkpoint(runs, place)
    options = dict(task.options)
    row: Row = {"problem": task.problem, "task": task.label}
    row |= {"controller": options["controller"], "known": options["use_known"]}
    row |= figures_of(agents, "samples", "agents", "fresh", "fresh_half_width", "worst_agent")
    return row | {
        "worst_episodes": fmean(at("worst_returns")),
        "model_minus_plant": fmean(wrong),
        "model_most_wrong": float(np.abs(wrong).max()),
        "agents_in_doubt": int((at("doubts") > 0).sum()),
        "tables": int((leaves == 0).sum()),
        "leaves": span(leaves[leaves > 0].tolist()),
        "numbers": span(at("law_numbers")[leaves > 0].tolist()),
        **figures_of(agents, "cpu_seconds"),
    }


def digits_of(value: float) -> int:
    return 1 if abs(value) >= 100.0 else 2


def _reached(rows: list[Row], results: Results) -> Table:
    def name(row: Row) -> str:
        return title_of_problem(row["problem"]) + (f", {row['task']}" if row["task"] else "")

    def laws(row: Row) -> str:
        table = f"table {row['tables']} of {row['agents']}" if row["tables"] else ""
        return "; ".join(text for text in (row["leaves"], table) if text not in ("", NOTHING))

    columns = (
        Column("problem", name, words=True),
        SAMPLES,
        Column.count("agents", "agents"),
        Column.mean("fresh return", "fresh", digits_of),
        Column.number("worst agent", "worst_agent", digits_of),
        Column.number("worst 5 % of episodes", "worst_episodes", digits_of),
        Column("model minus plant", lambda row: f"{row['model_minus_plant']:+,.3g}"),
        Column("at most", lambda row: f"{row['model_most_wrong']:,.3g}"),
        Column("agents in doubt", lambda row: f"{row['agents_in_doubt']} of {row['agents']}"),
        Column("laws", laws),
        Column.count("numbers", "numbers"),
        CPU_SECONDS,
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


def _beside(rows: list[Row], results: Results) -> Table:
    lines: list[Row] = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [_own(row) for row in rows if row["problem"] == problem]
        near = rivals_of(results, problem, [line["samples"] for line in own])
        lines += sorted([*own, *near, *published_of(problem)], key=lambda line: float(line["samples"]))
    columns = (
        PROBLEM,
        SAMPLES,
        Column.text("controller", "who"),
        Column("return", lambda row: return_of(row, digits_of)),
        Column.text("how", "how"),
        Column.text("source", "source"),
    )
    note = compare_roughly("start states, noise, episodes")
    return Table("few-others", "The same, with published results", columns, lines, (note,))


def _own(row: Row) -> Row:
    worst = shown(row["worst_agent"], digits_of)
    how = f"mean of {row['agents']} agents, worst {worst}" if row["agents"] > 1 else "one agent"
    who = f"spaql: {row['task']}" if row["task"] else "spaql"
    return _line(row["problem"], who, row["samples"], row["fresh"], how, "the table above")


def _line(problem: str, who: str, samples: float, fresh: float, how: str, source: str) -> Row:
    line = {"problem": problem, "who": who, "samples": samples, "fresh": fresh, "most": fresh}
    return line | {"how": how, "source": source}


def rivals_of(results: Results, problem: str, samples: Sequence[float]) -> list[Row]:
    """Rivals at the first of their checkpoints that is not before any of these numbers of samples."""
    lines: list[Row] = []
    source = PACKAGE if Part("rivals", problem) in results.published else "computed here"
    for name in (card.name for card in rivals() if not card.in_paper):
        runs = results.runs("rivals", problem, name)
        length = min((len(run.checkpoints) for run in runs), default=0)
        at = np.array([run.checkpoints[:length] for run in runs], float).mean(axis=0) if length else np.zeros(0)
        for place in sorted({int(np.searchsorted(at, most)) for most in samples} - {len(at)}):
            fresh = fmean(float(run.checkpoint_returns[place]) for run in runs)
            lines.append(_line(problem, name, float(at[place]), fresh, f"mean of {len(runs)} agents", source))
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
