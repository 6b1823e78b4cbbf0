"""The regions of a policy as CSV, for a spreadsheet."""

import csv
import io

from spaql.export.heading import double, labelled
from spaql.ground.writing import cell
from spaql.policy.frame import score_names
from spaql.policy.policy import Policy


def to_csv(policy: Policy, share: bool = True) -> str:
    """One row per region: bounds of every variable, action, and what is known about it.

    Columns: from is inclusive, below is exclusive.
    """
    words, tree = policy.words, policy.rules
    low, high = policy.bounds()
    shared = share and policy.problem.can_run
    table = policy.knowledge.table if policy.is_table else None
    heads = [
        f"{labelled(n, u)} {end}" for n, u in zip(words.names, words.units, strict=True) for end in ("from", "below")
    ]
    heads += ["oblique tests"] if tree.oblique else []
    heads += [labelled(n, u) for n, u in zip(words.action_names, words.action_units, strict=True)]
    heads += _coefficients(policy)
    heads += ["share of time"] if shared else []
    heads += ["q", "visits"] if table is not None else []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(cell, heads))
    for leaf, region in words.regions.items():
        if region.empty:
            continue
        row = [double(end) for j in range(len(words.names)) for end in (low[leaf, j], high[leaf, j])]
        row += [cell(" and ".join(_oblique(policy, *test) for test in region.oblique))] if tree.oblique else []
        if tree.laws is None:
            row += [double(value) for value in tree.actions[leaf]]
        else:
            row += [cell(words.law(leaf, axis)) for axis in range(len(words.action_names))]
            scores = zip(tree.laws.gains[leaf], tree.laws.offsets[leaf], strict=True)
            row += [double(value) for gains, offset in scores for value in (*gains, offset)]
        row += [double(policy.share[leaf])] if shared else []
        if table is not None:
            at = table.row_of_node[leaf]
            row += [double(table.rows.q[at]), str(int(table.rows.visits[at]))]
        writer.writerow(row)
    return text.getvalue()


def _coefficients(policy: Policy) -> list[str]:
    """Headings of the numbers of laws, which have all their digits."""
    if not policy.has_laws:
        return []
    parts = [*(f"gain of {name}" for name in policy.words.names), "constant"]
    return [f"{score}: {part}" for score in score_names(policy) for part in parts]


def _oblique(policy: Policy, node: int, high: bool) -> str:
    """An oblique test with all its digits."""
    return f"{policy.words.tested(node, double)} {'≥' if high else '<'} {double(policy.rules.nodes['cut'][node])}"
