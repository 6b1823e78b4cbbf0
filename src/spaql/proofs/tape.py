"""Traced paths as instructions for the machine: one tape for all plants, so that the machine is
compiled once."""

from collections.abc import Sequence

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.graph import Graph, Node
from spaql.proofs.tracing import Path

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
    """Writes one path: conditions first, in the order in which they were asked, each with what it
    needs."""

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
