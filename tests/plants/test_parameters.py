"""Plants with other parameters: `spaql.make(name, **parameters)`, also as an environment."""

import math

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import LEARNERS, TRAINED, assert_same, other_values, quick_first, step_plant
from spaql.plants.catalog import CATALOG
from spaql.plants.compile import digest
from spaql.plants.environment import PlantEnv

SOME = {
    "pendulum": {"m": 2.0, "max_torque": 4.0},
    "pendulum-5": {"l": 0.5, "max_torque": 3.0},
    "pendulum-scaled": {"g": 9.81, "max_speed": 10.0, "horizon": 50},
    "cartpole": {"gravity": 1.6, "half_length": 1.0, "max_angle": 0.3},
    "cartpole-fitted": {"cart_mass": 2.0, "force": 5.0, "dt": 0.01},
    "cartpole-500": {"pole_mass": 0.3, "max_position": 1.0, "horizon": 100},
    "mountain-car": {"force": 0.002, "goal": 0.4},
    "mountain-car-continuous": {"gravity": 0.002, "max_speed": 0.1, "horizon": 60},
    "acrobot": {"length1": 1.2, "mass2": 0.7, "torque": 2.0, "dt": 0.1, "horizon": 60},
    "oil-laplace": {"k": 10.0},
    "oil-quadratic": {"k": 50.0, "horizon": 8},
    "ambulance": {"alpha": 1.0},
    "ambulance-uniform": {"alpha": 0.0, "horizon": 10},
}
CHANGED = {name: SOME.get(name) or {**other_values(name), "horizon": 30} for name in CATALOG}
everywhere = pytest.mark.parametrize("name", CHANGED)


def changed(name):
    return spaql.make(name, **CHANGED[name])


# -- what they do ----------------------------------------------------------------------------------------------------------------------


def moved(problem, states, actions):
    return step_plant(problem.plant, np.array(states, float), np.array(actions, float).reshape(-1, 1))


def test_pendulum_with_other_parameters_follows_gymnasium_with_the_same():
    env = gymnasium.make("Pendulum-v1", g=9.0).unwrapped
    env.m, env.l, env.dt = 2.0, 0.7, 0.02
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    states, torques = rng.uniform([-3, -7], [3, 7], (500, 2)), rng.uniform(-2, 2, 500)
    after, _, rewards, _ = moved(spaql.make("pendulum", g=9.0, m=2.0, l=0.7, dt=0.02), states, torques)
    for i in range(500):
        env.state = states[i]
        reward = env.step(torques[i : i + 1])[1]
        np.testing.assert_allclose(np.cos(after[i, 0]), np.cos(env.state[0]), rtol=0, atol=1e-12)
        np.testing.assert_allclose([after[i, 1], rewards[i]], [env.state[1], reward], rtol=0, atol=1e-12)


def test_cartpole_with_other_parameters_follows_gymnasium_with_the_same():
    env = gymnasium.make("CartPole-v1").unwrapped
    env.gravity, env.masscart, env.masspole, env.length, env.force_mag, env.tau = 3.7, 2.0, 0.3, 0.8, 7.0, 0.05
    env.total_mass, env.polemass_length, env.x_threshold, env.theta_threshold_radians = 2.3, 0.3 * 0.8, 1.0, 0.3
    env.reset(seed=0)
    problem = spaql.make(
        "cartpole", gravity=3.7, cart_mass=2.0, pole_mass=0.3, half_length=0.8, force=7.0, dt=0.05, max_position=1.0, max_angle=0.3
    )
    rng = np.random.default_rng(0)
    states, pushes = rng.uniform([-1, -2, -0.3, -2], [1, 2, 0.3, 2], (500, 4)), rng.integers(0, 2, 500)
    after, _, _, done = moved(problem, states, pushes)
    for i in range(500):
        env.state, env.steps_beyond_terminated = states[i], None
        terminated = env.step(int(pushes[i]))[2]
        np.testing.assert_allclose(after[i], env.state, rtol=0, atol=1e-12)
        assert terminated == done[i]
    assert 0 < done.sum() < 500


