"""The policy as a table: one row per region."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.arrays import Array
from spaql.explain.tree import leaf_of
from spaql.explain.words import number, unit

if TYPE_CHECKING:
    from spaql.explain.policy import Policy


def action_names(policy: "Policy") -> list[str]:
    axes = policy.rules.actions.shape[1]
    return list(policy.problem.actions.names) or (["action"] if axes == 1 else [f"action {i + 1}" for i in range(axes)])


def known(policy: "Policy") -> dict[str, Array]:
    """What learning knows about each leaf of the rules, in their order: value, runner-up, margin, visits.

    A table knows its own cells. A tree knows the cells of its table where the closed loop goes: of the states seen in a leaf the mean
    value, margin and visits; NaN where none was seen. Of Atlas, which keeps its data, visits are all training steps made in the leaf.
    """
    leaves, axes = policy.rules.leaves(), policy.rules.actions.shape[1]
    empty = np.full(len(leaves), np.nan)
    found = {"q": empty, "runner_up": np.full((len(leaves), axes), np.nan), "margin": empty, "visits": empty}
    if policy.cells is not None and policy.cell_of_node is not None:
        cells, index = policy.cells, policy.cell_of_node[leaves]
        found |= {"q": cells.q[index], "runner_up": cells.runner_up[index], "margin": (cells.q - cells.runner_up_q)[index]}
        return found | {"visits": cells.visits[index]}
    table, usage = policy.table_policy, policy.usage
    if table is None or table.cells is None or table.cell_of_node is None:
        return found
    counted = counted_visits(policy)
    visits = empty.copy() if counted is None else counted
    if usage is None:
        return found | {"visits": visits}
    inside = leaf_of(policy.rules, usage.states)
    cell = table.cell_of_node[leaf_of(table.rules, usage.states)]
    q, margin = empty.copy(), empty.copy()
    for i, leaf in enumerate(leaves):
        members = cell[inside == leaf]
        if len(members):
            q[i], margin[i] = table.cells.q[members].mean(), (table.cells.q - table.cells.runner_up_q)[members].mean()
            if counted is None:  # cells share balls, and balls inherit visits: a sum would count steps several times
                visits[i] = table.cells.visits[members].mean()
    return found | {"q": q, "margin": margin, "visits": visits}


def counted_visits(policy: "Policy") -> Array | None:
    """Training steps behind each leaf of the rules, in their order, where they can be told: of a table, and of a tree of Atlas."""
    leaves = policy.rules.leaves()
    if policy.cells is not None and policy.cell_of_node is not None:
        counts: Array = policy.cells.visits[policy.cell_of_node[leaves]]
        return counts
    if policy.plan is None or policy.agent is None:
        return None
    learner: Any = policy.agent
    inside = leaf_of(policy.rules, learner.state.memory.states[: policy.plan.samples])
    counts = np.bincount(inside, minlength=len(policy.rules.nodes))[leaves]
    return counts


def policy_table(policy: "Policy") -> Any:
    """See `Policy.table`."""
    import pandas as pd

    leaves, (low, high), state = policy.rules.leaves(), policy.bounds(), policy.problem.state
    columns: dict[str, Any] = {}
    names_seen = [axis.name for axis in state]
    for j, axis in enumerate(state):
        label = f"{axis.name} ({axis.unit})" if axis.unit else axis.name
        label = f"{label} #{j}" if names_seen.count(axis.name) > 1 else label
        columns[f"{label} from"], columns[f"{label} to"] = low[leaves, j], high[leaves, j]
    names, facts = action_names(policy), known(policy)
    for k, name in enumerate(names):
        columns[name] = policy.rules.actions[leaves, k]
    columns["Q"] = facts["q"]
    for k, name in enumerate(names):
        columns[f"runner-up {name}"] = facts["runner_up"][:, k]
    columns["margin"], columns["visits"], columns["share of time"] = facts["margin"], facts["visits"], policy.share[leaves]
    table = pd.DataFrame(columns)
    table.index = pd.RangeIndex(1, len(table) + 1, name="region")
    return table


def rich_table(policy: "Policy", rows: int = 20) -> Any:
    """The regions the closed loop uses most, for the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    leaves, (low, high), state = policy.rules.leaves(), policy.bounds(), policy.problem.state
    share, names, facts = policy.share[leaves], action_names(policy), known(policy)
    order = np.argsort(-np.nan_to_num(share, nan=0.0), kind="stable")[:rows]
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=repr(policy), title_justify="left")
    for heading in ("time", *names, *(axis.name + unit(f"[{axis.unit}]" if axis.unit else "") for axis in state), "Q", "margin", "visits"):
        shown.add_column(heading, justify="right")
    for i in order:
        leaf = leaves[i]
        intervals = [f"{number(low[leaf, j])} … {number(high[leaf, j])}" for j in range(len(state))]
        time = "–" if np.isnan(share[i]) else f"{100 * share[i]:.1f} %"
        visits = "–" if np.isnan(facts["visits"][i]) else f"{facts['visits'][i]:,.0f}"
        values = ["–" if np.isnan(facts[name][i]) else number(float(facts[name][i])) for name in ("q", "margin")]
        shown.add_row(time, *(number(float(v)) for v in policy.rules.actions[leaf]), *intervals, *values, visits)
    return shown
