"""What laws reach after few samples, what their model says of them, and others over the same samples."""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean
from typing import Any

import numpy as np

from spaql.analysis.numbers import NOTHING, number, span, spread
from spaql.analysis.tables import Column, Row, Table, half_width
from spaql.ground.arrays import Array
from spaql.learners.registry import learners, rivals
from spaql.plants.catalog import CATALOG
from spaql.runs.rows import Run
from spaql.runs.spec import Option, Spec
from spaql.studies.atlas.plan import fresh_of, seeds_of
from spaql.studies.laws.study import FRESH_IN_PYTHON, title_of
from spaql.studies.parts import Effort, Part, Results
from spaql.studies.study import Experiment, Extra, Finished

# -- laws after few samples, as data: Atlas with laws as its controller on ten problems, and after how many samples ----
#
# Seeds from 1000 on; whatever was tuned was tuned on seeds below 100. One setting for all problems. Plants that are not
# in the catalog (pc-gym's, a noisy motor): benchmarks/few_samples.py.

QUICK_SAMPLES = 120  # of a quick look, which has one agent of the first kind: a search takes 10 to 60 s
MODEL_BASED = next(card.name for card in learners() if card.model_based)


@dataclass(frozen=True)
class FewTask:
    """How a problem is learned, and after how many samples it is looked at."""

    samples: tuple[int, ...]
    label: str = ""  # what is special about it, beside other tasks on the problem
    controller: str = "laws"
    known: bool = False  # reward and end of episodes are known
    noise: float = 0.0  # standard deviation of the noise on all that is observed

    @property
    def options(self) -> tuple[tuple[str, Option], ...]:
        return (("controller", self.controller), ("use_known", self.known))

    def parameters(self, problem: str) -> str:
        """Of the problem, as JSON."""
        names = [axis.name for axis in CATALOG[problem].interface(CATALOG[problem].parameters)[0]] if self.noise else []
        return json.dumps({"observation_noise": dict.fromkeys(names, self.noise)}) if names else ""

    def owns(self, run: Run) -> bool:
        """Whether a run on the problem is one of this task."""
        return run.options == dict(self.options) and run.parameters == self.parameters(run.problem)


TASKS: dict[str, tuple[FewTask, ...]] = {
    "cartpole-swing-up": (
        FewTask((280, 320), "reward known", known=True),
        FewTask((400,), "reward learned"),
        FewTask((400,), "noise 0.01", noise=0.01),
    ),
    "pendulum": (FewTask((300, 1_000), "laws"), FewTask((1_000, 5_000), "laws or table", "best")),
    "cartpole-500": (FewTask((300,)),),
    "mountain-car": (FewTask((5_000,), controller="best"),),
    "mountain-car-continuous": (FewTask((3_000,), controller="best"),),
    "acrobot": (FewTask((10_000,), controller="best"),),
    "InvertedPendulum-v5": (FewTask((200,)),),
    "InvertedDoublePendulum-v5": (FewTask((5_000,)),),
    "Reacher-v5": (FewTask((10_000,)),),
    "LunarLanderContinuous-v3": (FewTask((50_000,)),),
}
COMPILED = tuple(name for name in TASKS if name in CATALOG)
ELSEWHERE = tuple(name for name in TASKS if name not in CATALOG)


def few_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """All tasks on a problem."""
    fresh = fresh_of(effort) if problem in COMPILED else FRESH_IN_PYTHON
    return [
        Spec(
            problem, MODEL_BASED, seed, 0, 0, fresh, task.options,
            (min(QUICK_SAMPLES, task.samples[0]),) if effort.quick else task.samples,
            parameters=task.parameters(problem),
        )
        for task in TASKS[problem][: 1 if effort.quick else None]
        for seed in seeds_of(effort, 1 if effort.quick and effort.seeds is None else None)
    ]  # fmt: skip


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    return f"{span(int(run.checkpoints[-1]) for run in runs)} samples", NOTHING


TITLE = "laws after few samples"
BOX2D, MUJOCO = Extra("Box2D", "box2d"), Extra("mujoco", "mujoco")
FEW = Experiment(
    "few",
    TITLE,
    COMPILED,
    few_specs,
    other_parts={name: f"{name}: {TITLE}" for name in ELSEWHERE},
    extras={name: BOX2D if name.startswith("Lunar") else MUJOCO for name in ELSEWHERE},
    lengths=_lengths,
)


# -- what laws reach after few samples, what their model says of them, and others over the same samples ----------------

LARGE = 100.0  # returns beyond have one digit, others two
PACKAGE = "runs published with the package"


@functools.cache
def others() -> Any:
    """By problem: who, after how many samples, with which return (a number, two ends, or none), how, and the source."""
    return json.loads(files("spaql.studies.few").joinpath("others.json").read_text("utf-8"))


def few_tables(results: Results) -> list[Table]:
    """What was reached, and others beside it."""
    rows = [row for problem in TASKS for row in rows_of(results, problem)]
    return [_reached(rows, results), _beside(rows, results)] if rows else []


def rows_of(results: Results, problem: str) -> list[Row]:
    """One row for each task and checkpoint with runs."""
    groups = [(task, runs_of(results, problem, task)) for task in TASKS[problem]]
    return [
        _row(problem, task, runs, place)
        for task, runs in groups
        if runs
        for place in range(min(len(run.checkpoints) for run in runs))
    ]


def runs_of(results: Results, problem: str, task: FewTask) -> list[Run]:
    return [run for run in results.runs("few", problem) if task.owns(run)]


