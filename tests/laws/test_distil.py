"""Linear model trees: a tree of laws that does what was done at given states."""

import numpy as np
import pytest

import spaql
from law_examples import law_policies
from spaql.laws.fit import fit
from spaql.laws.lessons import model_tree, scores_of
from spaql.laws.vector import declared_units, measured_units
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD
from spaql.trees.tree import decide


def copied(policy, kind, leaves, states):
    units = measured_units(policy.problem, states)
    scores = scores_of(policy.problem, kind, policy.decide(states))
    tree = model_tree(units, kind, units.of(states), scores, leaves, np.random.default_rng(0))
    return units.physical(tree)


def test_one_clipped_law_is_found_again():
    policy = law_policies()["P2"]
    states = np.random.default_rng(0).normal(size=(3000, 3)) * (0.3, 0.1, 0.3) + (0.9, 0.0, 0.0)  # only its upper law
    tree = copied(policy, CLIP, 1, states)
    assert np.abs(decide(tree, states) - policy.decide(states)).mean() < 0.1


def test_more_leaves_are_nearer_to_what_was_done():
    policy = law_policies()["P2"]
    states = policy.usage.states[::8]
    wrong = [np.abs(decide(copied(policy, CLIP, leaves, states), states) - policy.decide(states)).mean() for leaves in (1, 2, 8)]
    assert wrong[0] > wrong[1] > wrong[2]


@pytest.mark.parametrize(("name", "kind"), [("C2", THRESHOLD), ("ordered", ORDERED), ("L2d", SCORES)])
def test_finite_actions_are_copied_too(name, kind):
    policy = law_policies()[name]
    rng, d = np.random.default_rng(1), len(policy.problem.state)
    low, high = (np.array([max(-1.0, getattr(axis, end)) if end == "low" else min(1.0, axis.high) for axis in policy.problem.state])
                 for end in ("low", "high"))  # fmt: skip
    states = rng.uniform(low, high, size=(2000, d))
    same = (decide(copied(policy, kind, 4, states), states) == policy.decide(states)).all(axis=1).mean()
    assert same > 0.85


def test_states_where_law_and_teacher_saturate_on_the_same_side_do_not_bend_the_law():
    x = np.linspace(-3.0, 3.0, 400)
    inputs, scores = np.column_stack([x, np.ones(400)]), np.clip(3.0 * x, -1.0, 1.0)[:, None]
    law, error = fit(inputs, scores, np.ones(400), 5)
    plain = np.linalg.lstsq(inputs, scores, rcond=None)[0]
    assert abs(plain[0, 0]) < 0.6
    assert law[0, 0] > 1.5
    assert error < 0.3 * ((np.clip(inputs @ plain, -1, 1) - scores) ** 2).sum()


def test_variables_that_do_not_vary_are_not_looked_at():
    problem = spaql.make("pendulum")
    states = np.random.default_rng(0).normal(size=(500, 3))
    states[:, 1] = 0.25
    units = measured_units(problem, states)
    tree = model_tree(units, CLIP, units.of(states), np.sign(states[:, :1]), 4, np.random.default_rng(0))
    assert not units.physical(tree).laws.gains[:, :, 1].any()
    assert not tree.weights[:, 1].any()


def test_of_few_states_comes_a_small_tree():
    units = declared_units(spaql.make("pendulum"))
    tree = model_tree(units, CLIP, np.zeros((5, 3)), np.zeros((5, 1)), 8, np.random.default_rng(0))
    assert tree.n_leaves == 1
