"""The paper's tables beside our numbers: verdicts, solved agents, claims, and the three formats."""

import csv
import io
import subprocess
from shutil import which

import numpy as np
import pytest

from made_runs import made_part, made_results, made_run
from spaql_studies.paper.claims import claims_table, comparison_tables, study_table
from spaql_studies.paper.learning import curve_of, overtaken_at
from spaql_studies.paper.plan import main_runs
from spaql_studies.paper.tables import paper_tables
from spaql_studies.parts import specs_of
from spaql_studies.study import QUICK, WHOLE, Effort, Part, Results
from spaql_studies.tables import Column, Table, comma_separated, latex, markdown, write_tables


def like_the_paper(spec):
    """Best seen as published, with agents spread around it; fresh five lower."""
    means = {"AQL": 22.40, "SPAQL": 192.57, "SPAQL-TS": 198.53, "Random": 22.15, "TRPO": 197.27}
    spread = {"AQL": 1.3, "SPAQL": 2.0, "SPAQL-TS": 1.0, "Random": 1.3, "TRPO": 2.0}[spec.algorithm]
    best = means[spec.algorithm] + spread * np.sin(1.0 + spec.seed)
    return best, best - 5.0


def the_table(results, name="cartpole"):
    return next(table for table in paper_tables(results) if table.name == name)


def row_of(table, label):
    return next(row for row in table.rows if row["label"] == label)


@pytest.fixture(scope="module")
def cartpole():
    return made_results(
        {
            Part("main", "cartpole"): like_the_paper,
            Part("random", "cartpole"): like_the_paper,
            Part("trpo", "cartpole"): like_the_paper,
        }
    )


def test_figures_like_the_papers_are_reproduced(cartpole):
    table = the_table(cartpole)
    assert {row["algorithm"]: row["verdict"] for row in table.rows} == dict.fromkeys(
        ["AQL", "SPAQL", "SPAQL-TS", "Random", "TRPO"], "reproduced"
    )


@pytest.mark.parametrize(("shift", "verdict"), [(30.0, "differs: better"), (-30.0, "differs: worse")])
def test_figures_far_from_the_papers_differ_and_say_in_which_direction(shift, verdict):
    results = made_results(
        {Part("main", "cartpole"): lambda spec: tuple(value + shift for value in like_the_paper(spec))}
    )
    row = row_of(the_table(results), "AQL")
    assert row["verdict"] == verdict
    assert row["p"] < 1e-10
    assert row["reason"]


def test_the_verdict_is_welchs_test_of_best_seen_not_of_fresh(cartpole):
    from scipy.stats import t, ttest_ind_from_stats

    row, runs = row_of(the_table(cartpole), "SPAQL"), main_runs(cartpole, "cartpole", "SPAQL")
    best = [run.best_seen for run in runs]
    paper_sd = 0.94 * np.sqrt(20) / t.ppf(0.975, 19)
    expected = ttest_ind_from_stats(np.mean(best), np.std(best, ddof=1), 20, 192.57, paper_sd, 20, equal_var=False)
    assert row["p"] == pytest.approx(expected.pvalue)


def test_shorter_runs_than_the_papers_are_not_comparable():
    results = made_results({Part("main", "cartpole"): like_the_paper}, QUICK)
    row = row_of(the_table(results), "SPAQL")
    assert row["verdict"] == "not comparable"
    assert row["reason"] == "300 iterations, in the paper 2,000"
    assert claims_table(results).rows[0]["verdict"].startswith("not comparable")


def test_solved_agents_are_counted_by_both_measures(cartpole):
    row = row_of(the_table(cartpole), "SPAQL-TS")
    assert row["paper_solved"] == 17
    assert row["solved_best_seen"] == 20
    assert row["solved_fresh"] == 0


def test_intervals_are_students(cartpole):
    from scipy.stats import t

    row, fresh = row_of(the_table(cartpole), "SPAQL"), [run.fresh for run in main_runs(cartpole, "cartpole", "SPAQL")]
    low, high = t.interval(0.95, 19, np.mean(fresh), np.std(fresh, ddof=1) / np.sqrt(20))
    assert row["fresh_half_width"] == pytest.approx((high - low) / 2)


def test_pendulum_has_both_kinds_of_random_and_compares_the_papers():
    results = made_results(
        {
            Part("main", "pendulum"): lambda spec: (-800.0 - spec.seed, -900.0),
            Part("random", "pendulum"): lambda spec: (-1340.0 + spec.seed, -1340.0),
        }
    )
    table = the_table(results, "pendulum")
    assert row_of(table, "Random, torque in [0, 2]")["paper_reward"] == -1340.43
    assert row_of(table, "Random, whole range")["paper_reward"] is None


def test_tuned_runs_stand_beside_the_published_ones():
    study = made_part(Part("scaling", "cartpole"), lambda spec: (0.0, float(spec.xi == 70.0)))
    specs = specs_of(Part("tuned", "cartpole"), WHOLE, {Part("scaling", "cartpole"): study})
    runs = [made_run(spec, *like_the_paper(spec)) for spec in specs]
    both = Results({**made_results({Part("main", "cartpole"): like_the_paper}).parts, Part("tuned", "cartpole"): runs})
    table = the_table(both)
    assert row_of(table, "SPAQL")["xi"] == 20.0
    assert row_of(table, "SPAQL, tuned")["xi"] == 70.0


