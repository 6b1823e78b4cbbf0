"""Atlas beside its rivals: tables, figures, and the section of the page."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from made_pages import sample_results, write_sample
from made_runs import made_checked
from spaql_studies.atlas import ABLATION, CONTESTS, atlas_tables
from spaql_studies.figures import draw_figures
from spaql_studies.load import load_results, plan_of, published_runs
from spaql_studies.over_samples import contest_of
from spaql_studies.parts import specs_of
from spaql_studies.runs.store import Store
from spaql_studies.study import Effort, Part, Results
from spaql_studies.tables import comma_separated, markdown

FOUR = Effort(seeds=4)
LEVELS = {"Atlas": -140.0, "SAC": -150.0, "SPAQL": -800.0, "SPAQL-TS": -900.0}


def made(part, level=lambda spec: LEVELS[spec.algorithm]):
    return [made_checked(spec, level(spec) + spec.seed - 1001.5) for spec in specs_of(part, FOUR)]


@pytest.fixture(scope="module")
def results():
    parts = {part: made(part) for part in (Part("atlas", "pendulum"), Part("rivals", "pendulum"))}
    parts[Part("trpo", "pendulum")] = [run for run in published_runs() if run.problem == "pendulum"]
    parts[ABLATION] = made(ABLATION, lambda spec: -140.0 - 100.0 * ("neighbours" in dict(spec.options)))
    return Results(parts, published=frozenset({Part("trpo", "pendulum")}))


def rows_of(results, name):
    return next(table for table in atlas_tables(results) if table.name == name).rows


def test_everybody_is_on_the_same_axis_of_samples(results):
    lines = {line.algorithm: line for line in contest_of(results, "pendulum", CONTESTS["pendulum"])}
    assert list(lines) == ["Atlas", "SAC", "TRPO", "SPAQL-TS", "SPAQL"]
    assert lines["Atlas"].samples.tolist() == list(CONTESTS["pendulum"][0].samples)
    assert lines["TRPO"].samples[-1] == 400_000
    assert contest_of(results, "cartpole", CONTESTS["cartpole"]) == []


def test_trpo_ends_with_its_fresh_returns(results):
    trpo = next(line for line in contest_of(results, "pendulum", CONTESTS["pendulum"]) if line.algorithm == "TRPO")
    np.testing.assert_array_equal(trpo.returns[:, -1], [run.fresh for run in results.runs("trpo", "pendulum")])


def test_a_table_has_mean_interval_worst_agent_seconds_and_tree(results):
    rows = rows_of(results, "atlas-pendulum")
    last = next(row for row in rows if row["algorithm"] == "Atlas" and row["samples"] == 20_000)
    assert last["fresh"] == pytest.approx(-140.0)
    assert last["worst_agent"] == -141.5
    assert last["fresh_half_width"] == pytest.approx(3.182446 * np.std([-1.5, -0.5, 0.5, 1.5], ddof=1) / 2, rel=1e-6)
    assert last["cpu_seconds"] == 20.0
    assert (last["tree_leaves"], last["tree_cpu_seconds"]) == (64, 2.0)
    early = next(row for row in rows if row["algorithm"] == "Atlas" and row["samples"] == 1000)
    assert early["tree_leaves"] is None
    assert [row["samples"] for row in rows if row["algorithm"] == "SAC"] == [1000, 2000, 5000, 10_000]


def test_the_ablation_says_what_each_part_is_worth(results):
    rows = rows_of(results, str(ABLATION))
    assert {row["problem"] for row in rows} == {"pendulum", "cartpole-500"}
    lost = {row["variant"]: row["difference"] for row in rows if row["problem"] == "pendulum"}
    assert lost["as it is"] is None
    assert lost["no interpolation"] == pytest.approx(-100.0)
    assert lost["250 cells"] == pytest.approx(0.0, abs=1e-9)


def test_tables_can_be_written(results):
    for table in atlas_tables(results):
        assert markdown(table).count("\n|") == len(table.rows) + 2
        assert len(list(csv.DictReader(io.StringIO(comma_separated(table))))) == len(table.rows)


def test_a_figure_for_each_problem_with_runs(results, tmp_path):
    drawn = {figure.name: figure for figure in draw_figures(results, tmp_path)}
    assert [name for name in drawn if "atlas" in name] == ["13-atlas-pendulum"]
    figure = drawn["13-atlas-pendulum"]
    assert figure.png.stat().st_size > 20_000
    assert "Atlas −140.0 after 20,000 samples" in figure.caption
    assert "−137.7" in figure.caption
    assert "at most 64 leaves" in figure.caption


def test_the_page_has_the_section_only_if_there_are_such_runs(results, tmp_path):
    plain, both = sample_results(), sample_results()
    both = replace(
        both,
        parts=both.parts
        | {part: results.parts[part] for part in (Part("atlas", "pendulum"), Part("rivals", "pendulum"), ABLATION)},
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert "Beyond the paper" not in write_sample(tmp_path / "a", plain).read_text("utf-8")
    text = write_sample(tmp_path / "b", both).read_text("utf-8")
    assert '<section id="beyond">' in text
    assert 'id="table-atlas-pendulum"' in text
    assert 'id="table-atlas-ablation"' in text
    assert "Atlas with single parts removed" in text


def test_published_rivals_come_in_only_beside_atlas(tmp_path):
    store = Store(tmp_path / "store")
    assert Part("rivals", "pendulum") not in load_results(store).parts
    spec = next(one for one in specs_of(Part("atlas", "pendulum"), FOUR) if one.algorithm == "SPAQL")
    store.write(spec, vars(made_checked(spec, -800.0)))
    store.write_plan("atlas-pendulum", plan_of([spec]))
    found = load_results(store)
    assert {run.algorithm for run in found.runs("rivals", "pendulum")} == {"SAC"}
    assert Part("rivals", "pendulum") in found.published
    assert Part("rivals", "cartpole") not in found.parts
