"""Why this action: path, rule, alternatives, how far another action is, and how much experience stands behind it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import numbers
from spaql.ground.errors import SpaqlError
from spaql.plants.chart import HUGE
from spaql.policy.certificate import Certificate
from spaql.policy.why_laws import (
    Margin,
    Score,
    Takeover,
    action_changes,
    law_lines,
    margin_at,
    scores_at,
    share_lines,
    takeover,
    takeover_lines,
)
from spaql.policy.words import column, number, share_of_time, told_apart, with_unit
from spaql.trees.laws import CLIP
from spaql.trees.tree import decide, leaf_of, path_to

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

SHOWN = 6  # alternatives that are listed
NEAR = 0.01  # of the range that the closed loop was seen in: closer to it is no other place


@dataclass(frozen=True, eq=False)
class Change:
    """Along one variable, all others held: where the action changes next below and above, and to what.

    None: nowhere.
    """

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
    alternatives: tuple[tuple[Array, float], ...]  # (action, Q), best first, with the applied action; empty without Q
    expected: tuple[tuple[Array, float, Array], ...]  # with a model: (action, Q, next observation), best first
    changes: tuple[Change, ...]
    visits: int | None  # training steps behind the choice: in its cell, or in the region of its rule
    share: float | None  # of the time of the closed loop spent under this rule
    warning: str
    words: str
    # where leaves are laws; empty or None where they are constant actions
    law: tuple[str, ...] = ()  # what is in charge, one for each axis of the action
    scores: tuple[Score, ...] = ()  # the share of each variable in the action, and whether it is saturated
    margin: Margin | None = None  # of finite actions: how far the score is from another one
    takeovers: tuple[Takeover, ...] = ()  # along each variable: where another law takes over
    certificate: Certificate | None = None  # of the policy, if it has one

    def __str__(self) -> str:
        return self.words


def explain_action(policy: "Policy", observation: Any) -> Why:
    """See `Policy.why`."""
    x = numbers("observation", observation, (len(policy.problem.state),))
    if not np.all(np.abs(x) <= HUGE):
        raise SpaqlError("the observation must be finite")
    rules, words = policy.rules, policy.words
    leaf = int(leaf_of(rules, x[None])[0])
    path = tuple(words.test(node, high) for node, high in path_to(rules, leaf))
    choices, visits = policy.knowledge.opinion(x)
    if visits is None:
        counted = policy.knowledge.visits(rules)
        visits = None if counted is None else int(counted[np.flatnonzero(rules.leaves() == leaf)[0]])
    share = None if np.isnan(policy.share[leaf]) else float(policy.share[leaf])
    found = Why(
        observation=x,
        action=decide(rules, x[None])[0],
        leaf=leaf,
        path=path,
        rule=tuple(words.rule(leaf)),
        alternatives=tuple((choice.action, choice.q) for choice in choices),
        expected=tuple((choice.action, choice.q, choice.after) for choice in choices if choice.after is not None),
        changes=tuple(_change(policy, x, j) for j in range(len(x))),
        visits=visits,
        share=share,
        warning=_warning(policy, x, visits, share),
        words="",
        certificate=policy.certificate,
    )
    if rules.laws is not None:
        scores = scores_at(policy, leaf, x)
        takeovers = tuple(takeover(policy, x, j) for j in range(len(x)))
        margin = margin_at(rules.laws, leaf, scores)
        found = replace(found, law=tuple(words.laws(leaf)), scores=scores, margin=margin, takeovers=takeovers)
    return replace(found, words=_words(policy, found))


def _change(policy: "Policy", x: Array, j: int) -> Change:
    """Walk along one variable from cut to cut until another action is applied."""
    rules = policy.rules
    if rules.laws is not None:
        below, above = action_changes(policy, x, j)
        return Change(policy.words.names[j], policy.words.units[j], float(x[j]), *below, *above)
    here = decide(rules, x[None])[0]
    cuts = _cuts_along(policy, x, j)
    results: list[tuple[float | None, Array | None]] = []
    for upward in (False, True):
        places = cuts[cuts > x[j]] if upward else cuts[cuts <= x[j]][::-1]
        found: tuple[float | None, Array | None] = (None, None)
        for cut in places:
            beyond = x.copy()
            beyond[j] = cut if upward else np.nextafter(cut, -np.inf)
            if rules.oblique:  # the side of the crossing itself depends on the sign of the weight, and on rounding
                beyond[j] = cut + (1.0 if upward else -1.0) * 1e-9 * max(1.0, abs(cut))
            action = decide(rules, beyond[None])[0]
            if not np.array_equal(action, here):
                found = (float(cut), action)
                break
        results.append(found)
    return Change(policy.words.names[j], policy.words.units[j], float(x[j]), *results[0], *results[1])


def _cuts_along(policy: "Policy", x: Array, j: int) -> Array:
    """Values of variable j, within its bounds, at which some test of the tree turns over, all others held."""
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
    return f"no training step was ever made here: {policy.knowledge.unvisited}"


def _warning(policy: "Policy", x: Array, visits: int | None, share: float | None) -> str:
    for j, axis in enumerate(policy.problem.state):
        if axis.slope is None and not axis.low <= x[j] <= axis.high:
            here, ends = _beside(policy, j, x[j], axis.low, axis.high)
            return f"{here} is outside {ends}: never seen in training"
    if visits == 0:
        return unvisited(policy)
    if share == 0.0:
        return "the closed loop never reached this region in its recorded rollouts: the action was never applied there"
    if policy.usage is not None and len(policy.usage.states):
        low, high = policy.usage.states.min(axis=0), policy.usage.states.max(axis=0)
        near = NEAR * (high - low)  # a closed loop comes ever closer to where it settles
        outside = ~((x >= low - near) & (x <= high + near))
        beyond = [_beside(policy, j, x[j], low[j], high[j]) for j in np.flatnonzero(outside).tolist()]
        if beyond:
            places = ", ".join(f"{here} (it stayed within {ends})" for here, ends in beyond)
            return f"the closed loop was never seen at {places}"
    return ""


def _beside(policy: "Policy", j: int, value: float, low: float, high: float) -> tuple[str, str]:
    """A value of variable j and a range it is not in, with the digits that show it."""
    texts = told_apart((float(value), float(low), float(high)), scale=0.0)
    said = with_unit(texts[float(value)], policy.words.units[j])
    return f"{policy.words.names[j]} = {said}", f"{texts[float(low)]} … {texts[float(high)]}"


def _words(policy: "Policy", why: Why) -> str:
    words, laws = policy.words, policy.rules.laws
    lines = [
        f"At {words.observation(why.observation.tolist())}",
        f"it applies {words.action(why.action.tolist())}, because",
        "  " + ("\n  and ".join(why.rule) or "it always does"),
    ]
    if laws is not None:
        lines[1:] = [f"it applies {words.action(why.action.tolist())},", *law_lines(policy, why.leaf, why.rule)]
    if len(why.path) > len(why.rule):
        lines.append(f"after {len(why.path)} tests: " + ", then ".join(why.path))
    if len(why.alternatives) > 1:
        decides = "the table decides by the middle of its cell" if policy.is_table else "the tree need not follow them"
        lines.append(f"Values there by one step in the model (Q); {decides}:" if why.expected else "Values there (Q):")
        shown = why.alternatives[:SHOWN]
        values = column([q for _, q in shown])
        lines += [f"  {q}  {words.action(action.tolist())}" for q, (action, _) in zip(values, shown, strict=True)]
        lines += [f"  and {len(why.alternatives) - SHOWN} more"] if len(why.alternatives) > SHOWN else []
    if why.expected:
        lines.append("What the learned model expects next:")
        lines += [
            f"  {words.action(action.tolist())}: {words.observation(after.tolist())}"
            for action, _, after in why.expected[:SHOWN]
        ]
    nowhere = ["  no value of any single variable"]
    if laws is not None:
        lines += share_lines(policy, why.observation, why.scores, why.margin)
        others = takeover_lines(policy, why.takeovers) or nowhere
        lines += ["Another law would take over, all else equal, at", *others] if policy.n_leaves > 1 else []
    if laws is None or laws.kind != CLIP:
        lines += ["The action would change, all else equal, at", *(_changes_in_words(policy, why) or nowhere)]
    if why.visits is not None:
        lines.append(f"Training steps behind it: {why.visits:,}.")
    if why.share is not None:
        lines.append(f"Share of time under this rule: {share_of_time(why.share)}.")
    if why.warning:
        lines.append(f"Warning: {why.warning}.")
    if why.certificate is not None:
        lines += why.certificate.lines
    return "\n".join(lines)


def _changes_in_words(policy: "Policy", why: Why) -> list[str]:
    found = []
    for j, change in enumerate(why.changes):
        for place, action in ((change.below, change.action_below), (change.above, change.action_above)):
            if place is not None and action is not None:
                away = with_unit(number(abs(place - change.value)), change.unit)
                at = f"{change.variable} = {policy.words.value(j, place)}"
                found.append(f"  {at} ({away} away): {policy.words.action(action.tolist())}")
    return found
