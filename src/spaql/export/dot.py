"""A policy as a graph in the DOT language of Graphviz."""

from spaql.export.heading import passing, shares, title, width
from spaql.ground.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from spaql.plants.problem import Continuous, Finite
from spaql.policy.policy import Policy
from spaql.trees.tree import LEAF, walk

# -- colours of actions, the same in every drawing: safe for the colour-blind, and visible on white and on black -------

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


# -- a policy as a graph in the DOT language of Graphviz ---------------------------------------------------------------

def to_dot(policy: Policy, share: bool = True) -> str:
    """Tests with their two answers; leaves in the colour of their action.

    `share`: lines as wide as the time spent on them.
    """
    words, tree, colours = policy.words, policy.rules, action_colours(policy)
    often, part = shares(policy, share), passing(policy, share)
    lines = [
        "digraph policy {",
        f"  label={_quoted(title(policy))}; labelloc=t; bgcolor=transparent;",
        '  node [shape=box, style=rounded, fontname="DejaVu Sans, Verdana, sans-serif", fontsize=11];',
        '  edge [fontname="DejaVu Sans, Verdana, sans-serif", fontsize=10];',
    ]
    for node, _ in walk(tree):
        if tree.nodes["feature"][node] == LEAF:
            style = "filled,dashed" if part[node] == 0 else "filled"
            look = (
                f'style="{style}", color="{colours[node]}", fillcolor="{colours[node]}40", penwidth={width(part[node])}'
            )
            label = _quoted(*words.leaf_lines(node), often.get(node, ""))
            lines.append(f"  n{node} [label={label}, {look}];")
            continue
        lines.append(f"  n{node} [label={_quoted(words.test(node))}];")
        for side, answer in (("low", "no"), ("high", "yes")):
            child = int(tree.nodes[side][node])
            lines.append(f'  n{node} -> n{child} [label="{answer}", penwidth={width(part[child])}];')
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(*lines: str) -> str:
    """A label; Graphviz reads backslashes in it."""
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines if line) + '"'
