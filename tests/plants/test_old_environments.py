"""Environments of Gym's old interface, or with odd answers, are named for what they are."""

import numpy as np
import pytest

import spaql
from gym_envs import Line


class FourValues(Line):
    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


class ObservationAlone(Line):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


class TwoObservationsAlone(ObservationAlone):
    """Two numbers, which unpack like (observation, info)."""

    def __init__(self):
        super().__init__(d=2)


class NoSeed(Line):
    def reset(self):
        return super().reset()[0]


class Ends(Line):
    """`terminated` is what a test says."""

    def __init__(self, ended):
        super().__init__()
        self.ended = ended

    def step(self, action):
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, self.ended, truncated, info


BAD = {
    "four values": (FourValues, "step of the environment returned 4 values, as Gym's environments did before 2022"),
    "observation alone": (ObservationAlone, "reset of the environment returned its observation alone"),
    "two observations alone": (TwoObservationsAlone, "reset of the environment returned its observation alone"),
    "array as terminated": (lambda: Ends(np.array([False, True])), r"terminated, .*must be True or False, not array\(\[False,  True\]\)"),
    "text as terminated": (lambda: Ends("False"), "must be True or False, not 'False'"),
    "NaN as terminated": (lambda: Ends(np.nan), "must be True or False, not nan"),
    "None as terminated": (lambda: Ends(None), "must be True or False, not None"),
}


def refused(message, call):
    with pytest.raises(spaql.SpaqlError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("learner", [spaql.SPAQL, spaql.AQL, spaql.Atlas, spaql.Laws])
def test_learning_says_what_the_environment_answers_instead(learner, name):
    env, message = BAD[name]
    problem = spaql.from_gym(env(), horizon=10)
    goal = {"samples": 50} if learner in (spaql.Atlas, spaql.Laws) else {"iterations": 2}
    refused(message, lambda: learner(problem, seed=0).learn(**goal))


@pytest.mark.parametrize("name", BAD)
def test_so_do_checks_recordings_measurements_loops_and_controllers(name):
    env, message = BAD[name]
    problem = spaql.from_gym(env(), horizon=10)
    refused(message, lambda: spaql.check(problem))
    refused(message, lambda: spaql.record(problem, episodes=1))
    refused(message, lambda: spaql.from_gym(env(), horizon=10, state_low=[-1e10] * len(problem.state)))
    target = spaql.Reference("target", -0.5, 0.5, of="x0")
    refused(message, lambda: spaql.record(spaql.loop(problem, references=[target]), episodes=1))
    refused(message, lambda: spaql.Controller(problem, lambda *seen: 0.0).evaluate(2))


def test_a_reset_that_takes_no_seed_is_refused_at_once():
    refused("takes no seed", lambda: spaql.from_gym(NoSeed(), horizon=10))


@pytest.mark.parametrize("ended", [np.bool_(True), 1, 1.0, np.array(True), np.array([True])])
def test_what_says_true_in_another_type_is_true(ended):
    frame = spaql.record(spaql.from_gym(Ends(ended), horizon=10), episodes=2)
    assert frame.terminated.tolist() == [True, True]
