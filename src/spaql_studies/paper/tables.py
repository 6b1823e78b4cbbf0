"""The paper's two tables beside our numbers, and the same for the variants of Pendulum."""

import functools
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from statistics import fmean
from typing import Any

from spaql.learners.registry import CARDS
from spaql_studies.paper.plan import LEARNERS, MAIN, PAPER, TORQUES, random_runs
from spaql_studies.parts import TITLES
from spaql_studies.runs.rows import Run
from spaql_studies.study import Part, Results
from spaql_studies.tables import NOTHING, Column, Row, Table, half_width, probability

# -- the published results: "Control with adaptive Q-learning", Araújo, Figueiredo and Ayala Botto ---------------------

@functools.cache
def paper() -> Any:
    """Protocol, tables and remarks, as in `paper_results.json`."""
    return json.loads(files("spaql_studies.paper").joinpath("paper_results.json").read_text("utf-8"))


def published(problem: str, algorithm: str, what: str = "reward") -> tuple[float, float] | None:
    """Mean and half-width of the 95 % interval over 20 agents: "reward" or "arms".

    None if the paper has no such number.
    """
    entry = paper().get(problem, {}).get(algorithm, {})
    return tuple(entry[what]) if what in entry else None


# -- the paper's two tables beside our numbers, and the same for the variants of Pendulum ------------------------------

SOLVED = {"cartpole": 195.0}  # average over 100 trials that counts as solved
PAPER_AGENTS = 20
IN_PAPER = ("pendulum", "cartpole")  # problems of the paper's two tables

# Why a figure differs, where it is known. Shown only if the test says that it differs.
_PENDULUM = "cause unknown; the authors' own program does not give the published figures either"
REASONS = {
    ("pendulum", "AQL"): _PENDULUM,
    ("pendulum", "SPAQL"): _PENDULUM,
    ("pendulum", "SPAQL-TS"): _PENDULUM,
    ("pendulum", "TRPO"): "another implementation (sb3-contrib) and other settings; see docs/reproduction.md",
    ("cartpole", "TRPO"): "another implementation (sb3-contrib) and other settings; see docs/reproduction.md",
    ("cartpole", "SPAQL"): "cause unknown; SPAQL keeps the best of 2000 noisy averages here, so the figure depends on "
    "that noise",
}

# What a return is, beside the title of a table on the page
HINTS = {
    "pendulum": "Return: minus the cost of an episode of 200 steps. Nearer to zero is better.",
    "pendulum-5": "Return: minus the cost of an episode of 200 steps. Nearer to zero is better.",
    "pendulum-scaled": "Return: the rewards of 200 steps, each scaled to lie between 0 and 1. "
    "Higher is better, 200 at most.",
    "cartpole": "Return: steps for which the pole stays up. Higher is better, 200 at most.",
}


def paper_tables(results: Results) -> list[Table]:
    """One table for each problem with main runs; Pendulum and CartPole are the paper's."""
    tables = [_paper_table(results, problem) for problem in MAIN]
    return [table for table in tables if table is not None]


def _paper_table(results: Results, problem: str) -> Table | None:
    main = [run for group in ("main", "tuned") for run in results.runs(group, problem)]
    if not main:
        return None
    rows = [_row(problem, algorithm, algorithm, results.runs("main", problem, algorithm)) for algorithm in LEARNERS]
    rows += [
        _row(problem, algorithm, f"{algorithm}, tuned", results.runs("tuned", problem, algorithm))
        for algorithm in LEARNERS
    ]
    if problem in TORQUES:
        rows.append(_row(problem, "Random", "Random, torque in [0, 2]", random_runs(results, problem, 0.0)))
        rows.append(_row(problem, "Random", "Random, whole range", random_runs(results, problem), compared=False))
    else:
        rows.append(_row(problem, "Random", "Random", random_runs(results, problem)))
    rows.append(_row(problem, "TRPO", "TRPO", results.runs("trpo", problem)))
    return Table(
        problem,
        f"{TITLES[problem]}: return after {main[0].iterations:,} training episodes",
        _columns(problem),
        [row for row in rows if row],
        _notes(results, problem, main),
        HINTS[problem],
        ("cards", "dense") if problem in IN_PAPER else (),  # wide, and worth reading on a telephone too
    )


