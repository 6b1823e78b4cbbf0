"""A policy as a graph in the DOT language of Graphviz."""

from spaql.export.action_colours import action_colours
from spaql.export.heading import title
from spaql.export.shares import passing, shares, width
from spaql.policy.policy import Policy
from spaql.trees.tree import LEAF, walk


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
