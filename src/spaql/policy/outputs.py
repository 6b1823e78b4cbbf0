"""What laws may be: their kinds by action space, where their scores are held, and what is known of their gains."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import FAR, real
from spaql.ground.compiling import inlined, kernel
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Continuous, Finite
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.tree import LEAF, NODE, Tree


def make_laws(gains: Array, offsets: Array, actions: Continuous | Finite, kind: int) -> LeafLaws:
    """Checked laws for an action space: compiled code will trust them."""
    if kind not in (CLIP, ORDERED, SCORES, THRESHOLD) or (kind == CLIP) == bool(actions.values):
        raise SpaqlError("the kind of the laws does not fit the actions")
    values = np.array(actions.values, float)
    outputs = len(values) if kind == SCORES else actions.axes
    gains, offsets = np.ascontiguousarray(gains, float), np.ascontiguousarray(offsets, float)
    if gains.ndim != 3 or offsets.shape != gains.shape[:2] or gains.shape[1] != outputs:
        raise SpaqlError(f"laws need {outputs} rows of gains and offsets per node")
    if not np.isfinite(gains).all() or not np.isfinite(offsets).all():
        raise SpaqlError("gains and offsets of laws must be finite")
    low, high = ranges_of(actions, kind)
    return LeafLaws(gains, offsets, low, high, values, kind)


def leaf(actions: Continuous | Finite, gains: Array, offsets: Array, kind: int) -> Tree:
    """The tree of one law: gains (outputs, variables) and offsets (outputs,) of a kind of trees/laws.py."""
    nodes = np.zeros(1, NODE)
    nodes["feature"] = LEAF
    laws = make_laws(gains[None], offsets[None], actions, kind)
    return Tree(nodes, np.zeros((1, actions.axes)), np.zeros((1, gains.shape[1])), laws)


def ranges_of(actions: Continuous | Finite, kind: int) -> tuple[Array, Array]:
    """Where the scores of laws are held: by the range of a continuous action, by the number of finite ones."""
    if not actions.values:
        return actions.bounds
    if kind == ORDERED:
        return np.zeros(1), np.array([len(actions.values) - 1.0])
    outputs = len(actions.values) if kind == SCORES else 1
    return np.full(outputs, -np.inf), np.full(outputs, np.inf)


def kinds_of(actions: Continuous | Finite) -> tuple[int, ...]:
    """The kinds of laws that an action space allows.

    Whether finite actions have an order is not known: where there are more than two, all kinds are tried.
    """
    if not actions.values:
        return (CLIP,)
    return (THRESHOLD,) if len(actions.values) <= 2 else (ORDERED, THRESHOLD, SCORES)


# -- what an action may be: what a controller says is held within the range, or must be one of the set -----------------

NEAR = 1e-9  # of its size, or of one: so far beside an action of a finite set is taken as rounding


class Allowed(NamedTuple):
    """What an action may be."""

    low: Array  # (axes,)
    high: Array  # (axes,)
    values: Array  # the finite actions; empty where they are continuous


def allowed_by(actions: Continuous | Finite) -> Allowed:
    return Allowed(*actions.bounds, np.array(actions.values, float))


@inlined
def settled(allowed: Allowed, axis: int, value: float) -> float:
    """The action that is applied: held within the range, or the one of the set. NaN: there is none."""
    if not abs(value) <= HUGE:
        return np.nan
    if len(allowed.values) == 0:
        held: float = min(max(value, allowed.low[axis]), allowed.high[axis])
        return held
    for j in range(len(allowed.values)):
        known: float = allowed.values[j]
        if abs(value - known) <= NEAR * max(1.0, abs(known)):
            return known
    return np.nan


@kernel
def settle(allowed: Allowed, actions: Array) -> int:
    """`settled` for actions (n, axes), in place, up to the first row in which one is not allowed: that row, or -1."""
    for i in range(len(actions)):
        for axis in range(actions.shape[1]):
            value = settled(allowed, axis, actions[i, axis])
            if np.isnan(value):
                return i
            actions[i, axis] = value
    return -1


# -- what an engineer knows about the gains of laws: signs, ranges, zeros, and outputs whose gains are the same --------
#
#     spaql.Laws(problem, gains={"level_error": (0, None), "speed": 0, "current": (-2, -0.5)})
#     spaql.Laws(problem, gains={"torque1": {"error1": (0, None)}, "torque2": "torque1"})
#
# Whatever a search, tidying or rounding does to a law, its gains are put back into their ranges.

Range = tuple[float | None, float | None]
FORM = "a range such as (0, None), a number, or for several actions {'torque1': {...}, 'torque2': 'torque1'}"


@dataclass(frozen=True, eq=False)
class GainRanges:
    """Of every output and variable, in physical units."""

    low: Array  # (outputs, variables)
    high: Array
    same: tuple[tuple[int, int], ...] = ()  # an output, and the one whose gains it has

    def kept(self, tree: Tree) -> Tree:
        """The tree whose laws have their gains within their ranges."""
        laws = tree.laws
        if laws is None or laws.kind != CLIP:
            return tree
        gains = np.clip(laws.gains, self.low, self.high)
        for output, like in self.same:
            gains[:, output] = gains[:, like]
        leaf = (tree.nodes["feature"] == LEAF)[:, None, None]
        return Tree(tree.nodes, tree.actions, tree.weights, laws._replace(gains=np.where(leaf, gains, laws.gains)))

    def may_be_zero(self, place: int, nodes: int) -> bool:
        """Whether a gain may go alone; `place`: among those of all nodes, then offsets."""
        outputs, d = self.low.shape
        if not 0 <= place < nodes * outputs * d:
            return True
        output, j = place // d % outputs, place % d
        return bool(self.low[output, j] <= 0.0 <= self.high[output, j]) and output not in dict(self.same)

    def signed(self, gains: Array) -> Array:
        """Random gains (outputs, variables) with the signs that they may have."""
        return np.where(self.low >= 0.0, np.abs(gains), np.where(self.high <= 0.0, -np.abs(gains), gains))


def kept(problem: Problem, tree: Tree) -> Tree:
    """The tree with what is known of gains, if anything is."""
    return tree if problem.gains is None else problem.gains.kept(tree)


def plain_gains(name: str, given: Any) -> dict[str, Any]:
    """As options keep them: names with [low, high], or a text; by action, if they are given so."""
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        given = ",".join(given)
    if isinstance(given, str):
        given = _typed(given)
    if not isinstance(given, Mapping) or not given or not all(isinstance(key, str) for key in given):
        raise SpaqlError(f"{name} gives by variable {FORM}, not {echoed(given)}")
    plain: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, str):
            plain[key] = value
        elif isinstance(value, Mapping):
            plain[key] = plain_gains(name, value)
        else:
            plain[key] = list(_range(key, value))
    return plain


def _typed(text: str) -> dict[str, Any]:
    """ "level_error=0:, speed=0, torque2=torque1": as somebody types it."""
    typed: dict[str, Any] = {}
    for part in text.split(","):
        key, _, value = (side.strip() for side in part.partition("="))
        low, colon, high = value.partition(":")
        try:
            ends = [float(end) if end.strip() else None for end in (low, high)]
            typed[key] = tuple(ends) if colon else ends[0]
        except ValueError:
            typed[key] = value
    return typed


def _range(name: str, given: Any) -> Range:
    if isinstance(given, int | float | np.number) and not isinstance(given, bool):
        given = (given, given)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise SpaqlError(f"gains: {name} is {FORM}, not {echoed(given)}")
    low, high = (None if end is None else real(f"gains of {name}", end, -FAR, FAR) for end in given)
    if low is not None and high is not None and low > high:
        raise SpaqlError(f"gains: {name} cannot be at least {low:g} and at most {high:g}")
    return low, high


def gain_ranges(given: Mapping[str, Any], problem: Problem) -> GainRanges:
    """Checked against the variables and actions of the problem."""
    if problem.actions.values:
        raise SpaqlError("gains are for laws of continuous actions, not for a finite set")
    names, actions = [axis.name for axis in problem.state], problem.actions.axis_names
    low, high = (np.full((len(actions), len(names)), end) for end in (-math.inf, math.inf))
    same: list[tuple[int, int]] = []

    def take(rows: Sequence[int], name: str, value: Any) -> None:
        if name not in names:
            raise SpaqlError(f"gains: {echoed(name)} is not observed: choose among {', '.join(names)}")
        at, (least, most) = names.index(name), _range(name, value)
        for row in rows:
            low[row, at] = max(low[row, at], -math.inf if least is None else least)
            high[row, at] = min(high[row, at], math.inf if most is None else most)

    for key, value in given.items():
        if key in actions and isinstance(value, Mapping):
            for name, ends in value.items():
                take([actions.index(key)], name, ends)
        elif key in actions and isinstance(value, str):
            if value not in actions or value == key:
                others = ", ".join(action for action in actions if action != key)
                raise SpaqlError(f"gains: {key} has the gains of another action, {others}; not of {echoed(value)}")
            same.append((actions.index(key), actions.index(value)))
        else:
            take(range(len(actions)), key, value)
    if {output for output, _ in same} & {like for _, like in same}:
        raise SpaqlError("gains: an action cannot have the gains of one that has those of another: name the first")
    for output, like in same:
        low[like] = low[output] = np.maximum(low[output], low[like])
        high[like] = high[output] = np.minimum(high[output], high[like])
    for row, at in np.argwhere(low > high).tolist():
        both = f"at least {low[row, at]:g} and at most {high[row, at]:g}"
        raise SpaqlError(f"gains contradict each other: that of {names[at]} in {actions[row]} would be {both}")
    return GainRanges(low, high, tuple(same))
