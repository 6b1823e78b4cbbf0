"""Colours of actions, the same in every drawing: safe for the colour-blind, and visible on white and on black."""

import numpy as np

from spaql.arrays import Array
from spaql.explain.policy import Policy
from spaql.explain.tree import LEAF
from spaql.plants.problem import Finite

NAMED = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F")  # Okabe and Ito
ENDS = ((0, 114, 178), (150, 150, 150), (213, 94, 0))  # of a scale: low, middle, high


def action_colours(policy: Policy) -> dict[int, str]:
    """By leaf. Choices of a small set have a colour each; forces and the like one from a scale over their range, by their first axis."""
    tree, actions = policy.rules, policy.problem.actions
    leaves = np.flatnonzero(tree.nodes["feature"] == LEAF)
    first = tree.actions[leaves, 0]
    if isinstance(actions, Finite) and not actions.box and len(actions.values) <= len(NAMED):
        order = {value: i for i, value in enumerate(actions.values)}
        known = [order.get(value) for value in first.tolist()]
        return {int(leaf): "#000000" if i is None else NAMED[i] for leaf, i in zip(leaves, known, strict=True)}
    values = actions.values if isinstance(actions, Finite) else (actions.low[0], actions.high[0])
    return {int(leaf): on_scale(part) for leaf, part in zip(leaves, _parts(first, min(values), max(values)), strict=True)}


def _parts(values: Array, low: float, high: float) -> list[float]:
    """Where values lie between low and high, from 0 to 1."""
    return [0.5] * len(values) if high <= low else np.clip((values - low) / (high - low), 0, 1).tolist()


def on_scale(part: float) -> str:
    below, above, along = (ENDS[0], ENDS[1], 2 * part) if part <= 0.5 else (ENDS[1], ENDS[2], 2 * part - 1)
    return "#" + "".join(f"{round(a + along * (b - a)):02X}" for a, b in zip(below, above, strict=True))
