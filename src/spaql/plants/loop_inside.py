"""What a loop has inside at a moment: more than the controller sees of it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from spaql.plants.between import Between
from spaql.plants.environment import PlantEnv
from spaql.plants.loop_env import LoopEnv
from spaql.plants.loop_plant import looped
from spaql.plants.plant import Plant


class Inside(NamedTuple):
    """One moment of a loop, in physical units."""

    outputs: tuple[float, ...]  # the measured variables as the plant has them, before noise and delay of the sensors
    measured: tuple[float, ...]  # the same as they reach the controller
    references: tuple[float, ...]
    registers: tuple[float, ...]  # of the memory


def inside(env: Any) -> Inside | None:
    """Of an environment, now; None if it is in no loop."""
    if isinstance(env, LoopEnv):
        return Inside(tuple(env.true), tuple(env.queue[0]), tuple(env.r), env.z)
    if not isinstance(env, PlantEnv) or not _is_looped(env.plant):
        return None
    plant, signals, around = _origin(env.plant)
    state = env.table[: env.plant.state_dim, 0].tolist()
    size, d = plant.state_dim, plant.observation_dim
    s, y = state[:size], state[size : size + d]
    at = size + d * (around.sensor_delay + 1)
    references = []
    for one in signals.references:
        references.append(state[at])
        at += one.size
    outputs = plant.observe.python(*s) if plant.observe is not None else s
    z = state[at : at + len(signals.registers)]
    return Inside(tuple(map(float, outputs)), tuple(y), tuple(references), tuple(z))


def applied(env: Any, now: Inside, action: Sequence[float]) -> tuple[float, ...]:
    """What a decision of the controller becomes: after increments, rate limits and interlocks, before delay."""
    signals = env.signals if isinstance(env, LoopEnv) else _origin(env.plant)[1]
    u: tuple[float, ...] = signals.functions.applied(*now.measured, *now.references, *now.registers, *action)
    return tuple(map(float, u))


def drawn_parameters(env: Any) -> dict[str, float]:
    """By name: the parameters that the present episode of a compiled plant has drawn; they end its state."""
    if not isinstance(env, PlantEnv):
        return {}
    plant = _origin(env.plant)[0] if _is_looped(env.plant) else env.plant
    given = plant.origin[1][-1] if plant.origin is not None else {}
    names = [name for name, value in given.items() if isinstance(value, Between)] if isinstance(given, Mapping) else []
    hidden = env.table[plant.state_dim - len(names) : plant.state_dim, 0].tolist()
    return dict(zip(names, hidden, strict=True))


def _is_looped(plant: Plant) -> bool:
    return plant.origin is not None and plant.origin[0] is looped


def _origin(plant: Plant) -> Any:
    assert plant.origin is not None
    return plant.origin[1]
