"""Names and units of what an environment shows and takes, and nested observations as one vector."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from spaql.errors import SpaqlError
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.parameters import short

spaces = gymnasium.spaces


def flattened(env: "gymnasium.Env[Any, Any]") -> "tuple[gymnasium.Env[Any, Any], list[str] | None]":
    """The environment with a vector of observations, and the names of its entries; as it is if it has one already."""
    space = env.observation_space
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return env, None
    names = _names_in(space, "")
    return gymnasium.wrappers.FlattenObservation(env), names


def _names_in(space: Any, name: str) -> list[str]:
    """One name per number, in the order in which Gymnasium puts them: speed; position_0, position_1; gear_is_2."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        return [one for key, part in parts for one in _names_in(part, f"{name}_{key}" if name else str(key))]
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        count = int(np.prod(space.shape))
        return [name] if count == 1 and name else [f"{name}_{i}" if name else f"x{i}" for i in range(count)]
    if isinstance(space, spaces.Discrete):  # one number per value, 1 where it is this one
        return [f"{name or 'x'}_is_{value}" for value in range(int(space.start), int(space.start) + int(space.n))]
    if isinstance(space, spaces.MultiDiscrete):
        digits = space.nvec.reshape(-1)
        return [f"{name or 'x'}_{i}_is_{value}" for i, n in enumerate(digits) for value in range(int(n))]
    raise SpaqlError(f"observations in {space} cannot be flattened: their number changes; wrap the environment")


def named_state(state: Sequence[Axis], names: Any, units: Any) -> tuple[Axis, ...]:
    """The axes with the names and units given; None keeps those they have."""
    names = _texts("names", names, len(state), "observed variable", [axis.name for axis in state])
    units = _texts("units", units, len(state), "observed variable", [axis.unit for axis in state])
    if len(set(names)) != len(names) or not all(names):
        raise SpaqlError(f"names: every variable has a name of its own, not {short(names)}")
    return tuple(replace(axis, name=n, unit=u) for axis, n, u in zip(state, names, units, strict=True))


def named_actions(actions: Continuous | Finite, names: Any, units: Any) -> Continuous | Finite:
    """The actions with the names and units given; None keeps those they have."""
    return replace(
        actions,
        names=tuple(_texts("action_names", names, actions.axes, "action axis", actions.names)),
        units=tuple(_texts("action_units", units, actions.axes, "action axis", actions.units)),
    )


def _texts(what: str, given: Any, count: int, each: str, otherwise: Sequence[str]) -> list[str]:
    if given is None:
        return list(otherwise)
    texts = [] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
    if len(texts) != count or not all(isinstance(text, str) for text in texts):
        raise SpaqlError(f"{what} must be a list of {count} texts, one per {each}, not {short(given)}")
    return texts
