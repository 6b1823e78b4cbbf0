"""Parameters that every episode draws anew: as told, the same for a whole episode, and the same for the same seed in every loop."""

import copy
import json
import math
import pickle

import gymnasium
import numpy as np
import pytest
import scipy.stats

import spaql
from command_line import run
from helpers import LEARNERS, QUICK, assert_both_loops_agree, assert_same, quick_first, ranges_around, run_batch
from hostile_files import load_bytes, members, packed
from spaql import Between
from spaql.cli.arguments import settings
from spaql.export import export
from spaql.plants.catalog import CATALOG, step_time
from spaql.plants.environment import PlantEnv
from spaql.plants.plant import LANES
from spaql.policy.policy import Policy

SOME = {
    "pendulum": {"m": Between(0.8, 1.2), "max_speed": Between(6.0, 8.0)},
    "pendulum-5": {"l": Between(0.9, 1.1), "process_noise": {"velocity": 0.1}},
    "pendulum-scaled": {"g": Between(8.0, 12.0), "observation_noise": 0.02},
    "cartpole": {"pole_mass": Between(0.05, 0.5), "max_position": Between(1.0, 2.4), "observation_noise": {"angle": 0.01}},
    "cartpole-fitted": {"force": Between(8.0, 12.0)},
    "cartpole-500": {"half_length": Between(0.3, 0.7), "horizon": 100},
    "mountain-car": {"force": Between(0.0008, 0.0012), "goal": Between(0.4, 0.5)},
    "mountain-car-continuous": {"gravity": Between(0.002, 0.003), "horizon": 60},
    "acrobot": {"mass1": Between(0.8, 1.2), "length2": Between(0.9, 1.1), "torque": 1.5, "horizon": 60},
    "oil-laplace": {"k": Between(1, 10)},
    "oil-quadratic": {"k": Between(1, 50)},
    "ambulance": {"alpha": Between(0, 1), "process_noise": {"call": 0.05}},
    "ambulance-uniform": {"alpha": Between(0.2, 0.3)},
}
DRAWN = {name: SOME.get(name) or ranges_around(name) for name in CATALOG}
everywhere = pytest.mark.parametrize("name", quick_first(DRAWN, ["pendulum", "ambulance"]))


def started(plant, seed=1):
    """The states after as many resets as there are lanes."""
    table = np.zeros((plant.rows.end, LANES))
    table[plant.rows.noise : plant.rows.reward] = np.random.default_rng(seed).random((plant.rows.reward - plant.rows.noise, LANES))
    run_batch(plant.batch[0], table.reshape(-1), LANES)
    return table[: plant.state_dim].T.copy(), table[plant.rows.observation : plant.rows.action].T.copy()


def masses(problem, episodes):
    """What reset has drawn: the last variable behind the state."""
    env = PlantEnv(problem)
    return [(env.reset(seed=seed), env.table[problem.plant.state_dim - 1, 0])[1] for seed in range(episodes)]


# -- what they do ----------------------------------------------------------------------------------------------------------------------


def test_a_parameter_is_drawn_uniformly_between_the_ends():
    drawn = masses(spaql.make("pendulum", m=Between(0.8, 1.2)), 500)
    assert scipy.stats.kstest(drawn, scipy.stats.uniform(0.8, 0.4).cdf).pvalue > 0.01
    assert 0.8 <= min(drawn) < max(drawn) <= 1.2


def test_an_episode_keeps_what_it_has_drawn_and_the_next_draws_anew():
    env = PlantEnv("pendulum", m=Between(0.8, 1.2))
    seen = []
    for _ in range(5):
        env.reset(seed=3 if not seen else None)
        episode = [env.table[2, 0]] + [(env.step(np.ones(1)), env.table[2, 0])[1] for _ in range(20)]
        assert len(set(episode)) == 1
        seen.append(episode[0])
    assert len(set(seen)) == 5


def test_a_step_is_that_of_the_plant_with_the_parameter_drawn():
    env = PlantEnv("pendulum", m=Between(0.5, 2.0), l=Between(0.8, 1.2))
    for seed in range(5):
        observation, _ = env.reset(seed=seed)
        mass, length = env.table[2:4, 0]
        fixed = spaql.make("pendulum", m=float(mass), l=float(length)).plant
        state = env.table[:2, 0].copy()
        np.testing.assert_allclose(observation, fixed.observe(*state), rtol=0, atol=1e-13)
        env.step(np.array([1.5]))
        np.testing.assert_allclose(env.table[:2, 0], fixed.step(*state, 1.5)[0], rtol=0, atol=1e-13)


