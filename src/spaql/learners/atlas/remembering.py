"""An agent that remembers: the same data, with what was seen and applied some steps before as further variables."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from spaql.gp.hidden import advice_of
from spaql.gp.learned_problem import FEWEST
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.progress import working
from spaql.learners.atlas.atlas_controller import model_at
from spaql.learners.atlas.experience import BEGAN, TERMINATED, Experience
from spaql.learners.outer import TRAIN_SAMPLES
from spaql.plants.loop import extended, signals_around
from spaql.plants.signals import Signals

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas

NOWHERE = -1  # the place of a measured variable that the controller does not see


@working("looking for what is not observed")
def remembering(agent: "Atlas", memory: Sequence[str]) -> "Atlas":
    """Another agent, with the data of this one and more variables; by default those that the data asks for."""
    if not isinstance(memory, Sequence) or isinstance(memory, str) or not all(isinstance(one, str) for one in memory):
        raise SpaqlError(f"memory is a list of names such as 'past(speed, 1)', not {echoed(memory)}")
    memory = list(memory) or _advised(agent)
    before = signals_around(agent.problem)
    if before.increments or before.rates or before.interlocks:
        raise SpaqlError(
            "actions of this loop are not applied as they are, so the data cannot be kept: "
            f"give memory={memory} to spaql.loop, and learn again"
        )
    shown = [axis.name for axis in agent.problem.state]
    new = [item.name for item in Signals(before.measured, before.actuator, before.references, tuple(memory)).items]
    problem = extended(agent.problem, memory, [*shown, *(name for name in new if name not in shown)])
    made = type(agent)(problem, seed=agent.seed, **agent.options)
    assert problem.signals is not None
    places = [shown.index(axis.name) if axis.name in shown else NOWHERE for axis in before.inputs]
    for transition in _remembered(agent.state.memory, problem.signals, places):
        bad = np.flatnonzero(np.isnan(transition[0]))
        if len(bad):
            name = problem.state[int(bad[0])].name
            raise SpaqlError(
                f"{name} cannot be computed from what is observed: give memory of what is, {', '.join(shown)}"
            )
        made.state.memory.add(*transition)
    made.state.episodes, made.state.outer[TRAIN_SAMPLES] = agent.state.episodes, agent.state.outer[TRAIN_SAMPLES]
    return made


def _advised(agent: "Atlas") -> list[str]:
    n = agent.state.memory.n
    if n < FEWEST:
        raise SpaqlError(f"{n} samples are too few to tell what to remember: learn(samples=...) first, or give memory")
    data = agent.state.memory.data(n)
    if not (found := advice_of(agent.problem_told, model_at(agent, n), data).memory):
        raise SpaqlError("the data do not show anything that is not observed: give memory=[...] if you know better")
    return list(found)


def _remembered(
    seen: Experience, signals: Signals, places: Sequence[int]
) -> Iterator[tuple[Array, Array, float, Array, int]]:
    """All transitions, as the loop would have shown them; `places` of what is given to it, in an observation."""
    f, n = signals.functions, seen.n
    flags, d = seen.flags[:n] & (BEGAN | TERMINATED), seen.states.shape[1]

    def inputs(values: Array) -> list[float]:
        return [math.nan if place == NOWHERE else float(values[place]) for place in places]

    def shown(values: Array, z: Sequence[float]) -> Array:
        return np.concatenate([values, f.seen(*inputs(values), *z)[d:]])

    for begin, end in pairwise(sorted({0, *np.flatnonzero(flags & BEGAN).tolist(), n})):
        z = f.first(*inputs(seen.states[begin]))
        for i in range(begin, end):
            here = shown(seen.states[i], z)
            z = f.after(*inputs(seen.states[i]), *z, *seen.actions[i].tolist())
            yield here, seen.actions[i], float(seen.rewards[i]), shown(seen.nexts[i], z), int(flags[i])
