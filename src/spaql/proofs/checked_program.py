"""The checker's programs: what a plant's own functions do to numbers is written down once for every way through their
branches. checked_work.py works it out."""

from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.proofs.checked_functions import NAMES

INPUT, CONST, ADD, SUB, MUL, DIV, SQR, ABS, MIN, MAX, FLOOR, CALL = range(12)
GE, GT, EQ, AND, OR, NOT, YES, NO, LARGER = range(12, 21)  # YES, NO: an answer; LARGER: a >= b from here on
TWO = (ADD, SUB, MUL, DIV, MIN, MAX, GE, GT, EQ, AND, OR, LARGER)
MOST_QUESTIONS = 60
LINE = np.dtype([("code", "i8"), ("a", "i8"), ("b", "i8"), ("constant", "f8"), ("inputs", "i8")])


# -- writing down ------------------------------------------------------------------------------------------------------


class Written:
    """Lines of an operation and its operands, each once, on one way: `given` are the first answers to its questions."""

    def __init__(self, given: list[bool] | None = None) -> None:
        self.lines: list[tuple[int, int, int, float]] = []
        self.places: dict[tuple[int, int, int, float], int] = {}
        self.given, self.taken, self.answers = given or [], list[bool](), dict[int, bool]()

    def place(self, code: int, a: int, b: int = 0, constant: float = 0.0) -> int:
        key = code, a, b, constant
        if key not in self.places:
            self.places[key] = len(self.lines)
            self.lines.append(key)
        return self.places[key]

    def line(self, code: int, a: int, b: int = 0, constant: float = 0.0) -> "Recorded":
        return Recorded(self, self.place(code, a, b, constant))

    def inputs(self, count: int) -> list["Recorded"]:
        return [self.line(INPUT, j) for j in range(count)]

    def ask(self, truth: int) -> bool:
        """The answer that this way gives; from here on what follows from it is known."""
        if truth not in self.answers:
            answer = self.given[len(self.taken)] if len(self.taken) < len(self.given) else True
            self.taken.append(answer)
            self.answers[truth] = answer
            if len(self.taken) > MOST_QUESTIONS:
                raise SpaqlError(f"the plant asks more than {MOST_QUESTIONS} questions: it cannot be checked")
            self.lines.append((YES if answer else NO, truth, 0, 0.0))
            self._follows(truth, answer)
        return self.answers[truth]

    def _follows(self, truth: int, answer: bool) -> None:
        code, a, b, _ = self.lines[truth]
        if code in (GE, GT):
            self.lines.append((LARGER, *((a, b) if answer else (b, a)), 0.0))
        elif code == EQ and answer:
            self.lines += [(LARGER, a, b, 0.0), (LARGER, b, a, 0.0)]
        elif code == NOT:
            self._follows(a, not answer)
        elif (code == AND and answer) or (code == OR and not answer):
            self._follows(a, answer)
            self._follows(b, answer)


