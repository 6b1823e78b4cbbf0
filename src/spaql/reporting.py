"""What `spaql train` tells and keeps."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spaql.errors import SpaqlError
from spaql.experiments.paper import published
from spaql.learners.agent import Agent
from spaql.plants.parameters import plain
from spaql.plants.parameters import told as parameters_told
from spaql.training.history import Evaluation, History


@dataclass
class Run:
    """One trained agent."""

    agent: Agent
    history: History
    fresh: Evaluation | None = None  # None: not evaluated
    hurried: bool = False  # Ctrl-C was pressed twice

    def row(self) -> dict[str, Any]:
        last = len(self.history) - 1
        row: dict[str, Any] = {"seed": self.agent.seed, "iterations": len(self.history)}
        planned = self.fresh is not None or self.agent.algorithm != "Atlas"  # to count its cells, Atlas would have to plan
        row["arms"] = self.agent.arms if planned else None
        row["best_seen"] = float(self.history.best_seen[last]) if last >= 0 else math.nan
        row["fresh"], row["fresh_ci95"] = (None, None) if self.fresh is None else (self.fresh.mean, list(self.fresh.ci95))
        row["train_samples"] = int(self.history.train_samples[last]) if last >= 0 else 0
        row["eval_samples"] = int(self.history.eval_samples[last]) if last >= 0 else 0
        row["seconds"] = self.history.seconds
        return row


def writable(folder: Path) -> None:
    """Find out before training whether the results can be kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise SpaqlError(f"cannot write to {folder}: {error.strerror or error}") from error


def save_runs(runs: list[Run], folder: Path) -> None:
    """Every agent, the one with the best average seen once more as agent.spaql, and the learning curve."""
    from spaql.analysis.curves import learning_curve

    for run in runs:
        run.agent.save(folder / f"agent-seed{run.agent.seed}.spaql")
    _best(runs).agent.save(folder / "agent.spaql")
    agent = runs[0].agent
    if all(len(run.history) > 1 for run in runs):
        learning_curve([run.history for run in runs], agent.algorithm, agent.problem.name, folder / "learning_curve.png")


def _best(runs: list[Run]) -> Run:
    """By the best average seen; of Atlas, which has none, by the training episodes of the second half."""

    def worth(run: Run) -> float:
        seen = run.history.best_seen
        later = seen[len(seen) // 2 :] if run.agent.algorithm == "Atlas" else seen[-1:]
        return float(later.mean()) if len(seen) else -math.inf

    return max(runs, key=worth)


def show_runs(runs: list[Run], seconds: float, folder: Path | None, as_json: bool) -> None:
    """The table of all agents, their mean, and the paper's figure beside it."""
    agent, rows = runs[0].agent, [run.row() for run in runs]
    paper = None if agent.problem.parameters else published(agent.problem.name.replace("-", "_"), agent.algorithm)
    steps = sum(row["train_samples"] + row["eval_samples"] for row in rows)
    if as_json:
        told: dict[str, Any] = {"problem": agent.problem.name, "algorithm": agent.algorithm, "options": agent.options, "paper": paper}
        told |= {"parameters": agent.problem.parameters} if agent.problem.parameters else {}
        told |= {"map_samples": agent.problem.map_samples} if agent.problem.map_samples else {}
        told |= {"seconds": seconds, "steps": steps, "agents": rows, "out": str(folder) if folder else None}
        print(json.dumps(told, default=plain))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{agent.algorithm} on {agent.problem.name}", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    for heading in ("seed", "best seen", "fresh", "arms", "training", "evaluation", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        low, high = row["fresh_ci95"] or (0.0, 0.0)
        table.add_row(
            str(row["seed"]), _number(row["best_seen"]), "-" if row["fresh"] is None else _number(row["fresh"], (high - low) / 2),
            "-" if row["arms"] is None else f"{row['arms']:,}", _steps(row["train_samples"]), _steps(row["eval_samples"]),
            f"{row['seconds']:.1f} s",
        )  # fmt: skip
    table.add_section()
    best, fresh, arms = (np.array([row[name] for row in rows if row[name] is not None]) for name in ("best_seen", "fresh", "arms"))
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
    if agent.per_step or agent.algorithm in ("Random", "Atlas"):
        seen = "of the agent as it is in the end"
    if agent.algorithm == "Atlas" and not rows[0]["eval_samples"]:
        seen = "the last training episode, its exploration included"
    judged = (
        "Fresh: the kept agent on new rollouts. ± is half the 95 % interval, of the rollouts in the rows of the agents, of the "
        "agents in the row of the mean."
    )
    console.print(f"{steps:,} steps in {seconds:.1f} s. Best seen: {seen}. {judged if len(fresh) else ''}".rstrip(), highlight=False)
    if agent.problem.map_samples:
        console.print(
            f"{agent.problem.map_samples:,} of each agent's training steps were random ones before training: they measured how far the "
            "variables without bounds go.",
            highlight=False,
        )
    if folder is not None:
        chosen = _best(runs).agent.seed
        how = "the best in training" if agent.algorithm == "Atlas" else "the best seen"
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
    digits = 2 if abs(value) < 1000 else 1
    return f"{value:.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")
