"""Why a law applies this action: the share of each variable, how far a bound, another action and another law are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spaql.ground.arrays import Array
from spaql.policy.digits import column, number, with_unit
from spaql.trees.laws import CLIP, SCORES, LeafLaws, apply_laws
from spaql.trees.regions import constant_of, steps_of
from spaql.trees.tree import decide, leaf_of

if TYPE_CHECKING:
    from spaql.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Score:
    """One score of the law in charge, part by part, in units of the action where the score is the action."""

    name: str  # of the axis of the action; of the best of scores: the action it stands for
    unit: str
    shares: Array  # (variables,) gain times value
    offset: float
    total: float  # shares and offset
    bound: float | None  # where it is held because the total is beyond; None: it is not saturated
    excess: float  # how far the total is beyond the bound


@dataclass(frozen=True, eq=False)
class Takeover:
    """Along one variable, all others held: where another law takes over next, below and above.

    None: nowhere.
    """

    variable: str
    unit: str
    value: float
    below: float | None
    leaf_below: int | None
    above: float | None
    leaf_above: int | None


@dataclass(frozen=True, eq=False)
class Margin:
    """Of finite actions: how far the score is from where this law would choose another action, and which."""

    score: float
    action: float


def scores_at(policy: "Policy", leaf: int, x: Array) -> tuple[Score, ...]:
    """The scores of a law at an observation; none of a leaf that is constant."""
    laws, words = policy.rules.laws, policy.words
    if laws is None or (laws.kind != CLIP and constant_of(laws, leaf) is not None):
        return ()
    found = []
    for output in range(laws.outputs):
        if laws.kind == CLIP and constant_of(laws, leaf, output) is not None:
            continue
        shares, offset = laws.gains[leaf, output] * x, float(laws.offsets[leaf, output])
        total = float(np.cumsum(shares)[-1]) + offset  # from left to right: `sum` of Python 3.12 compensates rounding
        name, unit = words.action_names[0], ""
        if laws.kind == CLIP:
            name, unit = words.action_names[output], words.action_units[output]
        elif laws.kind == SCORES:
            name = words.action([float(laws.values[output])])
        low, high = (float(end[output]) for end in (laws.low, laws.high))
        bound = low if total < low else high if total > high else None
        found.append(Score(name, unit, shares, offset, total, bound, abs(total - bound) if bound is not None else 0.0))
    return tuple(found)


def margin_at(laws: LeafLaws, leaf: int, scores: tuple[Score, ...]) -> Margin | None:
    """How far the score is from another action; None where the action is continuous, or where the leaf is constant."""
    if laws.kind == CLIP or not scores:
        return None
    if laws.kind == SCORES:
        totals = np.array([score.total for score in scores])
        best = int(totals.argmax())
        others = np.where(np.arange(len(totals)) == best, -np.inf, totals)
        return Margin(float(totals[best] - others.max()), float(laws.values[int(others.argmax())]))
    weighted = scores[0].total - scores[0].offset
    steps = steps_of(laws, leaf)
    below = [action for _, action in steps[1:]] + [float(laws.values[0])]  # of each cut: what is applied below it
    distances = [abs(weighted - cut) for cut, _ in steps]
    nearest = int(np.argmin(distances))
    cut, action = steps[nearest]
    return Margin(distances[nearest], below[nearest] if weighted >= cut else action)


# -- along one variable ------------------------------------------------------------------------------------------------


def crossings(policy: "Policy", x: Array, j: int, actions: bool) -> Array:
    """Values of variable j at which a test turns over, all others held, and where a law chooses another action.

    `actions`: the latter, too. Only values strictly within the bounds of the variable.
    """
    rules, axis = policy.rules, policy.problem.state[j]
    feature, sums = rules.nodes["feature"], []
    for node in np.flatnonzero(feature == rules.variables):
        sums.append((rules.weights[node], float(rules.nodes["cut"][node])))
    if actions and rules.laws is not None:
        sums += _action_sums(rules.laws, rules.leaves())
    places = rules.nodes["cut"][feature == j].tolist()
    places += [(cut - float(w @ x - w[j] * x[j])) / w[j] for w, cut in sums if w[j] != 0.0]
    found = np.unique(np.array(places, float))
    inside: Array = found[np.isfinite(found)]
    if axis.slope is None:
        inside = inside[(inside > axis.low) & (inside < axis.high)]
    return inside


def _action_sums(laws: LeafLaws, leaves: Array) -> list[tuple[Array, float]]:
    """Weighted sums and the cuts at which laws change their action."""
    if laws.kind == CLIP:
        return []
    found = []
    for leaf in leaves.tolist():
        if laws.kind == SCORES:
            for k in range(laws.outputs):
                for i in range(k):
                    offset = laws.offsets[leaf, k] - laws.offsets[leaf, i]
                    found.append((laws.gains[leaf, k] - laws.gains[leaf, i], float(-offset)))
        else:
            found += [(laws.gains[leaf, 0], cut) for cut, _ in steps_of(laws, leaf)]
    return found


def beyond(policy: "Policy", x: Array, j: int, upward: bool, actions: bool) -> list[tuple[float, Array]]:
    """Crossings in the order in which they are met along a variable, each with a state between it and the next one."""
    axis, places = policy.problem.state[j], crossings(policy, x, j, actions)
    met = places[places >= x[j]] if upward else places[places <= x[j]][::-1]  # on a boundary: both sides of it
    found = []
    for i, place in enumerate(met.tolist()):
        end = axis.high if upward else axis.low
        far = end if np.isfinite(end) else place + (1.0 if upward else -1.0) * max(1.0, abs(place))
        state = x.copy()
        state[j] = (place + (float(met[i + 1]) if i + 1 < len(met) else far)) / 2  # safe from rounding at the crossing
        found.append((place, state))
    return found


def takeover(policy: "Policy", x: Array, j: int) -> Takeover:
    """Where another law takes over along one variable."""
    rules, words = policy.rules, policy.words
    here = int(leaf_of(rules, x[None])[0])
    sides: list[tuple[float | None, int | None]] = []
    for upward in (False, True):
        met = ((place, int(leaf_of(rules, state[None])[0])) for place, state in beyond(policy, x, j, upward, False))
        sides.append(next(((place, leaf) for place, leaf in met if leaf != here), (None, None)))
    return Takeover(words.names[j], words.units[j], float(x[j]), *sides[0], *sides[1])


def action_changes(policy: "Policy", x: Array, j: int) -> list[tuple[float | None, Array | None]]:
    """Below and above along one variable: where the action changes, and to what.

    A continuous action changes everywhere: there it is where another law takes over, and what that law applies there.
    """
    rules = policy.rules
    assert rules.laws is not None
    here, action = int(leaf_of(rules, x[None])[0]), decide(rules, x[None])[0]
    sides: list[tuple[float | None, Array | None]] = []
    for upward in (False, True):
        found: tuple[float | None, Array | None] = (None, None)
        for place, state in beyond(policy, x, j, upward, True):
            leaf, other = leaf_of(rules, state[None]), decide(rules, state[None])
            if rules.laws.kind == CLIP:
                if int(leaf[0]) == here:
                    continue
                state[j] = place
                apply_laws(rules.laws, leaf, state[None], other)
            elif np.array_equal(other[0], action):
                continue
            found = (place, other[0])
            break
        sides.append(found)
    return sides


# -- in words ----------------------------------------------------------------------------------------------------------


def law_lines(policy: "Policy", leaf: int, rule: tuple[str, ...]) -> list[str]:
    """Which law is in charge, and why this one."""
    laws = policy.words.laws(leaf)
    if policy.n_leaves == 1:
        return ["by its only law", *(f"  {law}" for law in laws)]
    head = f"by this one of its {policy.n_leaves} laws,"
    return [head, *(f"  {law}" for law in laws), "which is in charge because", "  " + "\n  and ".join(rule)]


def share_lines(policy: "Policy", x: Array, scores: tuple[Score, ...], margin: Margin | None) -> list[str]:
    """The share of each variable, what they come to, and whether that is held at a bound."""
    words, lines = policy.words, []
    laws = policy.rules.laws
    assert laws is not None
    for score in scores:
        used = np.flatnonzero(score.shares).tolist()
        parts = [float(score.shares[j]) for j in used] + ([score.offset] if score.offset != 0.0 else [])
        said = [f"{words.names[j]} = {with_unit(number(float(x[j])), words.units[j])}" for j in used]
        said += ["the constant"] if score.offset != 0.0 else []
        what = score.name if laws.kind == CLIP else f"the score for {score.name}"
        what = what if laws.kind in (CLIP, SCORES) else f"the score of {score.name}"
        lines.append(f"Contributions to {what}:")
        told = column([*parts, score.total])
        lines += [f"  {with_unit(text, score.unit)}  from {one}" for text, one in zip(told, said, strict=False)]
        lines.append(f"  {with_unit(told[-1], score.unit)}  together")
        if score.bound is not None and laws.kind == CLIP:
            bound, excess = (with_unit(number(value), score.unit) for value in (score.bound, score.excess))
            lines.append(f"  saturated: held at {bound}, {excess} are cut off")
    if margin is not None:
        lines.append(f"The score is {number(margin.score)} away from {words.action([margin.action])}.")
    return lines


def takeover_lines(policy: "Policy", takeovers: tuple[Takeover, ...]) -> list[str]:
    """Where other laws take over."""
    found = []
    for j, one in enumerate(takeovers):
        for place, leaf in ((one.below, one.leaf_below), (one.above, one.leaf_above)):
            if place is not None and leaf is not None:
                away = with_unit(number(abs(place - one.value)), one.unit)
                at = f"{one.variable} = {policy.words.value(j, place)}"
                found.append(f"  {at} ({away} away): {policy.words.leaf_action(leaf)}")
    return found
