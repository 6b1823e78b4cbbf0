"""Affine laws in the leaves of a tree: an action that follows the observation instead of one constant.

A leaf has one score per output, `s = gains . x + offset`, and the scores say what is applied:

- CLIP: continuous actions, an output each: the score, held within the range of its axis;
- THRESHOLD: the last of the finite actions where the score is not negative, else the first one;
- ORDERED: finite actions in the order of their values: the score, held within 0 ... n - 1 and rounded, is the index;
- SCORES: finite actions in no order: one score per action, and the highest wins, the first of equal ones.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel

# kinds of laws
CLIP = 0
ORDERED = 1
SCORES = 2
THRESHOLD = 3


class LeafLaws(NamedTuple):
    """The laws of all leaves of a tree, by node; rows of tests are zero."""

    gains: Array  # (nodes, outputs, variables)
    offsets: Array  # (nodes, outputs)
    low: Array  # (outputs,) where scores are held
    high: Array  # (outputs,)
    values: Array  # (n,) the finite actions; empty with CLIP
    kind: int  # CLIP, ORDERED, SCORES or THRESHOLD

    @property
    def outputs(self) -> int:
        return int(self.offsets.shape[1])


NO_LAWS = LeafLaws(np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0), CLIP)


def of_nodes(laws: LeafLaws | None, nodes: Array) -> LeafLaws | None:
    """The laws of a tree made of these nodes of another."""
    return None if laws is None else laws._replace(gains=laws.gains[nodes], offsets=laws.offsets[nodes])


@inlined
def score(laws: LeafLaws, leaf: int, output: int, observation: Array) -> float:
    """One score of a leaf, summed from left to right, the offset last, as exports do."""
    total = 0.0
    for j in range(len(observation)):
        gain = laws.gains[leaf, output, j]
        if gain != 0.0:
            total += gain * observation[j]
    score: float = total + laws.offsets[leaf, output]
    return score


@inlined
def apply_law(laws: LeafLaws, leaf: int, observation: Array, action: Array) -> None:
    """What the law of a leaf applies at an observation."""
    if laws.kind == SCORES:
        best, chosen = score(laws, leaf, 0, observation), 0
        for output in range(1, len(laws.values)):
            value = score(laws, leaf, output, observation)
            if value > best:
                best, chosen = value, output
        action[0] = laws.values[chosen]
    elif laws.kind == THRESHOLD:
        action[0] = laws.values[-1] if score(laws, leaf, 0, observation) >= 0.0 else laws.values[0]
    elif laws.kind == ORDERED:
        value = min(max(score(laws, leaf, 0, observation), laws.low[0]), laws.high[0])
        action[0] = laws.values[int(value + 0.5)]
    else:
        for output in range(len(laws.low)):
            value = score(laws, leaf, output, observation)
            action[output] = min(max(value, laws.low[output]), laws.high[output])


@kernel
def apply_laws(laws: LeafLaws, leaf: Array, observations: Array, actions: Array) -> None:
    """`apply_law` for every row."""
    for i in range(len(observations)):
        apply_law(laws, leaf[i], observations[i], actions[i])
