"""The equations of a plant of the catalog, as plain functions of plain numbers, and what such functions share."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from spaql.plants.axes import Axis, Continuous, Finite

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


# -- what the catalog knows of a problem: the entries that stand at the end of every plant's file ----------------------

class Interface(NamedTuple):
    """What the controller sees, what it can do, and the state it shall hold (physical units)."""

    state: tuple[Axis, ...]
    actions: Continuous | Finite
    reference: tuple[float, ...]


class Known(NamedTuple):
    """The best mean return that anyone has published or that can be computed: a score of 1.

    `value` is None where there is none to compare with; `source` then says why, and there are no scores.
    """

    value: float | None
    source: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A problem of the catalog: a plant with the settings under which results are published."""

    title: str  # in tables and figures
    summary: str  # the line of `spaql problems`
    env_id: str  # the plant as a Gymnasium environment
    gym_id: str | None = None  # Gymnasium's own environment with the same equations
    equations: Equations
    parameters: Any  # a named tuple of numbers, as published
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # allowed values, where not the usual ones
    fixed: tuple[str, ...] = ()  # parameters that no episode may draw anew, because the actions depend on them
    interface: Callable[[Any], Interface]  # of the parameters
    horizon: int
    ends: str = ""  # what it means that the plant ends an episode: "failure" or "success"
    rollouts: int = 20  # evaluations per iteration
    xi: Mapping[str, float] = field(default_factory=dict)  # default scale of the bonus by learner, the paper's or tuned
    study_xi: Mapping[str, float] = field(default_factory=dict)  # the scale in the studies, where there is no default
    samples: int = 5_000  # that the study of every learner gives to Atlas
    best_known: Known
    drawing: str | None = None  # how the page of an explanation draws the plant

    @property
    def step_time(self) -> float | None:
        """Seconds per step as published, if the plant has a clock."""
        dt = getattr(self.parameters, "dt", None)
        return None if dt is None else float(dt)
