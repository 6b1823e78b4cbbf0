"""What stands behind a monitor, as data: two controllers, the region of the first, and how it is said."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spaql.export.heading import affine, facts, identifiers, labelled, single_at_least
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Axis
from spaql.plants.problem import Problem
from spaql.plants.signals import Signals
from spaql.policy.controller import Controller
from spaql.policy.digits import number
from spaql.policy.policy import Policy
from spaql.policy.words import one_line, variable_names, variable_units
from spaql.proofs.proof import Proof

ROUNDED = 1e-5  # by which a proven ellipsoid is smaller, for what sums in exported code lose
FLATTEST = 1e-6  # variance of an ellipsoid in one direction, as share of that of its variables
ATTRACTED = "proven: no sample leaves it, and each is nearer"
# why a fallback has taken over
OUTSIDE, UNUSABLE_INPUT, ASKED = 1, 2, 3
CAUSES = {OUTSIDE: "outside the region", UNUSABLE_INPUT: "a measurement is no number", ASKED: "asked for"}


@dataclass(frozen=True)
class ActingRegion:
    """Where a law may act, by variable that it sees: a box, and if there are rows, |rows · (x - centre)|² <= 1."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    centre: tuple[float, ...] = ()
    rows: tuple[tuple[float, ...], ...] = ()
    source: str = ""

    def conditions(
        self, words: Sequence[str], sums: Sequence[str], literal: Callable[[float], str], single: bool = False
    ) -> tuple[list[str], list[str]]:
        """Texts of the sums of the ellipsoid, which get the names `sums`, and conditions that must all hold."""
        tests = []
        for word, low, high in zip(words, self.low, self.high, strict=True):
            least, most = (single_at_least(low), -single_at_least(-high)) if single else (low, high)
            tests += [f"{word} >= {literal(least)}"] if math.isfinite(low) else []
            tests += [f"{word} <= {literal(most)}"] if math.isfinite(high) else []
        texts = []
        for row in self.rows:
            offset = -sum(a * c for a, c in zip(row, self.centre, strict=True))
            texts.append(affine(row, offset, words, literal))
        if texts:
            tests.append(f"{' + '.join(f'{name} * {name}' for name in sums)} <= {literal(1.0)}")
        return texts, tests or [f"{words[0]} <= {words[0]}"]


def around(seen: Array, margin: float) -> tuple[Array, Array]:
    """The ellipsoid of the covariance that holds all that was seen; variables that never change are left to the box."""
    centre, spread = seen.mean(axis=0), seen.std(axis=0)
    moving = spread > 0.0
    if not moving.any():
        raise SpaqlError("ellipsoid: what was seen never changes; leave it out")
    scaled = (seen[:, moving] - centre[moving]) / spread[moving]
    values, vectors = np.linalg.eigh(scaled.T @ scaled / len(scaled))
    rows = vectors.T / np.sqrt(np.maximum(values, FLATTEST))[:, None]
    farthest = float(np.sqrt(((scaled @ rows.T) ** 2).sum(axis=1).max())) * (1.0 + 2.0 * margin)
    whole = np.zeros((len(rows), len(centre)))
    whole[:, moving] = rows / farthest / spread[moving]
    return centre, whole


def attracted(proof: Proof, names: Sequence[str]) -> tuple[Array, Array]:
    """The ellipsoid of a proof that no sample leaves, whatever starts are open."""
    evidence = proof.evidence[0] if proof.evidence else {}
    if evidence.get("kind") != "attraction" or list(proof.claim.variables) != list(names):
        kind = "ellipsoid=True goes with a proof of attraction, policy.prove(reach=...) of a differential equation"
        raise SpaqlError(f"region: {kind}, about what the law sees; without it, proven bounds are taken")
    return np.array(evidence["centre"]), np.linalg.inv(np.array(evidence["sides"])) * (1.0 + ROUNDED)


class Side(NamedTuple):
    """One of the two controllers."""

    controller: Policy | Controller
    signals: Signals | None  # of its loop
    given: tuple[int | float, ...]  # by its inputs: the number of the input of the whole, or what it always is

    def inputs(self, place: str, literal: Callable[[float], str]) -> list[str]:
        """How its inputs are read; `place`: an element of those of the whole, "input[{}]"."""
        return [place.format(value) if isinstance(value, int) else literal(value) for value in self.given]


