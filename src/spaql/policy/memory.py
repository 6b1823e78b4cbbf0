"""The memory of a controller in a loop: what `predict` carries from step to step."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import FAR, depth, numbers, observations
from spaql.ground.errors import SpaqlError
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem

if TYPE_CHECKING:
    from spaql.policy.policy import Policy


@dataclass(frozen=True)
class Memory:
    """The registers of a controller by name; empty before its first step."""

    registers: tuple[tuple[str, float], ...] = ()


def variables_given(problem: Problem, states: Any) -> int:
    """How many variables observations have: all, or those that are measured, without features."""
    given = np.shape(states) if depth("observation", states) else ()
    return len(problem.measured) if given and given[-1] == len(problem.measured) else len(problem.state)


def with_formulas(problem: Problem, batch: Array) -> Array:
    """Observations (n, variables) with their features."""
    missing = problem.features is not None and batch.shape[1] == problem.features.raw
    return problem.features.rows(batch) if missing and problem.features is not None else batch


def finite_states(problem: Problem, states: Any) -> Array:
    """States (n, variables) for which an action is asked."""
    batch = with_formulas(problem, numbers("observation", states, (-1, variables_given(problem, states))))
    if not np.all(np.abs(batch) <= HUGE):
        raise SpaqlError("observations must be finite")
    return batch


def observed(problem: Problem, observation: Any, state: Any) -> tuple[Array, bool]:
    """What the law sees, one observation or a batch, as (n, d), and whether it was one.

    In a loop as many numbers may be the inputs of the controller: these go with a memory, which also applies
    increments, rate limits and interlocks.
    """
    if isinstance(state, Memory):
        raise SpaqlError("a memory goes with a policy: agent.policy().predict(inputs, state=memory)")
    batch, single = observations(observation, variables_given(problem, observation))
    batch = with_formulas(problem, batch)
    signals = problem.signals
    if single and signals is not None and len(signals.inputs) == len(problem.measured):
        given, seen = ([axis.name for axis in axes] for axes in (signals.inputs, problem.measured))
        if given != seen or signals.increments or signals.rates or signals.interlocks:
            raise SpaqlError(
                f"{len(seen)} numbers may be inputs of the controller in its loop ({', '.join(given)}) or what its law "
                f"sees ({', '.join(seen)}): give inputs with state=policy.memory(), observations as a table, [[...]]"
            )
    return batch, single


def predict_in_loop(policy: "Policy", inputs: Any, memory: Memory) -> tuple[Any, Memory]:
    """What is to be applied, given what was measured and the references, and the memory afterwards."""
    signals = policy.problem.signals
    if signals is None:
        raise SpaqlError(f"{policy.problem.name} is not in a loop: predict takes its observation, without a memory")
    values = numbers("inputs", inputs, (len(signals.inputs),))
    if not (np.abs(values) <= FAR).all():
        names = [axis.name for axis in signals.inputs]
        raise SpaqlError(f"inputs must be finite: {names[int(np.argmin(np.abs(values) <= FAR))]} is not")
    given, f = [float(value) for value in values], signals.functions
    names = [register.name for register in signals.registers]
    if memory.registers and [name for name, _ in memory.registers] != names:
        raise SpaqlError("this is the memory of another controller: begin with policy.memory()")
    z = [value for _, value in memory.registers] if memory.registers else f.first(*given)
    action = policy.decide([f.seen(*given, *z)])[0]
    u = f.applied(*given, *z, *action.tolist())
    kept = Memory(tuple(zip(names, f.after(*given, *z, *u), strict=True)))
    actuator = signals.actuator
    applied = np.array(u) if actuator.box else actuator.number(u[0])
    return applied, kept
