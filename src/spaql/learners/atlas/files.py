"""What a file holds of Atlas: its data, and when it planned.

Plans are made again from these, so that nothing in a file must be trusted.
"""

from itertools import pairwise

import numpy as np

from spaql.arrays import Array
from spaql.checks import FAR
from spaql.learners.atlas.memory import CURIOUS, FOLLOWED, LED, Memory
from spaql.learners.atlas.state import AtlasState, due
from spaql.plants.problem import Finite, Problem

MEMORY_ARRAYS = ("states", "actions", "rewards", "nexts", "flags")


def arrays_of(state: AtlasState) -> dict[str, Array]:
    memory, n = state.memory, state.memory.n
    data = {name: getattr(memory, name)[:n] for name in MEMORY_ARRAYS}
    return data | {"planned": np.array([*state.planned, state.episodes], np.int32)}


def restore(state: AtlasState, problem: Problem, arrays: dict[str, Array]) -> None:
    """Take over what `arrays_of` has written; ValueError if it cannot come from this problem."""
    d, axes, n = len(problem.state), state.memory.actions.shape[1], len(arrays["rewards"])
    shapes = {"states": (n, d), "actions": (n, axes), "rewards": (n,), "nexts": (n, d)}
    for name, shape in shapes.items():
        array = arrays[name]
        if array.dtype != np.float64 or array.shape != shape or not np.all(np.abs(array) <= FAR):
            raise ValueError(f"its {name} are malformed")
    flags, planned, space = arrays["flags"], arrays["planned"], problem.actions
    if flags.dtype != np.int32 or flags.shape != (n,) or not np.all((flags >= 0) & (flags < 2 * LED)):
        raise ValueError("its flags are malformed")
    low, high = space.bounds
    reach = 1e-6 * (high - low)
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
        state.memory = Memory(arrays["states"], arrays["actions"], arrays["rewards"], arrays["nexts"], flags, n)
    state.planned, state.episodes = counts.tolist(), int(planned[-1])
    state.followed, state.curious = (int(((flags & kind) != 0).sum()) for kind in (FOLLOWED, CURIOUS))
