"""Why this action: path, rule, alternatives, how far another action is, and how much experience stands behind it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import numbers
from spaql.ground.errors import SpaqlError
from spaql.plants.chart import HUGE
from spaql.policy.certificate import Certificate
from spaql.policy.margins import Change, Margin, Score, Takeover, change_along, margin_at, scores_at, takeover_along
from spaql.policy.memory import variables_given, with_formulas
from spaql.policy.words import column, number, share_of_time, told_apart, with_unit
from spaql.trees.laws import CLIP, SCORES, LeafLaws
from spaql.trees.tree import decide, leaf_of, path_to

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

SHOWN = 6  # alternatives that are listed
NEAR = 0.01  # of the range that the closed loop was seen in: closer to it is no other place


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
    proof: Any = None  # the same

    def __str__(self) -> str:
        return self.words


def explain_action(policy: "Policy", observation: Any) -> Why:
    """See `Policy.why`."""
    x = numbers("observation", observation, (variables_given(policy.problem, observation),))
    x = with_formulas(policy.problem, x[None])[0]
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
    why = Why(
        observation=x,
        action=decide(rules, x[None])[0],
        leaf=leaf,
        path=path,
        rule=tuple(words.rule(leaf)),
        alternatives=tuple((choice.action, choice.q) for choice in choices),
        expected=tuple((choice.action, choice.q, choice.after) for choice in choices if choice.after is not None),
        changes=tuple(change_along(policy, x, j) for j in range(len(x))),
        visits=visits,
        share=share,
        warning=_warning(policy, x, visits, share),
        words="",
        certificate=policy.certificate,
        proof=policy.proof,
    )
    if rules.laws is not None:
        scores = scores_at(policy, leaf, x)
        takeovers = tuple(takeover_along(policy, x, j) for j in range(len(x)))
        margin = margin_at(rules.laws, leaf, scores)
        why = replace(why, law=tuple(words.laws(leaf)), scores=scores, margin=margin, takeovers=takeovers)
    return replace(why, words=_words(policy, why))


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


# -- in words ----------------------------------------------------------------------------------------------------------


def _words(policy: "Policy", why: Why) -> str:
    words, laws = policy.words, policy.rules.laws
    lines = [f"At {words.observation(why.observation.tolist())}"]
    lines += [f"where {line}" for line in words.formulas]
    if laws is None:
        lines += [f"it applies {words.action(why.action.tolist())}, because"]
        lines += ["  " + ("\n  and ".join(why.rule) or "it always does")]
    else:
        lines += [f"it applies {words.action(why.action.tolist())},", *_law_lines(policy, why)]
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
    if laws is not None:
        lines += _share_lines(policy, laws, why)
    if policy.n_leaves > 1 and laws is not None:
        laws_beyond = ([(t.below, t.leaf_below), (t.above, t.leaf_above)] for t in why.takeovers)
        lines += ["Another law would take over, all else equal, at"]
        lines += _place_lines(policy, why, laws_beyond, words.leaf_action)
    if laws is None or laws.kind != CLIP:
        actions_beyond = ([(c.below, c.action_below), (c.above, c.action_above)] for c in why.changes)
        lines += ["The action would change, all else equal, at"]
        lines += _place_lines(policy, why, actions_beyond, lambda action: words.action(action.tolist()))
    if why.visits is not None:
        lines.append(f"Training steps behind it: {why.visits:,}.")
    if why.share is not None:
        lines.append(f"Share of time under this rule: {share_of_time(why.share)}.")
    if why.warning:
        lines.append(f"Warning: {why.warning}.")
    lines += policy.assurances
    return "\n".join(lines)


def _law_lines(policy: "Policy", why: Why) -> list[str]:
    """Which law is in charge, and why this one."""
    laws = [f"  {law}" for law in why.law]
    if policy.n_leaves == 1:
        return ["by its only law", *laws]
    head = f"by this one of its {policy.n_leaves} laws,"
    return [head, *laws, "which is in charge because", "  " + "\n  and ".join(why.rule)]


def _share_lines(policy: "Policy", laws: LeafLaws, why: Why) -> list[str]:
    """The share of each variable, what they come to, and whether that is held at a bound."""
    words, lines = policy.words, []
    for score in why.scores:
        used = np.flatnonzero(score.shares).tolist()
        parts = [float(score.shares[j]) for j in used] + ([score.offset] if score.offset != 0.0 else [])
        values = (with_unit(number(float(why.observation[j])), words.units[j]) for j in used)
        origins = [f"{words.names[j]} = {value}" for j, value in zip(used, values, strict=True)]
        origins += ["the constant"] if score.offset != 0.0 else []
        what = score.name if laws.kind == CLIP else f"the score for {score.name}"
        what = what if laws.kind in (CLIP, SCORES) else f"the score of {score.name}"
        lines.append(f"Contributions to {what}:")
        *texts, total = (with_unit(text, score.unit) for text in column([*parts, score.total]))
        lines += [f"  {text}  from {origin}" for text, origin in zip(texts, origins, strict=True)]
        lines.append(f"  {total}  together")
        if score.bound is not None and laws.kind == CLIP:
            bound, excess = (with_unit(number(value), score.unit) for value in (score.bound, score.excess))
            lines.append(f"  saturated: held at {bound}, {excess} are cut off")
    if why.margin is not None:
        lines.append(f"The score is {number(why.margin.score)} away from {words.action([why.margin.action])}.")
    return lines


def _place_lines(
    policy: "Policy", why: Why, sides: Iterable[list[tuple[float | None, Any]]], said: Callable[[Any], str]
) -> list[str]:
    """Where something changes along each variable, and to what: "  angle = 0.03 rad (0.01 rad away): force = 2 N"."""
    words, lines = policy.words, []
    for j, pair in enumerate(sides):
        for place, what in pair:
            if place is not None:
                away = with_unit(number(abs(place - float(why.observation[j]))), words.units[j])
                lines.append(f"  {words.names[j]} = {words.value(j, place)} ({away} away): {said(what)}")
    return lines or ["  no value of any single variable"]
