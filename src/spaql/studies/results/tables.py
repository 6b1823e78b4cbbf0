"""Every learner on every problem: one table per problem, and all of them in one."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from spaql.analysis.numbers import NOTHING, number, span, spread
from spaql.analysis.tables import Column, Row, Table, half_width
from spaql.learners.options import options_of
from spaql.learners.registry import CARDS, Card, learner_class, learners, rivals
from spaql.plants.catalog import CATALOG
from spaql.plants.equations import Entry
from spaql.runs.rows import Run
from spaql.runs.spec import Option, Spec
from spaql.studies.atlas.plan import TABLE, fresh_of, seeds_of, share_of
from spaql.studies.paper.plan import protocol_of
from spaql.studies.parts import TITLES, Effort, Results
from spaql.studies.study import Experiment, Finished

# -- every learner on every problem, as data: what each of them may use ------------------------------------------------
#
# Seeds from 1000 on; whatever was tuned was tuned on seeds below 100. The learners of the paper and AQL's relatives get
# the paper's protocol and their defaults, Atlas with a table the number of samples on the entry of the problem: what it
# does by default, with fewer samples and more time, is the study `few`.

COMPARED = tuple(card for card in learners() if not card.simulator)
ENTRANTS = tuple(card.name for card in COMPARED)
ITERATED = tuple(card.name for card in learners() if card.learns_by == "iterations")
PUBLISHED = tuple(card.name for card in rivals())  # shown beside them where the package has their runs
FEWEST_SAMPLES = 200  # of a quick look: Atlas begins with 100 random ones
SHORT = 20  # steps: shorter episodes need a discount of their own (docs/atlas-table.md, Limits)


def results_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """Every learner on a problem."""
    entry, fresh = CATALOG[problem], fresh_of(effort)
    iterations = protocol_of(effort).iterations
    discount: tuple[tuple[str, Option], ...] = (("gamma", 1.0 - 1.0 / entry.horizon),) if entry.horizon < SHORT else ()
    samples = max(int(share_of(effort) * entry.samples), FEWEST_SAMPLES)
    kinds = []
    for card in COMPARED:
        if not card.learns:  # one iteration of one rollout, for the form
            kinds.append(Spec(problem, card.name, 0, 1, 1, fresh))
        elif card.learns_by == "iterations":
            xi = xi_of(entry, card)
            kinds.append(Spec(problem, card.name, 0, iterations, entry.rollouts, fresh, xi))
        else:
            options = TABLE + discount if card.model_based else ()
            kinds.append(Spec(problem, card.name, 0, 0, 0, fresh, options, (samples,)))
    return [replace(kind, seed=seed) for kind in kinds for seed in seeds_of(effort)]


def xi_of(entry: Entry, card: Card) -> tuple[tuple[str, Option], ...]:
    """The published or tuned scale of the bonus, if there is one. Learners per step have AQL's, as by default."""
    if not any(one.name == "xi" for one in options_of(learner_class(card))):
        return ()
    known = entry.xi or entry.study_xi
    xi = known.get(card.name, known.get("AQL") if card.per_step else None)
    return () if xi is None else (("xi", float(xi)),)


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    """Of the learners with iterations, and of those that count samples."""
    iterated = [run for run in runs if run.rollouts > 1]
    samples = span(int(run.checkpoints[-1]) for run in runs if len(run.checkpoints))
    counting = ", ".join(card.name for card in COMPARED if card.learns_by == "samples")
    iterations = f"{span(run.iterations for run in iterated)}; {counting} {samples} samples"
    return iterations, span(run.rollouts for run in iterated)


RESULTS = Experiment("results", "every learner", tuple(CATALOG), results_specs, lengths=_lengths)


# -- every learner on every problem: one table per problem, and all of them in one -------------------------------------

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
