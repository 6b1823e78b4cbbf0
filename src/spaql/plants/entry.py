"""What the catalog knows of a problem: the entries that stand at the end of every plant's file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.equations import Equations


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