@pytest.mark.parametrize(("name", "env_id"), [("mountain-car", "MountainCar-v0"), ("mountain-car-continuous", "MountainCarContinuous-v0")])
def test_mountain_car_with_other_parameters_follows_gymnasium_with_the_same(name, env_id):
    env = gymnasium.make(env_id, goal_velocity=0.01).unwrapped
    env.reset(seed=0)
    env.force = env.power = 0.003
    env.goal_position, env.max_speed = 0.3, 0.05
    problem = spaql.make(name, force=0.003, goal=0.3, goal_speed=0.01, max_speed=0.05)
    rng = np.random.default_rng(0)
    states, actions = rng.uniform([-1.2, -0.05], [0.6, 0.05], (500, 2)), rng.integers(0, 3, 500) - (name != "mountain-car")
    after, _, rewards, done = moved(problem, states, actions)
    for i in range(500):
        env.state = states[i]
        _, reward, terminated, _, _ = env.step(int(actions[i]) if name == "mountain-car" else actions[i : i + 1].astype(float))
        np.testing.assert_allclose(after[i], env.state, rtol=0, atol=1e-7)
        assert (rewards[i], done[i]) == (pytest.approx(reward), terminated)


def test_acrobot_with_other_parameters_follows_gymnasium_with_the_same():
    env = gymnasium.make("Acrobot-v1").unwrapped
    env.LINK_LENGTH_1, env.LINK_MASS_1, env.LINK_MASS_2, env.LINK_COM_POS_1, env.LINK_COM_POS_2 = 1.3, 0.8, 1.5, 0.6, 0.4
    env.LINK_MOI, env.dt, env.MAX_VEL_1, env.AVAIL_TORQUE = 0.9, 0.05, 5.0, [-2.0, 0.0, 2.0]
    env.reset(seed=0)
    problem = spaql.make(
        "acrobot", length1=1.3, mass1=0.8, mass2=1.5, center1=0.6, center2=0.4, inertia=0.9, dt=0.05, max_velocity1=5.0, torque=2.0
    )
    rng = np.random.default_rng(0)
    states, choices = rng.uniform([-3, -3, -5, -9], [3, 3, 5, 9], (500, 4)), rng.integers(0, 3, 500)
    after, _, _, _ = moved(problem, states, choices)
    for i in range(500):
        env.state = states[i]
        env.step(int(choices[i]))
        np.testing.assert_allclose(np.cos(after[i, :2]), np.cos(env.state[:2]), rtol=0, atol=1e-12)
        np.testing.assert_allclose(after[i, 2:], env.state[2:], rtol=0, atol=1e-12)


def test_the_height_of_acrobats_goal_counts_both_lengths():
    upright = [[math.pi, 0.0, 0.0, 0.0]]
    assert moved(spaql.make("acrobot", length2=0.5, goal=1.4), upright, [1])[3].tolist() == [True]
    assert moved(spaql.make("acrobot", length2=0.5, goal=1.6), upright, [1])[3].tolist() == [False]


def test_bounds_of_axes_and_actions_follow_the_parameters():
    pendulum = spaql.make("pendulum", max_speed=5.0, max_torque=3.0)
    assert (pendulum.state[2].low, pendulum.state[2].high, pendulum.actions.low, pendulum.actions.high) == (-5.0, 5.0, (-3.0,), (3.0,))
    assert spaql.make("pendulum-5", max_torque=3.0).actions.values == (-3.0, -1.5, 0.0, 1.5, 3.0)
    assert spaql.make("cartpole", max_position=1.0).state[0].high == 2.0
    assert spaql.make("mountain-car", goal=0.3).reference == (0.3, 0.0)


def first_states(problem, count=200):
    rng = np.random.default_rng(0)
    return np.array([problem.plant.reset.python(*rng.random(problem.plant.reset_noise)) for _ in range(count)])


def test_episodes_begin_where_start_says_and_elsewhere_as_published():
    begun = first_states(spaql.make("cartpole", start={"angle": spaql.Between(0.1, 0.2), "angular_velocity": 1.5}))
    assert ((begun[:, 2] >= 0.1) & (begun[:, 2] <= 0.2)).all()
    assert np.ptp(begun[:, 2]) > 0.09
    assert set(begun[:, 3]) == {1.5}
    assert 0.05 < np.abs(begun[:, :2]).max() * 1.1 < 0.06  # as published: within 0.05


