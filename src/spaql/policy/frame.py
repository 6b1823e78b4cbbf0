"""The policy as a table: one row per region."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
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
    unknown = np.full(len(leaves), np.nan)
    facts = dict.fromkeys(("q", "margin", "visits"), unknown) | {"runner_up": np.full((len(leaves), axes), np.nan)}
    if table is None:
        return facts
    rows = table.rows
    if policy.rules is table.rules:
        index = table.row_of_node[leaves]
        return {name: getattr(rows, name)[index] for name in facts}
    counted, usage = policy.knowledge.visits(policy.rules), policy.usage
    q, margin, visits = unknown.copy(), unknown.copy(), unknown.copy() if counted is None else counted
    if usage is not None:
        inside = leaf_of(policy.rules, usage.states)
        cell = table.row_of_node[leaf_of(table.rules, usage.states)]
        for i, leaf in enumerate(leaves):
            members = cell[inside == leaf]
            if len(members):
                q[i], margin[i] = rows.q[members].mean(), rows.margin[members].mean()
                if counted is None:
                    visits[i] = rows.visits[members].mean()
    return facts | {"q": q, "margin": margin, "visits": visits}


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
    columns |= {"margin": facts["margin"], "visits": facts["visits"], "share of time": policy.share[leaves]}
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


def bare_table(**options: Any) -> Any:
    """A table for a terminal, without lines around it."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), **options)


def rich_table(policy: "Policy", rows: int = 20, width: int = 120) -> Any:
    """The regions the closed loop uses most, for a terminal of this width: no cell is broken.

    Where there is no room for all columns, those that say least go; where there is not even room for a column per
    variable, the bounds of a region stand below each other.
    """
    from rich.text import Text

    leaves, words = policy.rules.leaves(), policy.words
    share, facts = policy.share[leaves], known(policy)
    order = np.argsort(-np.nan_to_num(share, nan=0.0), kind="stable")[:rows]
    shown = bare_table()
    if policy.has_laws:
        return _law_rows(policy, shown, [(int(leaves[i]), float(share[i])) for i in order])
    time = {"time": [share_of_time(float(share[i])) or "–" for i in order]}
    applied = {
        _headed(name, unit): [words.applied_value(axis, float(policy.rules.actions[leaves[i], axis])) for i in order]
        for axis, (name, unit) in enumerate(zip(words.action_names, words.action_units, strict=True))
    }
    bounds = _bound_columns(policy, [int(leaves[i]) for i in order])
    values = {name: [_cell(facts[key][i]) for i in order] for name, key in (("Q", "q"), ("margin", "margin"))}
    visits = {"visits": ["–" if np.isnan(facts["visits"][i]) else f"{facts['visits'][i]:,.0f}" for i in order]}
    for extra in (values | visits, values, {"Q": values["Q"]}, {}):
        columns = time | applied | bounds | extra
        if sum(_wide(heading, cells) + 1 for heading, cells in columns.items()) + len(columns) + 1 <= width:
            break
    else:
        rules = {"if": ["\nand ".join(words.rule(int(leaves[i]))) or "always" for i in order]}
        columns = time | applied | rules
    for heading in columns:  # as text: brackets are no markup
        shown.add_column(Text(heading), justify="left" if heading == "if" else "right", no_wrap=True)
    for cells in zip(*columns.values(), strict=True):
        shown.add_row(*map(Text, cells))
    return shown


def _headed(name: str, unit: str) -> str:
    return f"{name}\n[{unit}]" if unit else name


def _wide(heading: str, cells: list[str]) -> int:
    return max(map(len, [*heading.split("\n"), *cells]))


def _cell(value: float) -> str:
    return "–" if np.isnan(value) else number(float(value))


def _bound_columns(policy: "Policy", leaves: list[int]) -> dict[str, list[str]]:
    """By heading: the interval of a variable in each leaf."""
    (low, high), words = policy.bounds(), policy.words
    return {
        _headed(name, unit): [f"{words.bound(j, low[leaf, j])} … {words.bound(j, high[leaf, j])}" for leaf in leaves]
        for j, (name, unit) in enumerate(zip(words.names, words.units, strict=True))
    }


def _law_rows(policy: "Policy", shown: Any, rows: list[tuple[int, float]]) -> Any:
    """Laws are long: each has a row with what must hold, instead of a column per variable."""
    from rich.text import Text

    words = policy.words
    several = policy.n_leaves > 1
    for heading, justify in (("time", "right"), ("law", "left"), ("if", "left"))[: 3 if several else 2]:
        shown.add_column(heading, justify=justify, vertical="top")
    for leaf, share in rows:
        rule, laws = "\nand ".join(words.rule(leaf)), "\n".join(words.leaf_lines(leaf))
        shown.add_row(share_of_time(share) or "–", Text(laws), *([Text(rule)] if several else []))
    return shown
