"""Every learner on every problem: computed, told in tables, drawn, and published."""

import csv
import io
import sys
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from made_pages import text_of
from made_runs import made_checked, made_run
from pages import ROOT
from spaql.plants.catalog import CATALOG
from spaql.plants.equations import Known
from spaql_studies.figures import draw_figures
from spaql_studies.load import load_results, plan_of, published_runs
from spaql_studies.page import make_report
from spaql_studies.parts import TITLES, specs_of
from spaql_studies.results import every_learner_tables
from spaql_studies.runs.compute import compute
from spaql_studies.runs.store import Store
from spaql_studies.scores import ENTRANTS, result_rows, score_text, shade_of
from spaql_studies.study import Effort, Part, Results

FOUR = Effort(seeds=4)
SHORT = (Part("results", "oil-quadratic"), Part("results", "ambulance"))
LEVELS = {
    "Random": -1200.0,
    "AQL": -1190.0,
    "NBQL": -1230.0,
    "ZoomRL": -1210.0,
    "SPAQL": -740.0,
    "SPAQL-TS": -830.0,
    "Atlas": -142.0,
}


def made(problem, levels=LEVELS):
    def one(spec):
        level = levels[spec.algorithm] + spec.seed - 1001.5
        return made_checked(spec, level) if spec.checkpoints else made_run(spec, level + 50.0, level)

    return [one(spec) for spec in specs_of(Part("results", problem), FOUR)]


@pytest.fixture(scope="module")
def results():
    parts = {Part("results", problem): made(problem) for problem in ("pendulum", "acrobot")}
    parts[Part("rivals", "pendulum")] = [run for run in published_runs("rivals") if run.problem == "pendulum"]
    return Results(parts, published=frozenset({Part("rivals", "pendulum")}))


