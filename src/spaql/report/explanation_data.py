"""What the scripts of the explanation page need: trees as arrays, variables with their ranges."""

import math
from typing import Any

import numpy as np

from spaql.export.drawing import ENDS, NAMED, has_named
from spaql.plants.catalog import entry_of, step_time
from spaql.plants.equations import Entry
from spaql.plants.limits import limit_table
from spaql.plants.problem import Axis, Finite, Problem
from spaql.policy.policy import Policy
from spaql.policy.why import unvisited
from spaql.policy.words import Words, share_of_time
from spaql.report.page_parts import difference, law_weights, laws_of, rule_colours, said_of_laws, spoken
from spaql.report.shell import plain
from spaql.trees.tree import LEAF, Tree

MOST_CELLS = 40_000  # of a table whose values are put into the page
ROOM = 0.25  # share by which the visited range is widened on either side
MIDDLE = math.atanh(0.75)  # half of the range of an unbounded variable, on its map, where no state was visited
SAMPLED = 2_000  # visited states from which the important variables are found
RARE = 0.005  # share of the visits beyond either end of the range that is drawn at first


def page_data(table: Policy, shown: Policy, episodes: list[dict[str, Any]]) -> dict[str, Any]:
    """`shown`: the tree on the page; `table`: the policy from which it was made."""
    problem, entry = shown.problem, drawn_entry(shown.problem)
    drawing = None if entry is None else entry.drawing
    return {
        "state": variables(shown),
        "unvisited": unvisited(shown),
        "action": action_axes(shown),
        "colours": colours(problem) | {"rules": rule_colours(shown.rules)},
        "tree": arrays_of(shown.rules),
        "words": said_of(shown.words),
        "leaves": leaf_facts(shown),
        "table": table_data(table),
        "start": start_state(shown, episodes),
        "axes": best_axes(shown),
        "episodes": episodes,
        "drawing": drawing,
        "step_time": step_time(problem),
        "angle": {"name": "angle", "unit": "rad", "cos": 0, "sin": 1} if drawing == "pendulum" else None,
    }


def drawn_entry(problem: Problem) -> Entry | None:
    """The entry of the catalog, if it says how the plant is drawn and the problem has its observation."""
    entry = entry_of(problem)
    if entry is None or entry.drawing is None or len(entry.interface(entry.parameters).state) != len(problem.measured):
        return None
    return entry


# -- trees -------------------------------------------------------------------------------------------------------------


def arrays_of(tree: Tree) -> dict[str, Any]:
    """Cuts and actions to the last bit, each once.

    Oblique tests have `feature` = number of variables and a row of weights. Trees of laws have no actions.
    """
    inner = tree.nodes["feature"] != LEAF
    cuts, cut = np.unique(tree.nodes["cut"], return_inverse=True)
    actions, action = np.unique(np.where(inner[:, None], np.nan, tree.actions)[~inner], axis=0, return_inverse=True)
    of_node = np.full(len(inner), -1)
    if tree.laws is None:
        of_node[~inner] = action.reshape(-1)
    oblique = np.flatnonzero(tree.nodes["feature"] == tree.variables)
    return {
        "feature": tree.nodes["feature"].tolist(),
        "cuts": cuts.tolist(),
        "cut": cut.reshape(-1).tolist(),
        "low": tree.nodes["low"].tolist(),
        "high": tree.nodes["high"].tolist(),
        "weights": {str(node): tree.weights[node].tolist() for node in oblique},
        "actions": actions.tolist() if tree.laws is None else [],
        "action": of_node.tolist(),
        "laws": laws_of(tree),
    }


def said_of(words: Words) -> dict[str, Any]:
    """Numbers and sums as Python writes them.

    By test its cut, by oblique test its sum, by action (in the order of `arrays_of`) its words.
    """
    tree = words.tree
    tests = np.flatnonzero(tree.nodes["feature"] != LEAF)
    oblique = np.flatnonzero(tree.nodes["feature"] == tree.variables)
    cuts = [""] * len(tree.nodes)
    for node in tests:
        cuts[node] = words.cut(int(node))
    return {
        "cut": cuts,
        "sum": {str(node): spoken(words, words.tested(int(node))) for node in oblique},
        "action": [words.action(action) for action in arrays_of(tree)["actions"]],
    } | said_of_laws(words)


def leaf_facts(policy: Policy) -> dict[str, Any]:
    """By leaf, from left to right: the numbers of `Policy.table`."""
    leaves, counted = policy.rules.leaves(), policy.knowledge.visits(policy.rules)
    return {
        "node": leaves.tolist(),
        "share": plain(policy.share[leaves]),
        "time": [share_of_time(float(share)) for share in policy.share[leaves]],
        "visits": None if counted is None else counted.tolist(),
    }


