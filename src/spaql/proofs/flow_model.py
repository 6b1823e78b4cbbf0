"""The differential equation of a plant as programs for the machine.

Inputs are the state, the held action and the time since the substep began. With x[k] the Taylor coefficients of the
solution (series.py), over one substep of length h:

    RATES       f(x, u)
    POLYNOMIAL  x[0] + x[1] t + ... + x[K-1] t^(K-1), and the held action
    REST        x[K]: with a box B around the way, x(t) lies in POLYNOMIAL(x, u, t) + t^K REST(B, u)   (Lagrange)
    GAPS        a - b for every comparison a >= b, a > b, a == b in `over`
    then one program for each way through `over`: its conditions on the gaps, and whether it says yes
"""

from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.proofs.graph import Graph, Node
from spaql.proofs.series import TaylorSeries
from spaql.proofs.tape import INSTRUCTION, joined
from spaql.proofs.tracing import Path, paths

ORDER = 5  # K: of the remainder; each more costs a third of the time, and the rest of a substep is small then
RATES, POLYNOMIAL, REST, GAPS, LOGIC = 0, 1, 2, 3, 5  # where programs begin; 4: where GAPS ends


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
