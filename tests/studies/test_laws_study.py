"""The study of laws: what a store of it says in tables."""

import json
from dataclasses import replace

import pytest

import spaql
from spaql_studies.benchmark import specs_of_tasks
from spaql_studies.facts import remarks
from spaql_studies.laws import BOX2D, COMPILED, MUJOCO, SLIDES, law_tables
from spaql_studies.load import others
from spaql_studies.runs.compute import compute
from spaql_studies.runs.rows import run_from
from spaql_studies.runs.spec import Spec
from spaql_studies.study import QUICK, WHOLE, Part, Results
from spaql_studies.tables import latex, markdown


@pytest.fixture(scope="module")
def results():
    specs = [Spec("cartpole-500", "Laws", seed, 0, 0, 50, (("max_leaves", 1),), (600_000,)) for seed in (5, 6, 7)]
    return Results({Part("laws", "cartpole-500"): [run_from(compute(spec)) for spec in specs]})


def test_a_run_keeps_its_controller(results):
    run = results.runs("laws", "cartpole-500")[0]
    policy = spaql.Policy.from_json(run.controller)
    assert policy.evaluate(50, seed=run.seed).mean == pytest.approx(run.fresh)
    assert run.arms == policy.n_leaves == 1


def test_means_and_worst_agents_are_told_with_the_numbers_of_the_controllers(results):
    runs, (reached, controllers, _) = results.runs("laws", "cartpole-500"), law_tables(results)
    (row,) = reached.rows
    fresh = sorted(run.fresh for run in runs)
    assert (row["fresh"], row["worst_agent"]) == (pytest.approx(sum(fresh) / 3), fresh[0])
    assert row["worst_episodes"] <= row["worst_agent"]
    assert row["leaves"] == "1"
    assert row["samples"] == 600_000
    (shown,) = controllers.rows
    assert shown["typical_fresh"] == fresh[1]  # the one in the middle, not the best
    assert shown["controller"].startswith("push = 1 if ")


def test_others_stand_beside_it_with_their_sources(results):
    beside = law_tables(results)[2]
    assert [row["fresh"] for row in beside.rows] == sorted((row["fresh"] for row in beside.rows), reverse=True)
    assert any(row["who"].startswith("spaql: 1 law, ") for row in beside.rows)
    assert all(row["source"] for row in beside.rows)


def test_every_problem_has_others_to_compare_with():
    assert set(others("laws")) == set(SLIDES) == {*COMPILED, *MUJOCO, *BOX2D}


def test_ten_seeds_from_1000_on_that_no_setting_was_chosen_on():
    for problem in SLIDES:
        seeds = {spec.seed for spec in specs_of_tasks(SLIDES[problem], WHOLE)}
        assert seeds == set(range(1000, 1010))


def test_a_quick_look_has_fewer_samples_where_there_are_many():
    quick, whole = (specs_of_tasks(SLIDES["pendulum"], effort) for effort in (QUICK, WHOLE))
    assert max(spec.checkpoints[0] for spec in quick) < 0.1 * max(spec.checkpoints[0] for spec in whole)
    assert len({spec.options for spec in whole}) == 2


def test_published_numbers_are_data():
    text = json.dumps(others("laws"))
    assert "TQC" in text
    assert all(len(entry) == 5 for entries in others("laws").values() for entry in entries)


def test_the_lines_of_a_controller_stay_lines_in_every_format(results):
    controllers = law_tables(results)[1]
    row = controllers.rows[0] | {"controller": "if x ≥ 0:\n  u = 1\nelse:\n  u = -1"}
    table = replace(controllers, rows=[row])
    assert "`if x ≥ 0:`<br>`  u = 1`<br>`else:`<br>`  u = -1`" in markdown(table)
    assert r"\shortstack[l]{if x $\geq$ 0: \\ \ \ u = 1 \\ else: \\ \ \ u = $-$1}" in latex(table)


def test_published_runs_are_told_by_the_problems_they_are_on(results):
    elsewhere = Part("mujoco", "InvertedPendulum-v5")
    runs = [replace(run, problem="InvertedPendulum-v5") for run in results.runs("laws", "cartpole-500")]
    both = replace(results, parts=results.parts | {elsewhere: runs}, published=frozenset({elsewhere}))
    told = dict(remarks(both))
    assert "Its runs on InvertedPendulum-v5 (3 agents each)" in told["Laws on InvertedPendulum-v5 was not computed here"]
