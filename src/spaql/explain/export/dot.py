"""A policy as a graph in the DOT language of Graphviz."""

import numpy as np

from spaql.arrays import Array
from spaql.explain.export.colours import action_colours
from spaql.explain.export.wording import Words, title
from spaql.explain.policy import Policy
from spaql.explain.tree import LEAF, Tree, walk

THIN, MORE = 1.0, 5.0  # width of a line that is never used, and what a line that is always used has more


def to_dot(policy: Policy, share: bool = True) -> str:
    """Tests with their two answers; leaves in the colour of their action. `share`: lines as wide as the time spent on them."""
    words, tree, colours = Words(policy, share), policy.rules, action_colours(policy)
    passing = passing_share(tree, words.shares)
    lines = [
        "digraph policy {",
        f"  label={_quoted(title(policy))}; labelloc=t; bgcolor=transparent;",
        '  node [shape=box, style=rounded, fontname="DejaVu Sans, Verdana, sans-serif", fontsize=11];',
        '  edge [fontname="DejaVu Sans, Verdana, sans-serif", fontsize=10];',
    ]
    for node, _ in walk(tree):
        if tree.nodes["feature"][node] == LEAF:
            often, never = words.share(node), words.shares[node] == 0
            style = "filled,dashed" if never else "filled"
            look = f'style="{style}", color="{colours[node]}", fillcolor="{colours[node]}40", penwidth={width(passing[node])}'
            lines.append(f"  n{node} [label={_quoted(words.action(node), often)}, {look}];")
            continue
        lines.append(f"  n{node} [label={_quoted(words.test(node))}];")
        for side, answer in (("low", "no"), ("high", "yes")):
            child = int(tree.nodes[side][node])
            lines.append(f'  n{node} -> n{child} [label="{answer}", penwidth={width(passing[child])}];')
    return "\n".join([*lines, "}"]) + "\n"


def passing_share(tree: Tree, shares: Array) -> Array:
    """By node: the share of time in which the state passes through it."""
    total = np.where(tree.nodes["feature"] == LEAF, shares, 0.0)
    for node, _ in reversed(walk(tree)):
        if tree.nodes["feature"][node] != LEAF:
            total[node] = total[tree.nodes["low"][node]] + total[tree.nodes["high"][node]]
    return total


def width(part: float) -> str:
    """Of a line; the ordinary one where nothing is known."""
    return f"{THIN + MORE * part if np.isfinite(part) else 1.4:.2f}"


def _quoted(*lines: str) -> str:
    """A label; Graphviz reads backslashes in it."""
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines if line) + '"'