def test_a_range_of_no_width_is_the_number():
    narrow, plain = spaql.make("pendulum", m=Between(2, 2)), spaql.make("pendulum", m=2.0)
    assert_same(*[agent for agent in map(spaql.SPAQL, (narrow, plain)) if agent.learn(3, rollouts=3)], episodes=5)


@everywhere
def test_the_controller_sees_what_it_would_see_without(name):
    told = {key: value for key, value in DRAWN[name].items() if isinstance(value, Between)}
    problem, plain = spaql.make(name, **told), spaql.make(name)
    assert len(problem.state) == len(plain.state)
    assert problem.plant.state_dim == plain.plant.state_dim + len(told)
    states, seen = started(problem.plant)
    observe = plain.plant.observe or (lambda *state: state)
    for state, looked in zip(states, seen, strict=True):
        np.testing.assert_allclose(looked, observe(*state[: plain.plant.state_dim]), rtol=0, atol=1e-13)


def test_axes_hold_the_states_of_every_episode():
    assert spaql.make("pendulum", max_speed=Between(4, 10)).state[2].high == 10.0
    assert spaql.make("cartpole", max_position=Between(1, 3)).state[0].high == 6.0
    assert spaql.make("mountain-car", goal=Between(0.3, 0.4)).reference == (0.4, 0.0)


@pytest.mark.parametrize("learner", quick_first(LEARNERS, QUICK))
@everywhere
def test_same_seed_same_bits_in_the_compiled_loop_and_in_gymnasiums(name, learner):
    assert_both_loops_agree(name, learner, DRAWN[name])


def test_atlas_learns_with_parameters_drawn():
    agent = spaql.Atlas(spaql.make("cartpole", pole_mass=Between(0.05, 0.3)), controller="table", cells=500, model_cells=300, seed=0)
    agent.learn(samples=1000)
    assert agent.evaluate(50).mean > 100


def test_rollouts_differ_in_what_only_the_parameter_decides():
    """Oil always starts at the same place; only k tells one episode from another."""
    policy = spaql.SPAQL(spaql.make("oil-laplace", k=Between(1, 50)), seed=0)
    policy.learn(50)
    assert len(set(policy.evaluate(50, deterministic=True).returns)) == 50
    fixed = spaql.SPAQL(spaql.make("oil-laplace", k=5), seed=0)
    fixed.learn(50)
    assert len(set(fixed.evaluate(50, deterministic=True).returns)) == 1


def test_noise_and_start_states_are_those_without():
    """Drawing comes last, so that the same seed starts the same episode."""
    plain, drawn = PlantEnv("pendulum"), PlantEnv("pendulum", m=Between(0.8, 1.2))
    np.testing.assert_array_equal(plain.reset(seed=5)[0], drawn.reset(seed=5)[0])


# -- kept and told ---------------------------------------------------------------------------------------------------------------------


def test_ranges_are_shown():
    problem = spaql.make("pendulum", m=Between(0.8, 1.2), l=2)
    assert "m=0.8..1.2" in repr(problem)
    assert problem.parameters == {"m": Between(0.8, 1.2), "l": 2.0}


@pytest.fixture(scope="module")
def agent():
    agent = spaql.SPAQL(spaql.make("pendulum", m=Between(0.8, 1.2), horizon=60, process_noise={"velocity": 0.1}), seed=3)
    agent.learn(6, rollouts=3)
    return agent


def test_a_saved_agent_remembers_ranges(agent, tmp_path):
    agent.save(tmp_path / "a.spaql")
    again = spaql.load(tmp_path / "a.spaql")
    assert again.problem.parameters == agent.problem.parameters
    np.testing.assert_array_equal(again.evaluate(20).returns, agent.evaluate(20).returns)


def test_a_policy_as_json_remembers_ranges(agent):
    text = export(agent.policy(), "json")
    again = Policy.from_json(text)
    assert again.problem.parameters == agent.problem.parameters
    assert export(again, "json") == text
    assert again.evaluate(20).mean == agent.policy().evaluate(20).mean


def test_an_agent_can_be_evaluated_on_one_of_the_plants_it_has_learned_on(agent, tmp_path):
    agent.save(tmp_path / "a.spaql")
    light = spaql.load(tmp_path / "a.spaql", problem=spaql.make("pendulum", m=0.8, horizon=60))
    assert light.evaluate(20).mean != agent.evaluate(20).mean


