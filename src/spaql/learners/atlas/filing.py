"""What a file holds of Atlas: its data, and when it planned. Plans are made again from that, so there is nothing in a file to trust."""

from itertools import pairwise

import numpy as np

from spaql.arrays import Array
from spaql.learners.atlas.learner import Atlas, due
from spaql.learners.atlas.memory import CURIOUS, FAR, FOLLOWED, Memory
from spaql.plants.problem import Finite

ATLAS_ARRAYS = ("states", "actions", "rewards", "nexts", "flags", "planned")


def arrays_of(agent: Atlas) -> dict[str, Array]:
    memory, n = agent.state.memory, agent.state.memory.n
    data = {name: getattr(memory, name)[:n] for name in ATLAS_ARRAYS[:-1]}
    return data | {"planned": np.array([*agent.state.planned, agent.state.episodes], np.int32)}


def restore_memory(agent: Atlas, arrays: dict[str, Array]) -> None:
    d, axes, n = len(agent.problem.state), agent.actions.shape[1], len(arrays["rewards"])
    shapes = {"states": (n, d), "actions": (n, axes), "rewards": (n,), "nexts": (n, d)}
    for name, shape in shapes.items():
        array = arrays[name]
        if array.dtype != np.float64 or array.shape != shape or not np.all(np.abs(array) <= FAR):
            raise ValueError(f"its {name} are malformed")
    flags, planned, space = arrays["flags"], arrays["planned"], agent.problem.actions
    if flags.dtype != np.int32 or flags.shape != (n,) or not np.all((flags >= 0) & (flags < 2 * CURIOUS)):
        raise ValueError("its flags are malformed")
    low, high = (min(space.values), max(space.values)) if isinstance(space, Finite) else (np.array(space.low), np.array(space.high))
    reach = 1e-6 * (np.asarray(high) - np.asarray(low))
    inside = np.all((arrays["actions"] >= low - reach) & (arrays["actions"] <= high + reach))
    if not inside or (isinstance(space, Finite) and not np.isin(arrays["actions"], space.values).all()):
        raise ValueError("its actions are not those of the problem")
    counts = planned[:-1]
    if planned.dtype != np.int32 or planned.ndim != 1 or len(planned) == 0 or planned[-1] < 0:
        raise ValueError("its plans are malformed")
    # as training would have planned: a file cannot ask for more plans than that
    if np.any(counts > n) or not all(due(after, before) for before, after in pairwise([0, *counts.tolist()])):
        raise ValueError("its plans are malformed")
    if n:
        agent.state.memory = Memory(arrays["states"], arrays["actions"], arrays["rewards"], arrays["nexts"], flags, n)
    agent.state.planned, agent.state.episodes = counts.tolist(), int(planned[-1])
    agent.state.followed, agent.state.curious = (int(((flags & kind) != 0).sum()) for kind in (FOLLOWED, CURIOUS))
