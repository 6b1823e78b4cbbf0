"""Regions of trees with weighted tests, and of the actions of laws, as systems of linear inequalities.

Whether there is a state in one, and how large something linear gets in it, is decided by linear programs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.trees.laws import CLIP, SCORES, LeafLaws
from spaql.trees.regions import steps_of
from spaql.trees.tree import LEAF, Tree, walk

THIN = 1e-9  # distance between parallel bounds of a region; thinner ones are taken for empty, as rounding decides there
EXACT = 1e-10  # tolerance of the linear programs


Affine = tuple[Array, float]  # weights and a constant


@dataclass(frozen=True, eq=False)
class Halfspace:
    """The weighted sum of a state is at least the cut, or, if not `high`, below it."""

    weights: Array
    cut: float
    high: bool


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of the states in which a tree does one thing: one action, or one clipped law."""

    sides: tuple[Halfspace, ...]
    gains: Array  # (outputs, variables); zero where it applies one action
    offsets: Array  # (outputs,) the action, if the gains are zero


def pieces_of(tree: Tree) -> list[Piece]:
    """Pieces that fill the states, from left to right. Finite laws are cut up by their actions."""
    found: list[Piece] = []
    on_the_way: dict[int, tuple[Halfspace, ...]] = {0: ()}
    for node, _ in walk(tree):
        sides, feature = on_the_way.pop(node), int(tree.nodes["feature"][node])
        if feature == LEAF:
            found += [Piece(sides + more, *does) for more, does in _parts(tree, node)]
            continue
        weights = np.eye(tree.variables)[feature] if feature < tree.variables else tree.weights[node]
        for side in ("low", "high"):
            new = Halfspace(weights, float(tree.nodes["cut"][node]), side == "high")
            on_the_way[int(tree.nodes[side][node])] = (*sides, new)
    return found


def _parts(tree: Tree, leaf: int) -> list[tuple[tuple[Halfspace, ...], tuple[Array, Array]]]:
    """The parts of a leaf, each with what is applied there."""
    laws, axes = tree.laws, tree.actions.shape[1]
    still = np.zeros((axes, tree.variables))
    if laws is None:
        return [((), (still, tree.actions[leaf]))]
    if laws.kind == CLIP:
        return [((), (laws.gains[leaf], laws.offsets[leaf]))]
    chosen = _best_of_scores(laws, leaf) if laws.kind == SCORES else _between_steps(laws, leaf)
    return [(sides, (still, np.array([action]))) for sides, action in chosen]


def _between_steps(laws: LeafLaws, leaf: int) -> list[tuple[tuple[Halfspace, ...], float]]:
    gains, found = laws.gains[leaf, 0], []
    below: tuple[Halfspace, ...] = ()
    for cut, action in steps_of(laws, leaf):
        found.append(((*below, Halfspace(gains, cut, True)), action))
        below = (Halfspace(gains, cut, False),)
    return [*found, (below, float(laws.values[0]))]


def _best_of_scores(laws: LeafLaws, leaf: int) -> list[tuple[tuple[Halfspace, ...], float]]:
    gains, offsets, found = laws.gains[leaf], laws.offsets[leaf], []
    for k, action in enumerate(laws.values.tolist()):
        sides = []
        for i in range(laws.outputs):
            if i < k:  # the first of equal ones wins: below it, the score of i - k must be negative
                sides.append(Halfspace(gains[i] - gains[k], float(offsets[k] - offsets[i]), False))
            elif i > k:
                sides.append(Halfspace(gains[k] - gains[i], float(offsets[i] - offsets[k]), True))
        found.append((tuple(sides), action))
    return found


class System:
    """States within bounds and on the given sides of planes, closed: strict inequalities hold with equality, too.

    `fixed`: by variable, whether it is a constant.
    """

    def __init__(self, sides: tuple[Halfspace, ...], low: Array, high: Array, fixed: Array) -> None:
        self.low, self.high = low, high
        rows, limits, margin = [], [], []
        self.impossible = bool((low > high).any())
        for side in sides:
            size = float(np.abs(side.weights).max(initial=0.0))
            if size == 0.0:  # nothing is tested: it holds everywhere or nowhere
                self.impossible |= (side.cut <= 0.0) != side.high
                continue
            sign = -1.0 if side.high else 1.0
            rows.append(sign * side.weights / size)
            limits.append(sign * side.cut / size)
            # what lies in a plane is no part of the states, unless constants put all of them there
            margin.append(0.0 if side.high and not side.weights[~fixed].any() else 1.0)
        self.rows = np.array(rows).reshape(len(rows), len(low))
        self.limits, self.margin = np.array(limits, float), np.array(margin, float)

    def inside(self) -> Array | None:
        """A state in it, away from its sides; None if there is none."""
        if self.impossible:
            return None
        found = self._solve(np.append(np.zeros(len(self.low)), -1.0), self.margin[:, None], [(0.0, 1.0)])
        return None if found is None or -found[0] <= THIN else found[1][:-1]

    def largest_gap(
        self, f: tuple[Array, float], g: tuple[Array, float], low: float, high: float
    ) -> tuple[float, Array]:
        """The largest `clip(f) - clip(g)` of two affine functions, and where; negative if f is never above g.

        Clipped f is above clipped g exactly where min(f, high) is above max(g, low), and by as much. The difference
        u - v is maximised with u below f and high, v above g and low.
        """
        d = len(self.low)
        rows = np.zeros((2, d + 2))
        rows[0, :d], rows[0, d] = -f[0], 1.0
        rows[1, :d], rows[1, d + 1] = g[0], -1.0
        scale = np.abs(rows).max(axis=1)
        more, limits = rows / scale[:, None], np.array([f[1], -g[1]]) / scale
        found = self._solve(
            np.append(np.zeros(d), [-1.0, 1.0]),
            np.zeros((len(self.rows), 2)),
            [(None, high), (low, None)],
            more,
            limits,
        )
        return (-np.inf, np.zeros(d)) if found is None else (-found[0], found[1][:d])

    def box(self) -> tuple[Array, Array]:
        """The smallest box around it; infinite where it is unbounded."""
        d = len(self.low)
        ends = np.empty((2, d))
        for j in range(d):
            for end, sign in ((0, 1.0), (1, -1.0)):
                found = self._solve(sign * np.eye(d)[j])
                ends[end, j] = np.nan if found is None else sign * found[0]
        return ends[0], ends[1]

    def _solve(
        self,
        cost: Array,
        extra: Array | None = None,
        extra_bounds: Sequence[tuple[float | None, float | None]] = (),
        more: Array | None = None,
        more_limits: Array | None = None,
    ) -> tuple[float, Array] | None:
        """The least cost and where; None if there is no state; -inf if it has no end."""
        from scipy.optimize import linprog

        rows = self.rows if extra is None else np.hstack([self.rows, extra])
        limits = self.limits
        if more is not None and more_limits is not None:
            rows, limits = np.vstack([rows, more]), np.append(limits, more_limits)
        bounds: list[tuple[Any, Any]] = [
            (low if np.isfinite(low) else None, high if np.isfinite(high) else None)
            for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]
        tolerances = {"primal_feasibility_tolerance": EXACT, "dual_feasibility_tolerance": EXACT}
        found = linprog(cost, rows, limits, bounds=[*bounds, *extra_bounds], options=tolerances)
        if found.status == 0:
            return float(found.fun), np.asarray(found.x)
        return (-np.inf, np.zeros(len(cost))) if found.status == 3 else None
