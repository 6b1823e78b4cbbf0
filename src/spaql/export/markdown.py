"""A policy as rules in Markdown, and as indented text."""

import re

from spaql.export.heading import shares, title
from spaql.policy.policy import Policy
from spaql.trees.regions import branches


def to_markdown(policy: Policy, share: bool = True) -> str:
    """One line per leaf: "if 0.01 ≤ angle < 0.03 rad and speed ≥ 0.12 rad/s: push = 1".

    `share`: also how often, where there is a plant.
    """
    words, often = policy.words, shares(policy, share)
    lines = [f"**{_escaped(title(policy))}**", ""]
    for leaf, region in words.regions.items():
        if region.empty:
            continue
        conditions = words.rule(leaf)
        start = f"if {' and '.join(conditions)}" if conditions else "always"
        rule = f"{start}: {words.leaf_action(leaf)}"
        lines.append(f"- {_escaped(rule)}" + (f" ({_escaped(often[leaf])})" if often else ""))
    if often:
        lines += ["", "In brackets: share of the time in which the rule is in charge."]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Signs Markdown would read as markup. A "<" before a blank is none."""
    return re.sub(r"([\\`*_\[\]|~#&]|<(?! ))", r"\\\1", text)


# -- a policy as indented text -----------------------------------------------------------------------------------------

def to_text(policy: Policy, share: bool = True) -> str:
    """The tree, indented. `share`: also how much of the time a leaf is in charge, where there is a plant."""
    words, often = policy.words, shares(policy, share)
    lines = [title(policy), ""]
    for what, level, node in branches(policy.rules):
        indent = "  " * level
        if what == "leaf":
            said = words.laws(node) if policy.has_laws else [words.leaf_action(node)]
            lines += [f"{indent}{law}" for law in said]
            lines[-1] += f"  ({often[node]})" if often else ""
        elif what == "else":
            lines.append(f"{indent}else:")
        elif what != "end":
            lines.append(f"{indent}{'if' if what == 'if' else 'else if'} {words.test(node)}:")
    if often:
        lines += ["", "In brackets: share of the time in which the leaf is in charge."]
    return "\n".join(lines) + "\n"
