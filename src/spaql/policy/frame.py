"""The policy as a table: one row per region."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.arrays import Array
from spaql.policy.words import number, share_of_time
from spaql.trees.laws import SCORES
from spaql.trees.tree import leaf_of

if TYPE_CHECKING:
    from spaql.policy.policy import Policy


def known(policy: "Policy") -> dict[str, Array]:
    """What learning knows about each leaf of the rules, in their order: value, runner-up, margin, visits.

    A table knows its own cells. A tree knows the cells of its table where the closed loop goes: of the states seen in a
    leaf the mean value, margin and visits; NaN where none was seen. Where training steps can be counted, visits are all
    those made in the leaf.
    """
    leaves, axes, table = policy.rules.leaves(), policy.rules.actions.shape[1], policy.knowledge.table
    empty = np.full(len(leaves), np.nan)
    found = {"q": empty, "runner_up": np.full((len(leaves), axes), np.nan), "margin": empty, "visits": empty}
    if table is None:
        return found
    rows = table.rows
    if policy.rules is table.rules:
        index = table.row_of_node[leaves]
        return {
            "q": rows.q[index],
            "runner_up": rows.runner_up[index],
            "margin": rows.margin[index],
            "visits": rows.visits[index],
        }
    counted, usage = policy.knowledge.visits(policy.rules), policy.usage
    visits = empty.copy() if counted is None else counted
    if usage is None:
        return found | {"visits": visits}
    inside = leaf_of(policy.rules, usage.states)
    cell = table.row_of_node[leaf_of(table.rules, usage.states)]
    q, margin = empty.copy(), empty.copy()
    for i, leaf in enumerate(leaves):
        members = cell[inside == leaf]
        if len(members):
            q[i], margin[i] = rows.q[members].mean(), rows.margin[members].mean()
            if counted is None:
                visits[i] = rows.visits[members].mean()
    return found | {"q": q, "margin": margin, "visits": visits}


def policy_table(policy: "Policy") -> Any:
    """See `Policy.table`."""
    import pandas as pd

    leaves, (low, high), words = policy.rules.leaves(), policy.bounds(), policy.words
    columns: dict[str, Any] = {}
    for j, (name, unit) in enumerate(zip(words.names, words.units, strict=True)):
        label = f"{name} ({unit})" if unit else name
        columns[f"{label} from"], columns[f"{label} to"] = low[leaves, j], high[leaves, j]
    facts = known(policy)
    if policy.has_laws:
        columns |= _law_columns(policy, leaves)
    else:
        for k, name in enumerate(words.action_names):
            columns[name] = policy.rules.actions[leaves, k]
    columns["Q"] = facts["q"]
    for k, name in enumerate(words.action_names):
        columns[f"runner-up {name}"] = facts["runner_up"][:, k]
    columns["margin"], columns["visits"], columns["share of time"] = (
        facts["margin"],
        facts["visits"],
        policy.share[leaves],
    )
    table = pd.DataFrame(columns)
    table.index = pd.RangeIndex(1, len(table) + 1, name="region")
    return table


def _law_columns(policy: "Policy", leaves: Array) -> dict[str, Any]:
    """Tests that are no bounds, the law of each axis of the action in words, and all its coefficients as numbers."""
    words, laws = policy.words, policy.rules.laws
    assert laws is not None
    columns: dict[str, Any] = {}
    if policy.rules.oblique:
        columns["tests"] = [
            " and ".join(words.test(node, high) for node, high in words.regions[leaf].oblique)
            for leaf in leaves.tolist()
        ]
    for axis, name in enumerate(words.action_names):
        columns[name] = [words.law(leaf, axis) for leaf in leaves.tolist()]
    for output, name in enumerate(score_names(policy)):
        for j, variable in enumerate(words.names):
            columns[f"{name}: gain of {variable}"] = laws.gains[leaves, output, j]
        columns[f"{name}: constant"] = laws.offsets[leaves, output]
    return columns


def score_names(policy: "Policy") -> list[str]:
    """What the scores of laws are called: by the axis of the action, or by the action they stand for."""
    laws, words = policy.rules.laws, policy.words
    if laws is None or laws.kind != SCORES:
        return words.action_names
    return [f"{words.action_names[0]} = {words.applied_value(0, value)}" for value in laws.values.tolist()]


def rich_table(policy: "Policy", rows: int = 20) -> Any:
    """The regions the closed loop uses most, for the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    leaves, (low, high), words = policy.rules.leaves(), policy.bounds(), policy.words
    share, facts = policy.share[leaves], known(policy)
    order = np.argsort(-np.nan_to_num(share, nan=0.0), kind="stable")[:rows]
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=Text(repr(policy)), title_justify="left")
    if policy.has_laws:
        return _law_rows(policy, shown, [(int(leaves[i]), float(share[i])) for i in order])
    variables = [f"{name} [{unit}]" if unit else name for name, unit in zip(words.names, words.units, strict=True)]
    for heading in ("time", *words.action_names, *variables, "Q", "margin", "visits"):
        shown.add_column(Text(heading), justify="right")  # as text: brackets are no markup
    for i in order:
        leaf = leaves[i]
        intervals = [f"{words.bound(j, low[leaf, j])} … {words.bound(j, high[leaf, j])}" for j in range(len(variables))]
        visits = "–" if np.isnan(facts["visits"][i]) else f"{facts['visits'][i]:,.0f}"
        values = ["–" if np.isnan(facts[name][i]) else number(float(facts[name][i])) for name in ("q", "margin")]
        applied = [words.applied_value(axis, float(value)) for axis, value in enumerate(policy.rules.actions[leaf])]
        shown.add_row(share_of_time(float(share[i])) or "–", *map(Text, applied), *intervals, *values, visits)
    return shown


def _law_rows(policy: "Policy", shown: Any, rows: list[tuple[int, float]]) -> Any:
    """Laws are long: each has a row with what must hold, instead of a column per variable."""
    from rich.text import Text

    words = policy.words
    for heading, justify in (("time", "right"), ("law", "left"), ("if", "left")):
        shown.add_column(heading, justify=justify, vertical="top")
    for leaf, share in rows:
        rule, laws = "\nand ".join(words.rule(leaf)) or "always", "\n".join(words.leaf_lines(leaf))
        shown.add_row(share_of_time(share) or "–", Text(laws), Text(rule))
    return shown
