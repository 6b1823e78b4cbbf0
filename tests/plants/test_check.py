"""`spaql.check`: a plant or an environment that breaks its promises is found before a long training."""

import numpy as np
import pytest

import spaql
from gym_envs import Later, Line
from helpers import quick_first
from spaql.plants.environment import PlantEnv


@pytest.mark.parametrize("name", quick_first(spaql.problems()))
def test_our_problems_pass_as_plants_and_as_environments(name):
    for problem in (spaql.make(name, horizon=30), spaql.from_gym(PlantEnv(name, horizon=30))):
        seen = spaql.check(problem, episodes=2)
        assert list(seen) == [axis.name for axis in problem.state]
        for axis, (low, high) in zip(problem.state, seen.values(), strict=True):
            assert axis.low <= low <= high <= axis.high


def test_gymnasiums_environments_pass():
    spaql.check(spaql.from_gym("CartPole-v1", horizon=50))
    spaql.check(spaql.from_gym("Pendulum-v1", horizon=50))


def fails(env, message):
    with pytest.raises(spaql.SpaqlError, match=message) as error:
        spaql.check(spaql.from_gym(env, horizon=10))
    assert "\n" not in str(error.value)


class Moody(Line):
    """Pushes of its own that no seed decides."""

    def see(self):
        return np.clip(super().see() + np.random.normal(0.0, 0.01), -0.9, 0.9)


class Unpaid(Line):
    def step(self, action):
        after, _, terminated, truncated, info = super().step(action)
        return after, float(np.random.random()), terminated, truncated, info


class Impatient(Line):
    def step(self, action):
        after, reward, _, truncated, info = super().step(action)
        return after, reward, bool(np.random.random() < 0.3), truncated, info


def test_an_environment_that_does_not_follow_its_seed_is_named():
    fails(Moody(), r"is not deterministic: with the same seed and the same actions, x0 differed the second time .*step 0.*np_random")
    fails(Unpaid(), r"is not deterministic: .* the reward differed")
    fails(Impatient(), r"is not deterministic: .* (whether it ended|the length of the episode)")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"value": [np.nan]}, "x0 is nan"),
        ({"value": [3.0]}, "left its declared bounds: x0 = 3 is not in"),
        ({"value": [0.0, 0.0]}, r"of shape \(2,\), declared was \(1,\)"),
        ({"value": np.inf, "what": "reward"}, "gave the reward inf"),
    ],
)
def test_what_training_would_stumble_over_is_found(value, message):
    fails(Later(good=3, **value), message + ".*random episode 0, step")


def test_a_compiled_plant_that_leaves_its_bounds_is_found():
    @spaql.reset
    def start(u):
        return (u,)

    @spaql.step
    def leave(x, push):
        return (x + 0.5,), 0.0, False

    axis, push = spaql.Axis("place", -1.0, 2.0), spaql.Continuous((-1.0,), (1.0,))
    with pytest.raises(spaql.SpaqlError, match=r"mine left its declared bounds: place = 2\.\d+ is not in -1 ... 2"):
        spaql.check(spaql.from_plant(start, leave, state=[axis], actions=push, horizon=10, name="mine"))


def test_there_must_be_something_to_check():
    with pytest.raises(spaql.SpaqlError, match="cube has no plant to check"):
        spaql.check(spaql.cube(2, 1, horizon=5))
    with pytest.raises(spaql.SpaqlError, match="takes a problem"):
        spaql.check("pendulum")
    with pytest.raises(spaql.SpaqlError, match="episodes must be a whole number"):
        spaql.check(spaql.make("pendulum"), episodes=0)
