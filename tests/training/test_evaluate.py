"""Fresh rollouts: returns, mean, confidence interval."""

import re

import numpy as np
import pytest
from scipy import stats

import spaql
from helpers import FORESTS, LEARNERS, linear_plant
from spaql.plants.plant import LANES
from spaql.training import forest_loop as compiled


@pytest.fixture(scope="module")
def agent():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=1)
    agent.learn(5, rollouts=3)
    return agent


def test_one_return_per_episode(agent):
    result = agent.evaluate(37, seed=1)
    assert result.returns.shape == (37,)
    assert result.samples == 37 * 200
    assert result.mean == pytest.approx(np.mean(result.returns))


@pytest.mark.parametrize("episodes", [2, 10, 500])
def test_interval_is_students(agent, episodes):
    result = agent.evaluate(episodes, seed=2)
    expected = stats.t.interval(0.95, episodes - 1, loc=np.mean(result.returns), scale=stats.sem(result.returns))
    assert result.ci95 == pytest.approx(expected, rel=1e-12)


def test_one_episode_has_no_interval(agent):
    assert agent.evaluate(1).ci95 == (-np.inf, np.inf)


def test_it_shows_itself(agent):
    text = repr(agent.evaluate(10))
    assert text.startswith("Evaluation(mean=-")
    assert "episodes=10" in text


def test_on_cartpole_the_samples_are_the_returns():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    agent.learn(5, rollouts=3)
    result = agent.evaluate(300)
    assert result.samples == result.returns.sum()
    assert result.returns.max() <= 200
    assert result.returns.min() >= 1


@pytest.mark.parametrize("learner", FORESTS)
@pytest.mark.parametrize("name", ["pendulum", "cartpole"])
def test_returns_do_not_depend_on_how_often_python_looks_at_ctrl_c(name, learner, monkeypatch):
    agent = LEARNERS[learner](spaql.make(name), seed=1)
    agent.learn(5, rollouts=3)
    episodes, calls, rollouts = 3 * LANES + 5, [], compiled.greedy_rollouts

    def counted(*arguments):
        calls.append(arguments)
        return rollouts(*arguments)

    monkeypatch.setattr(compiled, "greedy_rollouts", counted)
    whole = agent.evaluate(episodes, seed=3)
    assert len(calls) == 1
    monkeypatch.setattr(compiled, "STRETCH_STEPS", 1)
    parts = agent.evaluate(episodes, seed=3)
    assert len(calls) == 1 + 4
    np.testing.assert_array_equal(parts.returns, whole.returns)
    assert parts.samples == whole.samples


def test_a_fault_is_named_by_its_rollout_in_later_stretches_too(monkeypatch):
    @spaql.reset
    def start(luck):
        return (2.0 if luck > 0.998 else luck,)

    @spaql.step
    def stay(x, push):
        return (x,), x, False

    axis, push = spaql.Axis("place", -1.0, 1.0), spaql.Continuous(-1.0, 1.0)
    agent = spaql.SPAQL(spaql.from_plant(start, stay, state=[axis], actions=push, horizon=3))
    with pytest.raises(spaql.SpaqlError, match="left its declared bounds") as whole:
        agent.evaluate(100 * LANES)
    assert int(re.search(r"rollout (\d+)", str(whole.value))[1]) > LANES
    monkeypatch.setattr(compiled, "STRETCH_STEPS", 1)
    with pytest.raises(spaql.SpaqlError) as parts:
        agent.evaluate(100 * LANES)
    assert str(parts.value) == str(whole.value)


def test_fresh_rollouts_are_not_those_of_selection():
    """The same seed in training and in evaluation does not mean the same episodes."""
    agent = spaql.Random(spaql.make("pendulum"), seed=0)
    history = agent.learn(3, rollouts=50)
    assert agent.evaluate(50, seed=0).mean not in history.evaluation


@pytest.mark.parametrize("learner", FORESTS)
def test_an_untrained_agent_can_be_evaluated(learner):
    result = LEARNERS[learner](spaql.make("cartpole")).evaluate(400)
    if learner == "NBQL":
        assert 9 < result.mean < 10  # all cells of a net tie, and ties go to the last action
    else:
        assert 18 < result.mean < 27  # all others act at random


def test_deterministic_evaluation_applies_the_centre():
    """Untrained, that is no push at all: the leaky integrators decay by themselves."""
    result = spaql.SPAQL(linear_plant(1, horizon=3)).evaluate(50, deterministic=True)
    start = np.sqrt(-result.returns / (1 + 0.8**2 + 0.8**4))
    assert (start <= 1.0).all()
    again = spaql.SPAQL(linear_plant(1, horizon=1)).evaluate(50, deterministic=True)
    np.testing.assert_allclose(-again.returns, start**2, rtol=1e-12)
    uniform = spaql.SPAQL(linear_plant(1, horizon=3)).evaluate(50)
    assert not np.allclose(uniform.returns, result.returns)


def test_the_agent_does_what_it_predicts():
    """Deterministic rollouts are what `predict` says, step by step, in the environment."""
    import gymnasium

    agent = spaql.AQL(spaql.make("cartpole"), seed=3)
    agent.learn(20, rollouts=2)
    returns = agent.evaluate(5, deterministic=True).returns
    env = gymnasium.make("spaql/CartPole-v0")
    from spaql.ground.streams import FRESH_PLANT, plant_seed

    for episode in range(5):
        observation, _ = env.reset(seed=int(plant_seed(0, FRESH_PLANT, 0))) if episode == 0 else env.reset()
        total, over, state = 0.0, False, None
        while not over:
            action, state = agent.predict(observation, state=state)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, over = total + reward, terminated or truncated
        assert total == returns[episode]


@pytest.mark.parametrize("name", ["pendulum", "cartpole"])
def test_returns_of_the_first_rollouts_do_not_depend_on_how_many_follow(name):
    agent = spaql.SPAQL(spaql.make(name), seed=1)
    agent.learn(3, rollouts=5)
    many = agent.evaluate(300, seed=2).returns
    for count in (1, 4, 7, 128, 129):
        np.testing.assert_array_equal(agent.evaluate(count, seed=2).returns, many[:count])
