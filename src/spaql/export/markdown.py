"""A policy as rules in Markdown."""

import re

from spaql.export.heading import title
from spaql.export.shares import shares
from spaql.policy.policy import Policy


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
