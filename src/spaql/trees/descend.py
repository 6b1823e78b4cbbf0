"""From an observation to its leaf, compiled.

`descend` is the plain form of the walk. Special forms of it for many observations at once stand in
`training.tree_rollouts` (the lanes of a plant's table) and in `learners.atlas` (episodes in a learned model).
"""

from typing import NamedTuple

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.trees.laws import NO_LAWS, Laws, apply_law


class Controller(NamedTuple):
    """A decision tree as the policy of compiled episodes."""

    nodes: Array  # of NODE
    weights: Array  # (nodes, variables) of oblique tests
    actions: Array  # (nodes, axes) what is applied in each leaf; in a learned model its features, (nodes, p)
    laws: Laws = NO_LAWS  # what is applied instead, where leaves are laws


@inlined
def descend(nodes: Array, weights: Array, table: Array, column: int, first_row: int, root: int = 0) -> int:
    """The leaf of the observation in a column of a table, whose first variable stands in row `first_row`."""
    here, d = root, weights.shape[1]
    while nodes[here].feature >= 0:
        feature = nodes[here].feature
        if feature < d:
            value = table[first_row + feature, column]
        else:
            value = 0.0
            for j in range(d):
                value += weights[here, j] * table[first_row + j, column]
        here = nodes[here].high if value >= nodes[here].cut else nodes[here].low
    return here


@inlined
def has_oblique(nodes: Array, weights: Array) -> bool:
    """Some test is oblique."""
    found = False
    for node in range(len(nodes)):
        found |= nodes[node].feature == weights.shape[1]
    return found


@kernel
def find_leaves(nodes: Array, weights: Array, observations: Array, found: Array) -> None:
    """The leaf of every row."""
    columns = observations.T
    for i in range(len(observations)):
        found[i] = descend(nodes, weights, columns, i, 0)


@kernel
def decide_row(controller: Controller, observations: Array, row: int, action: Array) -> int:
    """What a tree applies at one row goes into `action`; returns the leaf.

    For loops over the steps of an environment, which call its machine code (`compiling.machine_code`) once per step.
    """
    leaf = descend(controller.nodes, controller.weights, observations.T, row, 0)
    if len(controller.laws.offsets) > 0:
        apply_law(controller.laws, leaf, observations[row], action)
    else:
        for axis in range(len(action)):
            action[axis] = controller.actions[leaf, axis]
    return leaf