def table_data(policy: Policy) -> dict[str, Any] | None:
    """The table's cells: greedy value, runner-up with its value, and visits, by leaf of its own tree."""
    table = policy.knowledge.table
    if table is None or table.rules.n_leaves > MOST_CELLS:
        return None
    leaves, rows = np.flatnonzero(table.row_of_node >= 0), table.rows
    at = table.row_of_node[leaves]
    return {
        "tree": arrays_of(table.rules),
        "node": leaves.tolist(),
        "q": plain(rows.q[at]),
        "visits": rows.visits[at].tolist(),
        "runner_up": [None if np.isnan(row).any() else plain(row) for row in rows.runner_up[at]],
        "runner_up_q": plain(rows.runner_up_q[at]),
    }


# -- variables ---------------------------------------------------------------------------------------------------------


def variables(policy: Policy) -> list[dict[str, Any]]:
    """The variables with their ranges.

    `seen`: the range that the closed loop visited; `near`: this range, widened; `far`: the whole range, or the middle
    of the map of an unbounded variable.
    """
    usage, words, problem = policy.usage, policy.words, policy.problem
    table = limit_table(problem.limits, problem.state, problem.actions).tolist()
    limits = {int(place): [end for end in ends if math.isfinite(end)] for place, *ends in table}
    entries: list[dict[str, Any]] = []
    for j, axis in enumerate(policy.problem.state):
        column = usage.states[:, j] if usage is not None and len(usage.states) else None
        seen = None if column is None else (float(column.min()), float(column.max()))
        often = None if column is None else tuple(np.quantile(column, [RARE, 1 - RARE]).tolist())
        far = whole_range(axis, seen)
        low, high = (None, None) if axis.slope is not None else (axis.low, axis.high)
        entry = {"name": words.names[j], "unit": words.units[j], "low": low, "high": high, "limits": limits.get(j, [])}
        entries.append(entry | {"seen": seen, "near": widened(axis, often, far), "far": far})
    if problem.features is not None:
        said = zip(words.formulas, problem.features.listed, strict=True)
        for entry, (line, formula) in zip(entries[problem.features.raw :], said, strict=True):
            entry |= {"said": line, "formula": formula}
    return entries


def whole_range(axis: Axis, seen: tuple[float, float] | None) -> tuple[float, float]:
    if axis.slope is None:
        return (axis.low, axis.high) if axis.high > axis.low else (axis.low - 1.0, axis.high + 1.0)
    low, high = axis.centre - MIDDLE / axis.slope, axis.centre + MIDDLE / axis.slope
    return (low, high) if seen is None else (min(low, seen[0]), max(high, seen[1]))


def widened(axis: Axis, often: tuple[float, ...] | None, far: tuple[float, float]) -> tuple[float, float]:
    if often is None:
        return far
    low, high = often
    room = ROOM * (high - low) or 0.05 * (far[1] - far[0])
    low, high = low - room, high + room
    if axis.slope is None and axis.high > axis.low:
        low, high = max(low, axis.low), min(high, axis.high)
    return (low, high) if high > low else far


def best_axes(policy: Policy) -> list[int]:
    """The two variables on which the action depends most.

    Measured by how often the action changes if a visited state gets the variable of another visited state; by how much,
    where it is continuous.
    """
    rules, usage = policy.rules, policy.usage
    feature = rules.nodes["feature"]
    tested = [float((feature == j).sum() + (rules.weights[:, j] != 0.0).sum()) for j in range(rules.variables)]
    ranges = np.array([whole_range(axis, None) for axis in policy.problem.state])
    weight = np.array(tested) / max(*tested, 1.0) + law_weights(rules, ranges[:, 1] - ranges[:, 0])
    if usage is not None and len(usage.states):
        states = usage.states[:: max(1, len(usage.states) // SAMPLED)]
        actions = policy.decide(states)
        for j in range(rules.variables):
            mixed = states.copy()
            mixed[:, j] = np.roll(states[:, j], len(states) // 2)
            weight[j] = 0.01 * weight[j] + difference(rules.laws, policy.decide(mixed), actions)
    weight = weight[: len(policy.problem.measured)]  # features follow from the others
    return sorted(np.argsort(-weight, kind="stable")[:2].tolist())


def action_axes(policy: Policy) -> list[dict[str, Any]]:
    actions, names, units = policy.problem.actions, policy.words.action_names, policy.words.action_units
    bounds = zip(*(bound.tolist() for bound in actions.bounds), strict=True)
    return [
        {"name": name, "unit": unit, "low": a, "high": b}
        for name, unit, (a, b) in zip(names, units, bounds, strict=True)
    ]


def colours(problem: Problem) -> dict[str, Any]:
    """Actions of a small set have a colour each, numbers a place on a scale: as in all drawings of policies."""
    actions = problem.actions
    values = [float(value) for value in actions.values] if isinstance(actions, Finite) else []
    return {"values": values, "named": list(NAMED[: len(values)]) if has_named(actions) else None, "scale": ENDS}


def start_state(policy: Policy, episodes: list[dict[str, Any]]) -> list[float]:
    if episodes:
        first: list[float] = episodes[0]["observations"][0]
        return first
    if policy.problem.reference is not None:
        return [float(value) for value in policy.problem.reference]
    return [axis.centre if axis.slope is not None else (axis.low + axis.high) / 2 for axis in policy.problem.state]
