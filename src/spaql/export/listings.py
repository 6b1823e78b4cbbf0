"""A policy leaf by leaf: rules in Markdown, indented text, regions as CSV, and as states for dtControl."""

import csv
import io
import itertools
import math
import re

import numpy as np

from spaql.export.heading import double, labelled, shares, title
from spaql.ground.arrays import Array
from spaql.ground.checks import choice
from spaql.ground.errors import SpaqlError
from spaql.ground.writing import cell
from spaql.policy.knowledge import score_names
from spaql.policy.policy import Policy
from spaql.trees.regions import LeafRegion, branches, regions

MOST_POINTS = 2_000_000  # states in one file for dtControl
INSET = 1e-6  # of a region's width: where its corners are taken; dtControl does not read the last digits of a number


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


def to_dtcontrol(policy: Policy, points: str = "corners") -> str:
    """A controller as dtControl reads it from a .csv file: states, each with what is applied there.

    dtControl knows states, not regions. `points`: "centres", one state per region; or "corners", also the corners of
    every region, just inside, from which it can tell where the regions end.
    """
    choice("points", points, ("centres", "corners"))
    tree = policy.rules
    if tree.laws is not None:
        raise SpaqlError("dtControl supports one constant action per region, not laws: export C, Python or JSON")
    if tree.oblique:
        raise SpaqlError(
            "a tree with oblique tests has no boxes to take states from: dtControl needs axis-aligned tests"
        )
    boxes = [(region, *_finite_box(policy, region)) for region in regions(tree) if not region.empty]
    states_per_region = 1 if points == "centres" else 1 + 2**tree.variables
    if len(boxes) * states_per_region > MOST_POINTS:
        raise SpaqlError(f"{len(boxes) * states_per_region} states are more than {MOST_POINTS}: use points='centres'")
    lines = ["#NON-PERMISSIVE", f"#BEGIN {tree.variables} {tree.actions.shape[1]}"]
    for region, low, high in boxes:
        action = ",".join(map(double, tree.actions[region.leaf]))
        centre = np.clip(low + (high - low) / 2, low, high)
        chosen = {tuple(centre.tolist())}
        if points == "corners":
            inset = INSET * (high - low)
            chosen |= set(itertools.product(*zip((low + inset).tolist(), (high - inset).tolist(), strict=True)))
        lines += [f"{','.join(map(double, state))},{action}" for state in sorted(chosen)]
    return "\n".join(lines) + "\n"


def _finite_box(policy: Policy, region: LeafRegion) -> tuple[Array, Array]:
    """Lowest and highest state of a region.

    Open ends are put where the map has got almost to its edge, and beyond all cuts.
    """
    low, high = region.low.copy(), np.nextafter(region.high, -np.inf)
    for j, axis in enumerate(policy.problem.state):
        least, most = axis.low, axis.high
        if axis.slope is not None:
            reach = math.atanh(0.99) / axis.slope
            least, most = axis.centre - reach, axis.centre + reach
        low[j] = low[j] if math.isfinite(low[j]) else min(least, high[j] - (most - least) * 0.01)
        high[j] = high[j] if math.isfinite(region.high[j]) else max(most, low[j])
    return low, high
