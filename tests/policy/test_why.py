"""Why this action: every number in the answer can be checked on the policy."""

import re
from dataclasses import replace

import numpy as np
import pytest

import spaql
from spaql.trees.tree import Builder, leaf_of


@pytest.fixture(scope="module")
def policy():
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
    agent.learn(200, rollouts=5)
    return agent.policy()


OBSERVATION = [0.1, 0.2, 0.03, -0.3]


@pytest.mark.parametrize("form", ["table", "tree"])
def test_the_action_changes_exactly_where_it_says(policy, form):
    asked = policy if form == "table" else policy.tree()
    why = asked.why(OBSERVATION)
    checked = 0
    for j, change in enumerate(why.changes):
        for place, action, side in ((change.above, change.action_above, 1), (change.below, change.action_below, -1)):
            if place is None:
                continue
            at = np.array(OBSERVATION)
            at[j] = place if side > 0 else np.nextafter(place, -np.inf)
            assert asked.decide(at[None])[0] == action != why.action
            before = np.linspace(OBSERVATION[j], np.nextafter(place, -np.inf) if side > 0 else place, 200)
            states = np.tile(OBSERVATION, (200, 1))
            states[:, j] = before
            assert (asked.decide(states) == why.action).all()
            checked += 1
    assert checked > 0


def test_the_rule_holds_where_it_is_given_and_the_path_leads_to_it(policy):
    why = policy.why(OBSERVATION)
    assert len(why.path) == policy.rules.depth or len(why.path) > 0
    assert why.action == policy.decide([OBSERVATION])[0]


def test_the_best_alternative_is_what_is_applied_and_values_are_sorted(policy):
    why = policy.why(OBSERVATION)
    values = [q for _, q in why.alternatives]
    assert values == sorted(values, reverse=True)
    assert why.alternatives[0][0] == why.action


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_values_are_told_apart_whatever_their_scale(policy, scale):
    forest = policy.knowledge.forest._replace(balls=policy.knowledge.forest.balls.copy())
    forest.balls["q"] *= scale
    why = replace(policy, knowledge=replace(policy.knowledge, forest=forest)).why(OBSERVATION)
    shown = [line.split()[0] for line in str(why).split("Values there (Q):\n")[1].splitlines()[: len(why.alternatives)]]
    values = [q for _, q in why.alternatives]
    assert [float(text) for text in shown] == pytest.approx(values, rel=1e-3, abs=0.01 * (max(values) - min(values)))
    assert len(set(shown)) == len(set(values)) > 1
    assert all(len(text) <= 12 for text in shown)


def test_it_speaks_of_units_and_experience(policy):
    text = str(policy.why(OBSERVATION))
    assert "angle = 0.03 rad" in text
    assert "push = " in text
    assert "Training steps behind it: " in text


def test_visits_of_a_tree_are_the_mean_over_the_states_the_closed_loop_came_to(policy):
    tree, table = policy.tree(), policy.knowledge.table
    leaf, cell = leaf_of(tree.rules, tree.usage.states), table.row_of_node[leaf_of(policy.rules, tree.usage.states)]
    for number, told in zip(tree.rules.leaves(), tree.table()["visits"], strict=True):
        seen = table.rows.visits[cell[leaf == number]]
        assert told == pytest.approx(seen.mean() if len(seen) else np.nan, nan_ok=True)
    assert tree.why(OBSERVATION).visits == policy.why(OBSERVATION).visits  # at one state, they are known


def test_it_warns_where_the_closed_loop_has_never_been(policy):
    assert "Warning: the closed loop was never seen at position = 4.7 m" in str(policy.why([4.7, 0.0, 0.0, 0.0]))
    unused = policy.rules.leaves()[policy.share[policy.rules.leaves()] == 0.0][0]
    low, high = policy.bounds()
    somewhere = (np.clip(low[unused], -100.0, None) + np.clip(high[unused], None, 100.0)) / 2
    assert "Warning: the closed loop never reached this region" in str(policy.why(somewhere))
    assert "no training step" in str(spaql.SPAQL(spaql.make("pendulum")).policy().why([1.0, 0.0, 0.0]))


def test_outside_the_bounds_it_warns_too(policy):
    assert "outside -4.8 … 4.8" in policy.why([9.0, 0.0, 0.0, 0.0]).warning


def test_a_warning_has_the_digits_that_tell_the_place_from_where_the_loop_was(policy):
    tree = policy.tree()
    for j, name in enumerate(tree.words.names):
        seen = tree.usage.states[:, j]
        state = tree.usage.states[seen.argmax()].copy()
        state[j] = seen.max() + 0.0101 * np.ptp(seen)
        told = tree.why(state).warning
        if told.startswith("the closed loop was never seen"):
            here, low, high = re.search(rf"at {name} = (\S+).*within (\S+) … ([^)]+)\)", told).groups()
            assert float(low) < float(high) < float(here)
            break
    else:
        pytest.fail("no warning of this kind")
    near = tree.usage.states[-1].copy()
    near[0] = tree.usage.states[:, 0].max() + 0.001 * np.ptp(tree.usage.states[:, 0])
    assert "never seen" not in tree.why(near).warning  # a closed loop comes ever closer to where it settles
    assert "position = 4.80001 m is outside -4.8 … 4.8:" in policy.why([4.80001, 0.0, 0.0, 0.0]).warning


def test_a_single_rule_always_holds():
    why = spaql.SPAQL(spaql.make("pendulum")).policy().why([1.0, 0.0, 0.0])
    assert why.rule == ()
    assert "it always does" in str(why)
    assert "no value of any single variable" in str(why)


def test_an_oblique_test_tells_its_crossing():
    builder = Builder(2, 1)
    root = builder.test(2, 0.5, np.array([2.0, -1.0]))
    low = builder.leaf(0)
    builder.join(root, low, builder.leaf(1))
    policy = spaql.Policy(spaql.cube(2, actions=[0, 1], horizon=10), builder.tree(), "tree", "hand")
    why = policy.why([0.0, 0.0])
    assert why.changes[0].above == pytest.approx(0.25)
    assert why.changes[1].below == pytest.approx(-0.5)
    assert "2·x0 - 1·x1 < 0.5" in why.rule[0]


def test_an_oblique_test_with_a_negative_weight_tells_its_crossing_too():
    builder = Builder(2, 1)
    root = builder.test(2, 0.0, np.array([-1.0, 0.5]))
    low = builder.leaf(0)
    builder.join(root, low, builder.leaf(1))
    policy = spaql.Policy(spaql.cube(2, actions=[0, 1], horizon=10), builder.tree(), "tree", "hand")
    change = policy.why([-0.5, 0.25]).changes[0]
    assert change.above == pytest.approx(0.125)
    assert change.action_above == 0.0


def test_the_answer_stays_the_same_when_the_agent_learns_on():
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
    agent.learn(100, rollouts=5)
    policy = agent.policy()
    before = str(policy.why(OBSERVATION))
    agent.learn(100, rollouts=5)
    assert str(policy.why(OBSERVATION)) == before
