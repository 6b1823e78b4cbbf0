"""A tree in units and the same tree in physical units decide the same; its numbers are one vector."""

import numpy as np
import pytest

import spaql
from spaql.laws.in_model import different
from spaql.laws.proposals import Proposals
from spaql.laws.vector import all_free, declared_units, everything, measured_units, numbers_of, steps_of, with_numbers
from spaql.policy.outputs import kinds_of
from spaql.trees.laws import CLIP, SCORES
from spaql.trees.tree import decide, leaf_of

PROBLEMS = ("pendulum", "acrobot", "cartpole")


def seen(problem, count=300):
    low = [-2.0 if axis.slope is not None else axis.low for axis in problem.state]
    high = [3.0 if axis.slope is not None else axis.high for axis in problem.state]
    return np.random.default_rng(2).uniform(low, high, (count, len(low)))


def proposed(name, leaves=4, seed=0):
    problem = spaql.make(name)
    states = seen(problem)
    units = measured_units(problem, states)
    proposals = Proposals(problem, units.live, np.random.default_rng(seed))
    return problem, states, units, proposals.tree(leaves, units.of(states)), proposals


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_tree_in_units_and_in_physical_units_comes_to_the_same_leaves(name, seed):
    _, states, units, tree, _ = proposed(name, seed=seed)
    same = leaf_of(units.physical(tree), states) == leaf_of(tree, units.of(states))
    assert same.mean() > 0.99  # all but states on a test, up to rounding


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_physical_tree_goes_into_units_and_back(name):
    _, states, units, tree, _ = proposed(name)
    physical = units.physical(tree)
    again = units.physical(units.in_units(physical))
    same = leaf_of(again, states) == leaf_of(physical, states)
    assert same.mean() > 0.99
    assert np.allclose(decide(again, states)[same], decide(physical, states)[same])


def test_scores_of_one_are_the_ends_of_the_range():
    _, states, units, tree, _ = proposed("pendulum", leaves=1)
    assert tree.laws.kind == CLIP
    flat = tree.laws._replace(gains=tree.laws.gains * 0.0, offsets=np.array([[1.0]]))
    assert (decide(units.physical(type(tree)(tree.nodes, tree.actions, tree.weights, flat)), states) == 2.0).all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_numbers_of_a_tree_go_into_a_vector_and_back(name):
    _, _, units, tree, _ = proposed(name)
    for free in (all_free(tree, units.live), everything(tree)):
        vector = numbers_of(tree, free)
        np.testing.assert_array_equal(numbers_of(with_numbers(tree, free, 2 * vector), free), 2 * vector)
        assert len(steps_of(tree, free)) == len(vector)


def test_numbers_of_a_parent_move_a_tenth_as_far_but_not_a_leaf_that_became_a_test():
    _, states, units, parent, proposals = proposed("pendulum", leaves=2)
    child = proposals.split(parent, units.of(states))
    free = all_free(child, units.live)
    ratio = steps_of(child, free, len(parent.nodes)) / steps_of(child, free)
    assert set(np.round(ratio, 12)) == {0.1, 1.0}
    new = 4 + 2 * 4  # a test of three weights and a cut; two laws of three gains and an offset
    assert (ratio == 1.0).sum() == new


def test_a_variable_that_does_not_vary_is_looked_at_by_nobody():
    problem = spaql.make("pendulum")
    states = seen(problem)
    states[:, 1] = 0.25
    units = measured_units(problem, states)
    assert units.live.tolist() == [True, False, True]
    proposals = Proposals(problem, units.live, np.random.default_rng(0))
    tree = units.physical(proposals.tree(6, units.of(states)))
    assert not tree.weights[:, 1].any()
    assert not tree.laws.gains[:, :, 1].any()
    assert not all_free(tree, units.live).gains[:, :, 1].any()


def test_declared_units_need_nothing_seen():
    for name in PROBLEMS:
        assert declared_units(spaql.make(name)).live.all()


def test_every_kind_of_law_is_proposed_and_the_first_of_competing_scores_stays_zero():
    problem, states, units, _, proposals = proposed("acrobot")
    trees = [proposals.tree(3, units.of(states)) for _ in range(60)]
    assert {tree.laws.kind for tree in trees} == set(kinds_of(problem.actions))
    for tree in trees:
        if tree.laws.kind == SCORES:
            assert not tree.laws.gains[:, 0].any()
            assert not tree.laws.offsets[:, 0].any()


def test_a_kink_has_one_law_with_a_step_in_it():
    _, states, units, tree, proposals = proposed("pendulum", leaves=1)
    kinked = proposals.split(tree, units.of(states), kinks=1.0)
    low, high = int(kinked.nodes["low"][0]), int(kinked.nodes["high"][0])
    np.testing.assert_array_equal(kinked.laws.gains[low], kinked.laws.gains[high])
    step = (kinked.laws.offsets[low] + kinked.laws.offsets[high]) / 2
    np.testing.assert_allclose(step, tree.laws.offsets[0])
    assert kinked.laws.offsets[low] != kinked.laws.offsets[high]


def test_no_law_looks_at_a_variable_that_varies_less_than_it_must():
    states = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1e-10, 1.0]
    problem = spaql.make("pendulum")
    assert measured_units(problem, states).live.all()
    assert measured_units(problem, states, np.full(3, 1e-4)).live.tolist() == [True, False, True]


def test_laws_that_went_through_other_units_are_the_same_laws():
    problem = spaql.make("pendulum")
    rng = np.random.default_rng(0)
    units = measured_units(problem, rng.normal(size=(50, 3)))
    first, second = (units.physical(Proposals(problem, units.live, rng).leaf(1.0)) for _ in range(2))
    again = units.physical(units.in_units(first))
    assert len(different([first, again, second])) == 2
