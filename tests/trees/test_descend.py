"""From an observation to its leaf: every form of the walk finds the same leaf."""

import numba
import numpy as np
import pytest

import spaql
from spaql.plants.plant import LANES
from spaql.training.lanes import new_lanes
from spaql.training.tree_rollouts import SMALL_TREE, place_lanes
from spaql.trees.tree import NODE, CompiledTree, leaf_of, make_tree

SIZES = {"small": 31, "large": 2 * SMALL_TREE + 1}


def random_tree(variables, size, oblique):
    """A full tree; every other test is oblique, if any."""
    rng = np.random.default_rng(size)
    nodes, weights = np.zeros(size, NODE), np.zeros((size, variables))
    nodes["feature"] = -1
    for node in range(size // 2):
        summed = oblique and node % 2 == 0
        nodes[node] = rng.normal(), variables if summed else rng.integers(variables), 2 * node + 1, 2 * node + 2
        weights[node] = rng.normal(size=variables) if summed else 0.0
    return make_tree(nodes, np.zeros((size, 1)), variables, weights)


@numba.njit
def placed(controller, oblique, lanes, rows, n):
    place_lanes(controller, oblique, lanes, rows, n)


def by_hand(tree, x):
    here = 0
    while (feature := tree.nodes["feature"][here]) >= 0:
        value = x[feature] if feature < len(x) else sum(tree.weights[here] * x)
        here = tree.nodes["high" if value >= tree.nodes["cut"][here] else "low"][here]
    return here


@pytest.mark.parametrize("oblique", [False, True], ids=["axes", "oblique"])
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_lanes_find_the_leaf_of_the_plain_walk_and_leave_the_table_of_the_plant_alone(size, oblique):
    plant = spaql.make("cartpole").plant
    lanes = new_lanes(plant)
    lanes.table[:] = np.random.default_rng(1).normal(size=lanes.table.shape)
    tree, before = random_tree(plant.observation_dim, size, oblique), lanes.table.copy()
    observations = lanes.table[plant.rows.observation : plant.rows.action].T
    expected = [by_hand(tree, x) for x in observations]
    placed(CompiledTree(tree.nodes, tree.weights, tree.actions), tree.oblique, lanes, plant.rows, LANES)
    assert len(set(expected)) > 5
    np.testing.assert_array_equal(leaf_of(tree, observations), expected)
    np.testing.assert_array_equal(lanes.code, expected)
    np.testing.assert_array_equal(lanes.table, before)
