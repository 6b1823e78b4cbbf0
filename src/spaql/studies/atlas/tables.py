"""Atlas beside SPAQL and common algorithms for comparison, at the same numbers of samples; and Atlas without its
parts."""

from statistics import fmean, median

import numpy as np

from spaql.analysis.numbers import NOTHING, number, spread
from spaql.analysis.tables import Column, Row, Table, half_width
from spaql.ground.arrays import Array
from spaql.learners.registry import CARDS
from spaql.runs.rows import Run
from spaql.studies.atlas.figures import Line, contest_of
from spaql.studies.atlas.plan import ABLATION, ABLATIONS, CONTESTS, TABLE
from spaql.studies.parts import TITLES, Part, Results

SHOWN = (1_000, 2_000, 5_000, 10_000, 100_000, 1_000_000)  # and the last of each: more rows would hide what matters


def atlas_tables(results: Results) -> list[Table]:
    """One table per problem there are runs for, and the ablation."""
    made = [_contest_table(results, problem) for problem in CONTESTS]
    return [table for table in [*made, _ablation_table(results)] if table is not None]


def _contest_table(results: Results, problem: str) -> Table | None:
    lines = contest_of(results, problem)
    if not lines:
        return None
    rows = [_row(problem, line, place) for line in lines for place in _shown(line)]
    columns = [
        Column("algorithm", lambda row: row["algorithm"], words=True),
        Column("samples", lambda row: number(row["samples"], 0)),
        Column("agents", lambda row: str(row["agents"])),
        Column("fresh return", lambda row: spread(row["fresh"], row["fresh_half_width"], 1)),
        Column("worst agent", lambda row: number(row["worst_agent"], 1)),
        Column("CPU s", lambda row: _seconds(row["cpu_seconds"])),
    ]
    if any(row["tree_leaves"] is not None for row in rows):
        columns += [
            Column(
                "leaves of the tree", lambda row: NOTHING if row["tree_leaves"] is None else f"{row['tree_leaves']:g}"
            ),
            Column("its fresh return", lambda row: spread(row["tree_fresh"], row["tree_half_width"], 1)),
            Column("its worst agent", lambda row: number(row["tree_worst_agent"], 1)),
            Column("its CPU s", lambda row: _seconds(row["tree_cpu_seconds"])),
        ]
    return Table(
        f"atlas-{problem}",
        f"{TITLES[problem]}: fresh return by samples",
        tuple(columns),
        rows,
        _notes(results, problem, lines),
    )


def _seconds(value: float | None) -> str:
    return number(value, 1 if value is None or value >= 1.0 else 2)


def _shown(line: Line) -> list[int]:
    last = len(line.samples) - 1
    return (
        [last] if not line.fresh else [place for place, at in enumerate(line.nominal) if at in SHOWN or place == last]
    )


def _row(problem: str, line: Line, place: int) -> Row:
    returns = line.returns[:, place].tolist()
    row: Row = {
        "problem": problem,
        "algorithm": line.algorithm,
        "samples": float(line.samples[place]),
        "agents": len(returns),
    }
    row |= {"fresh": fmean(returns), "fresh_half_width": half_width(returns), "worst_agent": min(returns)}
    row |= {
        "cpu_seconds": fmean(line.seconds[:, place]),
        "tree_leaves": None,
        "tree_fresh": None,
        "tree_half_width": None,
    }
    row |= {"tree_worst_agent": None, "tree_cpu_seconds": None}
    trees = line.tree_returns[:, place].tolist()
    if np.isfinite(trees).all():
        row |= {
            "tree_leaves": median(line.tree_leaves[:, place].tolist()),
            "tree_fresh": fmean(trees),
            "tree_half_width": half_width(trees),
        }
        row |= {"tree_worst_agent": min(trees), "tree_cpu_seconds": fmean(line.tree_seconds[:, place])}
    return row


def _notes(results: Results, problem: str, lines: list[Line]) -> tuple[str, ...]:
    episodes = max(run.episodes for run in results.runs("atlas", problem))
    notes = [
        "All samples are counted, those of evaluation rollouts too (SPAQL and SPAQL-TS need them to choose an "
        "agent). Every agent is then "
        f"run on {episodes:,} fresh episodes, which are not counted. ± is half of Student's 95 % interval over "
        "the agents. CPU seconds "
        "are those of learning, without compiling and without the fresh episodes.",
    ]
    if any(CARDS[line.algorithm].model_based for line in lines):
        notes.append(
            "The tree is searched in the learned model, without further samples; its CPU seconds come on top. "
            "Leaves: the median."
        )
        if CONTESTS[problem].oblique:
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
    runs = results.runs(*ABLATION)
    rows = [
        _ablated(problem, label, group)
        for problem in CONTESTS
        for label, options in ABLATIONS.items()
        if (group := [run for run in runs if run.problem == problem and run.options == dict(TABLE + options)])
    ]
    if not rows:
        return None
    _compare(rows, runs)
    columns = (
        Column("problem", lambda row: TITLES[row["problem"]], words=True),
        Column("Atlas", lambda row: row["variant"], words=True),
        Column("samples", lambda row: number(row["samples"], 0)),
        Column("agents", lambda row: str(row["agents"])),
        Column("fresh return", lambda row: spread(row["fresh"], row["fresh_half_width"], 1)),
        Column("worst agent", lambda row: number(row["worst_agent"], 1)),
        Column("difference", lambda row: spread(row["difference"], row["difference_half_width"], 1)),
        Column("CPU s", lambda row: _seconds(row["cpu_seconds"])),
    )
    note = "Difference: to the complete Atlas on the same problem, with Welch's 95 % interval. One part is removed "
    note += "at a time."
    return Table(str(ABLATION), "What each part of Atlas contributes", columns, rows, (note,))


def _ablated(problem: str, label: str, runs: list[Run]) -> Row:
    fresh = [run.fresh for run in runs]
    row: Row = {
        "problem": problem,
        "variant": label,
        "options": runs[0].options,
        "samples": fmean(run.train_samples for run in runs),
    }
    row |= {
        "agents": len(runs),
        "fresh": fmean(fresh),
        "fresh_half_width": half_width(fresh),
        "worst_agent": min(fresh),
    }
    return row | {
        "difference": None,
        "difference_half_width": None,
        "cpu_seconds": fmean(run.cpu_curve[-1] for run in runs),
    }


def _compare(rows: list[Row], runs: list[Run]) -> None:
    from spaql.analysis.statistics import welch

    def fresh(problem: str, options: dict[str, object]) -> Array:
        return np.array([run.fresh for run in runs if run.problem == problem and run.options == options])

    for row in rows:
        ours, whole = fresh(row["problem"], row["options"]), fresh(row["problem"], dict(TABLE))
        if row["options"] != dict(TABLE) and min(len(ours), len(whole)) > 1:
            test = welch(ours, whole)
            row |= {"difference": test.difference, "difference_half_width": (test.interval[1] - test.interval[0]) / 2}
