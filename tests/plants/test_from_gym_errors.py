"""An environment that misbehaves is named, and costs nothing of what was learned before."""

import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Box, Discrete, Later, Line
from helpers import FORESTS, LEARNERS, TRAINED

BAD = {
    "not a number": ({"value": [np.nan]}, "x0 is nan"),
    "infinite": ({"value": [np.inf]}, "x0 is inf"),
    "outside": ({"value": [3.0]}, "x0 = 3 is outside"),
    "two numbers": ({"value": [0.0, 0.0]}, "shape"),
    "no axis": ({"value": 0.0}, "shape"),
    "infinite reward": ({"value": np.inf, "what": "reward"}, "reward inf"),
    "reward is not a number": ({"value": np.nan, "what": "reward"}, "reward nan"),
}


def learn_until_it_breaks(env, learner="SPAQL", message="x0 is nan"):
    agent = LEARNERS[learner](spaql.from_gym(env, horizon=10, reference=[0.0]), seed=1)
    with pytest.raises(spaql.SpaqlError, match=message):
        agent.learn(30, rollouts=2)
    return agent


@pytest.mark.parametrize("learner", TRAINED)
@pytest.mark.parametrize("what", BAD)
def test_a_bad_value_is_an_error_that_says_what_and_where(what, learner):
    options, message = BAD[what]
    agent = learn_until_it_breaks(Later(**options), learner, message)
    assert 0 < len(agent.history) < 3


@pytest.mark.parametrize("learner", FORESTS)
@pytest.mark.parametrize("good", range(55, 75, 3))  # in training episodes and in evaluations
def test_what_was_learned_before_the_error_remains(learner, good):
    """The iteration that failed leaves no trace: the agent is the one that stopped in time."""
    agent = learn_until_it_breaks(Later(good=good, value=[np.nan]), learner)
    done = len(agent.history)
    assert np.isfinite(agent.history.table).all()
    careful = LEARNERS[learner](spaql.from_gym(Line(), horizon=10, reference=[0.0]), seed=1)
    if done:
        careful.learn(done, rollouts=2)
    np.testing.assert_array_equal(agent.leaves(), careful.leaves())
    np.testing.assert_array_equal(agent.history.table, careful.history.table)
    np.testing.assert_array_equal(agent.predict([0.1])[0], careful.predict([0.1])[0])


def test_learning_goes_on_after_the_error_when_the_environment_is_mended():
    env = Later(good=65, value=[np.nan])
    agent = learn_until_it_breaks(env)
    done, env.good = len(agent.history), 10**9
    agent.learn(3, rollouts=2)
    assert len(agent.history) == done + 3


def test_evaluation_reports_a_bad_value():
    env = Later(good=10**9, value=[np.nan])
    agent = spaql.SPAQL(spaql.from_gym(env, horizon=10), seed=1)
    agent.learn(2, rollouts=2)
    env.good = 0
    with pytest.raises(spaql.SpaqlError, match="x0 is nan"):
        agent.evaluate(3)


def test_the_message_names_iteration_and_step():
    learn_until_it_breaks(Later(good=64, value=[np.nan]), message=r"iteration \d+, (training episode|rollout \d+), step \d+")


class Shows(Line):
    """Unbounded, so that its map is measured; from the second step on it shows `value`."""

    def __init__(self, value):
        super().__init__(-np.inf, np.inf)
        self.value = value

    def see(self):
        return self.value if self.steps >= 2 else super().see()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.0, 0.0], r"of shape \(2,\), declared was \(1,\)"),
        (0.0, r"of shape \(\), declared was \(1,\)"),
        ([[0.0]], r"of shape \(1, 1\), declared was \(1,\)"),
        ([], r"of shape \(0,\), declared was \(1,\)"),
        ([[0.0], [0.0, 1.0]], "that is not an array of numbers"),
        (["far"], "that is not an array of numbers"),
        ({"x": 0.0}, "that is not an array of numbers"),
        ([10**400], "that is not an array of numbers"),
        ([np.nan], "in which x0 is nan"),
        ([-np.inf], "in which x0 is -inf"),
    ],
)
def test_a_bad_observation_while_the_map_is_measured_is_an_error_that_says_what_and_where(value, message):
    with pytest.raises(spaql.SpaqlError, match=message + r" \(measuring its map, random episode 0, step 2\)$"):
        spaql.from_gym(Shows(value), horizon=5)


