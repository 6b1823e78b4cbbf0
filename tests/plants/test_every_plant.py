"""What every problem of the catalog promises; a new plant's file is found and checked by itself.

Further promises of all problems: test_environments.py, test_parameters.py, test_randomised.py, test_gymnasium_twins.py,
and training/test_two_loops.py.
"""

import math
import pickle
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import other_values, random_actions, run_batch, step_plant, visited_states
from pages import ROOT
from spaql.plants import library
from spaql.plants.catalog import CATALOG, collected, entry_of
from spaql.plants.environment import PlantEnv
from spaql.plants.equations import Entry
from spaql.plants.plant import LANES

every_problem = pytest.mark.parametrize("name", CATALOG)

RECIPE = (ROOT / "examples" / "tank.py").read_text("utf-8")  # as docs/own-plant.md tells


# -- the catalog -------------------------------------------------------------------------------------------------------


@pytest.fixture
def new_file(tmp_path, monkeypatch):
    """The file that docs/own-plant.md shows, added to the library."""
    monkeypatch.setattr(library, "__path__", [*library.__path__, str(tmp_path)])

    def add(name, file):
        (tmp_path / f"{file}.py").write_text(RECIPE.replace('"tank"', f'"{name}"'))

    return add


def test_a_new_file_is_a_problem_without_another_line_anywhere(new_file, monkeypatch):
    new_file("docs-tank", "docs_tank")
    found = collected()
    assert list(found) == [*CATALOG, "docs-tank"]
    monkeypatch.setitem(CATALOG, "docs-tank", found["docs-tank"])
    assert spaql.problems()["docs-tank"] == "hold the level of a tank, valve in [0, 1]; 20 steps"
    problem = spaql.make("docs-tank", outflow=0.2)
    assert spaql.check(problem)["level"][1] <= 1.0
    agent = spaql.SPAQL(problem, seed=0)
    agent.learn(3, rollouts=2)
    assert 0.0 < agent.evaluate(5).mean <= 20.0


def test_two_files_cannot_give_the_same_problem(new_file):
    new_file("cartpole", "second_cartpole")
    with pytest.raises(spaql.SpaqlError, match=r"the name 'cartpole'; the second is second_cartpole\.py"):
        collected()


def test_names_titles_and_environments_are_different():
    for known in ([entry.title for entry in CATALOG.values()], [entry.env_id for entry in CATALOG.values()]):
        assert len(set(known)) == len(CATALOG)


def test_an_entry_without_title_or_best_known_return_cannot_be_made():
    given = ("summary", "env_id", "equations", "parameters", "interface")
    fields = {field: getattr(CATALOG["cartpole"], field) for field in given}
    with pytest.raises(TypeError, match=r"'title'.*'best_known'"):
        Entry(**fields, horizon=5)


@pytest.mark.parametrize(
    ("env_id", "name"),
    [
        ("spaql/Pendulum5-v0", "pendulum-5"),
        ("CartPole-v1", "cartpole"),
        ("CartPole-v0", "cartpole"),
        ("LunarLander-v3", None),
        (None, None),
    ],
)
def test_a_problem_finds_its_entry_by_its_environment(env_id, name):
    problem = replace(spaql.cube(2, 1, horizon=5), env_id=env_id)
    assert entry_of(problem) is (None if name is None else CATALOG[name])


# -- what an entry tells -----------------------------------------------------------------------------------------------


@every_problem
def test_the_entry_has_what_tables_pages_and_studies_need(name):
    entry = CATALOG[name]
    assert entry.title.strip()
    assert entry.summary.strip()
    assert "\n" not in entry.title + entry.summary
    assert entry.env_id.startswith("spaql/")
    assert entry.gym_id is None or entry.gym_id in gymnasium.registry
    assert entry.samples >= 200
    known = entry.xi or entry.study_xi  # or none: then learners have their own default
    assert not known or {"AQL", "SPAQL", "SPAQL-TS"} <= set(known)


@every_problem
def test_the_best_known_return_is_above_random_or_the_entry_says_why_there_is_none(name):
    value, source = CATALOG[name].best_known
    assert source.strip()
    assert value is None or math.isfinite(value)
    assert value is None or spaql.Random(spaql.make(name), seed=0).evaluate(50).mean < value


