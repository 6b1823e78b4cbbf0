"""Lock-step rollouts of many small trees at once: the population of an optimiser, each tree on the same episodes.

A tree of its own fills few lanes with its few episodes; in a learned model, whose step costs much per call, all trees
together take two thirds of the time. Every episode has the bits that it has alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.plants.plant import LANES, Batch, Rows
from spaql.training.lanes import Episodes, Lanes, Stage, book, check_returns, finish, start_asked, step_lanes
from spaql.trees.descend import descend
from spaql.trees.laws import Laws, apply_law
from spaql.trees.tree import LEAF, Tree


class Forest(NamedTuple):
    """Trees with as many nodes each, one after the other; their tests are oblique or of one variable."""

    nodes: Array  # of NODE; children are counted from the first tree's root
    weights: Array  # (nodes of all, variables)
    laws: Laws  # of all nodes
    size: int  # nodes of one tree
    episodes: int  # of one tree: rollout i is led by tree i // episodes


def forest_of(trees: Sequence[Tree], episodes: int) -> Forest:
    """The trees have laws of one kind, and equally many nodes."""
    size, nodes = len(trees[0].nodes), np.concatenate([tree.nodes for tree in trees])
    root = np.repeat(size * np.arange(len(trees), dtype=np.int32), size)
    inner = nodes["feature"] != LEAF
    for side in ("low", "high"):
        nodes[side][inner] += root[inner]
    laws = [tree.laws for tree in trees if tree.laws is not None]
    gains, offsets = np.concatenate([one.gains for one in laws]), np.concatenate([one.offsets for one in laws])
    weights = np.concatenate([tree.weights for tree in trees])
    return Forest(nodes, weights, laws[0]._replace(gains=gains, offsets=offsets), size, episodes)


@inlined
def _act(forest: Forest, lanes: Lanes, rows: Rows, n: int) -> None:
    """Every lane's action, by its own tree."""
    for i in range(n):
        root = forest.size * (lanes.rollout[i] // forest.episodes)
        leaf = descend(forest.nodes, forest.weights, lanes.table, i, rows.observation, root)
        seen = lanes.table[rows.observation : rows.observation + forest.weights.shape[1], i]
        apply_law(forest.laws, leaf, seen, lanes.table[rows.action : rows.noise, i])


@kernel
def run_forest(reset: Batch, step: Batch, stage: Stage, forest: Forest, lanes: Lanes, episodes: Episodes) -> int:
    """Episodes, each with its own tree of the forest as the policy. Returns the steps."""
    rows, returns, steps = stage.rows, episodes.returns, 0
    for begin in range(episodes.first, episodes.last, LANES):
        n = min(LANES, episodes.last - begin)
        padded = start_asked(reset, stage, lanes, episodes, begin, n)
        for h in range(stage.horizon):
            if n == 0:
                break
            _act(forest, lanes, rows, padded)
            step_lanes(step, stage, lanes, h, padded)
            steps += n
            n, padded = book(rows, lanes, returns, n, padded)
        finish(rows, lanes, returns, n)
    check_returns(lanes, episodes)
    return steps
