"""Why this action: the path, the rule, the alternatives, how far another action is, and how much experience stands behind it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import numbers
from spaql.errors import SpaqlError
from spaql.explain.playing import alternatives, key_action
from spaql.explain.tables import counted_visits
from spaql.explain.tree import leaf_of, path_to
from spaql.explain.words import action_words, column, number, rule_words, test_words, unit
from spaql.partition.greedy import new_scratch
from spaql.partition.leaves import standing
from spaql.plants.chart import HUGE, to_cube

if TYPE_CHECKING:
    from spaql.explain.policy import Policy


@dataclass(frozen=True, eq=False)
class Change:
    """Along one variable, all others held: where the action changes next below and above (None: nowhere), and to what."""

    variable: str
    unit: str
    value: float
    below: float | None
    action_below: Array | None
    above: float | None
    action_above: Array | None


@dataclass(frozen=True, eq=False)
class Why:
    """The answer of `policy.why(observation)`; print it."""

    observation: Array
    action: Array
    leaf: int
    path: tuple[str, ...]
    rule: tuple[str, ...]
    alternatives: tuple[tuple[Array, float], ...]  # (action, Q), best first, the one played included; empty where nobody knows Q
    expected: tuple[tuple[Array, float, Array], ...]  # of a learner with a model: (action, Q, next observation), best first
    changes: tuple[Change, ...]
    visits: int | None  # training steps behind the choice: in its cell; of a tree of Atlas, in the region of its rule
    share: float | None  # of the time of the closed loop spent under this rule
    warning: str
    words: str

    def __str__(self) -> str:
        return self.words


def explain_action(policy: "Policy", observation: Any) -> Why:
    """See `Policy.why`."""
    x = numbers("observation", observation, (len(policy.problem.state),))
    if not np.all(np.abs(x) <= HUGE):
        raise SpaqlError("the observation must be finite")
    leaf = int(leaf_of(policy.rules, x[None])[0])
    action = policy.rules.actions[leaf]
    path = tuple(test_words(policy, node, high) for node, high in path_to(policy.rules, leaf))
    options, visits = _alternatives(policy, x)
    expected: tuple[tuple[Array, float, Array], ...] = ()
    if policy.plan is not None:
        from spaql.explain.planned import expected as expected_by

        expected = expected_by(policy, x)
        options = tuple((choice, q) for choice, q, _ in expected)
    if visits is None:
        counted = counted_visits(policy)
        visits = None if counted is None else int(counted[np.flatnonzero(policy.rules.leaves() == leaf)[0]])
    share = None if np.isnan(policy.share[leaf]) else float(policy.share[leaf])
    changes = tuple(_change(policy, x, j) for j in range(len(x)))
    warning = _warning(policy, x, visits, share)
    found = Why(x, action, leaf, path, tuple(rule_words(policy, leaf)), options, expected, changes, visits, share, warning, "")
    return Why(**{**vars(found), "words": _words(policy, found)})


def _alternatives(policy: "Policy", x: Array) -> tuple[tuple[tuple[Array, float], ...], int | None]:
    """Q of all actions the learner tells apart at this state, best first; and the visits of the best."""
    agent = policy.agent
    if agent is None or policy.forest is None:
        return (), None
    space, forest = agent.state.space, policy.forest
    point = np.empty(space.d)
    if to_cube(agent.chart, x, point) >= 0:
        return (), None
    scratch = new_scratch(space, forest)
    found, q = np.empty((len(scratch.q), 2), np.int64), np.empty(len(scratch.q))
    count = alternatives(forest, space, scratch, min(policy.step, space.trees - 1), point, found, q)
    order = sorted(range(count), key=lambda c: (-q[c], -c))  # ties: the last, as the learner decides
    depth, visits, _ = standing(forest, found[:count, 0])
    options = []
    for c in order:
        action = np.empty(max(space.k, 1))
        key_action(space, agent.chart, found[c, 1], depth[c], action)
        options.append((action, float(q[c])))
    return tuple(options), int(visits[order[0]])


def _change(policy: "Policy", x: Array, j: int) -> Change:
    """Walk along one variable from cut to cut until another action is played."""
    axis, rules = policy.problem.state[j], policy.rules
    here = rules.actions[int(leaf_of(rules, x[None])[0])]
    cuts = _cuts_along(policy, x, j)
    results: list[tuple[float | None, Array | None]] = []
    for upward in (False, True):
        places = cuts[cuts > x[j]] if upward else cuts[cuts <= x[j]][::-1]
        found: tuple[float | None, Array | None] = (None, None)
        for cut in places:
            beyond = x.copy()
            beyond[j] = cut if upward else np.nextafter(cut, -np.inf)
            if rules.oblique:  # on which side the crossing itself lies depends on the sign of the weight, and on rounding
                beyond[j] = cut + (1.0 if upward else -1.0) * 1e-9 * max(1.0, abs(cut))
            action = rules.actions[int(leaf_of(rules, beyond[None])[0])]
            if not np.array_equal(action, here):
                found = (float(cut), action)
                break
        results.append(found)
    return Change(axis.name, axis.unit, float(x[j]), *results[0], *results[1])


def _cuts_along(policy: "Policy", x: Array, j: int) -> Array:
    """Values of variable j at which some test of the tree turns over, all others held; within the bounds of the variable."""
    rules, axis = policy.rules, policy.problem.state[j]
    feature = rules.nodes["feature"]
    cuts = [rules.nodes["cut"][feature == j]]
    for node in np.flatnonzero((feature == rules.variables) & (rules.weights[:, j] != 0.0)):
        rest = float(rules.weights[node] @ x - rules.weights[node, j] * x[j])
        cuts.append(np.array([(rules.nodes["cut"][node] - rest) / rules.weights[node, j]]))
    places = np.unique(np.concatenate(cuts))
    if axis.slope is None:
        places = places[(places > axis.low) & (places <= axis.high)]
    return places


def unvisited(policy: "Policy") -> str:
    """What is to be said of a place where no training step was made."""
    planned = (policy.table_policy or policy).plan is not None
    told = "the action rests on the learned model alone" if planned else "the action is a default, not a choice"
    return f"no training step was ever made here: {told}"


def _warning(policy: "Policy", x: Array, visits: int | None, share: float | None) -> str:
    for value, axis in zip(x, policy.problem.state, strict=True):
        if axis.slope is None and not axis.low <= value <= axis.high:
            told = f"{axis.name} = {number(float(value))}{unit(axis.unit)} is outside {number(axis.low)} … {number(axis.high)}"
            return f"{told}: never seen in training"
    if visits == 0:
        return unvisited(policy)
    if share == 0.0:
        return "the closed loop did not come here in the rollouts that were made: the action was never put to use"
    if policy.usage is not None and len(policy.usage.states):
        low, high = policy.usage.states.min(axis=0), policy.usage.states.max(axis=0)
        beyond = [
            f"{axis.name} = {number(float(value))}{unit(axis.unit)} (it stayed within {number(float(a))} … {number(float(b))})"
            for axis, value, a, b in zip(policy.problem.state, x, low, high, strict=True)
            if not a <= value <= b
        ]
        if beyond:
            return f"the closed loop was never seen at {', '.join(beyond)}"
    return ""


def _words(policy: "Policy", why: Why) -> str:
    state = policy.problem.state
    seen = ", ".join(f"{axis.name} = {number(float(v))}{unit(axis.unit)}" for axis, v in zip(state, why.observation, strict=True))
    lines = [
        f"At {seen}",
        f"it plays {action_words(policy.problem, why.action)}, because",
        "  " + ("\n  and ".join(why.rule) or "it always does"),
    ]
    if len(why.path) > len(why.rule):
        lines.append(f"after {len(why.path)} tests: " + ", then ".join(why.path))
    if len(why.alternatives) > 1:
        decides = "the table decides by the middle of its cell" if policy.cells is not None else "the tree goes its own way"
        lines.append(f"Values there by one step in the model (Q); {decides}:" if why.expected else "Values there (Q):")
        shown = why.alternatives[:6]
        values = column([q for _, q in shown])
        lines += [f"  {q}  {action_words(policy.problem, action)}" for q, (action, _) in zip(values, shown, strict=True)]
        lines += [f"  and {len(why.alternatives) - 6} more"] if len(why.alternatives) > 6 else []
    if why.expected:
        lines.append("What the learned model expects next:")
        for choice, _, after in why.expected[:6]:
            then = ", ".join(f"{axis.name} = {number(float(v))}{unit(axis.unit)}" for axis, v in zip(state, after, strict=True))
            lines.append(f"  {action_words(policy.problem, choice)}: {then}")
    lines.append("The action would change, all else equal, at")
    told = []
    for change in why.changes:
        for place, action in ((change.below, change.action_below), (change.above, change.action_above)):
            if place is not None and action is not None:
                away = f"{number(abs(place - change.value))}{unit(change.unit)} away"
                told.append(f"  {change.variable} = {number(place)}{unit(change.unit)} ({away}): {action_words(policy.problem, action)}")
    lines += told or ["  no value of any single variable"]
    if why.visits is not None:
        lines.append(f"Training steps behind it: {why.visits:,}.")
    if why.share is not None:
        lines.append(f"Share of time under this rule: {100 * why.share:.2f} %.")
    if why.warning:
        lines.append(f"Warning: {why.warning}.")
    return "\n".join(lines)
