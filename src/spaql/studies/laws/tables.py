"""What a few laws reach, beside what others have published."""

import functools
import json
from collections.abc import Sequence
from importlib.resources import files
from statistics import fmean, median_low
from typing import Any

from spaql.analysis.numbers import number, short, span
from spaql.analysis.tables import Column, Row, Table, half_width
from spaql.policy.policy import Policy
from spaql.runs.checkpoints import worst_part
from spaql.runs.rows import Run
from spaql.studies.laws.plan import EXPERIMENTS, SLIDES
from spaql.studies.parts import TITLES, Results

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
