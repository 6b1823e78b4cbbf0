"""Every learner on every problem: one table per problem, and all of them in one."""

from collections.abc import Sequence
from statistics import fmean

from spaql.analysis.paper_tables import TITLES
from spaql.analysis.tables import NOTHING, Column, Row, Table, half_width, number, spread
from spaql.experiments.optima import OPTIMA
from spaql.experiments.results import Results
from spaql.experiments.results_plan import ENTRANTS, PUBLISHED
from spaql.experiments.rows import Run

WIDE = 20.0  # returns that differ by more are told with one digit, others with three


def results_tables(results: Results) -> list[Table]:
    """All problems in one, then one table for each problem there are runs for."""
    rows = {problem: found for problem in TITLES if (found := result_rows(results, problem))}
    return [_overview(rows), *(_problem_table(results, problem, found) for problem, found in rows.items())] if rows else []


def runs_of(results: Results, problem: str, algorithm: str) -> list[Run]:
    """Runs of the plan, or published ones beside them."""
    group = "trpo" if algorithm == "TRPO" else "rivals" if algorithm in PUBLISHED else "results"
    return results.runs(f"{group}-{problem}", algorithm)


def result_rows(results: Results, problem: str) -> list[Row]:
    """One row per learner with runs; none without runs of the plan. `score`: 0 is Random, 1 the best known."""
    if not results.runs(f"results-{problem}"):
        return []
    rows = [_row(problem, name, runs) for name in (*ENTRANTS, *PUBLISHED) if (runs := runs_of(results, problem, name))]
    best, random = best_known(problem, rows), next((row["fresh"] for row in rows if row["algorithm"] == "Random"), None)
    for row in rows:
        row["best_known"] = best
        if random is not None and best > random:
            row["score"] = (row["fresh"] - random) / (best - random)
            row["score_half_width"] = None if row["fresh_half_width"] is None else row["fresh_half_width"] / (best - random)
    return rows


def best_known(problem: str, rows: Sequence[Row]) -> float:
    """By hand or by dynamic programming, or where neither was done the best mean at hand."""
    return OPTIMA[problem] if problem in OPTIMA else max(row["fresh"] for row in rows)


def _row(problem: str, algorithm: str, runs: Sequence[Run]) -> Row:
    fresh, learns = [run.fresh for run in runs], algorithm != "Random"
    row: Row = {"problem": problem, "algorithm": algorithm, "agents": len(runs), "xi": runs[0].xi}
    row |= {"fresh": fmean(fresh), "fresh_half_width": half_width(fresh), "worst_agent": min(fresh), "best_agent": max(fresh)}
    row |= {"score": None, "score_half_width": None, "best_known": None}
    row |= {name: fmean(getattr(run, name) for run in runs) if learns else None for name in ("train_samples", "eval_samples")}
    row["samples"] = row["train_samples"] + row["eval_samples"] if learns else None
    arms = [run.arms for run in runs if run.arms is not None]
    row["cells"] = fmean(arms) if arms and learns else None
    seconds = [cpu for run in runs if (cpu := seconds_of(run)) is not None]
    return row | {"cpu_seconds": fmean(seconds) if seconds and learns else None}


def seconds_of(run: Run) -> float | None:
    """CPU seconds of learning; of TRPO those of the clock, nothing else was kept."""
    return float(run.cpu_curve[-1]) if len(run.cpu_curve) else run.seconds if run.algorithm == "TRPO" else None


def digits_of(rows: Sequence[Row]) -> int:
    returns = [row["fresh"] for row in rows]
    return 1 if max(returns) - min(returns) > WIDE else 3


def _problem_table(results: Results, problem: str, rows: list[Row]) -> Table:
    digits = digits_of(rows)
    columns = (
        Column("learner", lambda row: row["algorithm"], words=True), Column("agents", lambda row: str(row["agents"])),
        Column("fresh return", lambda row: spread(row["fresh"], row["fresh_half_width"], digits)),
        Column("worst agent", lambda row: number(row["worst_agent"], digits)),
        Column("score", lambda row: _score(row["score"])), Column("samples", lambda row: number(row["samples"], 0)),
        Column("of these in training", lambda row: number(row["train_samples"], 0)),
        Column("cells", lambda row: number(row["cells"], 0)), Column("CPU s", lambda row: _seconds(row["cpu_seconds"])),
    )  # fmt: skip
    return Table(f"results-{problem}", f"{TITLES[problem]}: every learner", columns, rows, _notes(results, problem, rows))


def _score(value: float | None) -> str:
    return NOTHING if value is None else f"{round(value, 2) + 0.0:.2f}"  # never minus nought


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.{0 if value >= 100 else 1 if value >= 1 else 2}f}"


def _notes(results: Results, problem: str, rows: Sequence[Row]) -> tuple[str, ...]:
    kind = "the best known" if problem in OPTIMA else "the best mean here, for no optimum is known"
    episodes = max(run.episodes for run in results.runs(f"results-{problem}"))
    notes = [
        f"Score: 0 is Random, 1 is {number(rows[0]['best_known'], digits_of(rows))}, {kind}.",
        f"± is half of Student's 95 % interval over the agents, each played on {episodes:,} fresh episodes, which are not counted. All "
        "other samples are. CPU seconds are those of learning, without compiling.",
    ]
    borrowed = [row["algorithm"] for row in rows if row["algorithm"] in PUBLISHED]
    if borrowed:
        told = f"{', '.join(borrowed)}: the runs published with the package, not computed here."
        notes.append(told + (" TRPO: seconds of the clock." if "TRPO" in borrowed else ""))
    return tuple(notes)


def _overview(found: dict[str, list[Row]]) -> Table:
    rows = [_line(problem, rows) for problem, rows in found.items()]
    columns = [Column("problem", lambda row: TITLES[row["problem"]], words=True), *map(_of, ENTRANTS)]
    columns.append(Column("best known", lambda row: number(row["best_known"], row["digits"]) + ("" if row["optimum"] else " (here)")))
    note = "Mean fresh return over the agents ± half of Student's 95 % interval. Best known: an optimum, or the best mean here."
    return Table("results", "Every learner on every problem: fresh return", tuple(columns), rows, (note,))


def _of(algorithm: str) -> Column:
    return Column(algorithm, lambda row: spread(row.get(algorithm), row.get(f"{algorithm}_half_width"), row["digits"]))


def _line(problem: str, rows: Sequence[Row]) -> Row:
    line: Row = {"problem": problem, "best_known": rows[0]["best_known"], "optimum": problem in OPTIMA, "digits": digits_of(rows)}
    for row in rows:
        line |= {row["algorithm"]: row["fresh"], f"{row['algorithm']}_half_width": row["fresh_half_width"]}
    return line
