"""Other people's plants: what is computed, how their quirks are handled, and what is told of it."""

import json
import sys
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Line
from made_runs import made_checked
from pages import ROOT
from spaql.ground.errors import SpaqlError
from spaql_studies.foreign import ENTRANTS, FOREIGN, TASKS, foreign_tables, tasks_of
from spaql_studies.foreign.plants import PLANTS, ForeignPlant, Reseeded
from spaql_studies.load import others
from spaql_studies.parts import experiments
from spaql_studies.reproduce import Request, reproduce
from spaql_studies.runs.compute import agent_of, compute
from spaql_studies.runs.rows import run_from
from spaql_studies.runs.spec import Spec
from spaql_studies.runs.store import Store
from spaql_studies.study import QUICK, WHOLE, Effort, Extra, Part, Results

PENDULUM = "Pendulum-v1"  # needs no package: the way of all others can be gone without them


@pytest.fixture
def pendulum(monkeypatch):
    options = {"names": True, "clip": True}
    monkeypatch.setitem(PLANTS, PENDULUM, ForeignPlant("Gymnasium's pendulum", PENDULUM, "gymnasium", "None.", options))
    monkeypatch.setitem(TASKS, PENDULUM, tasks_of(PENDULUM, (5_000, 2_000, 100), 3))
    monkeypatch.setitem(others("samples"), PENDULUM, [["SAC", 20_000, -157.0, "one agent", "a page"], ["PID", None, None, "by hand", "a book"]])


def run_of(learner):
    spec = next(spec for spec in FOREIGN.specs(PENDULUM, Effort(seeds=2), {}) if spec.algorithm == learner)
    return run_from(compute(spec))


# -- what is computed --------------------------------------------------------------------------------------------------


def test_every_plant_is_computed_and_explained():
    assert set(PLANTS) == set(TASKS) == set(FOREIGN.other_parts)
    assert all(plant.title and plant.quirks.endswith(".") for plant in PLANTS.values())
    assert all(extra.name == "foreign" for extra in FOREIGN.extras.values())


@pytest.mark.parametrize("name", TASKS)
def test_ten_seeds_that_nobody_tuned_on_for_every_learner(name):
    specs = FOREIGN.specs(name, WHOLE, {})
    for learner in ENTRANTS:
        assert {spec.seed for spec in specs if spec.algorithm == learner} == set(range(1000, 1010))
    assert len({spec.key for spec in specs}) == len(specs) == 30


def test_a_quick_look_is_one_agent_of_each_learner_with_few_samples():
    specs = FOREIGN.specs("pcgym-cstr", QUICK, {})
    assert [(spec.algorithm, *spec.checkpoints) for spec in specs] == [("SPAQL", 2000), ("Laws", 2000), ("Atlas", 120)]


def test_plants_whose_package_is_missing_are_left_out_of_the_whole_and_refused_by_name(tmp_path, monkeypatch):
    absent = dict.fromkeys(TASKS, Extra("no_such_module", "foreign"))
    monkeypatch.setitem(experiments(), "foreign", replace(FOREIGN, extras=absent))
    done = reproduce(Request(tmp_path, ("foreign",), quick=True), progress=False)
    assert set(done.left_out) == {Part("foreign", name) for name in TASKS}
    with pytest.raises(SpaqlError, match=r"foreign-gem-current needs the extra: pip install 'spaql\[foreign\]'"):
        reproduce(Request(tmp_path, ("foreign-gem-current",)), progress=False)


def test_runs_of_an_id_with_a_module_have_a_file_of_its_name(tmp_path):
    spec = FOREIGN.specs("dm-cartpole-balance", QUICK, {})[0]
    assert Store(tmp_path).path(spec).name.startswith("cartpole-balance-v0-spaql-1000-")


# -- how a plant becomes a problem -------------------------------------------------------------------------------------


class Two(Line):
    """Its observation in a Dict, without bounds."""

    def __init__(self):
        super().__init__()
        self.observation_space = gymnasium.spaces.Dict({"x": gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)})

    def see(self):
        return {"x": self.x}


class Global(Line):
    """Noise from NumPy's global generator, as in pc-gym."""

    def step(self, action):
        _, *rest = super().step(action)
        return np.random.uniform(-1.0, 1.0, 1), *rest


def test_parameters_of_an_environment_are_keywords_of_from_gym(monkeypatch):
    monkeypatch.setitem(gymnasium.registry, "Two-v0", gymnasium.envs.registration.EnvSpec("Two-v0", Two))
    words = {"flatten": True, "horizon": 5, "names": ["place"]}
    for learner, entrant in ENTRANTS.items():
        spec = Spec("Two-v0", learner, 0, 0, 1, 1, entrant.options, (100,), parameters=json.dumps(words))
        problem = agent_of(spec).problem
        assert ([axis.name for axis in problem.state], problem.horizon) == (["place"], 5)
        assert (problem.map_samples == 0) == (learner == "Atlas")  # laws from a model need no map


