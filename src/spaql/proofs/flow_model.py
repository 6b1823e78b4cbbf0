"""The differential equation of a plant as programs for the machine.

Inputs are the state, the held action and the time since the substep began. With x[k] the Taylor coefficients of the
solution, over one substep of length h:

    RATES       f(x, u)
    POLYNOMIAL  x[0] + x[1] t + ... + x[K-1] t^(K-1), and the held action
    REST        x[K]: with a box B around the way, x(t) lies in POLYNOMIAL(x, u, t) + t^K REST(B, u)   (Lagrange)
    GAPS        a - b for every comparison a >= b, a > b, a == b in `over`
    then one program for each way through `over`: its conditions on the gaps, and whether it says yes

With x' = f(x, u), u held, and [k] the coefficient of t^k along the solution:  x[k+1] = f[k] / (k + 1), and those of
every operation in f follow from those of its operands (Moore 1966; Griewank and Walther 2008, table 13.2):

    (a b)[k] = sum of a[j] b[k-j]                   (a / b)[k] = (a[k] - sum of b[j] q[k-j], j >= 1) / b[0]
    s = sin a, c = cos a:  k s[k] = sum of j a[j] c[k-j],   k c[k] = -sum of j a[j] s[k-j]
    e = exp a:  k e[k] = sum of j a[j] e[k-j]       l = log a:  (a[k] - sum of j l[j] a[k-j] / k, j < k) / a[0]
    r = sqrt a: (a[k] - sum of r[j] r[k-j], 0 < j < k) / (2 r[0])
    t = tanh a: k t[k] = sum of j a[j] q[k-j] with q = 1 - t^2
    y = atan a: (a[k] - sum of j y[j] q[k-j] / k, 0 < j < k) / q[0] with q = 1 + a^2

Whole numbers are exact in double precision, so that every coefficient is an expression without rounding; the machine
rounds outwards. What is not smooth (min, max, abs, floor, a branch) has no such coefficients and is refused.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.proofs.graph import INSTRUCTION, Graph, Node, Path, joined
from spaql.proofs.tracing import paths

ORDER = 5  # K: of the remainder; each more costs a third of the time, and the rest of a substep is small then
RATES, POLYNOMIAL, REST, GAPS, LOGIC = 0, 1, 2, 3, 5  # where programs begin; 4: where GAPS ends
SMOOTH = ("x", "const", "add", "sub", "mul", "div", "neg", "sqr", "sin", "cos", "exp", "log", "sqrt", "tanh", "atan")
Term = Node | None  # None: zero


# -- coefficients of the solution --------------------------------------------------------------------------------------


class TaylorSeries:
    """Coefficients of nodes along the solution, made when they are needed."""

    def __init__(self, graph: Graph, rates: Sequence[Node], inputs: int) -> None:
        """`rates`: f, whose first variables are inputs 0, 1, ... of the graph; all others are held."""
        self.graph, self.rates, self.inputs = graph, rates, inputs
        self.known: dict[tuple[str, Node, int], Term] = {}

    def _sum(self, terms: Sequence[Term]) -> Term:
        total: Term = None
        for term in terms:
            if term is not None:
                total = term if total is None else self.graph.node("add", total, term)
        return total

    def _product(self, a: Term, b: Term, times: int = 1) -> Term:
        if a is None or b is None:
            return None
        node = self.graph.node("sqr", a) if a == b else self.graph.node("mul", a, b)
        return node if times == 1 else self.graph.node("mul", self.graph.constant(times), node)

    def _less(self, a: Term, b: Term) -> Term:
        if b is None:
            return a
        return self.graph.node("neg", b) if a is None else self.graph.node("sub", a, b)

    def _over(self, a: Term, b: Term) -> Term:
        if b is None:
            raise SpaqlError("the derivative divides by zero, so nothing is proven")
        return None if a is None else self.graph.node("div", a, b)

    def _by(self, a: Term, number: int) -> Term:
        return a if number == 1 else self._over(a, self.graph.constant(number))

    def of(self, node: Node, k: int) -> Term:
        """node[k]"""
        return self._once("value", node, k)

    def _once(self, what: str, node: Node, k: int) -> Term:
        """`what`: the node itself, or the function that goes along with it."""
        key = (what, node, k)
        if key not in self.known:
            self.known[key] = self._value(node, k) if what == "value" else self._partner(node, k)
        return self.known[key]

    def _value(self, node: Node, k: int) -> Term:
        operation, *operands = self.graph.nodes[node]
        if operation not in SMOOTH:
            raise SpaqlError(f"the derivative is not smooth: `{operation}` has no Taylor series, so nothing is proven")
        if operation == "x":
            place = operands[0]
            if k == 0 or place >= len(self.rates):
                return node if k == 0 else None
            return self._by(self.of(self.rates[place], k - 1), k)
        if operation == "const":
            return node if k == 0 and operands[0] != 0.0 else None
        a = operands[0]
        if k == 0:
            terms = [self.of(operand, 0) for operand in operands]
            if None not in terms:
                return self.graph.node(operation, *terms)
            if operation not in ("add", "sub", "mul", "div", "neg", "sqr"):
                return node
        if operation == "add":
            return self._sum([self.of(operand, k) for operand in operands])
        if operation == "sub":
            return self._less(self.of(a, k), self.of(operands[1], k))
        if operation == "neg":
            return self._less(None, self.of(a, k))
        if operation == "mul":
            return self._sum([self._product(self.of(a, j), self.of(operands[1], k - j)) for j in range(k + 1)])
        if operation == "sqr":
            return self._square("value", a, k, 0)
        if operation == "div":
            b = operands[1]
            rest = self._sum([self._product(self.of(b, j), self.of(node, k - j)) for j in range(1, k + 1)])
            return self._over(self._less(self.of(a, k), rest), self.of(b, 0))
        if operation in ("sin", "cos", "exp", "tanh"):
            total = self._sum(
                [self._product(self.of(a, j), self._once("partner", node, k - j), j) for j in range(1, k + 1)]
            )
            return self._by(total, k)
        if operation == "sqrt":
            rest = self._less(self.of(a, k), self._square("value", node, k, 1))
            return self._over(rest, self.graph.node("mul", self.graph.constant(2), node))
        what, base = ("value", a) if operation == "log" else ("partner", node)
        total = self._sum([self._product(self.of(node, j), self._once(what, base, k - j), j) for j in range(1, k)])
        return self._over(self._less(self.of(a, k), self._by(total, k)), self._once(what, base, 0))

    def _square(self, what: str, node: Node, k: int, first: int) -> Term:
        """(node node)[k] without the terms before `first` on both sides."""
        terms = []
        for j in range(first, (k + 1) // 2):
            terms.append(self._product(self._once(what, node, j), self._once(what, node, k - j), 2))
        if k % 2 == 0 and k // 2 >= first:
            middle = self._once(what, node, k // 2)
            terms.append(self._product(middle, middle))
        return self._sum(terms)

    def _partner(self, node: Node, k: int) -> Term:
        """sin: cos, with cos' = -sin a'; cos: -sin; exp: itself; tanh: 1 - tanh^2; atan: 1 + a^2."""
        operation, a = self.graph.nodes[node]
        if operation == "exp":
            return self.of(node, k)
        if operation == "sin":
            return self.of(self.graph.node("cos", a), k)
        if operation == "cos":
            return self._less(None, self.of(self.graph.node("sin", a), k))
        square = self._square("value", node if operation == "tanh" else a, k, 0)
        if k > 0:
            return self._less(None, square) if operation == "tanh" else square
        unit = self.graph.constant(1)
        return self._less(unit, square) if operation == "tanh" else self._sum([unit, square])

    def polynomial(self, variable: int, order: int, time: Node) -> Node:
        """sum over k < order of x[k] t^k, by Horner."""
        node, total = self.graph.node("x", variable), None
        for k in reversed(range(order)):
            total = self._sum([self.of(node, k), None if total is None else self.graph.node("mul", total, time)])
        return self.term(total)

    def term(self, term: Term) -> Node:
        return self.graph.constant(0.0) if term is None else term


# -- programs ----------------------------------------------------------------------------------------------------------


class FlowPrograms(NamedTuple):
    """Of a plant with a differential equation; without one `substeps` is zero."""

    begins: Array
    gaps: int  # comparisons in `over`
    substeps: int  # of a sample
    length: Array  # (2,) of a substep, s
    watched: bool = True  # whether anything is asked between samples


NO_FLOW = FlowPrograms(np.zeros(1, np.int64), 0, 0, np.zeros(2))


def flow_programs(
    flow: Any, actions: int, looks: Path, graph: Graph, substeps: int
) -> tuple[Array, Array, FlowPrograms]:
    """(tape, where `looks` begins and ends, programs); `looks` is of this graph."""
    d = len(flow.names)
    ways = paths(flow.derivative, d + actions, graph)
    if len(ways) > 1:
        raise SpaqlError("the derivative branches, so that it has no Taylor series: nothing is proven about it")
    series = TaylorSeries(graph, ways[0].outputs, d)
    time, held = graph.node("x", d + actions), tuple(graph.node("x", j) for j in range(d, d + actions))
    polynomial = tuple(series.polynomial(j, ORDER, time) for j in range(d))
    rest = tuple(series.term(series.of(graph.node("x", j), ORDER)) for j in range(d))
    ended = [] if flow.over is None else paths(flow.over, d, graph)
    if any(way.outputs for way in ended):
        raise SpaqlError("over must return True or False on every way through it")
    gaps, logic = list[Node](), Graph()
    stated = [_on_gaps(way, graph, gaps, logic) for way in ended]
    programs = (ways[0].outputs, (*polynomial, *held), rest, tuple(gaps))
    tape, begins = joined(graph, [*(Path((), outputs, None) for outputs in programs), looks])
    more, later = joined(logic, stated) if stated else (np.zeros(0, INSTRUCTION), np.zeros(1, np.int64))
    every = np.concatenate([begins[:LOGIC], len(tape) + later])
    h = flow.dt / substeps
    length = np.array([np.nextafter(h, 0.0), np.nextafter(h, np.inf)])
    return np.concatenate([tape, more]), begins[4:], FlowPrograms(every, len(gaps), substeps, length)


def _on_gaps(way: Path, graph: Graph, gaps: list[Node], logic: Graph) -> Path:
    """Conditions as those of gaps: a >= b is a - b >= 0."""

    def stated(node: Node) -> Node:
        operation, *operands = graph.nodes[node]
        if operation not in ("ge", "gt", "eq"):
            return logic.node(operation, *map(stated, operands))
        gap = graph.node("sub", *operands)
        if gap not in gaps:
            gaps.append(gap)
        return logic.node(operation, logic.node("x", gaps.index(gap)), logic.constant(0.0))

    conditions = tuple((stated(condition), answer) for condition, answer in way.conditions)
    assert way.truth is not None
    return Path(conditions, (), stated(way.truth))