def test_a_start_beyond_the_plants_bounds_is_brought_within_them():
    assert np.abs(first_states(spaql.make("pendulum", start={"velocity": spaql.Between(-20, 20)}))[:, 1]).max() == 8.0


@everywhere
def test_published_parameters_leave_the_problem_as_it_is(name):
    plain = spaql.make(name)
    unbounded = any(axis.slope is not None for axis in plain.state)
    again = spaql.make(name, horizon=plain.horizon, process_noise={}, observation_noise={} if unbounded else 0.0)
    same = spaql.make(name, **CATALOG[name].parameters._asdict())
    for other in (again, same):
        assert other.parameters == {}
        assert (repr(other), other.state, other.actions) == (repr(plain), plain.state, plain.actions)
        assert digest(other.plant.step.python) == digest(plain.plant.step.python)


@pytest.mark.parametrize("name", quick_first(CHANGED, ["cartpole"]))  # every plant is compiled anew
def test_every_learner_learns_and_both_loops_agree(name):
    for learner in LEARNERS:
        agents = [LEARNERS[learner](p, seed=2) for p in (changed(name), spaql.from_gym(PlantEnv(name, **CHANGED[name])))]
        for agent in agents:
            agent.learn(2, rollouts=2)
        assert_same(*agents, episodes=3)


@pytest.mark.parametrize("learner", TRAINED)
def test_other_parameters_give_other_results(learner):
    returns = [LEARNERS[learner](spaql.make("pendulum", **p), seed=1).evaluate(20).mean for p in ({}, {"m": 2.0}, {"m": 3.0})]
    assert len(set(returns)) == 3


def evaluated(problem):
    """The return in words, or the error."""
    try:
        return f"{spaql.Random(problem).evaluate(5).mean:g}"
    except spaql.SpaqlError as error:
        return str(error)


ABSURD = {"pendulum": ["g", "m", "l", "dt"], "cartpole": ["force", "dt", "pole_mass"], "mountain-car": ["force"], "acrobot": ["dt", "mass1"]}


@pytest.mark.parametrize("value", [1e-6, 1e6])
@pytest.mark.parametrize("key", quick_first([(name, key) for name, keys in ABSURD.items() for key in keys], [("pendulum", "m"), ("pendulum", "dt")]))
def test_absurd_but_allowed_parameters_end_in_results_or_one_clear_error(key, value):
    name, parameter = key
    assert "\n" not in evaluated(spaql.make(name, **{parameter: value}, horizon=5))


# -- how they are told -----------------------------------------------------------------------------------------------------------------


def test_parameters_are_shown():
    problem = spaql.make("pendulum", m=2, horizon=100, process_noise={"velocity": 0.1})
    for text in (repr(problem), problem.summary):
        assert "m=2" in text
        assert "horizon=100" in text
        assert "process_noise(velocity=0.1)" in text
    assert problem.parameters == {"m": 2.0, "horizon": 100, "process_noise": {"velocity": 0.1}}


