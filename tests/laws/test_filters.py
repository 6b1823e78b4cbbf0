"""Where actions have rates, what was applied is a part of the state: laws may use it, as a filter does, without being told."""

import numpy as np
import pytest

import spaql
from loops import motor
from spaql.plants.loop import with_previous
from spaql.trees.edits import first_variables, uses

TARGET = spaql.Reference("target", 50.0, 150.0, of="speed")


def slow(**more):
    return spaql.loop(motor(), references=[TARGET], observe=["speed_error", "current"], dt=0.01, **more)


def names(problem):
    return [axis.name for axis in problem.state]


def test_a_law_sees_what_was_applied_where_that_changes_slowly():
    assert names(with_previous(slow(rates=2.0))) == ["speed_error", "current", "previous(voltage)"]


def test_it_does_not_where_actions_are_free_or_it_is_observed_already():
    assert with_previous(slow()).state == slow().state
    seen = spaql.loop(
        motor(),
        references=[TARGET],
        observe=["speed_error", "previous(voltage)"],
        memory=["previous(voltage)"],
        rates=2.0,
        dt=0.01,
    )
    assert with_previous(seen) is seen
    assert with_previous(spaql.make("pendulum")).signals is None


@pytest.fixture(scope="module")
def agent():
    found = spaql.Laws(slow(rates=2.0, noise={"speed": 10.0}), max_leaves=1, seed=1, effort=0.1)
    found.learn(samples=1_000_000)
    return found


def test_a_filter_is_found_and_exported_with_its_memory(agent):
    """Noise of 10 rad/s, of which a filter leaves a part."""
    policy = agent.policy()
    assert "previous(voltage)" in policy.to_text()
    assert "previous" in policy.to_c()
    assert np.array_equal(policy.evaluate(20).returns, agent.evaluate(20).returns)


def test_it_acts_on_the_problem_as_it_was_stated(agent):
    assert names(agent.problem) == ["speed_error", "current"]
    memory = agent.policy().memory()
    action, memory = agent.policy().predict([100.0, 0.0, 120.0], state=memory)
    assert np.isfinite(action).all()


def test_a_filter_is_better_than_the_best_law_without_one(agent):
    plain = spaql.Laws(
        slow(rates=2.0, noise={"speed": 10.0}),
        max_leaves=1,
        seed=1,
        effort=0.1,
        teacher=lambda x: 0.1 * x[0],
    )
    plain.learn(samples=1_000_000)
    assert not uses(plain.tree, 2)
    assert agent.evaluate(300).mean > plain.evaluate(300).mean


def test_what_does_not_pay_is_not_shown():
    tree = spaql.law(with_previous(slow(rates=2.0)), [[0.1, 0.0, 0.0]]).rules
    assert not uses(tree, 2)
    assert first_variables(tree, 2).laws.gains.shape[-1] == 2


def test_a_file_keeps_the_filter(agent, tmp_path):
    agent.save(tmp_path / "agent.spaql")
    again = spaql.load(tmp_path / "agent.spaql", problem=agent.problem)
    assert again.policy().to_text() == agent.policy().to_text()
