"""What an environment answers, as Gymnasium has it or an error that says what it is instead; names and units of what
it shows and takes, and nested observations as one vector."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import bit
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.catalog import CATALOG

REMEDY = "mend it, or wrap it (shimmy turns environments of Gym into those of Gymnasium)"


def takes_seed(env: Any) -> None:
    """Refuse an environment whose `reset` cannot be given a seed: nothing of it could be repeated."""
    parameters = inspect.signature(env.unwrapped.reset).parameters.values()
    if not any(parameter.name == "seed" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        raise SpaqlError(f"reset of the environment takes no seed=..., as Gym's did before 2022: {REMEDY}")


def begun(answer: Any) -> Any:
    """The observation of `env.reset()`, which returns it with a dictionary."""
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Mapping):
        return answer[0]
    alone = "its observation alone" if not isinstance(answer, tuple) else echoed(answer)
    raise SpaqlError(f"reset of the environment returned {alone}, not (observation, info): {REMEDY}")


def outcome(answer: Any) -> tuple[Any, Any, bool, bool]:
    """Observation, reward, terminated, truncated: what `env.step()` returns, without its last entry."""
    if not isinstance(answer, tuple) or len(answer) != 5:
        what = f"{len(answer)} values" if isinstance(answer, tuple) else echoed(answer)
        old = ", as Gym's environments did before 2022" if isinstance(answer, tuple) and len(answer) == 4 else ""
        wanted = "(observation, reward, terminated, truncated, info)"
        raise SpaqlError(f"step of the environment returned {what}{old}, not {wanted}: {REMEDY}")
    observation, reward, terminated, truncated, _ = answer
    if type(terminated) is not bool:
        terminated = bit("terminated, which step of the environment returned,", terminated)
    if type(truncated) is not bool:
        truncated = bit("truncated, which step of the environment returned,", truncated)
    return observation, reward, terminated, truncated


def steps(
    env: Any, act: Callable[[Any, int], Any], observation: Any, horizon: int, native: Callable[[Any], Any] | None = None
) -> Iterator[tuple[Any, Any, Any, Any, bool]]:
    """(observation, action, next observation, reward, terminated) of every step of an episode that begins here.

    `act(observation, step)` says what is applied, `native` brings it into the form that the environment takes.
    """
    apply = env.step
    for step in range(horizon):
        action = act(observation, step)
        after, reward, terminated, truncated = outcome(apply(action if native is None else native(action)))
        yield observation, action, after, reward, terminated
        if terminated or truncated:
            return
        observation = after


def vector(d: int, observation: Any, where: str) -> Array:
    """An observation of d numbers, copied: the environment may reuse its array."""
    try:
        array = np.array(observation, float)
    except (TypeError, ValueError, OverflowError) as error:
        wrong = "the environment returned an observation that is not an array of numbers"
        raise SpaqlError(f"{wrong} ({where})") from error
    if array.shape != (d,):
        shapes = f"shape {array.shape}, declared was {(d,)}"
        raise SpaqlError(f"the environment returned an observation of {shapes} ({where})")
    return array


def observed(names: Sequence[str], observation: Any, where: str) -> Array:
    """An observation of a random episode, checked: one finite number per name."""
    array = vector(len(names), observation, where)
    finite = np.isfinite(array)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise SpaqlError(f"the environment returned an observation in which {names[bad]} is {array[bad]:g} ({where})")
    return array


# -- names and units ---------------------------------------------------------------------------------------------------

spaces = gymnasium.spaces


class Labels(NamedTuple):
    """Names and units of what an environment shows and takes; None where nobody has said."""

    names: Sequence[str] | None
    units: Sequence[str] | None
    action_names: Sequence[str] | None
    action_units: Sequence[str] | None


# From Gymnasium's documentation. Those of its classic control stand with our own plants of the same equations.
_POLE = ("position", "angle", "velocity", "angular velocity")
_POLES = ("position", "sin1", "sin2", "cos1", "cos2", "velocity", "velocity1", "velocity2", "constraint force")
_ARM = ("cos1", "cos2", "sin1", "sin2", "target x", "target y", "velocity1", "velocity2", "error x", "error y")
_LANDER = ("x", "y", "velocity x", "velocity y", "angle", "angular velocity", "left leg", "right leg")
_TURNS = ("rad/s", "rad/s")
DOCUMENTED = {
    "InvertedPendulum-v5": Labels(_POLE, ("m", "rad", "m/s", "rad/s"), ("force",), None),
    "InvertedDoublePendulum-v5": Labels(_POLES, ("m", "", "", "", "", "m/s", *_TURNS, "N"), ("force",), None),
    "Reacher-v5": Labels(_ARM, ("", "", "", "", "m", "m", *_TURNS, "m", "m"), ("torque1", "torque2"), ("N m", "N m")),
    "LunarLander-v3": Labels(_LANDER, None, ("engine",), None),
    "LunarLanderContinuous-v3": Labels(_LANDER, None, ("main engine", "side engine"), None),
}


def documented(name: str, given: Labels) -> Labels:
    """What was given, and for the rest what is known of Gymnasium's environment of this name."""
    twin = next((entry for entry in CATALOG.values() if entry.gym_id == name), None)
    known = DOCUMENTED.get(name)
    if twin is not None:
        state, actions, _ = twin.interface(twin.parameters)
        known = Labels([axis.name for axis in state], [axis.unit for axis in state], actions.names, actions.units)
    if known is None:
        names = sorted({*DOCUMENTED, *(entry.gym_id for entry in CATALOG.values() if entry.gym_id)})
        raise SpaqlError(
            f"names=True: there are no names for the variables of {name}, only for {', '.join(names)}: give a list"
        )
    return Labels(*(theirs if ours is None else ours for ours, theirs in zip(given, known, strict=True)))


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
        return [inner for key, part in parts for inner in _names_in(part, f"{name}_{key}" if name else str(key))]
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        count = int(np.prod(space.shape))
        return [name] if count == 1 and name else [f"{name}_{i}" if name else f"x{i}" for i in range(count)]
    if isinstance(space, spaces.Discrete):  # one number per value, 1 where it is this one
        return [f"{name or 'x'}_is_{value}" for value in range(int(space.start), int(space.start) + int(space.n))]
    if isinstance(space, spaces.MultiDiscrete):
        digits = space.nvec.reshape(-1)
        return [f"{name or 'x'}_{i}_is_{value}" for i, n in enumerate(digits) for value in range(int(n))]
    raise SpaqlError(f"observations in {space} cannot be flattened: their number changes; wrap the environment")


