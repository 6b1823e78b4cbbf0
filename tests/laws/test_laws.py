"""The learner Laws: what it finds, and what it never does."""

import numpy as np
import pytest

import spaql
from spaql.laws.stages import plan_of
from spaql.learners.law_files import Frontier, ScoredTree
from spaql.trees.edits import constant

SMALL = {"max_leaves": 2, "effort": 0.05}


@pytest.fixture(scope="module")
def pendulum():
    agent = spaql.Laws(spaql.make("pendulum"), max_leaves=2, effort=0.25, seed=3)
    agent.learn(samples=60_000_000)
    return agent


def test_one_law_balances_the_pole_for_500_steps():
    agent = spaql.Laws(spaql.make("cartpole-500"), max_leaves=1, effort=0.1, seed=1)
    agent.learn(samples=10_000_000)
    policy = agent.policy()
    assert policy.evaluate(200).returns.min() == 500.0
    assert policy.n_leaves == 1
    assert policy.numbers <= 4


def test_two_laws_swing_the_pendulum_up(pendulum):
    policy = pendulum.policy()
    assert policy.evaluate(500).mean > -175.0
    assert policy.n_leaves == 2
    assert policy.numbers <= 14


def test_its_policy_says_that_it_has_laws(pendulum):
    policy = pendulum.policy()
    assert policy.has_laws
    assert "clip(" in policy.to_text()
    assert "law" in repr(policy)


def test_the_history_ends_with_what_the_confirmation_said(pendulum):
    history = pendulum.history
    assert history.evaluation[-1] == max(entry.mean for entry in pendulum.state.frontier.tidy.values())
    assert (np.diff(history.train_samples) > 0).all()
    assert history.train_samples[-1] == 60_000_000


def test_a_larger_tree_is_returned_only_if_it_is_better_than_all_smaller_ones():
    trees = {leaves: ScoredTree(constant(2, [float(leaves)]), mean) for leaves, mean in ((1, 5.0), (2, 4.0), (3, 5.02), (4, 6.0))}
    found = Frontier(tidy=trees).monotone(0.1)
    assert [entry.mean for entry in found] == [5.0, 6.0]


def test_what_is_wanted_comes_soon_and_then_the_sizes_in_turn_each_fresh_and_then_regrown():
    assert [plan_of(stage, 3) for stage in range(8)] == [
        ("fresh", 1), ("fresh", 3), ("regrow", 3), ("regrow", 3), ("fresh", 2), ("regrow", 2), ("regrow", 2), ("fresh", 3),
    ]  # fmt: skip
    assert [plan_of(stage, 1) for stage in range(4)] == [("fresh", 1), ("regrow", 1), ("regrow", 1), ("fresh", 1)]
    assert max(size for _, size in (plan_of(stage, 11) for stage in range(40))) == 11


def test_before_anything_was_learned_it_applies_the_middle_of_the_actions():
    assert spaql.Laws(spaql.make("pendulum")).predict([1.0, 0.0, 0.0])[0].tolist() == [0.0]
    assert spaql.Laws(spaql.make("acrobot")).predict(np.zeros(6))[0] == 1


@pytest.mark.slow
def test_a_constant_added_to_every_reward_of_episodes_of_fixed_length_changes_nothing():
    def made(extra):
        @spaql.reset
        def start(u):
            return (2.0 * u - 1.0,)

        @spaql.step
        def push(x, a):
            return (0.9 * x + 0.2 * a,), -x * x + extra, False

        state, actions = [spaql.Axis("place", -5.0, 5.0)], spaql.Continuous((-1.0,), (1.0,))
        return spaql.from_plant(start, push, state=state, actions=actions, horizon=16, name="shifted")

    plain, shifted = (spaql.Laws(made(extra), **SMALL) for extra in (0.0, 0.25))
    for agent in (plain, shifted):
        agent.learn(iterations=2)
    states = np.linspace(-3, 3, 50)[:, None]
    np.testing.assert_allclose(plain.predict(states)[0], shifted.predict(states)[0], atol=0.05)


@pytest.mark.slow
def test_with_one_action_there_is_nothing_to_find():
    @spaql.reset
    def start(u):
        return (u,)

    @spaql.step
    def go(x, a):
        return (0.5 * x,), x, False

    problem = spaql.from_plant(
        start, go, state=[spaql.Axis("place", 0.0, 1.0)], actions=spaql.Finite((3,)), horizon=5, name="one"
    )
    agent = spaql.Laws(problem, **SMALL)
    agent.learn(iterations=2)
    assert (agent.predict([[0.1], [0.9]])[0] == 3).all()


def broken(value, bounds=(-2.0, 2.0)):
    @spaql.reset
    def start(u):
        return (u,)

    @spaql.step
    def go(x, a):
        return (value if x > 0.5 else x + 0.4,), 0.0, False

    state = [spaql.Axis("place", *bounds)]
    return spaql.from_plant(start, go, state=state, actions=spaql.Finite((0, 1)), horizon=9, name="mine", reference=(0.0,))


def test_a_plant_that_leaves_its_bounds_or_all_numbers_is_named():
    with pytest.raises(spaql.SpaqlError, match=r"mine left its declared bounds: place = 7 is not in -2 ... 2 .*step \d"):
        spaql.Laws(broken(7.0), **SMALL).learn(iterations=1)
    with pytest.raises(spaql.SpaqlError, match="mine gave a state that is not finite"):
        spaql.Laws(broken(np.nan), **SMALL).learn(iterations=1)


def test_it_does_not_learn_from_logs_and_says_so():
    agent = spaql.Laws(spaql.make("pendulum"), **SMALL)
    with pytest.raises(spaql.SpaqlError, match="Laws does not learn from logs"):
        agent.replay("log.csv")


def test_a_small_budget_reaches_as_many_laws_as_were_asked_for():
    agent = spaql.Laws(spaql.make("pendulum"), max_leaves=2, seed=0)
    agent.learn(samples=20_000_000)
    assert agent.policy().n_leaves == 2
    assert agent.evaluate(200).mean > -190.0
    assert agent.notes == ()


def test_sizes_that_the_samples_did_not_reach_are_told():
    agent = spaql.Laws(spaql.make("cartpole"), max_leaves=4, seed=0, effort=0.1)
    with pytest.warns(spaql.SpaqlWarning, match="no more than 1 of at most 4 laws were searched for"):
        agent.learn(iterations=1)
