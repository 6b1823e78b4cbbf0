"""Every learner on every problem: one table per problem, and all of them in one."""

from collections.abc import Sequence
from statistics import fmean

from spaql.analysis.numbers import NOTHING, number, spread
from spaql.analysis.tables import Column, Row, Table, half_width
from spaql.learners.registry import CARDS
from spaql.plants.catalog import CATALOG
from spaql.runs.rows import Run
from spaql.studies.parts import TITLES, Results
from spaql.studies.results.plan import ENTRANTS, PUBLISHED

OVERVIEW = "results"  # the table with all problems
WIDE = 20.0  # returns that differ by more are told with one digit, others with three


def every_learner_tables(results: Results) -> list[Table]:
    """All problems in one, then one table for each problem there are runs for."""
    rows = {problem: found for problem in TITLES if (found := result_rows(results, problem))}
    return (
        [_overview(rows), *(_problem_table(results, problem, found) for problem, found in rows.items())] if rows else []
    )


def runs_of(results: Results, problem: str, algorithm: str) -> list[Run]:
    """Runs of the plan, or published ones beside them."""
    card = CARDS[algorithm]
    experiment = ("trpo" if card.in_paper else "rivals") if card.rival else "results"
    return results.runs(experiment, problem, algorithm)


def result_rows(results: Results, problem: str) -> list[Row]:
    """One row per learner with runs; none without runs of the plan. `score`: 0 is Random, 1 the best known."""
    if not results.runs("results", problem):
        return []
    rows = [_row(problem, name, runs) for name in (*ENTRANTS, *PUBLISHED) if (runs := runs_of(results, problem, name))]
    best = CATALOG[problem].best_known.value
    random = next((row["fresh"] for row in rows if not CARDS[row["algorithm"]].learns), None)
    for row in rows:
        row["best_known"] = best
        if random is not None and best is not None and best > random:
            row["score"] = (row["fresh"] - random) / (best - random)
            row["score_half_width"] = (
                None if row["fresh_half_width"] is None else row["fresh_half_width"] / (best - random)
            )
    return rows


def _row(problem: str, algorithm: str, runs: Sequence[Run]) -> Row:
    fresh, learns = [run.fresh for run in runs], CARDS[algorithm].learns
    row: Row = {"problem": problem, "algorithm": algorithm, "agents": len(runs), "xi": runs[0].xi}
    row |= {
        "fresh": fmean(fresh),
        "fresh_half_width": half_width(fresh),
        "worst_agent": min(fresh),
        "best_agent": max(fresh),
    }
    row |= {"score": None, "score_half_width": None, "best_known": None}
    row |= {
        name: fmean(getattr(run, name) for run in runs) if learns else None
        for name in ("train_samples", "eval_samples")
    }
    row["samples"] = row["train_samples"] + row["eval_samples"] if learns else None
    arms = [run.arms for run in runs if run.arms is not None]
    row["cells"] = fmean(arms) if arms and learns else None
    seconds = [cpu for run in runs if (cpu := seconds_of(run)) is not None]
    return row | {"cpu_seconds": fmean(seconds) if seconds and learns else None}


def seconds_of(run: Run) -> float | None:
    """CPU seconds of learning; of TRPO those of the clock, nothing else was kept."""
    return float(run.cpu_curve[-1]) if len(run.cpu_curve) else run.seconds if CARDS[run.algorithm].rival else None


def digits_of(rows: Sequence[Row]) -> int:
    returns = [row["fresh"] for row in rows]
    return 1 if max(returns) - min(returns) > WIDE else 3


def _problem_table(results: Results, problem: str, rows: list[Row]) -> Table:
    digits = digits_of(rows)
    columns = (
        Column("learner", lambda row: row["algorithm"], words=True),
        Column("agents", lambda row: str(row["agents"])),
        Column("fresh return", lambda row: spread(row["fresh"], row["fresh_half_width"], digits)),
        Column("worst agent", lambda row: number(row["worst_agent"], digits)),
        Column("score", score_text),
        Column("samples", lambda row: number(row["samples"], 0)),
        Column("of these in training", lambda row: number(row["train_samples"], 0)),
        Column("cells", lambda row: number(row["cells"], 0)),
        Column("CPU s", lambda row: _seconds(row["cpu_seconds"])),
    )
    return Table(
        f"results-{problem}", f"{TITLES[problem]}: every learner", columns, rows, _notes(results, problem, rows)
    )


def score_text(row: Row) -> str:
    """Two digits; more, where two would say 1.00 of a mean that is surely below the best known."""
    score, digits = row["score"], 2
    if score is None:
        return NOTHING
    below = score < 1.0 - (row["score_half_width"] or 0.0)
    while below and digits < 6 and round(score, digits) >= 1.0:
        digits += 1
    return f"{round(score, digits) + 0.0:.{digits}f}"  # never minus nought


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.{0 if value >= 100 else 1 if value >= 1 else 2}f}"


def _notes(results: Results, problem: str, rows: Sequence[Row]) -> tuple[str, ...]:
    best, source = CATALOG[problem].best_known
    score = "none, no best return is known"
    if best is not None:
        score = f"0 is Random, 1 is {number(best, digits_of(rows))}, the best known"
    episodes = max(run.episodes for run in results.runs("results", problem))
    notes = [
        f"Score: {score}: {source}.",
        f"± is half of Student's 95 % interval over the agents, each run on {episodes:,} fresh episodes, "
        "which are not counted. All other samples are. CPU seconds are those of learning, without compiling.",
    ]
    if any(CARDS[row["algorithm"]].model_based for row in rows):
        notes.append("Atlas: its table (controller=\"table\"). What it does by default: `spaql reproduce --only few`.")
    borrowed = [row["algorithm"] for row in rows if row["algorithm"] in PUBLISHED]
    if borrowed:
        told = f"{', '.join(borrowed)}: the runs published with the package, not computed here."
        clock = "".join(f" {name}: wall-clock seconds." for name in borrowed if CARDS[name].in_paper)
        notes.append(told + clock)
    return tuple(notes)


def _overview(found: dict[str, list[Row]]) -> Table:
    rows = [_line(problem, rows) for problem, rows in found.items()]
    columns = [Column("problem", lambda row: TITLES[row["problem"]], words=True), *map(_of, ENTRANTS)]
    columns.append(Column("best known", lambda row: number(row["best_known"], row["digits"])))
    note = "Mean fresh return over the agents ± half of Student's 95 % interval. "
    note += "Best known: an optimum, or the best published result."
    return Table("results", "Every learner on every problem: fresh return", tuple(columns), rows, (note,))


def _of(algorithm: str) -> Column:
    return Column(algorithm, lambda row: spread(row.get(algorithm), row.get(f"{algorithm}_half_width"), row["digits"]))


def _line(problem: str, rows: Sequence[Row]) -> Row:
    line: Row = {"problem": problem, "best_known": rows[0]["best_known"], "digits": digits_of(rows)}
    for row in rows:
        line |= {row["algorithm"]: row["fresh"], f"{row['algorithm']}_half_width": row["fresh_half_width"]}
    return line