def labelled(name: str, state: Sequence[Axis], actions: Any, names: Any, *others: Any) -> Any:
    """Axes and actions with the names and units given; `names` may be True for those that are documented."""
    labels = documented(name, Labels(None, *others)) if names is True else Labels(names, *others)
    return _named_state(state, *labels[:2]), _named_actions(actions, *labels[2:])


def _named_state(state: Sequence[Axis], names: Any, units: Any) -> tuple[Axis, ...]:
    """None keeps what they have."""
    if names is None and units is None:
        return tuple(state)
    names = _texts("names", names, len(state), "observed variable", [axis.name for axis in state])
    units = _texts("units", units, len(state), "observed variable", [axis.unit for axis in state])
    if len(set(names)) != len(names) or not all(names):
        raise SpaqlError(f"names: every variable has a name of its own, not {echoed(names)}")
    return tuple(replace(axis, name=n, unit=u) for axis, n, u in zip(state, names, units, strict=True))


def _named_actions(actions: Continuous | Finite, names: Any, units: Any) -> Continuous | Finite:
    named = _texts("action_names", names, actions.axes, "action axis", actions.names)
    return replace(
        actions,
        names=tuple(named),
        units=tuple(_texts("action_units", units, actions.axes, "action axis", actions.units)),
    )


def _texts(what: str, given: Any, count: int, each: str, otherwise: Sequence[str]) -> list[str]:
    if given is None:
        return list(otherwise)
    texts = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else None
    if texts == [] and not otherwise:
        return []  # none, as before
    if texts is None or len(texts) != count or not all(isinstance(text, str) for text in texts):
        raise SpaqlError(f"{what} must be a list of {count} texts, one per {each}, not {echoed(given)}")
    return texts
