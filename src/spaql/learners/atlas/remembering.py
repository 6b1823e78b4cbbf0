"""An agent that remembers: the same data, with earlier observations and actions as variables."""

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


@working("looking for what is not observed")
def remembering(agent: "Atlas", memory: Sequence[str]) -> "Atlas":
    """Another agent with the same data and more variables; by default those the data ask for."""
    listed = isinstance(memory, Sequence) and not isinstance(memory, str)
    if not listed or not all(isinstance(name, str) for name in memory):
        names = "a list of names such as 'past(speed, 1)'"
        raise SpaqlError(f"memory is {names}, not {echoed(memory)}")
    memory = list(memory) or _advised(agent)
    before = signals_around(agent.problem)
    if before.increments or before.rates or before.interlocks:
        raise SpaqlError(
            "actions of this loop are not applied as they are, so the data cannot be kept: "
            f"give memory={memory} to spaql.loop, and learn again"
        )
    shown = [axis.name for axis in agent.problem.state]
    signals = Signals(before.measured, before.actuator, before.references, tuple(memory))
    new = [item.name for item in signals.items if item.name not in shown]
    problem = extended(agent.problem, memory, [*shown, *new])
    new_agent = type(agent)(problem, seed=agent.seed, **agent.options)
    assert problem.signals is not None
    places = [shown.index(axis.name) if axis.name in shown else None for axis in before.inputs]
    for transition in _remembered(agent.state.memory, problem.signals, places):
        bad = np.flatnonzero(np.isnan(transition[0]))
        if len(bad):
            name = problem.state[int(bad[0])].name
            raise SpaqlError(
                f"{name} cannot be computed from what is observed: "
                f"give memory of what is, {', '.join(shown)}"
            )
        new_agent.state.memory.add(*transition)
    new_agent.state.episodes = agent.state.episodes
    new_agent.state.outer[TRAIN_SAMPLES] = agent.state.outer[TRAIN_SAMPLES]
    return new_agent


def _advised(agent: "Atlas") -> list[str]:
    n = agent.state.memory.n
    if n < FEWEST:
        raise SpaqlError(
            f"{n} samples are too few to tell what to remember: "
            "learn(samples=...) first, or give memory"
        )
    data = agent.state.memory.data(n)
    advised = advice_of(agent.problem_told, model_at(agent, n), data).memory
    if not advised:
        raise SpaqlError(
            "the data do not show anything that is not observed: "
            "give memory=[...] if you know better"
        )
    return list(advised)


def _remembered(
    seen: Experience, signals: Signals, places: Sequence[int | None]
) -> Iterator[tuple[Array, Array, float, Array, int]]:
    """All transitions, as the loop would have shown them.

    `places`, in an observation, of what is given to the loop; None of what the controller does not
    see.
    """
    f, n = signals.functions, seen.n
    flags, d = seen.flags[:n] & (BEGAN | TERMINATED), seen.states.shape[1]

    def inputs(values: Array) -> list[float]:
        return [math.nan if place is None else float(values[place]) for place in places]

    def shown(values: Array, z: Sequence[float]) -> Array:
        return np.concatenate([values, f.seen(*inputs(values), *z)[d:]])

    for begin, end in pairwise(sorted({0, *np.flatnonzero(flags & BEGAN).tolist(), n})):
        z = f.first(*inputs(seen.states[begin]))
        for i in range(begin, end):
            here = shown(seen.states[i], z)
            z = f.after(*inputs(seen.states[i]), *z, *seen.actions[i].tolist())
            after = shown(seen.nexts[i], z)
            yield here, seen.actions[i], float(seen.rewards[i]), after, int(flags[i])
