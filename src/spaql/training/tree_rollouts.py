"""Lock-step rollouts of a decision tree on a compiled plant.

Every lane's leaf is found by one of three forms of `trees.descend.descend`, the fastest for the tree (`place_lanes`).
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.plants.plant import Batch, Rows
from spaql.training.lanes import WIDTH, Episodes, Lanes, Stage, run_lanes
from spaql.trees.laws import ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.tree import CompiledTree, Tree, descend, has_oblique

SMALL_TREE = 127  # nodes: up to here every lane is tested at every node


@inlined
def _place_by_node(nodes: Array, weights: Array, lanes: Lanes, rows: Rows, first: int, n: int) -> None:
    """`descend` for lanes from `first` on, node by node: in a small tree cheaper than following each lane.

    Rows are cut before the loops: LLVM vectorises these where no index can be negative.
    """
    d, leaf, value = weights.shape[1], lanes.code[first:n], lanes.sums[first:n]
    for i in range(len(leaf)):
        leaf[i] = 0
    for node in range(len(nodes)):  # parents come before their children
        feature, cut = nodes[node].feature, nodes[node].cut
        low, high = np.int64(nodes[node].low), np.int64(nodes[node].high)
        if feature < 0:
            continue
        row = lanes.table[rows.observation + feature, first:n] if feature < d else value
        if feature == d:
            for i in range(len(leaf)):
                value[i] = 0.0
            for j in range(d):
                weight, seen = weights[node, j], lanes.table[rows.observation + j, first:n]
                for i in range(len(leaf)):
                    value[i] += weight * seen[i]
        for i in range(len(leaf)):
            child = high if row[i] >= cut else low
            leaf[i] = child if leaf[i] == node else leaf[i]


@inlined
def _child(nodes: Array, here: int, table: Array, first_row: int, column: int) -> int:
    """One turn of the loop in `descend`, or the leaf itself, without a branch to mispredict; no oblique tests."""
    at = np.uint32(here)
    feature = nodes[at].feature
    stay = feature >> 31  # -1 in a leaf, else 0
    value = table[np.uint32(first_row + (feature & ~stay)), column]
    low, high = nodes[at].low, nodes[at].high
    below = low + ((high - low) & -np.int32(value >= nodes[at].cut))
    child: int = (here & stay) | (below & ~stay)
    return child


@inlined
def _place_by_lane(nodes: Array, lanes: Lanes, first_row: int, n: int) -> None:
    """`descend` for four lanes at once, as each waits for its own loads. n is a multiple of 4; no oblique tests."""
    table, leaf = lanes.table, lanes.code
    for i in range(0, n, WIDTH):
        a, b, c, e = 0, 0, 0, 0
        while (  # no lane is in a leaf, where `feature` is -1
            nodes[np.uint32(a)].feature & nodes[np.uint32(b)].feature
            & nodes[np.uint32(c)].feature & nodes[np.uint32(e)].feature
        ) >= 0:  # fmt: skip
            a, b = _child(nodes, a, table, first_row, i), _child(nodes, b, table, first_row, i + 1)
            c, e = _child(nodes, c, table, first_row, i + 2), _child(nodes, e, table, first_row, i + 3)
        leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3] = a, b, c, e


@inlined
def place_lanes(controller: CompiledTree, oblique: bool, lanes: Lanes, rows: Rows, n: int) -> None:
    """Every lane's leaf, into `lanes.code`."""
    nodes, weights = controller.nodes, controller.weights
    if len(nodes) <= SMALL_TREE:
        _place_by_node(nodes, weights, lanes, rows, 0, n)
    elif not oblique:
        _place_by_lane(nodes, lanes, rows.observation, n)
    else:
        for i in range(n):
            lanes.code[i] = descend(nodes, weights, lanes.table, i, rows.observation)


@inlined
def act_tree(controller: CompiledTree, oblique: bool, lanes: Lanes, rows: Rows, n: int) -> None:
    """Every lane's leaf, and its action into the table. `oblique`: some test of the tree is, see `has_oblique`."""
    place_lanes(controller, oblique, lanes, rows, n)
    if len(controller.laws.gains) > 0:
        act_laws(controller.nodes, controller.laws, lanes, rows, 0, n)
        return
    for axis in range(controller.actions.shape[1]):
        row = lanes.table[rows.action + axis]
        for i in range(n):
            row[i] = controller.actions[np.uint32(lanes.code[i]), axis]


@inlined
def _scores(laws: LeafLaws, leaf: int, output: int, lanes: Lanes, rows: Rows, first: int, n: int) -> None:
    """`laws.score` for lanes from `first` on, into `lanes.sums`."""
    value = lanes.sums[first:n]
    for i in range(len(value)):
        value[i] = 0.0
    for j in range(laws.gains.shape[2]):
        gain, seen = laws.gains[leaf, output, j], lanes.table[rows.observation + j, first:n]
        if gain != 0.0:
            for i in range(len(value)):
                value[i] += gain * seen[i]
    offset = laws.offsets[leaf, output]
    for i in range(len(value)):
        value[i] += offset


