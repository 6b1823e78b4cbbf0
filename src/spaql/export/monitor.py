"""A monitor around an exported controller: inside a small region the learned law acts, elsewhere a fallback does.

monitor = spaql.Monitor(region={"angle": (-0.3, 0.3)}, fallback=spaql.pid(problem, kp=8.0, of="angle"))
policy.to_c(monitor=monitor)

The switch is latched: what has taken over acts until a reset. Whoever takes over begins as at its first step, but knows
what was applied last. What it looks like in a language: c.py; how often it acts: monitor_runs.py.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from spaql.data.log import read_log
from spaql.data.table import read_table
from spaql.export.monitor_parts import (
    ATTRACTED,
    ActingRegion,
    AnyMonitor,
    Side,
    Sides,
    around,
    attracted,
    measured_names,
)
from spaql.export.monitor_runs import MonitorEvaluation, MonitorRun, evaluate_monitor
from spaql.ground.arrays import Array
from spaql.ground.checks import bound, numbers, real, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.learners.agent import Agent
from spaql.plants.axes import Axis
from spaql.plants.problem import Problem
from spaql.plants.signals import Signals
from spaql.policy.controller import Controller
from spaql.policy.digits import counted, number, percent
from spaql.policy.law import vector
from spaql.policy.policy import Policy
from spaql.policy.words import action_names, variable_names
from spaql.proofs.proof import Proof
from spaql.trees.edits import constant

MARGIN = 0.05  # of the width of what was seen
WITHOUT_PLANT: dict[str, Any] = {
    "plant": None, "env": None, "env_id": None, "known": None, "limits": (), "reference": None, "features": None,
}  # fmt: skip
EPISODES = 100  # in which is counted how often a monitor acts


@dataclass(frozen=True, eq=False)
class Monitor(AnyMonitor):
    """Where a learned law may act, and what acts elsewhere, on a bad measurement and on request.

    - `region`: bounds by variable that the law sees, `{"angle": (-0.3, 0.3)}`; a proof of the law, or its file, for
      the bounds that are proven; an agent that keeps its samples (Atlas), or a log as for `replay`, for what was seen.
      None: what the plant's own data cover (`spaql.from_data`), or what the law visits in fresh episodes. Limits of the
      problem on what the law sees hold as well.
    - `fallback`: a constant action, a number or one per axis; a policy, such as `spaql.pid(...)`; in Python also a
      `spaql.Controller`
    - `margin`: by how much of its width what was seen is widened, at either end
    - `ellipsoid`: True: also within an ellipsoid around what was seen, or, of a proof of attraction, within that in
      which all samples come nearer; or (centre, matrix), by variable: (x - centre)' matrix (x - centre) <= 1
    """

    region: Any = None
    fallback: Any = None
    margin: float = MARGIN
    ellipsoid: Any = False

    def __post_init__(self) -> None:
        real("margin", self.margin, 0.0, 1e6)
        if self.fallback is None:
            raise SpaqlError("fallback says what acts outside the region: a constant action, or a controller")
        if isinstance(self.region, Mapping) and not self.region:
            raise SpaqlError("region has no bounds: give some, such as {'angle': (-0.3, 0.3)}")
        if not isinstance(self.ellipsoid, bool | Sequence | np.ndarray) or isinstance(self.ellipsoid, str):
            raise SpaqlError(f"ellipsoid is True, False or (centre, matrix), not {echoed(self.ellipsoid)}")

    def of(self, policy: Policy) -> Sides:
        """The two controllers and the region, checked against each other."""
        if not isinstance(policy, Policy):
            raise SpaqlError(f"a monitor goes with a policy, not with {type(policy).__name__}")
        signals = policy.problem.signals
        inputs = policy.problem.measured if signals is None else signals.inputs
        outputs = action_names(policy.problem) if signals is None else signals.action_names
        first = policy.problem.actions.neutral if signals is None else signals.neutral
        law_side = Side(policy, signals, tuple(range(len(inputs))))
        fallback = _fallback(policy, self.fallback, tuple(inputs))
        if signals is None and fallback.signals is not None:
            first = fallback.signals.neutral
        return Sides(tuple(inputs), tuple(outputs), tuple(first), law_side, fallback, self.region_of(policy))

    def region_of(self, policy: Policy) -> ActingRegion:
        """In numbers, with the limits of the problem."""
        names, seen, proof = measured_names(policy.problem), None, None
        if isinstance(self.region, Mapping):
            low, high = _by_hand(self.region, names)
            source = "given by hand"
        elif _is_proof(self.region):
            proof = policy.with_proof(self.region).proof
            assert proof is not None
            low, high = _by_hand({}, names) if self.ellipsoid is True else _proven(proof, names)
            source = ATTRACTED if self.ellipsoid is True else "proven bounds"
        else:
            seen, source = _seen(self.region, policy)
            low, high = seen.min(axis=0), seen.max(axis=0)
            wider = self.margin * (high - low)
            low, high = low - wider, high + wider
            source += f", widened by {percent(self.margin)}" if self.margin else ""
        for limit in policy.problem.limits:
            if limit.variable in names:
                j = names.index(limit.variable)
                low[j], high[j] = max(low[j], limit.low), min(high[j], limit.high)
        for name, least, most in zip(names, low, high, strict=True):
            if not least <= most:
                raise SpaqlError(f"region is empty: {name} would be from {number(least)} to {number(most)}")
        region = ActingRegion(tuple(low.tolist()), tuple(high.tolist()), source=source)
        if self.ellipsoid is False:
            return region
        if proof is not None and self.ellipsoid is True:
            centre, rows = attracted(proof, names)
        else:
            centre, rows = self._ellipsoid(seen, len(names))
        return replace(region, centre=tuple(centre.tolist()), rows=tuple(map(tuple, rows.tolist())))

    def _ellipsoid(self, seen: Array | None, d: int) -> tuple[Array, Array]:
        if self.ellipsoid is True:
            if seen is None:
                raise SpaqlError("ellipsoid=True goes with what was seen: give ellipsoid=(centre, matrix)")
            return around(seen, self.margin)
        if len(self.ellipsoid) != 2:
            raise SpaqlError("ellipsoid is (centre, matrix)")
        centre, matrix = numbers("centre", self.ellipsoid[0], (d,)), numbers("matrix", self.ellipsoid[1], (d, d))
        if not (np.isfinite(centre).all() and np.isfinite(matrix).all() and np.allclose(matrix, matrix.T)):
            raise SpaqlError("ellipsoid must be finite numbers, and its matrix symmetric")
        values, vectors = np.linalg.eigh(matrix)
        if values.min() < -1e-9 * max(values.max(), 1e-300):
            raise SpaqlError("the matrix of the ellipsoid has negative eigenvalues: it bounds nothing")
        kept = values > 1e-12 * max(values.max(), 1e-300)
        return centre, np.sqrt(values[kept])[:, None] * vectors.T[kept]

    def run(self, policy: Policy) -> MonitorRun:
        """The exported Python with its memory, to be stepped."""
        return MonitorRun(self.of(policy))

    def evaluate(self, policy: Policy, episodes: int = EPISODES, seed: int = 0) -> MonitorEvaluation:
        """Fresh episodes of the law behind its monitor: how often, when and why the fallback takes over."""
        return evaluate_monitor(self.of(policy), whole("episodes", episodes, 1, 10**6), whole("seed", seed, 0))


# -- the region --------------------------------------------------------------------------------------------------------


def _by_hand(region: Mapping[Any, Any], names: Sequence[str]) -> tuple[Array, Array]:
    low, high = np.full(len(names), -math.inf), np.full(len(names), math.inf)
    for name, ends in region.items():
        if name not in names:
            raise SpaqlError(f"region: the law does not see {echoed(name)}, only {', '.join(names)}")
        if isinstance(ends, str) or not isinstance(ends, Sequence | np.ndarray) or len(ends) != 2:
            raise SpaqlError(f"region: {name} needs (low, high), not {echoed(ends)}")
        j = names.index(name)
        low[j], high[j] = (bound(f"region: {name}", end) for end in ends)
    return low, high


def _is_proof(region: Any) -> bool:
    return isinstance(region, Proof) or (isinstance(region, str | PathLike) and str(region).endswith(".proof.json"))


def _proven(proof: Proof, names: Sequence[str]) -> tuple[Array, Array]:
    if not proof.holds:
        raise SpaqlError("region: the proof does not hold for all of its starts; ask for fewer, or give bounds by hand")
    bounds = {name: ends for name, ends in proof.bound.items() if name in names}
    if not bounds:
        raise SpaqlError(f"region: the proof is about {', '.join(proof.bound)}, which the law does not see")
    return _by_hand(bounds, names)


def _seen(region: Any, policy: Policy) -> tuple[Array, str]:
    """What was seen, in rows, and where it comes from."""
    problem, raw = policy.problem, len(policy.problem.measured)
    if region is None and problem.seen:
        return np.array(problem.seen, float).T[:, :raw], "what the data of the plant cover"
    if region is None:
        used = policy.usage
        if used is None:
            raise SpaqlError("region: there is no plant to visit; give bounds by hand, a log or an agent with samples")
        return used.states[:, :raw], f"what the law visits in {counted(len(used.returns), 'episode')}"
    if isinstance(region, Agent):
        memory = getattr(getattr(region, "state", None), "memory", None)
        if memory is None or memory.n == 0:
            raise SpaqlError(f"region: {type(region).__name__} keeps no samples here; give bounds by hand, or a log")
        if variable_names(region.problem) != variable_names(problem):
            other = ", ".join(variable_names(region.problem))
            raise SpaqlError(f"region: that agent is of another plant ({other})")
        n, seen = memory.n, np.concatenate([memory.states[: memory.n], memory.nexts[: memory.n]])
        return seen[:, :raw], counted(n, "sample")
    if problem.signals is not None:
        table = read_table(region)
        if not all(axis.name in table for axis in problem.measured):
            seen = _in_loop(problem, problem.signals, region)
            return seen, counted(len(seen), "sample")
    log = read_log(problem, region, paid=False)
    return np.concatenate([log.states, log.nexts])[:, :raw], counted(len(log), "sample")


def _in_loop(problem: Problem, signals: Signals, given: Any) -> Array:
    """What the law would have seen in a log of measurements, references and applied actions."""
    f, rows, z = signals.functions, list[Any](), ()
    alone = replace(problem, **WITHOUT_PLANT, state=signals.inputs, actions=signals.actuator, signals=None)
    log = read_log(alone, given, paid=False)
    for x, u, after, first, last in zip(log.states, log.actions, log.nexts, log.first, log.last, strict=True):
        z = f.first(*x) if first else z
        rows.append(f.seen(*x, *z))
        z = f.after(*x, *z, *u)
        rows += [f.seen(*after, *z)] if last else []
    return np.array(rows, float)


# -- the fallback ------------------------------------------------------------------------------------------------------


def _fallback(policy: Policy, given: Any, inputs: tuple[Axis, ...]) -> Side:
    """The fallback, with the loop it is in and where its inputs come from."""
    problem, signals = policy.problem, policy.problem.signals
    if isinstance(given, Agent):
        given = given.policy()
    if not isinstance(given, Policy | Controller):
        measured = _measured_only(problem)
        given = _constant(measured, given)
        return Side(given, measured.signals, tuple(range(len(inputs))))
    other, own = given.problem, given.problem.signals
    taken, wanted = (problem.measured, problem.actions) if signals is None else (signals.measured, signals.actuator)
    shown, applied = (other.measured, other.actions) if own is None else (own.measured, own.actuator)
    if [axis.name for axis in shown] != [axis.name for axis in taken] or (
        list(applied.axis_names) != list(wanted.axis_names)
        or applied.values != wanted.values
        or not np.array_equal(applied.bounds, wanted.bounds)
    ):
        theirs, ours = (", ".join(axis.name for axis in axes) for axes in (shown, taken))
        raise SpaqlError(f"fallback is a controller of another plant ({theirs}), the law is of {problem.name} ({ours})")
    if own is None:
        if signals is None:
            return Side(given, None, tuple(range(len(inputs))))
        return Side(given, _measured_only(problem).signals, tuple(range(len(inputs))))
    if signals is not None:
        for what in ("dt", "rates", "interlocks", "increments"):
            if getattr(own, what) != getattr(signals, what):
                raise SpaqlError(f"fallback has other {what} than the loop of the law: make it of policy.problem")
    return Side(given, own, tuple(_source(axis, own, inputs) for axis in own.inputs))


def _source(axis: Axis, own: Signals, inputs: Sequence[Axis]) -> int | float:
    """Where the fallback has an input from: from the inputs of the law, or it is a set point that never moves."""
    names = [known.name for known in inputs]
    if axis.name in names:
        return names.index(axis.name)
    values = next(reference.values for reference in own.references if reference.name == axis.name)
    if len(values) == 1:
        return float(values[0])
    raise SpaqlError(f"fallback follows {axis.name}, which the loop of the law has not: make it of policy.problem")


def _measured_only(problem: Problem) -> Problem:
    """Of a problem in a loop: the same, for a controller that sees what is measured, with all limits of the actuator.

    Increments are limits of the change, too.
    """
    signals = problem.signals
    if signals is None:
        return replace(problem, **WITHOUT_PLANT, state=problem.measured)
    shown = tuple(axis.name for axis in signals.measured)
    plain = replace(signals, memory=(), shown=shown, increments=(), rates=signals.rates or signals.increments)
    return replace(problem, **WITHOUT_PLANT, state=plain.state, actions=plain.actions, signals=plain)


def _constant(problem: Problem, given: Any) -> Policy:
    axes, actions = action_names(problem), problem.actions
    value = vector("fallback", [given] if isinstance(given, int | float | np.number) else given, axes, missing=math.nan)
    low, high = actions.bounds
    for name, least, applied, most in zip(axes, low.tolist(), value.tolist(), high.tolist(), strict=True):
        if not least <= applied <= most:
            raise SpaqlError(f"fallback: {name} = {applied:g} is outside {number(least)} to {number(most)}")
    if actions.values and value[0] not in actions.values:
        listed = ", ".join(map(number, actions.values))
        raise SpaqlError(f"fallback: {axes[0]} = {value[0]:g} is not one of {listed}")
    return Policy(problem, constant(len(problem.state), value), "constant", problem.name)