def seen(env, seed):
    """What the first step of two episodes shows after the same action; the second is given no seed."""
    env.action_space.seed(0)
    action, rows = env.action_space.sample(), []
    for given in (seed, None):
        env.reset(seed=given)
        rows.append(np.array(env.step(action)[0], float).tolist())
    return rows


def test_the_same_seed_gives_the_same_episodes_and_each_has_noise_of_its_own():
    env = Reseeded(Global())
    first = seen(env, 3)
    assert first[0] != first[1]
    assert seen(env, 3) == first
    assert seen(env, 4) != first


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_that_is_installed_is_a_problem_and_keeps_to_its_seed(name):
    pytest.importorskip(PLANTS[name].module)
    env = spaql.from_gym(PLANTS[name].env_id, **PLANTS[name].options).open_env()
    first = seen(env, 1)
    assert first[0] != first[1]
    assert seen(env, 1) == first
    assert seen(env, 2) != first


# -- what is told ------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:no law better than one constant action")
def test_a_run_is_told_with_its_law_its_size_and_others_beside_it(pendulum):
    run = run_of("Laws")
    reached, controllers, plants = foreign_tables(Results({Part("foreign", PENDULUM): [run]}))
    row, sac, pid = reached.rows
    assert (row["who"], row["fresh"], row["worst_agent"]) == ("Laws", run.fresh, run.fresh)
    assert "law" in row["size"]
    assert row["samples"] == run.train_samples >= 2_000
    assert reached.cells()[1][:4] == ["Gymnasium's pendulum", "SAC", "20,000", "-157.0"]
    assert reached.cells()[2][1:4] == ["PID", "–", "–"]
    assert (sac["source"], pid["source"]) == ("one agent; a page", "by hand; a book")
    assert "torque = " in controllers.rows[0]["controller"]
    assert plants.cells()[-1] == ["Gymnasium's pendulum", PENDULUM, "None."]


def test_the_controller_shown_is_that_of_the_median_seed_and_the_worst_seed_is_told(pendulum):
    law = spaql.law(spaql.from_gym(PENDULUM, names=True), {"sin": -10.0}).to_json()
    specs = [spec for spec in FOREIGN.specs(PENDULUM, Effort(seeds=3), {}) if spec.algorithm != "Atlas"]
    runs = [replace(made_checked(spec, -100.0 * (spec.seed - 999)), arms=7, controller=law if spec.algorithm == "Laws" else "") for spec in specs]
    reached, controllers, _ = foreign_tables(Results({Part("foreign", PENDULUM): runs}))
    spaql_row, laws_row = reached.rows[:2]
    assert (spaql_row["size"], laws_row["size"]) == ("7 cells", "1 law, 1 number")
    assert (laws_row["fresh"], laws_row["worst_agent"]) == (-200.0, -300.0)
    (row,) = controllers.rows
    assert (row["typical_seed"], row["controller"]) == (1001, "torque = clip(-10·sin, -2, 2) N m")


def test_every_published_number_has_a_source():
    assert set(others("samples")) >= set(TASKS)
    for who, samples, returns, how, source in (line for name in TASKS for line in others("samples")[name]):
        assert all((who, how, source))
        assert samples is None or samples > 0
        assert returns is None or isinstance(returns, float)


def test_the_page_has_marks_for_all_that_is_written_into_it():
    sys.path.insert(0, str(ROOT / "docs"))
    from make_benchmarks import blocks_of
    from make_results import replaced

    runs = [made_checked(spec, -0.08) for spec in FOREIGN.specs("pcgym-cstr", Effort(seeds=2), {})]
    block = blocks_of(Results({Part("foreign", "pcgym-cstr"): [replace(run, arms=9) for run in runs]}))["foreign"]
    text = replaced((ROOT / "docs" / "benchmarks.md").read_text("utf-8"), {"foreign": block}, "foreign")
    assert "| pc-gym CSTR | -0.080 [-0.080], 20,000 | -0.080 [-0.080], 300 |" in text
    assert replaced(text, {"foreign": block}, "foreign") == text


def test_the_page_has_what_others_have_published():
    sys.path.insert(0, str(ROOT / "docs"))
    from make_benchmarks import published

    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert "DDPG (30,000): -0.091" in page
    assert page.split("<!-- others -->\n")[1].split("\n<!-- /others -->")[0] == published(), "run: python docs/make_benchmarks.py"
