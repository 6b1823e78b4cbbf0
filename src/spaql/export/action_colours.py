"""Colours of actions, the same in every drawing: safe for the colour-blind, and visible on white and on black."""

from spaql.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from spaql.plants.problem import Continuous, Finite
from spaql.policy.policy import Policy

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
    return {leaf: colour_of(actions, float(tree.actions[leaf, 0])) for leaf in tree.leaves().tolist()}


def has_named(actions: Finite | Continuous) -> bool:
    """Whether actions have a colour each."""
    return isinstance(actions, Finite) and not actions.box and len(actions.values) <= len(NAMED)


def colour_of(actions: Finite | Continuous, value: float) -> str:
    """The colour of an action, by its first axis."""
    if isinstance(actions, Finite) and has_named(actions):
        return NAMED[actions.values.index(value)] if value in actions.values else "#000000"
    low, high = (float(bound[0]) for bound in actions.bounds)
    return on_scale(0.5 if high <= low else min(max((value - low) / (high - low), 0.0), 1.0))


def on_scale(part: float) -> str:
    below, above, along = (ENDS[0], ENDS[1], 2 * part) if part <= 0.5 else (ENDS[1], ENDS[2], 2 * part - 1)
    return "#" + "".join(f"{round(a + along * (b - a)):02X}" for a, b in zip(below, above, strict=True))
