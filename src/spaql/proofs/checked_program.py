"""The checker's own programs: what a plant's derivative does to numbers is written down once, and worked out over many
boxes at a time. Every bound moves to the next double or the one after it, by fl(x + fl(f |x| + 2^-1074)) with
f = 2^-53 (1 + 2^-50) (Rump, Zimmermann, Boldo, Melquiond 2009). Functions are those of quantities.py.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.proofs.quantities import Quantity, function
from spaql.proofs.ways import Way

INPUT, CONST, ADD, SUB, MUL, DIV, SQR, CALL = range(8)
NEXT, LEAST = 2.0**-53 * (1.0 + 2.0**-50), 2.0**-1074
ROWS = 512  # boxes at a time, so that memory stays small
LINE = np.dtype([("code", "i8"), ("a", "i8"), ("b", "i8"), ("constant", "f8"), ("inputs", "i8")])


class Written:
    """What is written down: lines of an operation and its operands, each once."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, int, int, float]] = []
        self.names: list[str] = []
        self.places: dict[tuple[int, int, int, float], int] = {}

    def line(self, code: int, a: int, b: int = 0, constant: float = 0.0) -> "Recorded":
        key = code, a, b, constant
        if key not in self.places:
            self.places[key] = len(self.lines)
            self.lines.append(key)
        return Recorded(self, self.places[key])

    def inputs(self, count: int) -> list["Recorded"]:
        return [self.line(INPUT, j) for j in range(count)]


class Recorded:
    """A number that a program works out."""

    __array_ufunc__ = None

    def __init__(self, written: Written, place: int) -> None:
        self.written, self.place = written, place

    def _of(self, other: Any) -> "Recorded":
        return other if isinstance(other, Recorded) else self.written.line(CONST, 0, 0, float(other))

    def _with(self, code: int, other: Any) -> "Recorded":
        return self.written.line(code, self.place, self._of(other).place)

    def __add__(self, other: Any) -> "Recorded":
        return self._with(ADD, other)

    def __sub__(self, other: Any) -> "Recorded":
        return self._with(SUB, other)

    def __mul__(self, other: Any) -> "Recorded":
        b = self._of(other)
        return self.written.line(SQR, self.place) if b.place == self.place else self._with(MUL, b)

    def __truediv__(self, other: Any) -> "Recorded":
        return self._with(DIV, other)

    def __neg__(self) -> "Recorded":
        return self._of(0.0) - self

    def __radd__(self, other: Any) -> "Recorded":
        return self._of(other) + self

    def __rsub__(self, other: Any) -> "Recorded":
        return self._of(other) - self

    def __rmul__(self, other: Any) -> "Recorded":
        return self._of(other) * self

    def __rtruediv__(self, other: Any) -> "Recorded":
        return self._of(other) / self

    def called(self, name: str) -> "Recorded":
        if name not in self.written.names:
            self.written.names.append(name)
        return self.written.line(CALL, self.place, self.written.names.index(name))


class Program(NamedTuple):
    """Lines up to the last one that is needed, and which are results."""

    lines: Array
    names: tuple[str, ...]
    results: tuple[int, ...]
    inputs: int


def program_of(results: list[Any], written: Written, inputs: int) -> Program:
    """Only of the lines that the results need."""
    places = [(item if isinstance(item, Recorded) else written.line(CONST, 0, 0, item)).place for item in results]
    needed, pending = set[int](), list(places)
    while pending:
        place = pending.pop()
        if place not in needed:
            needed.add(place)
            code, a, b, _ = written.lines[place]
            pending += [] if code in (INPUT, CONST) else [a] if code in (SQR, CALL) else [a, b]
    order = sorted(needed)
    at = {place: k for k, place in enumerate(order)}
    lines = np.zeros(len(order), LINE)
    for k, place in enumerate(order):
        code, a, b, constant = written.lines[place]
        first, second = a if code in (INPUT, CONST) else at[a], at[b] if code in (ADD, SUB, MUL, DIV) else b
        bits = 1 << a if code == INPUT else 0 if code == CONST else int(lines["inputs"][first])
        bits |= int(lines["inputs"][second]) if code in (ADD, SUB, MUL, DIV) else 0
        lines[k] = (code, first, second, constant, bits)
    return Program(lines, tuple(written.names), tuple(at[place] for place in places), inputs)


class Worked(NamedTuple):
    """Results over boxes."""

    low: Array  # (results, boxes)
    high: Array
    slope_low: Array  # (results, inputs, boxes)
    slope_high: Array
    finite: Array  # (boxes,) whether all numbers on the way are


def worked(program: Program, boxes: Array, slopes: bool) -> Worked:
    """Over (boxes, inputs, 2)."""
    parts = [_some(program, boxes[k : k + ROWS], slopes) for k in range(0, len(boxes), ROWS)]
    return Worked(*(np.concatenate([part[k] for part in parts], axis=-1) for k in range(5)))


