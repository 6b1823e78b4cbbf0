"""What is counted in evaluations: as a plain loop over recorded episodes counts, and the same in both loops to the bit."""

import numpy as np
import pytest

import spaql
from helpers import linear_plant
from spaql import Limit

FIELDS = ("returns", "lengths", "terminated", "last", "effort", "switching", "violated", "excess")
CART = [Limit("angle", -0.05, 0.05), Limit("position", high=0.02), Limit("push", high=0.5)]
PENDULUM = [Limit("velocity", -4, 4), Limit("torque", -1.5, 1.9), Limit("cos", low=-0.9)]


def by_hand(problem, episode):
    low, high = (float(end[0]) for end in problem.actions.bounds)
    action, after = episode.actions[:, 0], episode.observations[1:]
    told = {"returns": episode.total, "lengths": len(episode), "terminated": episode.terminated, "last": episode.rewards[-1]}
    told["effort"] = np.mean(np.abs(action - (low + high) / 2) / ((high - low) / 2))
    told["switching"] = np.mean(np.abs(np.diff(action)) / (high - low)) if len(action) > 1 else 0.0
    names = [axis.name for axis in problem.state]
    values = [after[:, names.index(one.variable)] if one.variable in names else action for one in problem.limits]
    beyond = [np.maximum(limit.low - value, value - limit.high) for limit, value in zip(problem.limits, values, strict=True)]
    told["violated"] = [np.mean(one > 0) for one in beyond]
    told["excess"] = [max(one.max(), 0.0) for one in beyond]
    return told


@pytest.fixture(scope="module", params=[("cartpole", "spaql/CartPole-v0", CART), ("pendulum", "spaql/Pendulum-v0", PENDULUM)])
def agents(request):
    name, env_id, limits = request.param
    made = [spaql.SPAQL(problem, seed=2) for problem in (spaql.make(name, limits=limits), spaql.from_gym(env_id, limits=limits))]
    for agent in made:
        agent.learn(5, rollouts=2)
    return made


def test_counts_are_those_of_recorded_episodes(agents):
    agent = agents[0]
    for subject, evaluation in ((agent, agent.evaluate(12, seed=3)), (agent.policy(), agent.policy().evaluate(12, seed=3))):
        assert (evaluation.violated > 0).any()
        for j in range(12):
            for name, value in by_hand(agent.problem, subject.episode(seed=3, rollout=j)).items():
                assert getattr(evaluation, name)[j] == pytest.approx(value, rel=1e-12), name


def test_both_loops_agree_to_the_bit(agents):
    for compiled, gym in ((one.evaluate(7) for one in agents), (one.policy().evaluate(7) for one in agents)):
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(compiled, name), getattr(gym, name), name)
        assert str(compiled) == str(gym)


def test_vector_environments_count_the_same_as_one_by_one(agents):
    policy = agents[0].policy()
    one, many = spaql.evaluate_vector(policy, episodes=6, n_envs=1), spaql.evaluate_vector(policy, episodes=6, n_envs=4)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name), name)
    assert one.samples == one.lengths.sum()


def test_counts_do_not_depend_on_how_many_episodes_run_side_by_side(agents):
    policy = agents[0].policy()
    few, many = policy.evaluate(5), policy.evaluate(300)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name)[:5], name)


def test_several_action_axes_count_alike():
    problem = linear_plant(2)
    tree = spaql.SPAQL(problem).policy()  # untrained: the middle of the range, always
    assert tree.evaluate(4).effort.tolist() == [0.0] * 4
    assert spaql.Random(problem).evaluate(400).effort.mean() == pytest.approx(0.5, abs=0.02)
    assert spaql.Random(problem).evaluate(400).switching.mean() == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.parametrize(("name", "ending"), [("cartpole", "bad"), ("acrobot", "good"), ("mountain-car", "good"), ("pendulum", "")])
def test_what_an_end_is_worth_on_known_plants(name, ending):
    assert spaql.Random(spaql.make(name)).evaluate(100).ending == ending
