"""What an environment answers: as Gymnasium has it, or an error that says what it is instead."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import bit
from spaql.ground.errors import SpaqlError, echoed

REMEDY = "mend it, or wrap it (shimmy turns environments of Gym into those of Gymnasium)"


def takes_seed(env: Any) -> None:
    """Refuse an environment whose `reset` cannot be given a seed: nothing of it could be repeated."""
    parameters = inspect.signature(env.unwrapped.reset).parameters.values()
    if not any(one.name == "seed" or one.kind is one.VAR_KEYWORD for one in parameters):
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


def observed(names: Sequence[str], observation: Any, where: str) -> Array:
    """An observation of a random episode, checked: one finite number per name."""
    try:
        array = np.array(observation, float)  # a copy: the environment may reuse its array
    except (TypeError, ValueError, OverflowError) as error:
        wrong = "the environment returned an observation that is not an array of numbers"
        raise SpaqlError(f"{wrong} ({where})") from error
    if array.shape != (len(names),):
        wrong = f"the environment returned an observation of shape {array.shape}, declared was {(len(names),)}"
        raise SpaqlError(f"{wrong} ({where})")
    finite = np.isfinite(array)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise SpaqlError(f"the environment returned an observation in which {names[bad]} is {array[bad]:g} ({where})")
    return array
