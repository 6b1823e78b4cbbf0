"""What the scripts of the explanation page need: the trees as arrays, the variables with their ranges, recorded episodes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.explain.export.colours import ENDS, NAMED
from spaql.explain.policy import Policy
from spaql.explain.tables import action_names, counted_visits
from spaql.explain.tree import LEAF, Tree, walk
from spaql.explain.why import unvisited
from spaql.plants.between import Between
from spaql.plants.problem import Axis, Finite, Problem
from spaql.report.shell import one_plain, plain
from spaql.training.recording import Episode

EPISODES = 6
MOST_NUMBERS = 60_000  # of recorded observations
MOST_CELLS = 40_000  # of a table whose values are put into the page
LONG = 2_000  # steps of an episode that take a while to record
ROOM = 0.25  # by which the range the closed loop visits is widened on either side
MIDDLE = math.atanh(0.75)  # of an unbounded variable, on its map: what is shown if nobody knows where the loop goes
SAMPLED = 2_000  # visited states that tell which variables matter
RARE = 0.005  # share of visits beyond either end of what is drawn at first
STEP_TIME = {"pendulum": 0.05, "cartpole": 0.02}  # s


def page_data(table: Policy, shown: Policy, episodes: list[dict[str, Any]]) -> dict[str, Any]:
    """`shown`: the tree on the page; `table`: what it was made from."""
    problem, drawing = shown.problem, drawing_of(shown.problem)
    return {
        "state": variables(shown),
        "unvisited": unvisited(shown),
        "action": action_axes(shown),
        "colours": colours(problem),
        "tree": arrays_of(shown.rules),
        "leaves": leaf_facts(shown),
        "table": table_data(table),
        "start": start_state(shown, episodes),
        "axes": best_axes(shown),
        "episodes": episodes,
        "drawing": drawing,
        "step_time": step_time(problem, drawing) if drawing else None,
        "angle": {"name": "angle", "unit": "rad", "cos": 0, "sin": 1} if drawing == "pendulum" else None,
    }


def step_time(problem: Problem, drawing: str) -> float:
    """Seconds per step; the middle, if every episode has its own."""
    told = problem.parameters.get("dt", STEP_TIME[drawing])
    return 0.5 * (told.low + told.high) if isinstance(told, Between) else float(told)


def drawing_of(problem: Problem) -> str | None:
    """Whether we know what the plant looks like: ours, and Gymnasium's of the same kind."""
    for drawing, d in (("cartpole", 4), ("pendulum", 3)):
        ours = (problem.env_id or "").lower().removeprefix("spaql/").startswith(drawing)
        if ours and len(problem.state) == d:
            return drawing
    return None


# -- trees -----------------------------------------------------------------------------------------------------------------------------


def arrays_of(tree: Tree) -> dict[str, Any]:
    """Cuts and actions to the last bit, each once. Oblique tests have `feature` = number of variables and a row of weights."""
    inner = tree.nodes["feature"] != LEAF
    cuts, cut = np.unique(tree.nodes["cut"], return_inverse=True)
    actions, action = np.unique(np.where(inner[:, None], np.nan, tree.actions)[~inner], axis=0, return_inverse=True)
    of_node = np.full(len(inner), -1)
    of_node[~inner] = action.reshape(-1)
    oblique = np.flatnonzero(tree.nodes["feature"] == tree.variables)
    return {
        "feature": tree.nodes["feature"].tolist(),
        "cuts": cuts.tolist(),
        "cut": cut.reshape(-1).tolist(),
        "low": tree.nodes["low"].tolist(),
        "high": tree.nodes["high"].tolist(),
        "weights": {str(node): tree.weights[node].tolist() for node in oblique},
        "actions": actions.tolist(),
        "action": of_node.tolist(),
    }


def shares_of(policy: Policy) -> Array:
    """The share of time by node, tests included: that of everything below them. NaN where nobody knows."""
    share = np.array(policy.share, float)
    for node, _ in reversed(walk(policy.rules)):
        if policy.rules.nodes["feature"][node] != LEAF:
            share[node] = share[policy.rules.nodes["low"][node]] + share[policy.rules.nodes["high"][node]]
    return share


def leaf_facts(policy: Policy) -> dict[str, Any]:
    """By leaf, from left to right: the numbers of `Policy.table`."""
    leaves, counted = policy.rules.leaves(), counted_visits(policy)
    return {
        "node": leaves.tolist(),
        "share": plain(policy.share[leaves]),
        "visits": None if counted is None else counted.tolist(),
    }


def table_data(table: Policy) -> dict[str, Any] | None:
    """The table's cells: greedy value, runner-up with its value, and visits, by leaf of its own tree."""
    cells, index = table.cells, table.cell_of_node
    if cells is None or index is None or table.n_leaves > MOST_CELLS:
        return None
    leaves = np.flatnonzero(index >= 0)
    at = index[leaves]
    runner_up = cells.runner_up[at]
    return {
        "tree": arrays_of(table.rules),
        "node": leaves.tolist(),
        "q": plain(cells.q[at]),
        "visits": cells.visits[at].tolist(),
        "runner_up": [None if np.isnan(row).any() else plain(row) for row in runner_up],
        "runner_up_q": plain(cells.runner_up_q[at]),
    }