def test_a_single_finished_agent_has_a_row_without_interval():
    results = made_results({Part("main", "cartpole"): like_the_paper}, Effort(seeds=1))
    row = row_of(the_table(results), "SPAQL")
    assert (row["agents"], row["best_seen_half_width"], row["verdict"]) == (1, None, "not comparable")


# -- claims --------------------------------------------------------------------------------------------------------------------------


def verdict_of(results, beginning):
    return next(row["verdict"] for row in claims_table(results).rows if row["claim"].startswith(beginning))


def test_a_claim_that_holds_by_both_measures_holds(cartpole):
    assert verdict_of(cartpole, "CartPole: SPAQL-TS is better than SPAQL") == "holds"


def test_a_claim_owed_to_the_bias_of_best_seen_is_called_so():
    def biased(spec):
        best, fresh = like_the_paper(spec)
        return best, 150.0 + np.sin(spec.seed) if spec.algorithm == "SPAQL-TS" else fresh

    assert (
        verdict_of(made_results({Part("main", "cartpole"): biased}), "CartPole: SPAQL-TS is better than SPAQL")
        == "holds by best seen only"
    )


def test_without_data_there_are_no_claims():
    assert claims_table(Results({})) is None


def test_the_lead_over_trpo_ends_where_the_mean_curves_cross():
    specs = specs_of(Part("main", "cartpole"), WHOLE)[20:23], specs_of(Part("trpo", "cartpole"), WHOLE)[:3]
    ours = [made_run(spec, 150.0, 150.0, samples=100_000, points=1000) for spec in specs[0]]  # 100 -> 150
    rivals = [
        made_run(spec, 160.0, 160.0, samples=100_000, points=100) for spec in specs[1]
    ]  # 110 -> 160: always ahead
    assert overtaken_at(ours, rivals) == 0
    assert overtaken_at(rivals, ours) is None
    late = [
        made_run(spec, 200.0, 200.0, samples=400_000, points=100) for spec in specs[1]
    ]  # 150 -> 200: ahead at its first point
    assert overtaken_at(ours, late) == 0


def test_agents_are_averaged_at_the_same_number_of_samples():
    one, two = (made_run(spec, best, best, samples=samples) for spec, best, samples in zip(
        specs_of(Part("main", "cartpole"), WHOLE), (50.0, 60.0), (500, 1000), strict=False
    ))  # fmt: skip
    grid, values = curve_of([one, two], evaluation=False)  # 0 to 50 at 100 ... 500; 10 to 60 at 200 ... 1000
    assert (grid[0], grid[-1]) == pytest.approx((200, 500))
    np.testing.assert_allclose(values[:, 0], [12.5, 10.0])
    np.testing.assert_allclose(values[:, -1], [50.0, 10.0 + 12.5 * 1.5])


# -- pairs and study -----------------------------------------------------------------------------------------------------------------


def test_all_pairs_are_tested_with_holms_correction(cartpole):
    (table,) = comparison_tables(cartpole)
    assert len(table.rows) == 10
    assert all(row["p_holm"] >= row["p"] for row in table.rows)


def test_the_best_xi_is_chosen_by_each_measure():
    def figure(spec):
        return (200.0 if spec.xi == 4.0 else 100.0), (190.0 if spec.xi == 60.0 else 100.0)

    row = study_table(made_results({Part("scaling", "cartpole"): figure})).rows[0]
    assert (row["xi_best_seen"], row["xi_fresh"], row["paper_xi"]) == (4.0, 60.0, 120.0)


# -- formats -------------------------------------------------------------------------------------------------------------------------


def test_csv_has_plain_numbers_that_read_back(cartpole):
    rows = list(csv.DictReader(io.StringIO(comma_separated(the_table(cartpole)))))
    assert float(rows[1]["best_seen"]) == the_table(cartpole).rows[1]["best_seen"]
    assert rows[1]["algorithm"] == "SPAQL"


def test_markdown_has_a_line_per_row_and_escapes_bars():
    table = Table(
        "t",
        "A | B",
        (Column("a", lambda row: row["a"], words=True), Column("b", lambda row: f"{row['b']}")),
        [{"a": "x|y", "b": 1}],
    )
    assert "| x\\|y | 1 |" in markdown(table)


def test_latex_escapes_what_latex_would_read():
    table = Table("t", "T", (Column("50 % & more_", lambda row: "-1.5 ± 0.1 #$"),), [{}])
    text = latex(table)
    assert r"50 \% \& more\_" in text
    assert r"$-$1.5 $\pm$ 0.1 \#\$" in text


@pytest.mark.skipif(which("pdflatex") is None, reason="no pdflatex here")
def test_latex_compiles(tmp_path, cartpole):
    begin = r"\documentclass{article}\usepackage[utf8]{inputenc}\usepackage{booktabs}\begin{document}\tiny "
    (tmp_path / "t.tex").write_text(begin + latex(the_table(cartpole)) + r"\end{document}")
    assert (
        subprocess.run(
            ["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, check=False
        ).returncode
        == 0
    )


def test_every_table_is_written_in_every_format(tmp_path, cartpole):
    write_tables([the_table(cartpole)], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cartpole.csv", "cartpole.md", "cartpole.tex"]
