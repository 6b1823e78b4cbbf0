"""The expressions of a plant as nodes of a graph: every operation on a symbol adds one, equal ones are the same.

And the ways through it as instructions for the machine: one tape for all plants, so that the machine is compiled once.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array

Node = int
MOST_BRANCHES = 40  # decisions on one path
MOST_POWER = 16


class TraceError(BaseException):
    """What cannot be stated as arithmetic. Becomes a SpaqlError with the line of the user's
    function.

    No `except Exception` of the user's function can catch it and go on with a guess.
    """


class Graph:
    """Nodes are tuples (operation, operands). `answers` are those of the conditions of the run that is under way."""

    def __init__(self) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self.index: dict[tuple[Any, ...], Node] = {}
        self.given: list[bool] = []
        self.answers: list[tuple[Node, bool]] = []

    def node(self, operation: str, *operands: Any) -> Node:
        key = (operation, *operands)
        if key not in self.index:
            self.index[key] = len(self.nodes)
            self.nodes.append(key)
        return self.index[key]

    def constant(self, value: Any) -> Node:
        number = float(value)
        if math.isnan(number):
            raise TraceError("a constant that is not a number")
        return self.node("const", number)

    def answer(self, condition: Node) -> bool:
        """Of a condition that an `if` asks: as before on this path, as given, or first yes."""
        for known, answer in self.answers:
            if known == condition:
                return answer
        step = len(self.answers)
        if step == MOST_BRANCHES:
            raise TraceError(
                f"more than {MOST_BRANCHES} decisions on one path, such as a loop that waits for the state"
            )
        answer = self.given[step] if step < len(self.given) else True
        self.answers.append((condition, answer))
        return answer


class Symbol:
    """A number that is not known. Arithmetic with it adds nodes; what would need its value is refused."""

    __slots__ = ("graph", "place")
    __array_ufunc__ = None  # NumPy's own functions shall not take it apart
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, graph: Graph, place: Node) -> None:
        self.graph, self.place = graph, place

    def of(self, other: Any) -> Node:
        """The node of an operand."""
        if isinstance(other, Symbol):
            return other.place
        if isinstance(other, Condition):
            raise TraceError("arithmetic with a condition")
        return self.graph.constant(other)

    def made(self, operation: str, *operands: Node) -> "Symbol":
        return Symbol(self.graph, self.graph.node(operation, *operands))

    def __add__(self, other: Any) -> "Symbol":
        return self.made("add", self.place, self.of(other))

    def __radd__(self, other: Any) -> "Symbol":
        return self.made("add", self.of(other), self.place)

    def __sub__(self, other: Any) -> "Symbol":
        return self.made("sub", self.place, self.of(other))

    def __rsub__(self, other: Any) -> "Symbol":
        return self.made("sub", self.of(other), self.place)

    def __mul__(self, other: Any) -> "Symbol":
        factor = self.of(other)
        return self.made("sqr", factor) if factor == self.place else self.made("mul", self.place, factor)

    def __rmul__(self, other: Any) -> "Symbol":
        return self.made("mul", self.of(other), self.place)

    def __truediv__(self, other: Any) -> "Symbol":
        return self.made("div", self.place, self.of(other))

    def __rtruediv__(self, other: Any) -> "Symbol":
        return self.made("div", self.of(other), self.place)

    def __neg__(self) -> "Symbol":
        return self.made("neg", self.place)

    def __pos__(self) -> "Symbol":
        return self

    def __abs__(self) -> "Symbol":
        return self.made("abs", self.place)

    def __pow__(self, power: Any) -> "Symbol":
        if isinstance(power, Symbol | Condition):
            raise TraceError("a power that depends on the state")
        if float(power) == 0.5:
            return self.made("sqrt", self.place)
        if not 1 <= float(power) <= MOST_POWER or float(power) != int(power):
            raise TraceError(f"the power {power}: whole ones from 1 to {MOST_POWER} and 0.5 are known")
        half = self if power == 1 else self ** (int(power) // 2)
        if power == 1:
            return half
        return half * half if int(power) % 2 == 0 else half * half * self

    def __floordiv__(self, other: Any) -> "Symbol":
        return self.made("floor", (self / other).place)

    def __mod__(self, other: Any) -> "Symbol":
        turns: Symbol = other * (self // other)
        return self - turns

    def __ge__(self, other: Any) -> "Condition":
        return Condition(self.graph, self.graph.node("ge", self.place, self.of(other)))

    def __gt__(self, other: Any) -> "Condition":
        return Condition(self.graph, self.graph.node("gt", self.place, self.of(other)))

    def __le__(self, other: Any) -> "Condition":
        return Condition(self.graph, self.graph.node("ge", self.of(other), self.place))

    def __lt__(self, other: Any) -> "Condition":
        return Condition(self.graph, self.graph.node("gt", self.of(other), self.place))

    def __eq__(self, other: Any) -> "Condition":  # type: ignore[override]
        return Condition(self.graph, self.graph.node("eq", self.place, self.of(other)))

    def __ne__(self, other: Any) -> "Condition":  # type: ignore[override]
        same: Condition = self == other
        return ~same

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    def refuse(self) -> Any:
        raise TraceError("the value of a symbol is needed: a function that is not known, int() or an index")

    __float__ = __int__ = __index__ = __trunc__ = __round__ = refuse


class Condition:
    """A truth that is not known. `bool()` asks for the answer of this path."""

    __slots__ = ("graph", "place")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, graph: Graph, place: Node) -> None:
        self.graph, self.place = graph, place

    def of(self, other: Any) -> Node:
        if isinstance(other, Condition):
            return other.place
        return self.graph.node("true" if other else "false")

    def __and__(self, other: Any) -> "Condition":
        return Condition(self.graph, self.graph.node("and", self.place, self.of(other)))

    def __or__(self, other: Any) -> "Condition":
        return Condition(self.graph, self.graph.node("or", self.place, self.of(other)))

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> "Condition":
        return Condition(self.graph, self.graph.node("not", self.place))

    def __bool__(self) -> bool:
        return self.graph.answer(self.place)

    def refuse(self, *_: Any) -> Any:
        raise TraceError("arithmetic with a condition: write `1.0 if ... else 0.0`")

    __float__ = __int__ = __index__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __xor__ = __rxor__ = refuse


# -- instructions ------------------------------------------------------------------------------------------------------


class Path(NamedTuple):
    """One way through a function."""

    conditions: tuple[tuple[Node, bool], ...]  # in the order in which they were asked
    outputs: tuple[Node, ...]
    truth: Node | None  # of a function that also returns a truth


OPERATIONS = (
    "x", "const", "add", "sub", "mul", "div", "neg", "sqr", "abs", "min", "max", "floor", "sin", "cos", "exp", "log",
    "sqrt", "tanh", "atan", "true", "false", "ge", "gt", "eq", "and", "or", "not", "ask", "cut", "same", "out", "truth",
)  # fmt: skip
CODE = {name: code for code, name in enumerate(OPERATIONS)}
(
    X, CONST, ADD, SUB, MUL, DIV, NEG, SQR, ABS, MIN, MAX, FLOOR, SIN, COS, EXP, LOG, SQRT, TANH, ATAN,
    TRUE, FALSE, GE, GT, EQ, AND, OR, NOT, ASK, CUT, SAME, OUT, TRUTH,
) = range(len(OPERATIONS))  # fmt: skip
# what is done; where the result goes; the two operands, or the number of an input, or the answer to a condition; the
# constant; and, a bit each, the inputs on which the result depends
INSTRUCTION = np.dtype(
    [("code", "i4"), ("to", "i4"), ("a", "i4"), ("b", "i4"), ("constant", "f8"), ("inputs", "u8")], align=True
)


class Writer:
    """Writes one path: conditions first, in the order in which they were asked, each with what it needs."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lines: list[tuple[int, int, int, int, float, int]] = []
        self.place: dict[Node, int] = {}
        self.inputs: dict[Node, int] = {}

    def need(self, node: Node) -> int:
        """The place of a node's value, written after those of its operands."""
        pending = [(node, False)]
        while pending:
            at, ready = pending.pop()
            if at in self.place:
                continue
            operation, *operands = self.graph.nodes[at]
            inner = [] if operation in ("x", "const", "true", "false") else operands
            if not ready:
                pending += [(at, True), *((operand, False) for operand in inner)]
                continue
            self.inputs[at] = 1 << operands[0] if operation == "x" else 0
            for operand in inner:
                self.inputs[at] |= self.inputs[operand]
            a, b, *_ = [operands[0] if operation == "x" else 0, 0] if not inner else [*map(self.place.get, inner), 0]
            constant = operands[0] if operation == "const" else 0.0
            self.place[at] = len(self.place)
            self.lines.append((CODE[operation], self.place[at], a or 0, b or 0, constant, self.inputs[at]))
        return self.place[node]

    def refine(self, condition: Node, answer: bool) -> None:
        """What an answer says about the values that were compared."""
        operation, *operands = self.graph.nodes[condition]
        if operation == "not":
            self.refine(operands[0], not answer)
        elif operation == ("and" if answer else "or"):
            self.refine(operands[0], answer)
            self.refine(operands[1], answer)
        elif operation in ("ge", "gt"):  # a >= b, or else b >= a
            large, small = operands if answer else operands[::-1]
            self.lines.append((CUT, 0, self.place[large], self.place[small], 0.0, 0))
        elif operation == "eq" and answer:
            self.lines.append((SAME, 0, self.place[operands[0]], self.place[operands[1]], 0.0, 0))

    def write(self, path: Path) -> Array:
        for condition, answer in path.conditions:
            place = self.need(condition)
            self.lines.append((ASK, 0, place, int(answer), 0.0, 0))
            self.refine(condition, answer)
        for number, output in enumerate(path.outputs):
            place = self.need(output)
            self.lines.append((OUT, number, place, 0, 0.0, self.inputs[output]))
        if path.truth is not None:
            place = self.need(path.truth)
            self.lines.append((TRUTH, 0, place, 0, 0.0, 0))
        return np.array(self.lines, INSTRUCTION)


def joined(graph: Graph, paths: Sequence[Path]) -> tuple[Array, Array]:
    """The tapes of paths one after the other, and where each begins and the last one ends."""
    tapes = [Writer(graph).write(path) for path in paths]
    return np.concatenate(tapes), np.cumsum([0, *map(len, tapes)]).astype(np.int64)
