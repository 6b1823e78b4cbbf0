"""An agent that remembers: the same data, with what was seen and applied some steps before as further variables."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError, echoed
from spaql.gp.data import Data
from spaql.gp.hidden import hidden_in
from spaql.gp.model import Model
from spaql.gp.problem import FEWEST, model_of
from spaql.learners.atlas.memory import BEGAN, TERMINATED, Memory
from spaql.learners.outer import TRAIN_SAMPLES
from spaql.plants.loop import extended
from spaql.plants.problem import Problem
from spaql.plants.signals import Signals

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas


class Advice(NamedTuple):
    """What to remember, since something is not observed."""

    memory: tuple[str, ...]  # as for `spaql.loop`; (): nothing
    missed: dict[str, tuple[float, float]]  # by variable the part of its changes that is missed, without and with


NONE = Advice((), {})


def advice_of(problem: Problem, model: Model, data: Data) -> Advice:
    """From the data: nothing is remembered that does not help much."""
    signals = _signals_of(problem)
    measured, names = {axis.name for axis in signals.measured}, [axis.name for axis in problem.state]
    found = hidden_in(model, data, [j for j, name in enumerate(names) if name in measured])
    steps: dict[tuple[bool, int], int] = {}
    for one in found:
        for recalled in one.recalled:
            which = recalled.applied, recalled.place
            steps[which] = max(steps.get(which, 0), recalled.steps)
    memory = []
    for (applied, j), most in sorted(steps.items()):
        # without those in between nobody could tell what the oldest will be in the next step
        kind, of = ("previous", signals.action_names[j]) if applied else ("past", names[j])
        memory += [f"{kind}({of}, {k})" for k in range(1, most + 1)]
    return Advice(tuple(memory), {names[one.variable]: (one.missed, one.left) for one in found})


def remembering(agent: "Atlas", memory: Sequence[str]) -> "Atlas":
    """Another agent, with the data of this one and more variables; by default those that the data asks for."""
    if isinstance(memory, str) or not all(isinstance(one, str) for one in memory):
        raise SpaqlError(f"memory is a list of names such as 'past(speed, 1)', not {echoed(memory)}")
    memory = list(memory) or _advised(agent)
    before = _signals_of(agent.problem)
    if before.increments or before.rates or before.interlocks:
        raise SpaqlError(
            "actions of this loop are not applied as they are, so the data cannot be kept: "
            f"give memory={memory} to spaql.loop, and learn again"
        )
    shown = [axis.name for axis in agent.problem.state]
    if unseen := [axis.name for axis in before.inputs if axis.name not in shown]:
        raise SpaqlError(
            f"{', '.join(unseen)} of this loop is not observed, so the data cannot be kept: "
            f"give memory={memory} to spaql.loop, and learn again"
        )
    new = [item.name for item in Signals(before.measured, before.actuator, before.references, tuple(memory)).items]
    problem = extended(agent.problem, memory, [*shown, *(name for name in new if name not in shown)])
    made = type(agent)(problem, seed=agent.seed, **agent.options)
    assert problem.signals is not None
    places = [shown.index(axis.name) for axis in before.inputs]
    _add(made.state.memory, agent.state.memory, problem.signals, places)
    made.state.episodes, made.state.outer[TRAIN_SAMPLES] = agent.state.episodes, agent.state.outer[TRAIN_SAMPLES]
    return made


def _advised(agent: "Atlas") -> list[str]:
    n, problem = agent.state.memory.n, agent.problem_told
    if n < FEWEST:
        raise SpaqlError(f"{n} samples are too few to tell what to remember: learn(samples=...) first, or give memory")
    data = agent.state.memory.data(n)
    if not (found := advice_of(problem, model_of(problem, data), data).memory):
        raise SpaqlError("the data do not show anything that is not observed: give memory=[...] if you know better")
    return list(found)


def _signals_of(problem: Problem) -> Signals:
    return problem.signals or Signals(problem.state, problem.actions, horizon=problem.horizon)


def _add(to: Memory, seen: Memory, signals: Signals, places: Sequence[int]) -> None:
    """All transitions, episode by episode, as the loop would have shown them; `places`: of what is given to it."""
    f, n = signals.functions, seen.n
    flags = seen.flags[:n] & (BEGAN | TERMINATED)

    def shown(values: Array, z: Sequence[float]) -> Array:
        return np.array(f.seen(*values[places].tolist(), *z), float)

    for begin, end in pairwise([*np.flatnonzero(flags & BEGAN).tolist(), n]):
        z = f.first(*seen.states[begin, places].tolist())
        for i in range(begin, end):
            here = shown(seen.states[i], z)
            z = f.after(*seen.states[i, places].tolist(), *z, *seen.actions[i].tolist())
            to.add(here, seen.actions[i], float(seen.rewards[i]), shown(seen.nexts[i], z), int(flags[i]))
