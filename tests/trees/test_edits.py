"""Changes of trees: what goes, what stays."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spaql.trees.edits import constant, simplified, split, with_action, with_test, without
from spaql.trees.equality import differences
from spaql.trees.tree import LEAF, leaf_of, make_tree

GRID = np.stack(np.meshgrid(*[np.arange(-4.0, 4.5, 0.5)] * 2), axis=-1).reshape(-1, 2)


@st.composite
def trees(draw):
    tree = constant(2, [0.0])
    for _ in range(draw(st.integers(0, 8))):
        leaf = draw(st.sampled_from(tree.leaves().tolist()))
        weights = np.eye(2)[draw(st.integers(0, 1))]
        low, high = (np.array([float(draw(st.integers(0, 2)))]) for _ in range(2))
        tree = split(tree, leaf, weights, float(draw(st.integers(-3, 3))), low, high)
    return tree


@settings(max_examples=100, deadline=None)
@given(trees())
def test_simplifying_changes_no_decision_and_leaves_nothing_idle(tree):
    small = simplified(tree)
    assert differences(tree, small) == []
    assert small.n_leaves <= tree.n_leaves
    assert set(leaf_of(small, GRID)) == set(small.leaves().tolist())  # every leaf is reached


@settings(max_examples=100, deadline=None)
@given(trees(), st.data())
def test_without_some_leaves_all_others_decide_as_before(tree, data):
    leaves = tree.leaves().tolist()
    gone = data.draw(st.lists(st.sampled_from(leaves), unique=True, max_size=len(leaves) - 1))
    small = without(tree, gone)
    make_tree(small.nodes, small.actions, 2)  # a proper one
    assert small.n_leaves == tree.n_leaves - len(gone)
    before = leaf_of(tree, GRID)
    kept = ~np.isin(before, gone)
    np.testing.assert_array_equal(small.actions[leaf_of(small, GRID[kept])], tree.actions[before[kept]])


def test_a_test_of_two_variables_is_oblique_and_can_be_turned():
    tree = split(constant(2, [0.0]), 0, np.array([1.0, -1.0]), 0.5, np.array([1.0]), np.array([2.0]))
    assert tree.oblique
    assert tree.actions[leaf_of(tree, np.array([[1.0, 0.0], [0.0, 1.0]]))].ravel().tolist() == [2.0, 1.0]
    turned = with_test(tree, 0, -0.5, np.array([-1.0, 1.0]))
    assert turned.actions[leaf_of(turned, np.array([[1.0, 0.0], [0.0, 1.0]]))].ravel().tolist() == [1.0, 2.0]
    assert tree.nodes["cut"][0] == 0.5  # as it was
    assert with_action(tree, 1, np.array([9.0])).actions[1, 0] == 9.0 != tree.actions[1, 0]
    assert (tree.nodes["feature"] == LEAF).sum() == 2
