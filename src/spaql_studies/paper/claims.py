"""What the paper says in words, held against our runs; all pairs of algorithms, and the best xi of our study."""

from collections.abc import Callable, Sequence
from statistics import fmean

from spaql.analysis.statistics import Welch, welch
from spaql.learners.registry import CARDS
from spaql.plants.catalog import CATALOG
from spaql_studies.paper.learning import overtaken_at
from spaql_studies.paper.plan import LEARNERS, MAIN, PAPER, groups_of, main_runs, random_runs
from spaql_studies.paper.tables import SOLVED
from spaql_studies.parts import TITLES
from spaql_studies.runs.rows import Run
from spaql_studies.study import Results
from spaql_studies.tables import Column, Row, Table, probability, spread

ALPHA = 0.05
MEASURES = (("ours_paper_measure", "best_seen"), ("ours_stricter", "fresh"))
Kind = tuple[str, str]  # problem and algorithm
Check = Callable[[Welch], tuple[bool, str]]


def _words(test: Welch) -> str:
    return f"p = {probability(test.p)}, difference {test.difference:+,.1f}"


def _same(test: Welch) -> tuple[bool, str]:
    return test.p >= ALPHA, _words(test)


def _better(test: Welch) -> tuple[bool, str]:
    return test.p < ALPHA and test.difference > 0, _words(test)


def _gain(test: Welch) -> tuple[bool, str]:
    low, high = test.interval
    return low > 0, f"{test.difference:+,.0f}, 95 % interval {low:+,.0f} to {high:+,.0f}"


# The claim, what the paper says, whose runs are tested against whose, and how
PAIRS: tuple[tuple[str, str, Kind, Kind, Check], ...] = (
    (
        "Pendulum: SPAQL and SPAQL-TS do not differ significantly", "p ≥ 0.05",
        ("pendulum", "SPAQL"), ("pendulum", "SPAQL-TS"), _same,
    ),
    (
        "CartPole: SPAQL-TS is better than SPAQL", "p of the order of 1e-6",
        ("cartpole", "SPAQL-TS"), ("cartpole", "SPAQL"), _better,
    ),
    (
        "CartPole: SPAQL-TS and TRPO do not differ significantly", "p ≥ 0.05",
        ("cartpole", "SPAQL-TS"), ("cartpole", "TRPO"), _same,
    ),
    *(
        (
            f"Pendulum: {name} gains from having 5 actions only", "about +100",
            ("pendulum-5", name), ("pendulum", name), _gain,
        )
        for name in ("SPAQL", "SPAQL-TS")
    ),
)  # fmt: skip


def claims_table(results: Results) -> Table | None:
    """Each claim by the paper's metric and by fresh rollouts: a claim that holds by the first only is owed to the
    bias of best seen."""
    runs = {(problem, algorithm): main_runs(results, problem, algorithm) for problem in MAIN for algorithm in LEARNERS}
    runs |= {(problem, "TRPO"): results.runs("trpo", problem) for problem in MAIN}
    rows = [_pair(claim, paper, runs[a], runs[b], check) for claim, paper, a, b, check in PAIRS]
    rows += [_solved(runs["cartpole", name], name, count) for name, count in (("SPAQL", 1), ("SPAQL-TS", 17))]
    rows += [
        _lead(runs[problem, name], runs[problem, "TRPO"], problem, name)
        for problem in ("pendulum", "cartpole")
        for name in ("SPAQL", "SPAQL-TS")
    ]
    rows = [row for row in rows if row]
    if not rows:
        return None
    columns = (
        Column.text("claim", "claim"),
        Column.text("paper", "paper"),
        Column.text("ours, paper's measure", "ours_paper_measure"),
        Column.text("ours, stricter measure", "ours_stricter"),
        Column.text("verdict", "verdict"),
    )
    note = (
        "Paper's measure: best seen, training samples only. Stricter: fresh rollouts, or all samples counted. "
        "Welch's tests without correction: each claim is looked at by itself."
    )
    return Table("claims", "What the paper claims", columns, rows, (note,), classes=("cards",))


def _pair(claim: str, paper: str, a: Sequence[Run], b: Sequence[Run], check: Check) -> Row:
    if min(len(a), len(b)) < 2:
        return {}
    row: Row = {"claim": claim, "paper": paper}
    holds = []
    for name, metric in MEASURES:
        held, row[name] = check(welch([getattr(run, metric) for run in a], [getattr(run, metric) for run in b]))
        holds.append(held)
    return row | {"verdict": _verdict(holds, [*a, *b])}


def _verdict(holds: Sequence[bool], runs: Sequence[Run]) -> str:
    if any(run.iterations < PAPER.iterations and not CARDS[run.algorithm].rival for run in runs):
        return "not comparable: fewer iterations than in the paper"
    return {(True, True): "holds", (True, False): "holds by best seen only", (False, True): "holds by fresh only"}.get(
        (holds[0], holds[-1]), "does not hold"
    )


def _solved(runs: Sequence[Run], name: str, count: int) -> Row:
    """Agents that solve CartPole, with Fisher's exact test against the published count."""
    from scipy.stats import fisher_exact

    if len(runs) < 2:
        return {}
    row: Row = {"claim": f"CartPole: agents that {name} solves", "paper": f"{count} of 20"}
    holds = []
    for measure, metric in MEASURES:
        solved = sum(getattr(run, metric) >= SOLVED["cartpole"] for run in runs)
        p = float(fisher_exact([[count, 20 - count], [solved, len(runs) - solved]]).pvalue)
        row[measure] = f"{solved} of {len(runs)} (Fisher's exact p = {probability(p)})"
        holds.append(p >= ALPHA)
    return row | {"verdict": _verdict(holds, runs)}