HOSTILE = [
    {"low": 2, "high": 1}, {"low": 0, "high": 1e300}, {"low": "a", "high": 1}, {"low": 1}, {"low": 1, "high": 2, "x": 3},
    {"low": [1], "high": 2},
]  # fmt: skip


@pytest.mark.parametrize("told", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_ranges_in_a_file_are_refused(agent, tmp_path, told):
    agent.save(tmp_path / "good.spaql")
    parts = members((tmp_path / "good.spaql").read_bytes())
    meta = json.loads(parts["meta.json"])
    meta["problem"]["parameters"]["m"] = told
    with pytest.raises(spaql.SpaqlError, match="cannot be used"):
        load_bytes(tmp_path, packed(parts | {"meta.json": json.dumps(meta)}))


def test_problems_with_ranges_can_be_copied_and_sent_to_another_process():
    problem = spaql.make("pendulum", m=Between(0.8, 1.2))
    for other in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        assert other.parameters == problem.parameters
        assert spaql.Random(other).evaluate(5).mean == spaql.Random(problem).evaluate(5).mean


def test_gymnasium_makes_the_environment_with_ranges():
    env = gymnasium.make("spaql/Pendulum-v0", m=Between(0.8, 1.2))
    env.reset(seed=0)
    assert 0.8 <= env.unwrapped.table[2, 0] <= 1.2


def test_an_animation_runs_at_the_middle_of_the_times_per_step():
    problem = spaql.make("pendulum", dt=Between(0.02, 0.06))
    assert step_time(problem) == pytest.approx(0.04)


def test_ranges_on_the_command_line(tmp_path):
    assert settings(["m=0.8..1.2", "g=-1..2", "l=1e-2..0.5"]) == {"m": Between(0.8, 1.2), "g": Between(-1, 2), "l": Between(0.01, 0.5)}
    short = ["--set", "horizon=40", "--iterations", "2", "--rollouts", "2", "--fresh", "5", "--json", "--out", str(tmp_path)]
    done = run("train", "pendulum", "spaql", "--set", "m=0.8..1.2", *short)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parameters"] == {"m": {"low": 0.8, "high": 1.2}, "horizon": 40}
    file = str(tmp_path / "agent.spaql")
    others = [[], [], ["--set", "m=0.5..3"], ["--set", "m=1"]]
    means = [json.loads(run("evaluate", file, "--json", *more).stdout)["mean"] for more in others]
    assert means[0] == means[1]
    assert len(set(means)) == 3


# -- wrong ones ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((1.2, 0.8), "low must not be above high, got 1.2 and 0.8"),
        ((math.nan, 1.0), "low must be a finite number"),
        ((0.0, math.inf), "high must be a finite number"),
        (("a", 1.0), "low must be a finite number"),
        ((None, 1.0), "low must be a finite number"),
        ((True, 1.0), "low must be a finite number"),
    ],
)
def test_ends_must_make_sense(ends, message):
    with pytest.raises(spaql.SpaqlError, match=message):
        Between(*ends)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mass": Between(1, 2)}, "no parameter 'mass': choose among g, m, l"),
        ({"m": Between(0, 1)}, r"m, drawn from 0\.\.1, must be a finite number from 1e-06"),
        ({"m": Between(1, 1e9)}, r"m, drawn from 1\.\.1e\+09, must be a finite number"),
        ({"m": (0.8, 1.2)}, "m must be a finite number"),
        ({"horizon": Between(1, 2)}, "horizon must be a whole number"),
        ({"process_noise": {"velocity": Between(0, 1)}}, "process_noise of velocity, a standard deviation, must be a finite number"),
        ({"max_torque": Between(1, 2)}, "max_torque is the range of the actions of pendulum, the same in every episode"),
    ],
)
def test_wrong_ranges_are_one_clear_error(parameters, message):
    with pytest.raises(spaql.SpaqlError, match=message) as error:
        spaql.make("pendulum", **parameters)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"), [("m=1.2..0.8", "above high"), ("m=1..", "'' is not a number"), ("m=a..2", "'a' is not a number")]
)
def test_wrong_ranges_on_the_command_line_are_one_line(text, message):
    with pytest.raises(spaql.SpaqlError, match=message):
        settings([text])