def _tiny(spec):
    """A run of seconds."""
    return replace(spec, iterations=min(spec.iterations, 5), fresh=20)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Two short problems, really computed."""
    store = Store(tmp_path_factory.mktemp("results") / "store")
    for part in SHORT:
        specs = [_tiny(spec) for spec in specs_of(part, Effort(quick=True, seeds=2))]
        for spec in specs:
            store.write(spec, compute(spec))
        store.write_plan(str(part), plan_of(specs, command="spaql reproduce --only results", quick=True))
    return store


def test_every_run_tells_what_it_has_cost(store):
    runs = [run for part in SHORT for run in load_results(store).parts[part]]
    assert len(runs) == 2 * len(ENTRANTS) * 2
    assert all(run.cpu_curve[-1] > 0 for run in runs)
    assert {run.train_samples + run.eval_samples for run in runs if run.algorithm == "Atlas"} == {200}
    assert {run.train_samples for run in runs if run.algorithm == "ZoomRL"} == {5 * 5}
    assert min(run.arms for run in runs if run.algorithm == "Atlas") > 1


def test_the_report_of_such_a_store_has_the_tables_and_the_pictures(store):
    report = make_report(store)
    assert [table.name for table in report.tables["results"]] == [
        "results",
        "results-oil-quadratic",
        "results-ambulance",
    ]
    assert [figure.name for figure in report.figures][-2:] == ["19-results", "20-results-agents"]
    assert (store.folder / "tables" / "results-ambulance.tex").exists()
    assert '<section id="every">' in report.page.read_text("utf-8")


def test_a_row_has_return_interval_worst_agent_budget_and_size(results):
    rows = {row["algorithm"]: row for row in result_rows(results, "pendulum")}
    assert list(rows) == [*ENTRANTS, "SAC"]
    assert rows["SPAQL"]["fresh"] == pytest.approx(-740.0)
    assert rows["SPAQL"]["fresh_half_width"] == pytest.approx(
        3.182446 * np.std([-1.5, -0.5, 0.5, 1.5], ddof=1) / 2, rel=1e-6
    )
    assert rows["SPAQL"]["worst_agent"] == -741.5
    assert rows["SPAQL"]["samples"] == 21 * 400_000
    assert (rows["SPAQL"]["cells"], rows["SPAQL"]["cpu_seconds"]) == (100, 0.5)
    assert rows["Atlas"]["samples"] == 5000
    assert [rows["Random"][name] for name in ("samples", "cells", "cpu_seconds")] == [None, None, None]


def test_a_score_is_nought_for_random_and_one_for_the_best_known(results):
    scores = {
        problem: {row["algorithm"]: row["score"] for row in result_rows(results, problem)}
        for problem in ("pendulum", "acrobot")
    }
    assert scores["pendulum"]["Random"] == scores["acrobot"]["Random"] == 0.0
    assert scores["pendulum"]["Atlas"] == pytest.approx((1200 - 142) / (1200 - 137.7))
    assert scores["acrobot"]["Atlas"] == pytest.approx((1200 - 142) / (1200 - 69.1))  # 1 is not the best of the row
    assert scores["pendulum"]["NBQL"] < 0.0


@pytest.mark.parametrize(
    ("score", "half", "said"),
    [
        (0.994, 0.0, "0.99"),
        (0.9957, 0.0014, "0.996"),  # two digits would say 1.00 of what is not the best known
        (0.9957, None, "0.996"),
        (0.9998, 0.0004, "1.00"),  # as good as the best known, as far as one can tell
        (1.0, 0.0, "1.00"),
        (-0.001, 0.0, "0.00"),
        (None, None, "–"),
    ],
)
def test_only_the_best_known_is_told_as_one(score, half, said):
    assert score_text({"score": score, "score_half_width": half}) == said


def test_where_no_best_return_is_known_there_are_no_scores(results, monkeypatch, tmp_path):
    unknown = replace(CATALOG["acrobot"], best_known=Known(None, "nobody has measured it"))
    monkeypatch.setitem(CATALOG, "acrobot", unknown)
    assert {row["score"] for row in result_rows(results, "acrobot")} == {None}
    tables = {table.name: table for table in every_learner_tables(results)}
    assert "Score: none, no best return is known: nobody has measured it." in tables["results-acrobot"].notes
    assert tables["results"].cells()[1][-1] == "–"
    drawn = {figure.name: figure for figure in draw_figures(results, tmp_path) if "results" in figure.name}
    assert "None is known on Acrobot." in drawn["19-results"].caption


def test_tables_say_what_one_is_and_what_was_not_computed_here(results):
    tables = {table.name: table for table in every_learner_tables(results)}
    assert list(tables) == ["results", "results-pendulum", "results-acrobot"]
    assert "1 is -137.7, the best known" in " ".join(tables["results-pendulum"].notes)
    assert "1 is -69.1, the best known: the RL zoo's QR-DQN" in " ".join(tables["results-acrobot"].notes)
    assert "SAC: the runs published with the package" in " ".join(tables["results-pendulum"].notes)
    assert tables["results"].cells()[0][:2] == ["Pendulum", "-1,200.0 ± 2.1"]
    assert tables["results-pendulum"].cells()[0][:5] == ["Random", "4", "-1,200.0 ± 2.1", "-1,201.5", "0.00"]


def test_no_runs_no_tables(results):
    assert every_learner_tables(Results({Part("main", "cartpole"): []})) == []
    assert result_rows(results, "cartpole") == []


def test_the_matrix_and_the_agents_are_drawn(results, tmp_path):
    drawn = {figure.name: figure for figure in draw_figures(results, tmp_path) if "results" in figure.name}
    assert list(drawn) == ["19-results", "20-results-agents"]
    assert all(figure.png.stat().st_size > 20_000 for figure in drawn.values())
    assert "1 the best known" in drawn["19-results"].caption
    assert "The best mean has Atlas on 2 of 2 problems" in drawn["19-results"].caption


def test_shades_grow_darker_from_random_to_the_best():
    light = [sum(int(shade_of(score)[place : place + 2], 16) for place in (1, 3, 5)) for score in (0.0, 0.3, 0.6, 1.0)]
    assert light == sorted(light, reverse=True)
    assert shade_of(-9.0) == shade_of(-0.5)


def test_the_page_of_the_paper_alone_has_no_such_section(results, tmp_path):
    assert 'id="every"' not in text_of(tmp_path, None)
    (tmp_path / "b").mkdir()
    text = text_of(tmp_path / "b", results)
    assert 'id="table-results-pendulum"' in text
    assert "2,000; Atlas 5,000 samples" in text


def test_only_a_page_with_runs_of_the_paper_is_framed_by_the_paper(results, tmp_path):
    paper = text_of(tmp_path, None)
    (tmp_path / "b").mkdir()
    ours = text_of(tmp_path / "b", results)
    for words in ("Reproducing “Control with adaptive Q-learning”", "compares the published values with runs", "published return"):
        assert words in paper
        assert words not in ours
    assert "Results of spaql" in ours
    assert "none of the paper" not in ours


# -- what is published ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def make_results():
    sys.path.insert(0, str(ROOT / "docs"))
    import make_results

    return make_results


def test_numbers_go_between_their_marks_and_the_sentences_stay(results, make_results):
    page = "".join(
        f"# {name}\nSaid by us.\n<!-- {name} -->\nold\n<!-- /{name} -->\n" for name in ("results", "results-runs")
    )
    tables = every_learner_tables(results)[:1]
    text = make_results.filled(page, tables, "56 runs.")
    assert text.count("Said by us.") == 2
    assert "old" not in text
    assert "| Pendulum | -1,200.0 |" in text
    assert "±" not in text  # the pictures have the intervals
    assert make_results.filled(text, tables, "56 runs.") == text
    with pytest.raises(SystemExit, match="results-acrobot"):
        make_results.filled(page, every_learner_tables(results), "")


def test_the_published_page_has_the_means_of_the_published_agents(make_results):
    page, runs = (
        (ROOT / "docs" / "results.md").read_text(),
        list(csv.DictReader(io.StringIO((ROOT / "docs" / "results.csv").read_text()))),
    )
    groups = {}
    for run in runs:
        groups.setdefault((run["problem"], run["algorithm"]), []).append(float(run["fresh"]))
    assert len(groups) == 13 * len(ENTRANTS)
    lines = page.split("<!-- results -->\n")[1].split("\n<!-- /results -->")[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
    shown = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    for (problem, algorithm), fresh in groups.items():
        assert len(fresh) == 20
        mean = shown[TITLES[problem]][algorithm]
        digits = len(mean.partition(".")[2])
        assert float(mean.replace(",", "")) == pytest.approx(fmean(fresh), abs=0.51 * 10.0**-digits)


def test_no_published_mean_is_above_the_best_known():
    """A score of 1.00 means the best published result."""
    runs = list(csv.DictReader(io.StringIO((ROOT / "docs" / "results.csv").read_text())))
    means = {(run["problem"], run["algorithm"]): [] for run in runs}
    for run in runs:
        means[run["problem"], run["algorithm"]].append(float(run["fresh"]))
    for kind in ("rivals", "trpo"):
        for run in published_runs(kind):
            means.setdefault((run.problem, run.algorithm), []).append(run.fresh)
    for (problem, _), fresh in means.items():
        assert fmean(fresh) <= CATALOG[problem].best_known.value + 1e-9
