"""A policy as indented text."""

from spaql.export.heading import title
from spaql.export.shares import shares
from spaql.policy.policy import Policy
from spaql.trees.regions import branches


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