def _lead(runs: Sequence[Run], rivals: Sequence[Run], problem: str, name: str) -> Row:
    """How long the mean curve stays ahead of TRPO's, by both ways of counting."""
    if not runs or not rivals:
        return {}
    at, strictly = (overtaken_at(runs, rivals, evaluation) for evaluation in (False, True))
    claim, paper = f"{TITLES[problem]}: {name} leads TRPO at first", "until about 40,000 training samples"
    row: Row = {"claim": claim, "paper": paper}
    row["ours_paper_measure"] = f"{_overtaken(at)} training samples" if at else _overtaken(at)
    row["ours_stricter"] = f"all samples counted: {_overtaken(strictly)}"
    if any(run.iterations < PAPER.iterations for run in runs):
        return row | {"verdict": _verdict([False], runs)}
    if at is None or at > 80_000:
        return row | {"verdict": "differs: longer"}
    return row | {"verdict": "holds" if at >= 20_000 else "differs: shorter"}


def _overtaken(at: float | None) -> str:
    if at is None:
        return "never overtaken"
    return f"overtaken at {float(f'{at:.2g}'):,.0f}" if at else "behind from the start"


# -- all pairs of algorithms tested against each other -----------------------------------------------------------------


def comparison_tables(results: Results) -> list[Table]:
    """All pairs of algorithms on each problem, on fresh returns, with Holm's correction."""
    tables = []
    for problem in MAIN:
        runs = {name: main_runs(results, problem, name) for name in LEARNERS}
        runs |= {"Random": random_runs(results, problem), "TRPO": results.runs("trpo", problem)}
        scores = {name: [run.fresh for run in group] for name, group in runs.items() if len(group) > 1}
        if len(scores) > 1 and main_runs(results, problem):
            tables.append(_comparison_table(problem, scores))
    return tables


def _comparison_table(problem: str, scores: dict[str, list[float]]) -> Table:
    from spaql.analysis.comparison import compare

    compared = compare(scores, metric="fresh")
    rows: list[Row] = [
        {name: getattr(pair, name) for name in ("a", "b", "difference")}
        | {"low": pair.interval[0], "high": pair.interval[1]}
        | {name: getattr(pair, name) for name in ("t", "df", "p")}
        | {"p_holm": pair.p_adjusted, "significant": pair.significant, "hedges_g": pair.effect}
        | {"improvement": pair.improvement, "improvement_low": pair.improvement_interval[0]}
        | {"improvement_high": pair.improvement_interval[1], "seeds_needed": pair.seeds_needed}
        for pair in compared.pairs
    ]
    columns = (
        Column.text("better mean", "a"),
        Column.text("than", "b"),
        Column("difference", lambda row: spread(row["difference"], (row["high"] - row["low"]) / 2)),
        Column("p, Welch", lambda row: probability(row["p"])),
        Column("p, Holm", lambda row: probability(row["p_holm"])),
        Column("significant", lambda row: "yes" if row["significant"] else "no", words=True),
        Column.number("Hedges' g", "hedges_g"),
        Column(
            "P(improvement)",
            lambda row: f"{row['improvement']:.2f} [{row['improvement_low']:.2f}, {row['improvement_high']:.2f}]",
        ),
        Column.number("seeds for power 0.8", "seeds_needed", 0),
    )
    means = "; ".join(
        f"{group.name} {group.mean:,.1f} (bootstrap {group.bootstrap[0]:,.1f} to {group.bootstrap[1]:,.1f}; "
        f"interquartile mean {group.iqm:,.1f}, {group.iqm_interval[0]:,.1f} to {group.iqm_interval[1]:,.1f})"
        for group in compared.groups
    )
    note = (
        "Welch's tests with Holm's correction over the pairs of this table. P(improvement): that a random agent of "
        "the first beats one of the second, with its bootstrap 95 % interval. Seeds: agents per algorithm which a new "
        "comparison of these two would need."
    )
    title = f"{TITLES[problem]}: all pairs, fresh returns"
    return Table(f"tests-{problem}", title, columns, rows, (f"Means: {means}.", note))


# -- the scaling study -------------------------------------------------------------------------------------------------


def study_table(results: Results) -> Table | None:
    """The best xi of our scaling study beside the one the paper used."""
    rows = []
    for problem in MAIN:
        groups = groups_of(results.runs("scaling", problem))
        for name, by_xi in ((name, groups[name]) for name in LEARNERS if name in groups):
            row: Row = {"problem": problem, "algorithm": name, "paper_xi": CATALOG[problem].xi[name]}
            row["agents"] = len(next(iter(by_xi.values())))
            for metric in ("best_seen", "fresh"):
                means = {xi: fmean(getattr(run, metric) for run in group) for xi, group in by_xi.items()}
                row[f"xi_{metric}"] = max(means, key=lambda xi: means[xi])
                row[metric] = means[row[f"xi_{metric}"]]
                row[f"{metric}_at_paper_xi"] = means.get(row["paper_xi"])
            rows.append(row)
    if not rows:
        return None
    columns = (
        Column("problem", lambda row: TITLES[row["problem"]], words=True),
        Column.text("algorithm", "algorithm"),
        Column("ξ, paper", lambda row: f"{row['paper_xi']:g}"),
        Column("ξ, best seen", lambda row: f"{row['xi_best_seen']:g}"),
        Column.number("its best seen", "best_seen"),
        Column("ξ, fresh", lambda row: f"{row['xi_fresh']:g}"),
        Column.number("its fresh", "fresh"),
        Column.number("fresh at the paper's ξ", "fresh_at_paper_xi"),
    )
    note = "Best mean of the study's agents, by the paper's metric and by fresh rollouts. "
    note += "`--tuned` takes the latter and reports other seeds."
    return Table("scaling", "Scaling study: the best ξ", columns, rows, (note,))
