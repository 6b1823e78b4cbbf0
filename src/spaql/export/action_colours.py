"""Colours of actions, the same in every drawing: safe for the colour-blind, and visible on white and on black."""

import numpy as np

from spaql.arrays import Array
from spaql.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from spaql.plants.problem import Finite
from spaql.policy.policy import Policy
from spaql.trees.tree import LEAF

NAMED = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, GREY)  # of the actions of a small set, in their order
ENDS = ((0, 114, 178), (150, 150, 150), (213, 94, 0))  # of a scale: low is BLUE, the middle a grey, high is VERMILION


def action_colours(policy: Policy) -> dict[int, str]:
    """By leaf.

    Choices of a small set have a colour each; forces and the like one from a scale over their range, by their first
    axis. Laws have a colour each, which tells them from their neighbours.
    """
    tree, actions = policy.rules, policy.problem.actions
    if tree.laws is not None:
        return {leaf: NAMED[i % len(NAMED)] for i, leaf in enumerate(tree.leaves().tolist())}
    leaves = np.flatnonzero(tree.nodes["feature"] == LEAF)
    first = tree.actions[leaves, 0]
    if isinstance(actions, Finite) and not actions.box and len(actions.values) <= len(NAMED):
        order = {value: i for i, value in enumerate(actions.values)}
        known = [order.get(value) for value in first.tolist()]
        return {int(leaf): "#000000" if i is None else NAMED[i] for leaf, i in zip(leaves, known, strict=True)}
    low, high = actions.bounds
    return {int(leaf): on_scale(part) for leaf, part in zip(leaves, _parts(first, low[0], high[0]), strict=True)}


def _parts(values: Array, low: float, high: float) -> list[float]:
    """Where values lie between low and high, from 0 to 1."""
    return [0.5] * len(values) if high <= low else np.clip((values - low) / (high - low), 0, 1).tolist()


def on_scale(part: float) -> str:
    below, above, along = (ENDS[0], ENDS[1], 2 * part) if part <= 0.5 else (ENDS[1], ENDS[2], 2 * part - 1)
    return "#" + "".join(f"{round(a + along * (b - a)):02X}" for a, b in zip(below, above, strict=True))
