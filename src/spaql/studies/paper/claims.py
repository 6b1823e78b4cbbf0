"""What the paper says in words, held against our runs."""

from collections.abc import Callable, Sequence

from spaql.analysis.numbers import probability
from spaql.analysis.statistics import welch
from spaql.analysis.tables import Column, Row, Table
from spaql.learners.registry import CARDS
from spaql.runs.rows import Run
from spaql.studies.paper.against_trpo import overtaken_at
from spaql.studies.paper.plan import LEARNERS, MAIN, PAPER, main_runs
from spaql.studies.paper.tables import SOLVED
from spaql.studies.parts import TITLES, Results

ALPHA = 0.05
MEASURES = (("ours_paper_measure", "best_seen"), ("ours_stricter", "fresh"))
Check = Callable[[list[float], list[float]], tuple[bool, str]]


def claims_table(results: Results) -> Table | None:
    """Each claim by the paper's metric and by fresh rollouts: a claim that holds by the first only is owed to the
    bias of best seen."""
    runs = {(problem, algorithm): main_runs(results, problem, algorithm) for problem in MAIN for algorithm in LEARNERS}
    runs |= {(problem, "TRPO"): results.runs("trpo", problem) for problem in MAIN}
    rows = [
        _pair(
            "Pendulum: SPAQL and SPAQL-TS do not differ significantly",
            "p ≥ 0.05",
            runs["pendulum", "SPAQL"],
            runs["pendulum", "SPAQL-TS"],
            _same,
        ),
        _pair(
            "CartPole: SPAQL-TS is better than SPAQL",
            "p of the order of 1e-6",
            runs["cartpole", "SPAQL-TS"],
            runs["cartpole", "SPAQL"],
            _better,
        ),
        _pair(
            "CartPole: SPAQL-TS and TRPO do not differ significantly",
            "p ≥ 0.05",
            runs["cartpole", "SPAQL-TS"],
            runs["cartpole", "TRPO"],
            _same,
        ),
        *(
            _pair(
                f"Pendulum: {name} gains from having 5 actions only",
                "about +100",
                runs["pendulum-5", name],
                runs["pendulum", name],
                _gain,
            )
            for name in ("SPAQL", "SPAQL-TS")
        ),
        *(_solved(runs["cartpole", name], name, told) for name, told in (("SPAQL", 1), ("SPAQL-TS", 17))),
        *(
            _lead(runs[problem, name], runs[problem, "TRPO"], problem, name)
            for problem in ("pendulum", "cartpole")
            for name in ("SPAQL", "SPAQL-TS")
        ),
    ]
    rows = [row for row in rows if row]
    if not rows:
        return None
    columns = (
        Column("claim", lambda row: row["claim"], words=True),
        Column("paper", lambda row: row["paper"], words=True),
        Column("ours, paper's measure", lambda row: row["ours_paper_measure"], words=True),
        Column("ours, stricter measure", lambda row: row["ours_stricter"], words=True),
        Column("verdict", lambda row: row["verdict"], words=True),
    )
    note = (
        "Paper's measure: best seen, training samples only. Stricter: fresh rollouts, or all samples counted. "
        "Welch's tests without "
        "correction: each claim is looked at by itself."
    )
    return Table("claims", "What the paper claims", columns, rows, (note,), classes=("cards",))


def _pair(claim: str, told: str, a: Sequence[Run], b: Sequence[Run], check: Check) -> Row:
    if min(len(a), len(b)) < 2:
        return {}
    row: Row = {"claim": claim, "paper": told}
    holds = []
    for name, metric in MEASURES:
        held, row[name] = check([getattr(run, metric) for run in a], [getattr(run, metric) for run in b])
        holds.append(held)
    return row | {"verdict": _verdict(holds, [*a, *b])}


def _verdict(holds: Sequence[bool], runs: Sequence[Run]) -> str:
    if any(run.iterations < PAPER.iterations and not CARDS[run.algorithm].rival for run in runs):
        return "not comparable: fewer iterations than in the paper"
    return {(True, True): "holds", (True, False): "holds by best seen only", (False, True): "holds by fresh only"}.get(
        (holds[0], holds[-1]), "does not hold"
    )


def _same(a: list[float], b: list[float]) -> tuple[bool, str]:
    found = welch(a, b)
    return found.p >= ALPHA, f"p = {probability(found.p)}, difference {found.difference:+,.1f}"


def _better(a: list[float], b: list[float]) -> tuple[bool, str]:
    found = welch(a, b)
    return found.p < ALPHA and found.difference > 0, f"p = {probability(found.p)}, difference {found.difference:+,.1f}"


def _gain(a: list[float], b: list[float]) -> tuple[bool, str]:
    found = welch(a, b)
    low, high = found.interval
    return low > 0, f"{found.difference:+,.0f}, 95 % interval {low:+,.0f} to {high:+,.0f}"


def _solved(runs: Sequence[Run], name: str, told: int) -> Row:
    """Agents that solve CartPole, with Fisher's exact test against the published count."""
    from scipy.stats import fisher_exact

    if len(runs) < 2:
        return {}
    row: Row = {"claim": f"CartPole: agents that {name} solves", "paper": f"{told} of 20"}
    holds = []
    for measure, metric in MEASURES:
        solved = sum(getattr(run, metric) >= SOLVED["cartpole"] for run in runs)
        p = float(fisher_exact([[told, 20 - told], [solved, len(runs) - solved]]).pvalue)
        row[measure] = f"{solved} of {len(runs)} (Fisher's exact p = {probability(p)})"
        holds.append(p >= ALPHA)
    return row | {"verdict": _verdict(holds, runs)}


def _lead(runs: Sequence[Run], rivals: Sequence[Run], problem: str, name: str) -> Row:
    """How long the mean curve stays ahead of TRPO's, by both ways of counting."""
    if not runs or not rivals:
        return {}
    found = [overtaken_at(runs, rivals, evaluation) for evaluation in (False, True)]
    said = [
        "never overtaken"
        if at is None
        else f"overtaken at {float(f'{at:.2g}'):,.0f}"
        if at
        else "behind from the start"
        for at in found
    ]
    at = found[0]
    row: Row = {
        "claim": f"{TITLES[problem]}: {name} leads TRPO at first",
        "paper": "until about 40,000 training samples",
    }
    row["ours_paper_measure"] = f"{said[0]} training samples" if at else said[0]
    row["ours_stricter"] = f"all samples counted: {said[1]}"
    if any(run.iterations < PAPER.iterations for run in runs):
        return row | {"verdict": _verdict([False], runs)}
    if at is None or at > 80_000:
        return row | {"verdict": "differs: longer"}
    return row | {"verdict": "holds" if at >= 20_000 else "differs: shorter"}
