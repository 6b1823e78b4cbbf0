"""The output of `spaql train`, and tables of controllers side by side."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.cli.train_runs import TrainRun, best_run, have_curve
from spaql.plants.equations import parameter_text, plain
from spaql.policy.digits import counted
from spaql.policy.evaluation import Evaluation

if TYPE_CHECKING:
    from spaql.learners.agent import Agent


def show_runs(
    runs: list[TrainRun], seconds: float, folder: Path | None, as_json: bool, others: Any = None,
    earlier: Sequence[Path] = (),
) -> None:  # fmt: skip
    """The table of all agents, their mean, and the paper's figure beside it; `others`: compared with one's own;
    `earlier`: copies of agents that had the names of these."""
    from spaql_studies.paper.tables import published

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
        entries |= {"earlier": [str(path) for path in earlier]} if folder and earlier else {}
        entries |= {"compared": compared_json(others)} if others is not None else {}
        print(json.dumps(entries, default=plain))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    kept = best_run(runs)
    title = f"{agent.algorithm} on {agent.problem.name}"
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    for heading in ("seed", SEEN[_kind(agent, rows)], "fresh", _size(kept), "training", "evaluation", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        low, high = row["fresh_ci95"] or (0.0, 0.0)
        earned = "-" if row["fresh"] is None else _number(row["fresh"], (high - low) / 2)
        size = "-" if row["arms"] is None else f"{row['arms']:,}"
        counts = _steps(row["train_samples"]), _steps(row["eval_samples"])
        table.add_row(str(row["seed"]), _seen(row), earned, size, *counts, f"{row['seconds']:.1f} s")
    table.add_section()
    best, fresh, arms = (
        np.array([row[name] for row in rows if row[name] is not None]) for name in ("best_seen", "fresh", "arms")
    )
    size = f"{arms.mean():,.0f}" if len(arms) else "-"
    if len(rows) > 1 or paper is not None:
        earned = _spread(fresh) if len(fresh) else "-"
        table.add_row("mean", _spread(best), earned, size, "", "", f"{seconds:.1f} s")
    if paper is not None:
        theirs = published(agent.problem.name.replace("-", "_"), agent.algorithm, "arms")
        table.add_row("paper", _number(*paper), "-", f"{theirs[0]:,.0f}" if theirs else "")
    console = Console()
    if natural_width(table) > console.width:
        table.padding = (0, 0, 0, 0)  # columns are still a space apart
    console.print(table)
    if agent.problem.parameters:
        console.print(f"{agent.problem.name} with {parameter_text(agent.problem.parameters)}", highlight=False)
    console.print(f"{steps:,} steps in {seconds:.1f} s. {_explained(agent, rows, len(fresh) > 0)}", highlight=False)
    if agent.problem.map_samples:
        console.print(
            f"{agent.problem.map_samples:,} of each agent's training steps were random ones before training, "
            "to measure the range of variables without bounds.",
            highlight=False,
        )
    if kept.fresh is not None:
        episodes = counted(len(kept.fresh.returns), "fresh episode")
        console.print(f"{episodes} of seed {kept.agent.seed}:", highlight=False)
        console.print("\n".join(kept.fresh.lines(first=1)), highlight=False, markup=False, soft_wrap=True)
    if others is not None:
        console.print(compared_table(others, console.width))
    if _size(kept) == "laws":  # a few lines
        console.print(kept.agent.policy().to_text(share=False), highlight=False, markup=False)
    for run in runs:
        for note in run.agent.notes:
            console.print(f"Warning, seed {run.agent.seed}: {note}.", highlight=False)
    if folder is not None:
        how = "the best seen" if agent.card.judged else "the best in training"
        which = f" (agent.spaql is seed {kept.agent.seed}, {how})" if len(runs) > 1 else ""
        kinds = ", every agent, and the learning curve" if have_curve(runs) else " and every agent"
        console.print(f"saved: {folder}/agent.spaql{kinds}{which}", highlight=False)
        for path in earlier:
            console.print(f"kept: {path}, an earlier agent of that name", highlight=False, soft_wrap=True)


# What the history's "best seen" is, by the kind of learner: the heading of its column, and the sentence below.
SEEN = {"kept": "best seen", "judged": "last average", "unjudged": "last episode", "laws": "confirmed"}
SENTENCES = {
    "kept": "Best seen: the best of {n} noisy averages in training, as in the paper; it is biased upwards.",
    "judged": "Last average: of the evaluation after the last training episode.",
    "unjudged": "Last episode: the return of the last training episode, exploration included.",
    "laws": "Confirmed: mean return of the laws in episodes that the search did not use.",
}


def _kind(agent: "Agent", rows: list[dict[str, Any]]) -> str:
    judged = agent.card.judged or rows[0]["eval_samples"] > 0
    return "laws" if agent.card.simulator else "kept" if agent.card.keeps_best else "judged" if judged else "unjudged"


def _size(run: TrainRun) -> str:
    """What the size of a controller counts."""
    card = run.agent.card
    if card.simulator or (card.model_based and run.fresh is not None and run.agent.policy().has_laws):
        return "laws"
    return "cells" if card.model_based else "arms"


def _explained(agent: "Agent", rows: list[dict[str, Any]], evaluated: bool) -> str:
    said = SENTENCES[_kind(agent, rows)].format(n=f"{rows[0]['iterations']:,}")
    counts = [row["confirmed_episodes"] for row in rows if "confirmed_episodes" in row and row["eval_samples"] == 0]
    if counts:
        each = f"{counts[0]:,}" if len(set(counts)) == 1 else f"{min(counts):,} to {max(counts):,}"
        said = f"Confirmed: the return in {each} episodes by which nothing was chosen, ± half of its 95 % interval."
    if not evaluated:
        return said
    said += " Fresh: mean return of the kept agent in new episodes, ± half of its 95 % interval"
    return said + (", in the row of the mean over the agents." if len(rows) > 1 else ".")


def _seen(row: dict[str, Any]) -> str:
    """The best seen; of laws that an environment has confirmed, with half of its interval."""
    ends = row.get("confirmed_ci95") if row["eval_samples"] == 0 else None
    return _number(row["best_seen"], None if ends is None else (ends[1] - ends[0]) / 2)


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


# -- controllers side by side ------------------------------------------------------------------------------------------


def compared_table(table: Any, width: int) -> Any:
    """The table of `spaql.compare`, as the terminal shows it: numbers are never cut, names are folded if need be."""
    from spaql.analysis.paired import rows_of

    title = f"In the same {table.attrs['episodes']:,} fresh episodes"
    headings, *rows = rows_of(table)
    wide, stacked = (
        rich_rows(title, headings, [[row[0], *(cell.replace(" to ", between) for cell in row[1:])] for row in rows])
        for between in (" to ", " to\n")
    )
    return wide if natural_width(wide) <= width else stacked


def rich_rows(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Any:
    """A table for a terminal, of which only the first column may be folded."""
    from rich.text import Text

    from spaql.policy.knowledge import bare_table

    table = bare_table(title=title, title_justify="left", title_style="")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=place > 0, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def natural_width(table: Any) -> int:
    """Letters that a table takes if nothing is cut or folded."""
    from rich.console import Console

    return int(Console(width=1000).measure(table).maximum)


def compared_json(table: Any) -> dict[str, Any]:
    """The same for machines."""
    rows: dict[str, Any] = json.loads(table.to_json(orient="index"))
    return rows