def _some(program: Program, boxes: Array, slopes: bool) -> Worked:
    count, lines, width = len(boxes), program.lines, program.inputs if slopes else 0
    low, high = np.zeros((2, len(lines), count))
    slope_low, slope_high = np.zeros((2, len(lines), width, count))
    finite, begin = np.ones(count, np.bool_), 0
    boxes = np.ascontiguousarray(boxes)
    calls = np.flatnonzero(lines["code"] == CALL).tolist()
    for call in [*calls, len(lines)]:
        work(lines, begin, call, boxes, low, high, slope_low, slope_high, finite)
        begin = call + 1
        if call < len(lines):
            a = int(lines["a"][call])
            known = (slope_low[a].T, slope_high[a].T) if slopes else None
            of = Quantity(Way([], count, False), (low[a], high[a]), known, np.zeros(count), 0)
            value = function(program.names[int(lines["b"][call])], of)
            low[call], high[call] = value.low, value.high
            if slopes and value.slope is not None:
                slope_low[call], slope_high[call] = value.slope[0].T, value.slope[1].T
            finite &= np.isfinite(value.low) & np.isfinite(value.high)
    at = list(program.results)
    return Worked(low[at], high[at], slope_low[at], slope_high[at], finite)


@inlined
def outward(low: float, high: float) -> tuple[float, float]:
    """NaN, where infinities met, to everything."""
    low, high = low - (NEXT * abs(low) + LEAST), high + (NEXT * abs(high) + LEAST)
    if low <= high:
        return low, high
    return -np.inf, np.inf


@inlined
def product(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    p, q, r, s = a * c, a * d, b * c, b * d
    if math.isnan(p) or math.isnan(q) or math.isnan(r) or math.isnan(s):
        return -np.inf, np.inf
    return outward(min(p, q, r, s), max(p, q, r, s))


@inlined
def quotient(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    if not (c > 0.0 or d < 0.0):
        return -np.inf, np.inf
    p, q, r, s = a / c, a / d, b / c, b / d
    if math.isnan(p) or math.isnan(q) or math.isnan(r) or math.isnan(s):
        return -np.inf, np.inf
    return outward(min(p, q, r, s), max(p, q, r, s))


@kernel
def work(
    lines: Array, begin: int, end: int, boxes: Array, low: Array, high: Array, sl: Array, sh: Array, finite: Array
) -> None:
    """Lines without calls, over all boxes; `sl`, `sh`: slopes, of no inputs if they are not asked."""
    count, width = boxes.shape[0], sl.shape[1]
    for k in range(begin, end):
        code, a, b = lines[k].code, lines[k].a, lines[k].b
        if code == INPUT:
            for n in range(count):
                low[k, n], high[k, n] = boxes[n, a, 0], boxes[n, a, 1]
            for n in range(count if width > 0 else 0):
                sl[k, a, n] = sh[k, a, n] = 1.0
        elif code == CONST:
            for n in range(count):
                low[k, n] = high[k, n] = lines[k].constant
        elif code == ADD:
            for n in range(count):
                low[k, n], high[k, n] = outward(low[a, n] + low[b, n], high[a, n] + high[b, n])
        elif code == SUB:
            for n in range(count):
                low[k, n], high[k, n] = outward(low[a, n] - high[b, n], high[a, n] - low[b, n])
        elif code == MUL:
            for n in range(count):
                low[k, n], high[k, n] = product(low[a, n], high[a, n], low[b, n], high[b, n])
        elif code == DIV:
            for n in range(count):
                low[k, n], high[k, n] = quotient(low[a, n], high[a, n], low[b, n], high[b, n])
        else:
            for n in range(count):
                least, most = low[a, n] * low[a, n], high[a, n] * high[a, n]
                least, most = outward(min(least, most), max(least, most))
                through = low[a, n] <= 0.0 and high[a, n] >= 0.0
                low[k, n], high[k, n] = 0.0 if through or least < 0.0 else least, most
        for n in range(count):
            finite[n] &= low[k, n] > -np.inf and high[k, n] < np.inf
        for j in range(width):
            if not (lines[k].inputs >> j) & 1:
                continue
            if code == ADD:
                for n in range(count):
                    sl[k, j, n], sh[k, j, n] = outward(sl[a, j, n] + sl[b, j, n], sh[a, j, n] + sh[b, j, n])
            elif code == SUB:
                for n in range(count):
                    sl[k, j, n], sh[k, j, n] = outward(sl[a, j, n] - sh[b, j, n], sh[a, j, n] - sl[b, j, n])
            elif code == MUL:
                for n in range(count):
                    p, q = product(sl[a, j, n], sh[a, j, n], low[b, n], high[b, n])
                    r, s = product(sl[b, j, n], sh[b, j, n], low[a, n], high[a, n])
                    sl[k, j, n], sh[k, j, n] = outward(p + r, q + s)
            elif code == DIV:
                for n in range(count):
                    p, q = product(low[k, n], high[k, n], sl[b, j, n], sh[b, j, n])
                    p, q = outward(sl[a, j, n] - q, sh[a, j, n] - p)
                    sl[k, j, n], sh[k, j, n] = quotient(p, q, low[b, n], high[b, n])
            elif code == SQR:
                for n in range(count):
                    sl[k, j, n], sh[k, j, n] = product(2.0 * low[a, n], 2.0 * high[a, n], sl[a, j, n], sh[a, j, n])
