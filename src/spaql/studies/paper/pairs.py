"""All pairs of algorithms tested against each other, and the best xi of the scaling study."""

from statistics import fmean

from spaql.analysis.numbers import NOTHING, number, probability, spread
from spaql.analysis.tables import Column, Row, Table
from spaql.runs.rows import Run
from spaql.studies.paper.plan import LEARNERS, MAIN, main_runs, random_runs
from spaql.studies.parts import TITLES, Results


def comparison_tables(results: Results) -> list[Table]:
    """All pairs of algorithms on each problem, on fresh returns, with Holm's correction."""
    tables = []
    for problem in MAIN:
        scores = {name: [run.fresh for run in main_runs(results, problem, name)] for name in LEARNERS}
        scores["Random"] = [run.fresh for run in random_runs(results, problem)]
        scores["TRPO"] = [run.fresh for run in results.runs("trpo", problem)]
        scores = {name: values for name, values in scores.items() if len(values) > 1}
        if len(scores) > 1 and main_runs(results, problem):
            tables.append(_comparison_table(problem, scores))
    return tables


def _comparison_table(problem: str, scores: dict[str, list[float]]) -> Table:
    from spaql.analysis.comparison import compare

    found = compare(scores, metric="fresh")
    rows = [
        {
            "a": pair.a,
            "b": pair.b,
            "difference": pair.difference,
            "low": pair.interval[0],
            "high": pair.interval[1],
            "t": pair.t,
            "df": pair.df,
            "p": pair.p,
            "p_holm": pair.p_adjusted,
            "significant": pair.significant,
            "hedges_g": pair.effect,
            "improvement": pair.improvement,
            "improvement_low": pair.improvement_interval[0],
            "improvement_high": pair.improvement_interval[1],
            "seeds_needed": pair.seeds_needed,
        }
        for pair in found.pairs
    ]
    columns = (
        Column("better mean", lambda row: row["a"], words=True),
        Column("than", lambda row: row["b"], words=True),
        Column("difference", lambda row: spread(row["difference"], (row["high"] - row["low"]) / 2)),
        Column("p, Welch", lambda row: probability(row["p"])),
        Column("p, Holm", lambda row: probability(row["p_holm"])),
        Column("significant", lambda row: "yes" if row["significant"] else "no", words=True),
        Column("Hedges' g", lambda row: number(row["hedges_g"])),
        Column(
            "P(improvement)",
            lambda row: f"{row['improvement']:.2f} [{row['improvement_low']:.2f}, {row['improvement_high']:.2f}]",
        ),
        Column(
            "seeds for power 0.8", lambda row: NOTHING if row["seeds_needed"] is None else f"{row['seeds_needed']:,}"
        ),
    )
    means = "; ".join(
        f"{group.name} {group.mean:,.1f} (bootstrap {group.bootstrap[0]:,.1f} to {group.bootstrap[1]:,.1f}; "
        "interquartile mean "
        f"{group.iqm:,.1f}, {group.iqm_interval[0]:,.1f} to {group.iqm_interval[1]:,.1f})"
        for group in found.groups
    )
    note = (
        "Welch's tests with Holm's correction over the pairs of this table. P(improvement): that a random agent of "
        "the first beats one of "
        "the second, with its bootstrap 95 % interval. Seeds: agents per algorithm which a new comparison of these "
        "two would need."
    )
    return Table(
        f"tests-{problem}", f"{TITLES[problem]}: all pairs, fresh returns", columns, rows, (f"Means: {means}.", note)
    )


def study_table(results: Results) -> Table | None:
    """The best xi of our scaling study beside the one the paper used."""
    from spaql.plants.catalog import CATALOG

    rows = []
    for problem in MAIN:
        runs = results.runs("scaling", problem)
        for name in LEARNERS:
            by_xi: dict[float, list[Run]] = {}
            for run in runs:
                if run.algorithm == name and run.xi is not None:
                    by_xi.setdefault(run.xi, []).append(run)
            if not by_xi:
                continue
            row: Row = {
                "problem": problem,
                "algorithm": name,
                "paper_xi": CATALOG[problem].xi[name],
                "agents": len(next(iter(by_xi.values()))),
            }
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
        Column("algorithm", lambda row: row["algorithm"], words=True),
        Column("ξ, paper", lambda row: f"{row['paper_xi']:g}"),
        Column("ξ, best seen", lambda row: f"{row['xi_best_seen']:g}"),
        Column("its best seen", lambda row: number(row["best_seen"])),
        Column("ξ, fresh", lambda row: f"{row['xi_fresh']:g}"),
        Column("its fresh", lambda row: number(row["fresh"])),
        Column("fresh at the paper's ξ", lambda row: number(row["fresh_at_paper_xi"])),
    )
    note = "Best mean of the study's agents, by the paper's metric and by fresh rollouts. "
    note += "`--tuned` takes the latter and reports other seeds."
    return Table("scaling", "Scaling study: the best ξ", columns, rows, (note,))