@inlined
def act_laws(nodes: Array, laws: LeafLaws, lanes: Lanes, rows: Rows, first: int, n: int) -> None:
    """`laws.apply_law` for lanes from `first` on, leaf by leaf: few leaves, and loops over the lanes vectorise."""
    leaf, value, best = lanes.code[first:n], lanes.sums[first:n], lanes.best[first:n]
    for node in range(len(nodes)):
        if nodes[node].feature >= 0:
            continue
        for output in range(laws.gains.shape[1]):
            _scores(laws, node, output, lanes, rows, first, n)
            if laws.kind == SCORES:
                row, action = lanes.table[rows.action, first:n], laws.values[output]
                for i in range(len(leaf)):
                    wins = leaf[i] == node and (output == 0 or value[i] > best[i])
                    row[i] = action if wins else row[i]
                    best[i] = value[i] if wins else best[i]
            else:
                row, low, high = lanes.table[rows.action + output, first:n], laws.low[output], laws.high[output]
                for i in range(len(leaf)):
                    row[i] = min(max(value[i], low), high) if leaf[i] == node else row[i]
    row = lanes.table[rows.action, first:n]
    if laws.kind == THRESHOLD:
        least, most = laws.values[0], laws.values[-1]
        for i in range(len(leaf)):
            row[i] = most if row[i] >= 0.0 else least
    elif laws.kind == ORDERED:
        for i in range(len(leaf)):
            row[i] = laws.values[np.uint32(row[i] + 0.5)]


class TreeActor(NamedTuple):
    """A tree that acts, and what is kept of its episodes."""

    controller: CompiledTree
    oblique: bool
    visits: Array  # of the leaves, added to unless it is empty
    states: Array  # the first observations


@inlined
def _act(actor: TreeActor, rows: Rows, lanes: Lanes, h: int, steps: int, n: int, padded: int) -> bool:
    act_tree(actor.controller, actor.oblique, lanes, rows, padded)
    visits, states = actor.visits, actor.states
    if len(visits) > 0:
        for i in range(n):
            visits[lanes.code[i]] += 1
    for i in range(min(n, len(states) - steps)):
        for j in range(states.shape[1]):
            states[steps + i, j] = lanes.table[rows.observation + j, i]
    return True


@kernel
def run_tree(
    reset: Batch, step: Batch, stage: Stage, controller: CompiledTree, lanes: Lanes, episodes: Episodes, visits: Array,
    states: Array,
) -> int:  # fmt: skip
    """Episodes with a tree as the policy. Returns the steps. `visits` and `states` as of `TreeActor`."""
    actor = TreeActor(controller, has_oblique(controller.nodes, controller.weights), visits, states)
    return run_lanes(reset, step, _act, actor, stage, lanes, episodes)


# -- lock-step rollouts of many small trees at once: the population of an optimiser, each tree on the same episodes ----
#
# A tree of its own fills few lanes with its few episodes; in a learned model, whose step costs much per call, all trees
# together take two thirds of the time. Every episode has the bits that it has alone.

class TreeBatch(NamedTuple):
    """Trees with as many nodes each, one after the other; their tests are oblique or of one variable."""

    nodes: Array  # of NODE; children are counted from the root of their own tree
    weights: Array  # (nodes of all, variables)
    laws: LeafLaws  # of all nodes
    size: int  # nodes of one tree
    episodes: int  # of one tree: rollout i is led by tree i // episodes


def forest_of(forest: Tree, trees: int, episodes: int) -> TreeBatch:
    """Of trees one behind the other, with laws of one kind, and equally many nodes."""
    assert forest.laws is not None
    return TreeBatch(forest.nodes, forest.weights, forest.laws, len(forest.nodes) // trees, episodes)


@inlined
def _act_of_own(forest: TreeBatch, rows: Rows, lanes: Lanes, h: int, steps: int, n: int, padded: int) -> bool:
    """Every lane's action, by its own tree: lanes beside each other that have the same one act together."""
    first, laws = 0, forest.laws
    while first < padded:
        tree, end = lanes.rollout[first] // forest.episodes, first + 1
        while end < padded and lanes.rollout[end] // forest.episodes == tree:
            end += 1
        root = tree * forest.size
        nodes, weights = forest.nodes[root : root + forest.size], forest.weights[root : root + forest.size]
        gains, offsets = laws.gains[root : root + forest.size], laws.offsets[root : root + forest.size]
        own = LeafLaws(gains, offsets, laws.low, laws.high, laws.values, laws.kind)
        _place_by_node(nodes, weights, lanes, rows, first, end)
        act_laws(nodes, own, lanes, rows, first, end)
        first = end
    return True


@kernel
def run_forest(reset: Batch, step: Batch, stage: Stage, forest: TreeBatch, lanes: Lanes, episodes: Episodes) -> int:
    """Episodes, each with its own tree of the forest as the policy. Returns the steps."""
    return run_lanes(reset, step, _act_of_own, forest, stage, lanes, episodes)