class Recorded:
    """A number that a program works out."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, written: Written, place: int) -> None:
        self.written, self.place = written, place

    def of(self, other: Any) -> "Recorded":
        if isinstance(other, Truth):
            raise SpaqlError("arithmetic with a condition cannot be checked")
        return other if isinstance(other, Recorded) else self.written.line(CONST, 0, 0, float(other))

    def with_(self, code: int, other: Any) -> "Recorded":
        return self.written.line(code, self.place, self.of(other).place)

    def __add__(self, other: Any) -> "Recorded":
        return self.with_(ADD, other)

    def __sub__(self, other: Any) -> "Recorded":
        return self.with_(SUB, other)

    def __mul__(self, other: Any) -> "Recorded":
        b = self.of(other)
        return self.written.line(SQR, self.place) if b.place == self.place else self.with_(MUL, b)

    def __truediv__(self, other: Any) -> "Recorded":
        return self.with_(DIV, other)

    def __neg__(self) -> "Recorded":
        return self.of(0.0) - self

    def __pos__(self) -> "Recorded":
        return self

    def __abs__(self) -> "Recorded":
        return self.written.line(ABS, self.place)

    def __radd__(self, other: Any) -> "Recorded":
        return self.of(other) + self

    def __rsub__(self, other: Any) -> "Recorded":
        return self.of(other) - self

    def __rmul__(self, other: Any) -> "Recorded":
        return self.of(other) * self

    def __rtruediv__(self, other: Any) -> "Recorded":
        return self.of(other) / self

    def __pow__(self, power: Any) -> "Recorded":
        if isinstance(power, Recorded) or (float(power) != 0.5 and not 1 <= int(power) == float(power) <= 16):
            raise SpaqlError(f"the power {power!r} cannot be checked")
        if power == 0.5:
            return self.called("sqrt")
        if power == 1:
            return self
        half: Recorded = self ** (int(power) // 2)
        square: Recorded = half * half
        return square * self if power % 2 else square

    def __floordiv__(self, other: Any) -> "Recorded":
        ratio: Recorded = self / other
        return ratio.called("floor")

    def __mod__(self, other: Any) -> "Recorded":
        turns: Recorded = other * (self // other)
        return self - turns

    def called(self, name: str) -> "Recorded":
        if name == "floor":
            return self.written.line(FLOOR, self.place)
        return self.written.line(CALL, self.place, NAMES.index(name))

    def _compared(self, code: int, a: "Recorded", b: "Recorded") -> "Truth":
        return Truth(self.written, self.written.place(code, a.place, b.place))

    def __ge__(self, other: Any) -> "Truth":
        return self._compared(GE, self, self.of(other))

    def __gt__(self, other: Any) -> "Truth":
        return self._compared(GT, self, self.of(other))

    def __le__(self, other: Any) -> "Truth":
        return self._compared(GE, self.of(other), self)

    def __lt__(self, other: Any) -> "Truth":
        return self._compared(GT, self.of(other), self)

    def __eq__(self, other: Any) -> "Truth":  # type: ignore[override]
        return self._compared(EQ, self, self.of(other))

    def __ne__(self, other: Any) -> "Truth":  # type: ignore[override]
        same: Truth = self == other
        return ~same

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    def _refused(self, *_: Any) -> Any:
        raise SpaqlError("the plant needs the value of a number that is not known: it cannot be checked")

    __float__ = __int__ = __index__ = __round__ = __trunc__ = _refused


class Truth:
    """A comparison, or several joined. `bool` asks for the answer of this way."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, written: Written, place: int) -> None:
        self.written, self.place = written, place

    def __bool__(self) -> bool:
        return self.written.ask(self.place)

    def __invert__(self) -> "Truth":
        return Truth(self.written, self.written.place(NOT, self.place))

    def __and__(self, other: Any) -> Any:
        if not isinstance(other, Truth):
            return self if other else False
        return Truth(self.written, self.written.place(AND, self.place, other.place))

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Truth):
            return True if other else self
        return Truth(self.written, self.written.place(OR, self.place, other.place))

    __rand__, __ror__ = __and__, __or__


class Program(NamedTuple):
    """Lines, and which are results."""

    lines: Array
    results: tuple[int, ...]
    inputs: int


def program_of(results: list[Any], written: Written, inputs: int) -> Program:
    """Only of the lines that the results need, where nothing is asked."""
    places = [(item if isinstance(item, Recorded) else written.line(CONST, 0, 0, item)).place for item in results]
    needed, pending = set[int](), list(places)
    while pending:
        place = pending.pop()
        if place not in needed:
            needed.add(place)
            code, a, b, _ = written.lines[place]
            pending += [] if code in (INPUT, CONST) else [a, b] if code in TWO else [a]
    order = sorted(needed)
    return Program(_lines(written, order), tuple(order.index(place) for place in places), inputs)


def whole_program(written: Written, inputs: int) -> Program:
    """With all of its lines: whether a function is defined depends on what it does not use, too."""
    return Program(_lines(written, list(range(len(written.lines)))), (), inputs)


def _lines(written: Written, order: list[int]) -> Array:
    at = {place: k for k, place in enumerate(order)}
    lines = np.zeros(len(order), LINE)
    for k, place in enumerate(order):
        code, a, b, constant = written.lines[place]
        first, second = a if code in (INPUT, CONST) else at[a], at[b] if code in TWO else b
        bits = 1 << a if code == INPUT else 0 if code == CONST else int(lines["inputs"][first])
        bits |= int(lines["inputs"][second]) if code in TWO else 0
        lines[k] = (code, first, second, constant, bits)
    return lines
