"""Every learner on every problem: one table per problem, and all of them in one.

The learners of the paper and AQL's relatives get the paper's protocol and their defaults, Atlas with a table the number
of samples on the entry of the problem: what it does by default, with fewer samples and more time, is the study `few`.
"""

from collections.abc import Sequence
from dataclasses import replace

from spaql.learners.options import options_of
from spaql.learners.registry import CARDS, Card, learner_class, learners
from spaql.plants.catalog import CATALOG
from spaql.plants.equations import Entry
from spaql_studies.atlas import QUICK_SHARE, TABLE
from spaql_studies.benchmark import FRESH, PROBLEM, Options, columns_of, seeds_of
from spaql_studies.paper.plan import protocol_of
from spaql_studies.parts import TITLES
from spaql_studies.runs.rows import Run
from spaql_studies.runs.spec import Spec
from spaql_studies.scores import (
    COMPARED,
    ENTRANTS,
    PUBLISHED,
    digits_of,
    every_agent,
    matrix,
    rows_by_problem,
    score_text,
)
from spaql_studies.study import Drawing, Effort, Experiment, Finished, Results, Section, Study, terminal_view
from spaql_studies.tables import Column, Row, Table, listed, number, span

ITERATED = tuple(card.name for card in learners() if card.learns_by == "iterations")
COUNTING = tuple(card.name for card in COMPARED if card.learns_by == "samples")
FEWEST_SAMPLES = 200  # of a quick look: Atlas begins with 100 random ones
SHORT_STEPS = 20  # of an episode: shorter episodes need a discount of their own (docs/atlas-table.md, Limits)


def results_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """Every learner on a problem."""
    entry, fresh, iterations = CATALOG[problem], FRESH[effort.quick], protocol_of(effort).iterations
    discount: Options = (("gamma", 1.0 - 1.0 / entry.horizon),) if entry.horizon < SHORT_STEPS else ()
    samples = max(int((QUICK_SHARE if effort.quick else 1.0) * entry.samples), FEWEST_SAMPLES)
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


def xi_of(entry: Entry, card: Card) -> Options:
    """The published or tuned scale of the bonus, if there is one. Learners per step have AQL's, as by default."""
    if "xi" not in (option.name for option in options_of(learner_class(card))):
        return ()
    known = entry.xi or entry.study_xi
    xi = known.get(card.name, known.get("AQL") if card.per_step else None)
    return () if xi is None else (("xi", float(xi)),)


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    """Of the learners with iterations, and of those that count samples."""
    iterated = [run for run in runs if run.rollouts > 1]
    samples = span(int(run.checkpoints[-1]) for run in runs if len(run.checkpoints))
    iterations = f"{span(run.iterations for run in iterated)}; {', '.join(COUNTING)} {samples} samples"
    return iterations, span(run.rollouts for run in iterated)


RESULTS = Experiment("results", "every learner", tuple(CATALOG), results_specs, lengths=_lengths)


# -- every learner on every problem: one table per problem, and all of them in one -------------------------------------

OVERVIEW = "results"  # the table with all problems


def every_learner_tables(results: Results) -> list[Table]:
    """All problems in one, then one table for each problem there are runs for."""
    rows = rows_by_problem(results)
    single = [_problem_table(results, problem, some) for problem, some in rows.items()]
    return [_overview(rows), *single] if rows else []


def _problem_table(results: Results, problem: str, rows: list[Row]) -> Table:
    digits = digits_of(rows)
    columns = (
        Column.text("learner", "algorithm"),
        *columns_of("agents fresh worst_agent", digits),
        Column("score", score_text),
        *columns_of("samples"),
        Column.number("of these in training", "train_samples", 0),
        Column.number("cells", "cells", 0),
        Column.number("CPU s", "cpu_seconds", lambda value: 0 if value >= 100 else 1 if value >= 1 else 2),
    )
    title = f"{TITLES[problem]}: every learner"
    return Table(f"results-{problem}", title, columns, rows, _notes(results, problem, rows))


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
        text = f"{', '.join(borrowed)}: the runs published with the package, not computed here."
        clock = "".join(f" {name}: wall-clock seconds." for name in borrowed if CARDS[name].in_paper)
        notes.append(text + clock)
    return tuple(notes)


def _overview(found: dict[str, list[Row]]) -> Table:
    rows = [_line(problem, rows) for problem, rows in found.items()]
    best = Column("best known", lambda row: number(row["best_known"], row["digits"]))
    columns = (PROBLEM, *map(_of, ENTRANTS), best)
    note = "Mean fresh return over the agents ± half of Student's 95 % interval. "
    note += "Best known: an optimum, or the best published result."
    return Table(OVERVIEW, "Every learner on every problem: fresh return", columns, rows, (note,))


def _of(algorithm: str) -> Column:
    return Column(algorithm, lambda row: Column.mean("", algorithm, row["digits"]).show(row))


def _line(problem: str, rows: Sequence[Row]) -> Row:
    line: Row = {"problem": problem, "best_known": rows[0]["best_known"], "digits": digits_of(rows)}
    for row in rows:
        line |= {row["algorithm"]: row["fresh"], f"{row['algorithm']}_half_width": row["fresh_half_width"]}
    return line


WORDS = (
    f"{listed(ENTRANTS)} on all problems of the package, on seeds that were not used for tuning. Learners with "
    f"evaluation rollouts have the paper’s protocol; those that count samples ({listed(COUNTING)}) have a few thousand "
    "samples."
)
TITLE = "Every learner on every problem"
STUDY = Study(
    "results",
    experiments=(RESULTS,),
    tables=every_learner_tables,
    sections=(Section("every", TITLE, WORDS, tables=None, figures=True),),
    figures=(
        Drawing("results", TITLE, matrix, 5.6),
        Drawing("results-agents", "Every agent on every problem", every_agent, 6.4),
    ),
    in_terminal=terminal_view((OVERVIEW,), ("agents", "of these")),
)
