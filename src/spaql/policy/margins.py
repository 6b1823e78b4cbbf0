"""How far another action is: the share of each variable in a law, and where along one variable something changes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
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
class Margin:
    """Of finite actions: how far the score is from where this law would choose another action, and which."""

    score: float
    action: float


@dataclass(frozen=True, eq=False)
class Along:
    """Along one variable, all others held: where something changes next below and above; None: nowhere."""

    variable: str
    unit: str
    value: float
    below: float | None
    above: float | None


@dataclass(frozen=True, eq=False)
class Change(Along):
    """What changes is the action; to what."""

    action_below: Array | None
    action_above: Array | None


@dataclass(frozen=True, eq=False)
class Takeover(Along):
    """Another law takes over; the leaf of that law."""

    leaf_below: int | None
    leaf_above: int | None


def scores_at(policy: "Policy", leaf: int, x: Array) -> tuple[Score, ...]:
    """The scores of a law at an observation; none of a leaf that is constant."""
    laws, words = policy.rules.laws, policy.words
    if laws is None or (laws.kind != CLIP and constant_of(laws, leaf) is not None):
        return ()
    scores = []
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
        scores.append(Score(name, unit, shares, offset, total, bound, abs(total - bound) if bound is not None else 0.0))
    return tuple(scores)


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


def change_along(policy: "Policy", x: Array, j: int) -> Change:
    """Where the action changes along one variable.

    A continuous action of laws changes everywhere: there it is where another law takes over, and what that law applies
    there.
    """
    rules = policy.rules
    laws, here, applied = rules.laws, int(leaf_of(rules, x[None])[0]), decide(rules, x[None])[0]

    def other_action(place: float, state: Array) -> Array | None:
        if laws is not None and laws.kind == CLIP:
            leaf, actions = leaf_of(rules, state[None]), np.empty((1, len(applied)))
            state[j] = place
            apply_laws(laws, leaf, state[None], actions)
            same = int(leaf[0]) == here
        else:
            actions = decide(rules, state[None])
            same = np.array_equal(actions[0], applied)
        action: Array = actions[0]
        return None if same else action

    return Change(*_nearest(policy, x, j, other_action, actions=True))


def takeover_along(policy: "Policy", x: Array, j: int) -> Takeover:
    """Where another law takes over along one variable."""
    here = int(leaf_of(policy.rules, x[None])[0])

    def other_leaf(place: float, state: Array) -> int | None:
        leaf = int(leaf_of(policy.rules, state[None])[0])
        return None if leaf == here else leaf

    return Takeover(*_nearest(policy, x, j, other_leaf, actions=False))


def _nearest(
    policy: "Policy", x: Array, j: int, other: Callable[[float, Array], Any], actions: bool
) -> tuple[Any, ...]:
    """The fields of `Along`, of the first crossings behind which there is something else; then what there is."""
    sides: list[tuple[Any, Any]] = []
    for upward in (False, True):
        met = ((place, other(place, state)) for place, state in _beyond(policy, x, j, upward, actions))
        sides.append(next(((place, what) for place, what in met if what is not None), (None, None)))
    places, behind = zip(*sides, strict=True)
    return policy.words.names[j], policy.words.units[j], float(x[j]), *places, *behind


def _beyond(policy: "Policy", x: Array, j: int, upward: bool, actions: bool) -> Iterator[tuple[float, Array]]:
    """Crossings in the order in which they are met along a variable, each with a state between it and the next one."""
    axis, places = policy.problem.state[j], _crossings(policy, x, j, actions)
    met = places[places >= x[j]] if upward else places[places <= x[j]][::-1]  # on a boundary: both sides of it
    for i, place in enumerate(met.tolist()):
        end = axis.high if upward else axis.low
        far = end if np.isfinite(end) else place + (1.0 if upward else -1.0) * max(1.0, abs(place))
        state = x.copy()
        state[j] = (place + (float(met[i + 1]) if i + 1 < len(met) else far)) / 2  # safe from rounding at the crossing
        yield place, state


def _crossings(policy: "Policy", x: Array, j: int, actions: bool) -> Array:
    """Values of variable j at which a test turns over, all others held, and where a law chooses another action.

    `actions`: the latter, too. Only values within the bounds of the variable; of laws strictly.
    """
    rules, axis = policy.rules, policy.problem.state[j]
    feature = rules.nodes["feature"]
    oblique = np.flatnonzero(feature == rules.variables)
    sums = [(rules.weights[node], float(rules.nodes["cut"][node])) for node in oblique]
    if actions and rules.laws is not None:
        sums += _action_sums(rules.laws, rules.leaves())
    places = rules.nodes["cut"][feature == j].tolist()
    places += [(cut - float(w @ x - w[j] * x[j])) / w[j] for w, cut in sums if w[j] != 0.0]
    crossings = np.unique(np.array(places, float))
    inside: Array = crossings[np.isfinite(crossings)]
    if axis.slope is None:
        end = inside <= axis.high if rules.laws is None else inside < axis.high
        inside = inside[(inside > axis.low) & end]
    return inside


def _action_sums(laws: LeafLaws, leaves: Array) -> list[tuple[Array, float]]:
    """Weighted sums and the cuts at which laws change their action."""
    if laws.kind == CLIP:
        return []
    if laws.kind != SCORES:
        return [(laws.gains[leaf, 0], cut) for leaf in leaves.tolist() for cut, _ in steps_of(laws, leaf)]
    pairs = [(leaf, k, i) for leaf in leaves.tolist() for k in range(laws.outputs) for i in range(k)]
    return [
        (laws.gains[leaf, k] - laws.gains[leaf, i], float(laws.offsets[leaf, i] - laws.offsets[leaf, k]))
        for leaf, k, i in pairs
    ]
