"""Laws after few samples: what is computed, what is told of it, and what others have published."""

import json
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest

import spaql
from made_runs import made_checked
from pages import ROOT
from spaql.ground.errors import SpaqlError
from spaql_studies.few import ELSEWHERE, FEW, TASKS, few_tables, rivals_of
from spaql_studies.figures import draw_figures
from spaql_studies.load import others, published_runs
from spaql_studies.parts import chosen_parts, experiments, specs_of
from spaql_studies.reproduce import Request, reproduce
from spaql_studies.runs.compute import agent_of, compute
from spaql_studies.runs.rows import digest_of, read_rows, run_from, write_rows
from spaql_studies.runs.spec import Spec, spec_from
from spaql_studies.study import QUICK, WHOLE, Effort, Extra, Part, Results

FOUR = Effort(seeds=4)


def made(spec, last):
    """A run by hand: the agent of seed 1000 has a table, all others three laws, and one of them a doubt."""
    run, n = made_checked(spec, last + spec.seed - 1001.5, last - 5.0), len(spec.checkpoints)
    leaves = np.full(n, 0 if spec.seed == 1000 else 3)
    return replace(
        run, worst_returns=run.checkpoint_returns - 3.0, law_leaves=leaves, law_numbers=10 * leaves,
        model_returns=run.checkpoint_returns + spec.seed - 1001.0, doubts=np.full(n, spec.seed == 1003, int),
        parameters=spec.parameters,
    )  # fmt: skip


@pytest.fixture(scope="module")
def results():
    levels = {"cartpole-swing-up": 30.0, "pendulum": -150.0}
    parts = {Part("few", name): [made(spec, at) for spec in FEW.specs(name, FOUR, {})] for name, at in levels.items()}
    parts[Part("rivals", "pendulum")] = [run for run in published_runs("rivals") if run.problem == "pendulum"]
    return Results(parts, published=frozenset({Part("rivals", "pendulum")}))


# -- what is computed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", FEW.parts, ids=str)
def test_twenty_seeds_that_nobody_tuned_on(part):
    for task in TASKS[part.problem]:
        specs = [spec for spec in specs_of(part, WHOLE) if spec.options == task.options]
        assert {spec.seed for spec in specs} == set(range(1000, 1020))


def test_atlas_means_it_too_and_it_can_be_asked_for_alone():
    assert set(FEW.parts) < set(chosen_parts(("atlas",)))
    assert chosen_parts(("few",)) == list(FEW.parts)
    assert chosen_parts(("few-pendulum",)) == [Part("few", "pendulum")]


def test_a_quick_look_is_one_agent_of_few_samples_unless_more_are_asked_for():
    (spec,) = FEW.specs("pendulum", QUICK, {})
    assert spec.checkpoints == (120,)
    assert len(FEW.specs("pendulum", Effort(quick=True, seeds=2), {})) == 2


def test_noise_is_a_parameter_of_the_problem_and_survives_json():
    noisy = next(spec for spec in FEW.specs("cartpole-swing-up", WHOLE, {}) if spec.parameters)
    again = spec_from(json.loads(json.dumps(asdict(noisy))))
    assert again == noisy
    assert again.key == noisy.key != replace(noisy, parameters="").key
    problem = agent_of(noisy).problem
    assert set(problem.parameters["observation_noise"].values()) == {0.01}
    assert len(problem.parameters["observation_noise"]) == len(problem.state)


def test_specs_without_parameters_keep_the_keys_they_had():
    spec = Spec("pendulum", "Atlas", 3, 0, 0, 6, (("cells", 20),), (500,))
    assert spec.key_by("then") == "e73d82f1f202c2b4e8aa"  # as written before there were parameters


def test_every_sample_in_a_slow_environment_is_one_of_learning():
    pytest.importorskip("mujoco")
    (spec,) = FEW.specs("InvertedPendulum-v5", QUICK, {})
    assert agent_of(spec).problem.map_samples == 0


def test_parts_whose_extra_is_missing_are_left_out_of_the_whole_and_refused_by_name(tmp_path, monkeypatch):
    absent = dict.fromkeys(ELSEWHERE, Extra("no_such_module", "mujoco"))
    monkeypatch.setitem(experiments(), "few", replace(FEW, extras=absent, specs=lambda *_: []))
    done = reproduce(Request(tmp_path, ("few",), quick=True), progress=False)
    assert set(done.left_out) == {Part("few", name) for name in ELSEWHERE}
    with pytest.raises(SpaqlError, match=r"few-Reacher-v5 needs the extra: pip install 'spaql\[mujoco\]'"):
        reproduce(Request(tmp_path, ("few-Reacher-v5",)), progress=False)


