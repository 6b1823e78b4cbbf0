"""The output of `spaql train`."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from spaql.cli.train_runs import Run, best_run
from spaql.plants.parameters import plain
from spaql.plants.parameters import told as parameters_told
from spaql.policy.evaluation import Evaluation
from spaql.studies.paper.published import published


def show_runs(runs: list[Run], seconds: float, folder: Path | None, as_json: bool) -> None:
    """The table of all agents, their mean, and the paper's figure beside it."""
    agent, rows = runs[0].agent, [run.row() for run in runs]
    paper = None if agent.problem.parameters else published(agent.problem.name.replace("-", "_"), agent.algorithm)
    steps = sum(row["train_samples"] + row["eval_samples"] for row in rows)
    if as_json:
        entries: dict[str, Any] = {"problem": agent.problem.name, "algorithm": agent.algorithm}
        entries |= {"options": agent.options, "paper": paper}
        entries |= {"parameters": agent.problem.parameters} if agent.problem.parameters else {}
        entries |= {"map_samples": agent.problem.map_samples} if agent.problem.map_samples else {}
        notes = {str(run.agent.seed): list(run.agent.notes) for run in runs if run.agent.notes}
        entries |= {"warnings": notes} if notes else {}
        strict = [row | ({"best_seen": None} if math.isnan(row["best_seen"]) else {}) for row in rows]  # no NaN
        entries |= {"seconds": seconds, "steps": steps, "agents": strict, "out": str(folder) if folder else None}
        print(json.dumps(entries, default=plain))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    title = f"{agent.algorithm} on {agent.problem.name}"
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    for heading in ("seed", "best seen", "fresh", "arms", "training", "evaluation", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        low, high = row["fresh_ci95"] or (0.0, 0.0)
        earned = "-" if row["fresh"] is None else _number(row["fresh"], (high - low) / 2)
        size = "-" if row["arms"] is None else f"{row['arms']:,}"
        counts = _steps(row["train_samples"]), _steps(row["eval_samples"])
        table.add_row(str(row["seed"]), _number(row["best_seen"]), earned, size, *counts, f"{row['seconds']:.1f} s")
    table.add_section()
    best, fresh, arms = (
        np.array([row[name] for row in rows if row[name] is not None]) for name in ("best_seen", "fresh", "arms")
    )
    counted = f"{arms.mean():,.0f}" if len(arms) else "-"
    table.add_row("mean", _spread(best), _spread(fresh) if len(fresh) else "-", counted, "", "", f"{seconds:.1f} s")
    if paper is not None:
        theirs = published(agent.problem.name.replace("-", "_"), agent.algorithm, "arms")
        table.add_row("paper", _number(*paper), "-", f"{theirs[0]:,.0f}" if theirs else "")
    console = Console()
    console.print(table)
    if agent.problem.parameters:
        console.print(f"{agent.problem.name} with {parameters_told(agent.problem.parameters)}", highlight=False)
    seen = f"the best of {rows[0]['iterations']} noisy averages, as in the paper"
    if not agent.card.keeps_best:
        seen = "of the agent as it is in the end"
    if not agent.card.keeps_best and not agent.card.judged and not rows[0]["eval_samples"]:
        seen = "the last training episode, its exploration included"
    if agent.card.simulator:
        seen = "in the episodes that confirmed the laws"
    judged = (
        "Fresh: the kept agent on new rollouts. "
        "± is half the 95 % interval, of the rollouts in the rows of the agents, of the agents in the row of the mean."
    )
    text = f"{steps:,} steps in {seconds:.1f} s. Best seen: {seen}. {judged if len(fresh) else ''}"
    console.print(text.rstrip(), highlight=False)
    if agent.problem.map_samples:
        console.print(
            f"{agent.problem.map_samples:,} of each agent's training steps were random ones before training: "
            "they measured how far the variables without bounds go.",
            highlight=False,
        )
    kept = best_run(runs)
    if kept.fresh is not None:
        console.print(f"Fresh rollouts of seed {kept.agent.seed}:", highlight=False)
        console.print("\n".join(kept.fresh.lines(first=1)), highlight=False, markup=False, soft_wrap=True)
    if agent.card.simulator or (kept.fresh is not None and kept.agent.policy().has_laws):  # a few lines
        console.print(kept.agent.policy().to_text(share=False), highlight=False, markup=False)
    for run in runs:
        for note in run.agent.notes:
            console.print(f"Warning, seed {run.agent.seed}: {note}.", highlight=False)
    if folder is not None:
        chosen = best_run(runs).agent.seed
        how = "the best seen" if agent.card.judged else "the best in training"
        console.print(f"agents and learning curve: {folder}/ (agent.spaql is seed {chosen}, {how})", highlight=False)


def _steps(count: int) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return str(count)


def _spread(values: Any) -> str:
    if len(values) < 2:
        return _number(values.mean())
    low, high = Evaluation(values, 0).ci95
    return _number(values.mean(), (high - low) / 2)


def _number(value: float, half: float | None = None) -> str:
    if math.isnan(value):
        return "-"
    digits = 2 if abs(value) < 1000 else 1
    return f"{value:.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")
