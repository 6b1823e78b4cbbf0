"""Whether two trees do the same, decided over all of space, not by sampling.

Where laws or weighted tests are among them, by linear programs over pairs of their pieces.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import numbers, real, whole
from spaql.ground.errors import SpaqlError
from spaql.trees.laws import CLIP
from spaql.trees.regions import Halfspace, Piece, pieces_of
from spaql.trees.tree import LEAF, Tree

THIN = 1e-9  # distance between parallel bounds of a region; thinner ones are taken for empty, as rounding decides there
EXACT = 1e-10  # tolerance of the linear programs
ROUNDING = 1e-8  # of the range of an action: smaller gaps are rounding of the linear programs

Affine = tuple[Array, float]  # weights and a constant


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
        solution = self._solve(np.append(np.zeros(len(self.low)), -1.0), self.margin[:, None], [(0.0, 1.0)])
        return None if solution is None or -solution[0] <= THIN else solution[1][:-1]

    def largest_gap(
        self, f: Affine, g: Affine, low: float, high: float
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
        solution = self._solve(
            np.append(np.zeros(d), [-1.0, 1.0]),
            np.zeros((len(self.rows), 2)),
            [(None, high), (low, None)],
            more,
            limits,
        )
        return (-np.inf, np.zeros(d)) if solution is None else (-solution[0], solution[1][:d])

    def box(self) -> tuple[Array, Array]:
        """The smallest box around it; infinite where it is unbounded."""
        d = len(self.low)
        ends = np.empty((2, d))
        for j in range(d):
            for end, sign in ((0, 1.0), (1, -1.0)):
                solution = self._solve(sign * np.eye(d)[j])
                ends[end, j] = np.nan if solution is None else sign * solution[0]
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
        solution = linprog(cost, rows, limits, bounds=[*bounds, *extra_bounds], options=tolerances)
        if solution.status == 0:
            return float(solution.fun), np.asarray(solution.x)
        return (-np.inf, np.zeros(len(cost))) if solution.status == 3 else None


class Gap(NamedTuple):
    """Where two trees differ: in a convex part of the states, within a box, most at one state."""

    low: Array  # of the smallest box around it, infinite where it has no end
    high: Array
    by: float  # the largest difference there
    state: Array  # where it is


def gaps(a: Tree, b: Tree, tolerance: float, low: Array, high: Array) -> Iterator[Gap]:
    """All parts in which an axis of the action differs by more than the tolerance; of finite actions, by anything."""
    finite = any(tree.laws is not None and tree.laws.kind != CLIP for tree in (a, b))
    range_low, range_high = _ranges(a, b)
    others = [(piece, _box(piece, low, high)) for piece in pieces_of(b)]
    for piece in pieces_of(a):
        box = _box(piece, low, high)
        for other, other_box in others:
            begin, end = np.maximum(box[0], other_box[0]), np.minimum(box[1], other_box[1])
            same_gains = np.array_equal(piece.gains, other.gains)
            if (same_gains and np.array_equal(piece.offsets, other.offsets)) or (begin > end).any():
                continue
            system = System(piece.sides + other.sides, begin, end, low == high)
            state = system.inside()
            if state is None:
                continue
            if not piece.gains.any() and not other.gains.any():
                applied = [np.clip(part.offsets, range_low, range_high) for part in (piece, other)]
                by = float(np.abs(applied[0] - applied[1]).max())
                if by > (0.0 if finite else tolerance):
                    yield Gap(*system.box(), by, state)
                continue
            for axis in range(len(piece.offsets)):
                yield from _of_axis(system, piece, other, axis, tolerance, range_low[axis], range_high[axis])


def _of_axis(
    system: System, piece: Piece, other: Piece, axis: int, tolerance: float, low: float, high: float
) -> Iterator[Gap]:
    """Where one clipped law is above the other, and where it is below."""
    least = tolerance + ROUNDING * (high - low)
    laws = [(law.gains[axis], float(law.offsets[axis])) for law in (piece, other)]
    for f, g in (laws, laws[::-1]):
        by, state = system.largest_gap(f, g, low, high)
        if by > least:
            yield Gap(*_where(system, f, g, low, high, least).box(), by, state)


def _where(system: System, f: Affine, g: Affine, low: float, high: float, least: float) -> System:
    """The states in which clipped f is above clipped g by `least`: min(f, high) - max(g, low) >= least."""
    sides = (
        Halfspace(f[0] - g[0], least - f[1] + g[1], True),
        Halfspace(f[0], least + low - f[1], True),
        Halfspace(-g[0], least - high + g[1], True),
    )
    narrow = System(sides, system.low, system.high, np.zeros(len(system.low), bool))
    narrow.rows = np.vstack([system.rows, narrow.rows])
    narrow.limits = np.append(system.limits, narrow.limits)
    return narrow


def _ranges(a: Tree, b: Tree) -> tuple[list[float], list[float]]:
    """Where actions are held, by axis; of finite or constant actions, what they reach."""
    ends: list[tuple[Array, Array]] = []
    for tree in (a, b):
        if tree.laws is not None and tree.laws.kind == CLIP:
            ends.append((tree.laws.low, tree.laws.high))
        else:
            applied = tree.actions[tree.leaves()] if tree.laws is None else tree.laws.values[:, None]
            ends.append((applied.min(axis=0), applied.max(axis=0)))
    kinds = {tree.laws.kind == CLIP for tree in (a, b) if tree.laws is not None}
    ranged = [end for end, tree in zip(ends, (a, b), strict=True) if tree.laws is not None and tree.laws.kind == CLIP]
    if len(kinds) == 2 or not all(np.array_equal(row, ranged[0]) for row in ranged):
        raise SpaqlError("the laws of the two trees are for different actions: they cannot be compared")
    low, high = np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])
    return low.tolist(), high.tolist()


def _box(piece: Piece, low: Array, high: Array) -> tuple[Array, Array]:
    """The bounds of a piece by its tests of one variable: what does not overlap needs no linear program."""
    begin, end = low.copy(), high.copy()
    for side in piece.sides:
        used = np.flatnonzero(side.weights)
        if len(used) == 1 and side.weights[used[0]] > 0.0:
            j, cut = used[0], side.cut / side.weights[used[0]]
            if side.high:
                begin[j] = max(begin[j], cut)
            else:
                end[j] = min(end[j], cut)
    return begin, end


def differences(
    a: Tree, b: Tree, most: int = 10, tolerance: float = 0.0, low: Any = None, high: Any = None
) -> list[tuple[Array, Array]]:
    """Boxes in which the two trees apply different actions, at most `most` of them: an empty list is a proof.

    Lower ends are inclusive, upper ends exclusive. `tolerance`: actions that differ by no more count as the same;
    finite actions of laws are the same or not. `low`, `high`: the range of every variable, if not all numbers are
    asked for.

    Of trees with constant actions and tests of single variables, every cell of the common refinement is visited, and
    the trees differ all over the boxes. Else each box is the smallest around a convex part of the states in which the
    trees differ, by linear programs over pairs of leaves; ends are infinite where the part is unbounded. Parts thinner
    than 1e-9, such as the planes of the tests themselves, do not count.
    """
    most, tolerance = whole("most", most, 0), real("tolerance", tolerance, 0.0)
    box = _range(a, b, low, high)
    if a.laws is not None or b.laws is not None or a.oblique or b.oblique:
        boxes: list[tuple[Array, Array]] = []
        for gap in gaps(a, b, tolerance, *box) if most > 0 else ():
            boxes.append((gap.low, gap.high))
            if len(boxes) == most:
                break
        return boxes
    return _of_cells(a, b, most, tolerance, box[0], np.where(np.isfinite(box[1]), np.nextafter(box[1], np.inf), np.inf))


def _range(a: Tree, b: Tree, low: Any, high: Any) -> tuple[Array, Array]:
    if not isinstance(a, Tree) or not isinstance(b, Tree):
        raise SpaqlError("two trees are compared, such as policy.rules of two policies")
    if a.variables != b.variables or a.actions.shape[1] != b.actions.shape[1]:
        raise SpaqlError("the two trees have different variables or actions: they cannot be compared")
    d = a.variables
    ends = (
        np.full(d, -np.inf) if low is None else numbers("low", low, (d,)),
        np.full(d, np.inf) if high is None else numbers("high", high, (d,)),
    )
    if np.isnan(ends).any() or (ends[0] > ends[1]).any():
        raise SpaqlError("low must not be above high, for any variable")
    return ends


def _of_cells(a: Tree, b: Tree, most: int, tolerance: float, low: Array, high: Array) -> list[tuple[Array, Array]]:
    """Visits every cell of the common refinement of two partitions into boxes."""
    boxes: list[tuple[Array, Array]] = []
    stack = [(0, 0, low, high)]
    while stack and len(boxes) < most:
        node_a, node_b, low, high = stack.pop()
        tree, node = (a, node_a) if a.nodes["feature"][node_a] != LEAF else (b, node_b)
        feature, cut = int(tree.nodes["feature"][node]), tree.nodes["cut"][node]
        if feature == LEAF:
            if np.any(np.abs(a.actions[node_a] - b.actions[node_b]) > tolerance):
                boxes.append((low, high))
            continue
        for side, begin, end in (
            ("low", low[feature], min(high[feature], cut)),
            ("high", max(low[feature], cut), high[feature]),
        ):
            if begin < end:
                box = low.copy(), high.copy()
                box[0][feature], box[1][feature] = begin, end
                child = int(tree.nodes[side][node])
                stack.append((child, node_b, *box) if tree is a else (node_a, child, *box))
    return boxes