# -- variables -------------------------------------------------------------------------------------------------------------------------


def variables(policy: Policy) -> list[dict[str, Any]]:
    """`seen`: where the closed loop went; `near`: that, widened; `far`: the whole range, or of an unbounded one the middle of its map."""
    usage = policy.usage
    found: list[dict[str, Any]] = []
    for j, axis in enumerate(policy.problem.state):
        column = usage.states[:, j] if usage is not None and len(usage.states) else None
        seen = None if column is None else (float(column.min()), float(column.max()))
        often = None if column is None else tuple(np.quantile(column, [RARE, 1 - RARE]).tolist())
        far = whole_range(axis, seen)
        low, high = (None, None) if axis.slope is not None else (axis.low, axis.high)
        one = {"name": axis.name, "unit": axis.unit, "low": low, "high": high}
        found.append(one | {"seen": seen, "near": widened(axis, often, far), "far": far})
    return found


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
    """The two variables the action depends on most: how often it changes if a visited state gets them from another visited state."""
    rules, usage = policy.rules, policy.usage
    feature = rules.nodes["feature"]
    tested = [float((feature == j).sum() + (rules.weights[:, j] != 0.0).sum()) for j in range(rules.variables)]
    weight = np.array(tested) / max(*tested, 1.0)
    if usage is not None and len(usage.states):
        states = usage.states[:: max(1, len(usage.states) // SAMPLED)]
        played = policy.decide(states)
        for j in range(rules.variables):
            mixed = states.copy()
            mixed[:, j] = np.roll(states[:, j], len(states) // 2)
            weight[j] = 0.01 * weight[j] + np.any(policy.decide(mixed) != played, axis=1).mean()
    return sorted(np.argsort(-weight, kind="stable")[:2].tolist())


def action_axes(policy: Policy) -> list[dict[str, Any]]:
    actions, names = policy.problem.actions, action_names(policy)
    units = actions.units or ("",) * len(names)
    if isinstance(actions, Finite):
        bounds = [(min(actions.values), max(actions.values))]
    else:
        bounds = list(zip(actions.low, actions.high, strict=True))
    return [{"name": name, "unit": unit, "low": a, "high": b} for name, unit, (a, b) in zip(names, units, bounds, strict=True)]


def colours(problem: Problem) -> dict[str, Any]:
    """Choices of a small set have a colour each, numbers a place on a scale: as in all drawings of policies."""
    actions = problem.actions
    few = isinstance(actions, Finite) and not actions.box and len(actions.values) <= len(NAMED)
    values = [float(value) for value in actions.values] if isinstance(actions, Finite) else []
    return {"values": values, "named": list(NAMED[: len(values)]) if few else None, "scale": ENDS}


def start_state(policy: Policy, episodes: list[dict[str, Any]]) -> list[float]:
    if episodes:
        first: list[float] = episodes[0]["observations"][0]
        return first
    if policy.problem.reference is not None:
        return [float(value) for value in policy.problem.reference]
    return [axis.centre if axis.slope is not None else (axis.low + axis.high) / 2 for axis in policy.problem.state]


# -- episodes --------------------------------------------------------------------------------------------------------------------------


def recorded(policy: Policy, returns: Array) -> list[dict[str, Any]]:
    """A handful of episodes, the typical one first. `returns`: of the rollouts of `policy.evaluate()`."""
    problem = policy.problem
    if not problem.can_run:
        return []
    count = EPISODES if problem.horizon <= LONG else 2
    if problem.plant is not None:
        found = [policy.episode(0, place) for place in picked(returns, count)]
        of = len(returns)
    else:  # in an environment only the first rollout of a seed can be repeated
        played = [policy.episode(seed) for seed in range(count)]
        found = [played[place] for place in picked(np.array([episode.rewards.sum() for episode in played]), count)]
        of = count
    totals = [float(episode.rewards.sum()) for episode in found]
    steps = max(MOST_NUMBERS // (len(found) * len(problem.state)), 50)
    return [_episode(episode, label, steps) for episode, label in zip(found, labels(totals, of), strict=True)]


def picked(returns: Array, count: int) -> list[int]:
    """The typical, the best, the worst, then others spread in between."""
    order = np.argsort(returns, kind="stable")
    last = len(order) - 1
    spread = [round(last * part / (count - 1)) for part in range(count)] if count > 1 else []
    ranks = list(dict.fromkeys([last // 2, last, 0, *spread, *range(last + 1)]))[:count]
    return [int(order[rank]) for rank in ranks]


def labels(totals: Sequence[float], of: int) -> list[str]:
    if len(totals) == 1 or max(totals) - min(totals) <= 1e-9 * max(1.0, abs(max(totals))):
        return [f"episode {place}" for place in range(1, len(totals) + 1)]
    named = ["typical", f"best of {of:,}", f"worst of {of:,}"]
    return (named + [f"another {place}" for place in range(1, len(totals))])[: len(totals)]


def _episode(episode: Episode, label: str, steps: int) -> dict[str, Any]:
    total = float(episode.rewards.sum())
    return {
        "label": label,
        "return": one_plain(total),
        "steps": len(episode),
        "terminated": episode.terminated,
        "observations": episode.observations[: steps + 1].tolist(),
        "returns": plain(np.cumsum(episode.rewards[:steps])),
    }