WRONG = [
    ("pendulum", {"mass": 2.0}, "no parameter 'mass': choose among g, m, l, dt, max_speed, max_torque, horizon"),
    ("cartpole", {"g": 2.0}, "no parameter 'g': choose among gravity, cart_mass"),
    ("pendulum", {"m": 0.0}, "m must be a finite number from 1e-06"),
    ("pendulum", {"m": -1.0}, "m must be"),
    ("pendulum", {"m": math.nan}, "m must be"),
    ("pendulum", {"m": math.inf}, "m must be"),
    ("pendulum", {"m": 1e300}, "up to 1e.06"),
    ("pendulum", {"m": "2"}, "m must be"),
    ("pendulum", {"m": True}, "m must be"),
    ("pendulum", {"m": None}, "m must be"),
    ("mountain-car", {"goal": 0.7}, "goal must be a finite number from -1.2 up to 0.6"),
    ("oil-laplace", {"k": -1.0}, "k must be a finite number from 0"),
    ("ambulance", {"alpha": 1.1}, "alpha must be a finite number from 0 up to 1"),
    ("pendulum", {"horizon": 0}, "horizon must be a whole number"),
    ("pendulum", {"horizon": 10**9}, "horizon must be a whole number"),
    ("pendulum", {"horizon": 10.5}, "horizon must be a whole number"),
    ("pendulum", {"process_noise": {"speed": 0.1}}, "no variable 'speed'; choose among angle, velocity"),
    ("pendulum", {"process_noise": {"cos": 0.1}}, "no variable 'cos'; choose among angle, velocity"),
    ("pendulum", {"observation_noise": {"angle": 0.1}}, "no variable 'angle'; choose among cos, sin, velocity"),
    ("pendulum", {"process_noise": {"velocity": -0.1}}, "process_noise of velocity"),
    ("pendulum", {"process_noise": {"velocity": math.nan}}, "process_noise of velocity"),
    ("pendulum", {"process_noise": {3: 0.1}}, "no variable 3"),
    ("pendulum", {"process_noise": 0.1}, r"by name \(angle, velocity\)"),
    ("pendulum", {"observation_noise": -0.1}, "fraction"),
    ("pendulum", {"observation_noise": 1.1}, "fraction"),
    ("pendulum", {"observation_noise": "big"}, "fraction"),
    ("cartpole", {"observation_noise": 0.1}, "velocity and angular velocity have no range.*by name"),
    ("pendulum", {"start": 0.1}, r"start gives numbers or ranges by name \(angle, velocity\), not 0.1"),
    ("pendulum", {"start": {"speed": 0.1}}, "start: no variable 'speed'; choose among angle, velocity"),
    ("pendulum", {"start": {"velocity": math.nan}}, "start of velocity must be a finite number"),
    ("pendulum", {"start": {"velocity": spaql.Between(-1, 1e9)}}, r"start of velocity, drawn from -1\.\.1e.09,.* up to 1e.06"),
    ("pendulum", {"start": {"velocity": "8"}}, "start of velocity must be"),
    ("cartpole", {"process_noise": {"angular velocity": 0.1, "angular_velocity": 0.1}}, "twice"),
]


@pytest.mark.parametrize(("name", "parameters", "message"), WRONG)
def test_wrong_parameters_are_one_clear_error(name, parameters, message):
    with pytest.raises(spaql.SpaqlError, match=message) as error:
        spaql.make(name, **parameters)
    assert "\n" not in str(error.value)


# -- as environments -------------------------------------------------------------------------------------------------------------------


def test_gymnasium_makes_the_changed_plant():
    env, same = gymnasium.make("spaql/Pendulum-v0", m=2.0, process_noise={"velocity": 0.3}), PlantEnv("pendulum", m=2.0)
    assert env.unwrapped.problem.parameters == {"m": 2.0, "process_noise": {"velocity": 0.3}}
    env.reset(seed=1)
    same.reset(seed=1)
    assert not np.array_equal(env.step(np.ones(1))[0], same.step(np.ones(1))[0])


@pytest.mark.parametrize("horizon", [30, 300])
def test_an_environment_ends_at_the_horizon_given(horizon):
    env = gymnasium.make("spaql/Pendulum-v0", horizon=horizon)
    env.reset(seed=0)
    ends = [env.step(np.zeros(1))[3] for _ in range(horizon)]
    assert ends == [False] * (horizon - 1) + [True]
    assert env.spec.max_episode_steps == horizon


def test_gymnasium_refuses_wrong_parameters():
    with pytest.raises(spaql.SpaqlError, match="no parameter 'mass'"):
        gymnasium.make("spaql/Pendulum-v0", mass=2.0)
    with pytest.raises(spaql.SpaqlError, match="no parameter 'mass'"):
        spaql.from_gym("spaql/Pendulum-v0", mass=2.0)


def test_parameters_do_not_go_with_a_problem_already_made():
    with pytest.raises(spaql.SpaqlError, match="already made"):
        PlantEnv(spaql.make("pendulum"), m=2.0)