def _row(problem: str, algorithm: str, label: str, runs: Sequence[Run], compared: bool = True) -> Row:
    """Everything about one line of the table; empty without runs."""
    if not runs:
        return {}
    best, fresh = [run.best_seen for run in runs], [run.fresh for run in runs]
    card = CARDS[algorithm]
    arms = [run.arms for run in runs if run.arms is not None and card.learns and not card.rival]
    row: Row = {"problem": problem, "algorithm": algorithm, "label": label, "xi": runs[0].xi, "agents": len(runs)}
    row |= {"iterations": runs[0].iterations, "fresh_episodes": runs[0].episodes}
    for name, values in (("best_seen", best), ("fresh", fresh), ("arms", arms)):
        row |= {name: fmean(values) if values else None, f"{name}_half_width": half_width(values)}
    row |= {"best_seen_iqm": _iqm(best), "fresh_iqm": _iqm(fresh), "fresh_worst_agent": min(fresh)}
    for name in ("train_samples", "eval_samples"):
        row[name] = fmean(getattr(run, name) for run in runs)
    limit = SOLVED.get(problem)
    row |= {"solved_best_seen": None if limit is None else sum(value >= limit for value in best)}
    row |= {"solved_fresh": None if limit is None else sum(value >= limit for value in fresh)}
    for what in ("reward", "arms"):
        printed = published(problem.replace("-", "_"), algorithm, what) if compared else None
        row[f"paper_{what}"], row[f"paper_{what}_half_width"] = printed or (None, None)
    row["paper_solved"] = paper().get(problem, {}).get(algorithm, {}).get("solved_agents") if compared else None
    return row | _judged(problem, algorithm, row, best)


def _iqm(values: Sequence[float]) -> float:
    from spaql.analysis.statistics import iqm

    return iqm(values) if len(values) > 1 else values[0]


def _judged(problem: str, algorithm: str, row: Row, best: Sequence[float]) -> Row:
    """The verdict on the paper's own metric, best seen."""
    from spaql.analysis.statistics import verdict

    nothing = {"verdict": "", "p": None, "difference": None, "intervals_overlap": None, "reason": ""}
    if row["paper_reward"] is None:
        return nothing | {"reason": "" if algorithm in LEARNERS else "not in the paper"}
    full = PAPER.trpo_iterations if CARDS[algorithm].rival else PAPER.iterations
    if row["iterations"] < full and CARDS[algorithm].learns:
        reason = f"{row['iterations']:,} iterations, in the paper {full:,}"
        return nothing | {"verdict": "not comparable", "reason": reason}
    if len(best) < 2:
        return nothing | {"verdict": "not comparable", "reason": "one agent has no interval"}
    judged = verdict(row["paper_reward"], row["paper_reward_half_width"], PAPER_AGENTS, best)
    label = judged.label if judged.label == "reproduced" else f"differs: {judged.direction}"
    reason = "" if judged.label == "reproduced" else REASONS.get((problem, algorithm), "cause unknown")
    return {
        "verdict": label,
        "p": judged.p,
        "difference": judged.difference,
        "intervals_overlap": judged.overlap,
        "reason": reason,
    }


def _columns(problem: str) -> tuple[Column, ...]:
    columns = [
        Column.text("algorithm", "label"),
        Column("ξ", lambda row: NOTHING if row["xi"] is None else f"{row['xi']:g}"),
        Column.count("agents", "agents"),
    ]
    in_paper = problem in IN_PAPER
    columns += [Column.mean("paper", "paper_reward")] if in_paper else []
    columns += [Column.mean("ours, best seen", "best_seen"), Column.mean("ours, fresh", "fresh")]
    if in_paper:
        columns.append(Column("verdict", lambda row: row["verdict"] or NOTHING, words=True))
        columns.append(Column("p", lambda row: probability(row["p"])))
        columns.append(Column("why", lambda row: row["reason"] or NOTHING, words=True))
    columns += [Column.mean("arms, paper", "paper_arms", 0)] if in_paper else []
    columns.append(Column.mean("arms", "arms", 0))
    if problem in SOLVED:
        columns.append(Column.number("solved, paper", "paper_solved", 0))
        columns.append(Column("solved, best seen", lambda row: f"{row['solved_best_seen']}/{row['agents']}"))
        columns.append(Column("solved, fresh", lambda row: f"{row['solved_fresh']}/{row['agents']}"))
    columns.append(Column.number("training samples", "train_samples", 0))
    columns.append(Column.number("evaluation samples", "eval_samples", 0))
    return tuple(columns)


def _notes(results: Results, problem: str, runs: Iterable[Run]) -> tuple[str, ...]:
    episodes = max(run.episodes for run in runs)
    notes = [
        "± is half of Student's 95 % interval over the agents. Best seen: the best evaluation average so far for "
        "SPAQL and SPAQL-TS (the paper's metric, biased upwards), the last one for AQL, NBQL, ZoomRL and Random, the "
        f"last training batch for TRPO. Fresh: the kept agent on {episodes:,} new rollouts each.",
    ]
    if problem in SOLVED:
        notes.append(
            f"Solved: an average of at least {SOLVED[problem]:g}, by the last best seen, and by the fresh rollouts."
        )
    if problem in IN_PAPER:
        notes.append(
            "Verdict: Welch's test of our best seen against the published mean and interval of 20 agents; "
            "reproduced if p ≥ 0.05, else whether ours is better or worse."
        )
    if Part("trpo", problem) in results.published:
        notes.append("TRPO: the runs published with the package (made by `make trpo`), not computed here.")
    return tuple(notes)