def _row(problem: str, task: FewTask, runs: Sequence[Run], place: int) -> Row:
    def at(name: str) -> Array:
        return np.array([getattr(run, name)[place] for run in runs])

    fresh, leaves, wrong = at("checkpoint_returns"), at("law_leaves"), at("model_returns") - at("checkpoint_returns")
    return {
        "problem": problem,
        "task": task.label,
        "controller": task.controller,
        "known": task.known,
        "samples": fmean(at("checkpoints").tolist()),
        "agents": len(runs),
        "fresh": fmean(fresh),
        "fresh_half_width": half_width(fresh.tolist()),
        "worst_agent": float(fresh.min()),
        "worst_episodes": fmean(at("worst_returns")),
        "model_minus_plant": fmean(wrong),
        "model_most_wrong": float(np.abs(wrong).max()),
        "agents_in_doubt": int((at("doubts") > 0).sum()),
        "tables": int((leaves == 0).sum()),
        "leaves": span(leaves[leaves > 0].tolist()),
        "numbers": span(at("law_numbers")[leaves > 0].tolist()),
        "cpu_seconds": fmean(at("cpu_curve")),
    }


def name_of(row: Row) -> str:
    return title_of(row["problem"]) + (f", {row['task']}" if row["task"] else "")


def told(value: float | None) -> str:
    return number(value, 1 if value is None or abs(value) >= LARGE else 2)


def _reached(rows: list[Row], results: Results) -> Table:
    def returns(row: Row) -> str:
        return spread(row["fresh"], row["fresh_half_width"], 1 if abs(row["fresh"]) >= LARGE else 2)

    def laws(row: Row) -> str:
        table = f"table {row['tables']} of {row['agents']}" if row["tables"] else ""
        return "; ".join(text for text in (row["leaves"], table) if text not in ("", NOTHING))

    columns = (
        Column("problem", name_of, words=True),
        Column("samples", lambda row: number(row["samples"], 0)),
        Column("agents", lambda row: str(row["agents"])),
        Column("fresh return", returns),
        Column("worst agent", lambda row: told(row["worst_agent"])),
        Column("worst 5 % of episodes", lambda row: told(row["worst_episodes"])),
        Column("model minus plant", lambda row: f"{row['model_minus_plant']:+,.3g}"),
        Column("at most", lambda row: f"{row['model_most_wrong']:,.3g}"),
        Column("agents in doubt", lambda row: f"{row['agents_in_doubt']} of {row['agents']}"),
        Column("laws", laws),
        Column("numbers", lambda row: row["numbers"]),
        Column("CPU s", lambda row: number(row["cpu_seconds"], 0)),
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


# -- others ------------------------------------------------------------------------------------------------------------


def _beside(rows: list[Row], results: Results) -> Table:
    lines: list[Row] = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [_own(row) for row in rows if row["problem"] == problem]
        near = rivals_of(results, problem, [line["samples"] for line in own])
        lines += sorted([*own, *near, *published_of(problem)], key=lambda line: float(line["samples"]))
    columns = (
        Column("problem", lambda row: title_of(row["problem"]), words=True),
        Column("samples", lambda row: number(row["samples"], 0)),
        Column("controller", lambda row: row["who"], words=True),
        Column("return", _return_of),
        Column("how", lambda row: row["how"], words=True),
        Column("source", lambda row: row["source"], words=True),
    )
    note = (
        "The sources measure returns in different ways (start states, noise, episodes, choice of the best agent): "
        "compare the figures roughly."
    )
    return Table("few-others", "The same, with published results", columns, lines, (note,))


def _own(row: Row) -> Row:
    how = f"mean of {row['agents']} agents, worst {told(row['worst_agent'])}" if row["agents"] > 1 else "one agent"
    who = f"spaql: {row['task']}" if row["task"] else "spaql"
    line = {"problem": row["problem"], "who": who, "samples": row["samples"], "fresh": row["fresh"]}
    return line | {"most": row["fresh"], "how": how, "source": "the table above"}


def published_of(problem: str) -> list[Row]:
    """What others have published; `fresh` and `most` are the ends of their return, or None."""
    lines: list[Row] = []
    for who, samples, returns, how, source in others()[problem]:
        low, high = returns if isinstance(returns, list) else (returns, returns)
        lines.append(
            {"problem": problem, "who": who, "samples": samples, "fresh": low, "most": high, "how": how}
            | {"source": source}
        )
    return lines


def rivals_of(results: Results, problem: str, samples: Sequence[float]) -> list[Row]:
    """Rivals at the first of their checkpoints that is not before any of these numbers of samples."""
    lines: list[Row] = []
    for name in (card.name for card in rivals() if not card.in_paper):
        runs = results.runs("rivals", problem, name)
        length = min((len(run.checkpoints) for run in runs), default=0)
        at = np.array([run.checkpoints[:length] for run in runs], float).mean(axis=0) if length else np.zeros(0)
        for place in sorted({int(np.searchsorted(at, most)) for most in samples} - {len(at)}):
            fresh = fmean(float(run.checkpoint_returns[place]) for run in runs)
            line = {"problem": problem, "who": name, "samples": float(at[place]), "fresh": fresh, "most": fresh}
            source = PACKAGE if Part("rivals", problem) in results.published else "computed here"
            lines.append(line | {"how": f"mean of {len(runs)} agents", "source": source})
    return lines


def _return_of(row: Row) -> str:
    if row["fresh"] == row["most"]:
        return told(row["fresh"])
    return f"{told(row['fresh'])} to {told(row['most'])}"
