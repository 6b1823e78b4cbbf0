"""An agent that remembers: the same data, with what was seen and applied some steps before as further variables."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError, echoed
from spaql.gp.hidden import advice_of, signals_of_problem
from spaql.gp.problem import FEWEST, model_of
from spaql.learners.atlas.memory import BEGAN, TERMINATED, Memory
from spaql.learners.outer import TRAIN_SAMPLES
from spaql.plants.loop import extended
from spaql.plants.signals import Signals

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas


def remembering(agent: "Atlas", memory: Sequence[str]) -> "Atlas":
    """Another agent, with the data of this one and more variables; by default those that the data asks for."""
    if isinstance(memory, str) or not all(isinstance(one, str) for one in memory):
        raise SpaqlError(f"memory is a list of names such as 'past(speed, 1)', not {echoed(memory)}")
    memory = list(memory) or _advised(agent)
    before = signals_of_problem(agent.problem)
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