class Sides(NamedTuple):
    """A law with its monitor, ready to be written down."""

    inputs: tuple[Axis, ...]  # what is measured, then the references
    outputs: tuple[str, ...]
    first: tuple[float, ...]  # what counts as applied before the first step
    law: Side
    fallback: Side
    region: ActingRegion

    @property
    def policy(self) -> Policy:
        assert isinstance(self.law.controller, Policy)
        return self.law.controller

    @property
    def remembers(self) -> bool:
        """Whether one of them has a memory, which begins anew when it takes over."""
        return self.law.signals is not None or self.fallback.signals is not None

    def seen(self, reserved: frozenset[str], fold: bool = False) -> list[str]:
        """Identifiers of what the law sees."""
        return identifiers(measured_names(self.policy.problem), reserved | set(self.sums()), fold)

    def sums(self) -> list[str]:
        return [f"sum{k + 1}" for k in range(len(self.region.rows))]


def measured_names(problem: Problem) -> list[str]:
    """What the law is given: features are made of it."""
    return variable_names(problem)[: len(problem.measured)]


class AnyMonitor:
    """A monitor before it is applied to a policy: see monitor.py."""

    def of(self, policy: Policy) -> Sides:
        raise NotImplementedError


def sides_of(policy: Policy, monitor: AnyMonitor) -> Sides:
    if not isinstance(monitor, AnyMonitor):
        raise SpaqlError(f"monitor must be a spaql.Monitor, not {echoed(monitor)}")
    return monitor.of(policy)


def written(side: Side) -> Policy:
    """A controller that has a source in other languages."""
    if isinstance(side.controller, Controller):
        own = side.controller.name
        raise SpaqlError(f"{own} is a Python function, which only Python can run: give fallback={own}.laws()")
    return side.controller


def monitor_facts(sides: Sides, place: str = "", reset: str = "reset") -> list[str]:
    """The comment on top of a program. `place`: elements of inputs and outputs, such as "{}[{}]"."""
    policy, region = sides.policy, sides.region
    lines = facts(policy, interface=False)[:-2]
    lines += ["", f"The law acts while all of this holds; else the fallback does, until {reset}:"]
    names, units = measured_names(policy.problem), variable_units(policy.problem)
    for name, unit, low, high in zip(names, units, region.low, region.high, strict=False):
        if math.isfinite(low) or math.isfinite(high):
            ends = f"from {number(low)} to {number(high)}" if math.isfinite(low) and math.isfinite(high) else ""
            ends = ends or (f"at least {number(low)}" if math.isfinite(low) else f"at most {number(high)}")
            lines.append(f"  {one_line(labelled(name, unit))} {ends}")
    if region.rows:
        middle = ", ".join(number(value) for value in region.centre)
        lines.append(f"  within an ellipsoid around ({middle})")
    lines += ["  all measurements are numbers", f"Region: {one_line(region.source)}."]
    lines += [f"Fallback: {one_line(line)}" for line in said(sides.fallback.controller)]
    lines.append("Cause: " + ", ".join(f"{code}: {text}" for code, text in CAUSES.items()) + ".")
    if place:
        lines.append("")
        for j, axis in enumerate(sides.inputs):
            lines.append(f"  {place.format('input', j)}  {one_line(labelled(axis.name, axis.unit))}")
        for j, name in enumerate(sides.outputs):
            lines.append(f"  {place.format('output', j)}  {one_line(name)}, to be applied")
    return lines


def said(controller: Policy | Controller) -> list[str]:
    """What a controller is, in words."""
    if isinstance(controller, Controller):
        return [f"{controller.name}, a Python function."]
    leaves = controller.rules.leaves().tolist()
    if len(leaves) == 1 and controller.has_laws:
        return [f"{controller.kind}, {line}" for line in controller.words.leaf_lines(leaves[0])]
    if len(leaves) == 1:
        return [f"{controller.kind}, {controller.words.leaf_action(leaves[0])}"]
    return [repr(controller).strip("<>")]
