"""What a certificate is about, as hashes: of the controller's numbers, and of the plant's equations
as they were traced.

The checker compares them so that nobody reads a certificate for something else. It trusts them with
nothing more: what it verifies, it verifies for the plant and the controller that it is given.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spaql.plants.problem import Problem
from spaql.policy.controller import Controller
from spaql.policy.policy import Policy
from spaql.proofs.graph import Graph
from spaql.proofs.tracing import paths
from spaql.trees.tree import Tree


def of_rules(rules: Tree) -> str:
    """Of all numbers of a controller."""
    parts = [
        *(rules.nodes[name] for name in ("feature", "cut", "low", "high")),
        rules.weights,
        rules.actions,
    ]
    parts += [] if rules.laws is None else [np.asarray(part, float) for part in rules.laws]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{part.shape}".encode() + np.ascontiguousarray(part, "<f8").tobytes())
    return digest.hexdigest()


def of_controller(policy: Policy | Controller) -> str:
    """Of the rules of a policy, or of the expressions of a function."""
    if isinstance(policy, Controller):
        return _of_paths([(policy.function, len(policy.problem.state))], hashlib.sha256())
    return of_rules(policy.rules)


def of_plant(problem: Problem) -> str:
    """Of the expressions of `step` and `observe` on all their paths, or of the differential equation: the same on every
    machine and Python."""
    plant, digest = problem.plant, hashlib.sha256()
    assert plant is not None
    seen = (None if plant.observe is None else plant.observe.python, plant.state_dim)
    parts = [(plant.step.python, plant.step.parameters), seen]
    if plant.flow is not None:
        flow, states = plant.flow, plant.state_dim
        parts = [(flow.derivative, states + plant.action_dim), (flow.over, states), seen]
        digest.update(repr(("differential equation", flow.dt, flow.names)).encode())
    return _of_paths(parts, digest)


def _of_paths(parts: Sequence[tuple[Callable[..., Any] | None, int]], digest: Any) -> str:
    for function, inputs in parts:
        graph = Graph()
        ways = [] if function is None else paths(function, inputs, graph)
        digest.update(repr((graph.nodes, ways)).encode())
    text: str = digest.hexdigest()
    return text