def test_an_environment_without_limit_needs_a_horizon():
    with pytest.raises(spaql.SpaqlError, match="horizon"):
        spaql.from_gym(Line())


def test_unknown_ids_and_missing_packages_are_named():
    with pytest.raises(spaql.SpaqlError, match="NoSuchThing-v0"):
        spaql.from_gym("NoSuchThing-v0")
    with pytest.raises(spaql.SpaqlError, match="cannot make"):
        spaql.from_gym("CartPole-v1", wrong_option=1)


def test_other_objects_are_refused():
    for thing in (None, 3, Line):
        with pytest.raises(spaql.SpaqlError, match="Gymnasium id or environment"):
            spaql.from_gym(thing)
    with pytest.raises(spaql.SpaqlError, match="go with an environment id"):
        spaql.from_gym(Line(), horizon=5, g=1.0)


@pytest.mark.parametrize("space", [Discrete(4), Box(-1, 1, (2, 2)), gymnasium.spaces.Dict({"a": Discrete(2)})])
def test_observations_must_be_a_vector(space):
    env = Line()
    env.observation_space = space
    with pytest.raises(spaql.SpaqlError, match="observations must be a Box with one axis"):
        spaql.from_gym(env, horizon=5)


@pytest.mark.parametrize("space", [gymnasium.spaces.MultiDiscrete([2, 2]), Box(-1, 1, (2, 2)), gymnasium.spaces.MultiBinary(2)])
def test_actions_must_be_a_vector_or_a_choice(space):
    with pytest.raises(spaql.SpaqlError, match="actions must be Discrete, or a Box of floats with one axis"):
        spaql.from_gym(Line(actions=space), horizon=5)


def test_unbounded_actions_are_refused():
    with pytest.raises(spaql.SpaqlError, match="action bounds must be finite"):
        spaql.from_gym(Line(actions=Box(-np.inf, np.inf, (1,))), horizon=5)


@pytest.mark.parametrize("name", ["state_low", "state_high", "slopes"])
@pytest.mark.parametrize("value", [[1.0, 2.0], [], 3.0, ["a"]])
def test_maps_of_the_wrong_shape_are_refused(name, value):
    with pytest.raises(spaql.SpaqlError, match=name):
        spaql.from_gym(Line(), horizon=5, **{name: value})


def test_maps_that_make_no_sense_are_refused():
    with pytest.raises(spaql.SpaqlError, match="low <= high"):
        spaql.from_gym(Line(), horizon=5, state_low=[2.0])
    with pytest.raises(spaql.SpaqlError, match="slope"):
        spaql.from_gym(Line(), horizon=5, slopes=[-1.0])
    with pytest.raises(spaql.SpaqlError, match="horizon"):
        spaql.from_gym(Line(), horizon=0)
    with pytest.raises(spaql.SpaqlError, match="reference"):
        spaql.from_gym(Line(), horizon=5, reference=[2.0])


def test_an_error_of_the_environment_itself_comes_through():
    class Broken(Later):
        def see(self):
            return Line.see(self)

        def step(self, action):
            if self.total > self.good:
                raise RuntimeError("motor on fire")
            return super().step(action)

    agent = spaql.SPAQL(spaql.from_gym(Broken(), horizon=10), seed=1)
    with pytest.raises(RuntimeError, match="motor on fire"):
        agent.learn(30, rollouts=2)
    assert len(agent.history) > 0
    agent.predict([0.1])
