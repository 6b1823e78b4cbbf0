"""The equations of a plant of the catalog, as plain functions of plain numbers, and what such functions share."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

TWO_PI = 2.0 * math.pi


class Equations(NamedTuple):
    """A state is as many numbers as `variables` has names. Functions with `p` take the parameters as last argument.

    next state = limit(move(state, action, p), p)        reward, terminated = outcome(state, action, next state, p)
    """

    variables: tuple[str, ...]
    start: Callable[..., Any]  # uniform numbers in [0, 1) -> first state
    move: Callable[..., Any]  # state, action, `chances` uniform numbers, p -> next state
    limit: Callable[..., Any]  # state, p -> the state within bounds; leaves alone what `move` gives without noise
    outcome: Callable[..., Any]  # state, action, next state, p -> reward, terminated
    look: Callable[..., Any] | None = None  # state -> observation, if the observation is not the state itself
    chances: int = 0  # uniform numbers that one step of the plant itself draws
    state_of: Callable[..., Any] | None = None  # observation -> state, if there is `look` and nothing is hidden by it


def clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def wrapped(angle: float) -> float:
    """The same angle within half a turn."""
    turns = np.floor((angle + math.pi) / TWO_PI)
    return angle - TWO_PI * turns if abs(angle) > math.pi else angle
