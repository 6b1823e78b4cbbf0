"""A policy to read: rules in Markdown, one per leaf, and the tree as indented text."""

import re

from spaql.explain.export.structure import branches, regions
from spaql.explain.export.wording import Words, title
from spaql.explain.policy import Policy


def to_markdown(policy: Policy, share: bool = True) -> str:
    """One line per leaf: "if 0.01 ≤ angle < 0.03 rad and speed ≥ 0.12 rad/s: push = 1". `share`: also how often, where there is a plant."""
    words = Words(policy, share)
    lines = [f"**{_escaped(title(policy))}**", ""]
    for region in regions(policy.rules):
        conditions = words.conditions(region)
        start = f"if {' and '.join(conditions)}" if conditions else "always"
        rule = f"{start}: {words.action(region.leaf)}"
        often = words.share(region.leaf)
        lines.append(f"- {_escaped(rule)}" + (f" ({_escaped(often)})" if often else ""))
    if words.shares_known:
        lines += ["", "In brackets: share of the time in which the rule is in charge."]
    return "\n".join(lines) + "\n"


def to_text(policy: Policy, share: bool = True) -> str:
    """The tree, indented. `share`: also how much of the time a leaf is in charge, where there is a plant."""
    words = Words(policy, share)
    lines = [title(policy), ""]
    for what, level, node in branches(policy.rules):
        indent = "  " * level
        if what == "leaf":
            often = words.share(node)
            lines.append(f"{indent}{words.action(node)}" + (f"  ({often})" if often else ""))
        elif what == "else":
            lines.append(f"{indent}else:")
        elif what != "end":
            lines.append(f"{indent}{'if' if what == 'if' else 'else if'} {words.test(node)}:")
    if words.shares_known:
        lines += ["", "In brackets: share of the time in which the leaf is in charge."]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Signs Markdown would read as markup. A "<" before a blank is none."""
    return re.sub(r"([\\`*_\[\]|~#&]|<(?! ))", r"\\\1", text)