@every_problem
def test_ranges_and_fixed_parameters_are_those_of_the_plant(name):
    entry = CATALOG[name]
    assert {*entry.ranges, *entry.fixed} <= set(entry.parameters._fields)
    for key, value in entry.parameters._asdict().items():
        low, high = entry.ranges.get(key, (1e-6, 1e6))
        assert low <= value <= high


# -- the problem -------------------------------------------------------------------------------------------------------


@every_problem
def test_it_keeps_its_promises_in_random_episodes(name):
    seen = spaql.check(spaql.make(name), episodes=1)
    assert all(math.isfinite(low) and math.isfinite(high) for low, high in seen.values())


@every_problem
def test_evaluation_is_finite(name):
    assert np.isfinite(spaql.Random(spaql.make(name), seed=1).evaluate(20).returns).all()


@every_problem
def test_every_parameter_and_every_noise_can_be_set(name):
    entry, plain = CATALOG[name], spaql.make(name)
    for key, value in other_values(name).items():
        changed = spaql.make(name, **{key: value})
        assert changed.parameters == ({key: value} if value != getattr(entry.parameters, key) else {})
    process, errors = dict.fromkeys(entry.equations.variables, 0.01), {axis.name: 0.01 for axis in plain.state}
    noisy = spaql.make(name, process_noise=process, observation_noise=errors)
    assert noisy.plant.step_noise > plain.plant.step_noise
    assert noisy.plant.state_dim == plain.plant.state_dim + len(plain.state)


@every_problem
def test_it_can_be_sent_to_another_process(name):
    problem = pickle.loads(pickle.dumps(spaql.make(name, horizon=7)))
    assert (problem.name, problem.parameters) == (name, {"horizon": 7})


@every_problem
def test_actions_are_native_to_the_environment(name):
    problem, rng = spaql.make(name), np.random.default_rng(0)
    space, many = PlantEnv(problem).action_space, random_actions(problem, 5, rng)
    assert many.shape == (5, problem.actions.axes)
    assert [space.contains(problem.native(action)) for action in many] == [True] * 5
    for one, action in zip(problem.native(many), many, strict=True):
        np.testing.assert_array_equal(one, problem.native(action))
    low, high = problem.actions.bounds
    assert np.all((low <= many) & (many <= high))


# -- the compiled plant ------------------------------------------------------------------------------------------------


def moves(problem, count):
    plant, rng = problem.plant, np.random.default_rng(4)
    states, actions = visited_states(problem, count), random_actions(problem, count, rng)
    return states, actions, rng.random((count, plant.rows.reward - plant.rows.noise))


@every_problem
def test_a_step_does_not_depend_on_the_neighbouring_lanes(name):
    problem = spaql.make(name)
    states, actions, noise = moves(problem, 300)
    alone = step_plant(problem.plant, states, actions, lanes=1, noise=noise)
    for lanes in (100, 7):
        for one, many in zip(alone, step_plant(problem.plant, states, actions, lanes=lanes, noise=noise), strict=True):
            np.testing.assert_array_equal(one, many)


@every_problem
def test_a_reset_does_not_depend_on_the_neighbouring_lanes(name):
    plant = spaql.make(name).plant
    noise = np.random.default_rng(5).random((plant.reset_noise, 100))

    def starts(columns):
        table = np.zeros((plant.rows.end, LANES))
        table[plant.rows.noise : plant.rows.noise + plant.reset_noise, : len(columns)] = noise[:, columns]
        run_batch(plant.batch[0], table.reshape(-1), len(columns))
        return table[: plant.rows.action, : len(columns)]

    together = starts(np.arange(100))
    for i in range(100):
        np.testing.assert_array_equal(starts(np.array([i]))[:, 0], together[:, i])


@every_problem
def test_compiled_functions_compute_what_the_plain_python_does(name):
    problem = spaql.make(name)
    plant, (states, actions, noise) = problem.plant, moves(problem, 50)
    after, seen, rewards, done = step_plant(plant, states, actions, noise=noise)
    for i in range(50):
        state, reward, terminated = plant.step(*states[i], *actions[i], *noise[i, : plant.step_noise])
        np.testing.assert_allclose(after[i], state, rtol=0, atol=1e-13)
        np.testing.assert_allclose(seen[i], plant.observe(*state) if plant.observe else state, rtol=0, atol=1e-13)
        assert rewards[i] == pytest.approx(reward, abs=1e-13)
        assert done[i] == terminated