@pytest.mark.slow
def test_a_run_keeps_the_controller_and_what_its_model_says_of_it(tmp_path):
    spec = replace(FEW.specs("cartpole-500", QUICK, {})[0], fresh=50)
    run = run_from(compute(spec))
    policy = spaql.Policy.from_json(run.controller)
    assert policy.evaluate(50, seed=run.seed).mean == pytest.approx(run.fresh)
    assert (policy.n_leaves, policy.numbers) == (run.law_leaves[-1], run.law_numbers[-1])
    assert run.worst_returns[-1] <= run.fresh
    assert run.model_returns[-1] == pytest.approx(run.fresh, rel=0.1)
    assert run.doubts[-1] > 0  # no laws have led an episode after so few samples
    write_rows(tmp_path / "run.parquet", [run])
    (found,) = read_rows(tmp_path / "run.parquet")
    assert found.digest == run.digest == digest_of(vars(found))


# -- what is told ------------------------------------------------------------------------------------------------------


def test_a_row_has_the_worst_agent_and_how_wrong_the_model_was(results):
    rows = few_tables(results)[0].rows
    row = next(row for row in rows if row["task"] == "reward known" and row["samples"] == 320)
    assert (row["fresh"], row["worst_agent"], row["worst_episodes"]) == (30.0, 28.5, 27.0)
    assert (row["model_minus_plant"], row["model_most_wrong"]) == (0.5, 2.0)
    assert (row["agents_in_doubt"], row["tables"], row["leaves"], row["numbers"]) == (1, 1, "3", "30")


def test_tasks_on_a_problem_have_rows_of_their_own(results):
    rows = [row for row in few_tables(results)[0].rows if row["problem"] == "cartpole-swing-up"]
    assert [(row["task"], row["samples"], row["agents"]) for row in rows] == [
        ("reward known", 280, 4), ("reward known", 320, 4), ("reward learned", 400, 4), ("noise 0.01", 400, 4),
    ]  # fmt: skip


def test_others_stand_beside_it_in_the_order_of_samples(results):
    lines = [row for row in few_tables(results)[1].rows if row["problem"] == "cartpole-swing-up"]
    assert [line["samples"] for line in lines] == sorted(line["samples"] for line in lines)
    cells = few_tables(results)[1].cells()
    assert ["Cart-pole swing-up", "280", "Black-DROPS", "31.10"] in [line[:4] for line in cells]
    assert ["Cart-pole swing-up", "280", "PILCO", "24.00 to 27.00"] in [line[:4] for line in cells]
    assert ["Cart-pole swing-up", "120", "GP-MPC", "–"] in [line[:4] for line in cells]


def test_rivals_stand_at_the_first_checkpoint_with_as_many_samples(results):
    assert [line["samples"] for line in rivals_of(results, "pendulum", [300, 1000, 5000])] == [500, 1000, 5000]
    assert rivals_of(results, "pendulum", [50_000]) == []


def test_every_published_number_has_a_source():
    assert set(TASKS) == {*FEW.problems, *ELSEWHERE}
    for who, samples, returns, how, source in (line for problem in TASKS for line in others("samples")[problem]):
        assert all((who, how, source))
        assert samples > 0
        assert returns is None or isinstance(returns, float) or returns[0] < returns[1]


def test_the_figure_names_others_and_says_who_is_in_it(results, tmp_path):
    (figure,) = [one for one in draw_figures(results, tmp_path) if one.study == "few"]
    assert figure.name == "21-few"
    assert "4 agents each" in figure.caption
    assert "Stable-Baselines3" in figure.caption
    svg = figure.svg.read_text("utf-8")
    assert "Black-DROPS" in svg
    assert "reward learned" in svg


def test_the_page_has_marks_for_all_that_is_written_into_it(results):
    sys.path.insert(0, str(ROOT / "docs"))
    from make_benchmarks import blocks_of
    from make_results import replaced

    page, block = (ROOT / "docs" / "benchmarks.md").read_text("utf-8"), blocks_of(results)["few"]
    text = replaced(page, {"few": block}, "few")
    assert "| Cart-pole swing-up, reward known | 320 | 30.00 ± 2.05 | 28.50 |" in text
    assert replaced(text, {"few": block}, "few") == text
