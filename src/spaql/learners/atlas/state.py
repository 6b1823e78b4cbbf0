"""What Atlas has seen and made of it, and when it plans."""

from dataclasses import dataclass, field

from spaql.learners.agent import Learned
from spaql.learners.atlas.memory import Memory
from spaql.learners.atlas.plan import Plan

FIRST = 100  # samples before the first plan
EVERY = 50  # samples between two plans, at least
GROWTH = 0.25  # share by which the data must have grown for a new plan


@dataclass
class AtlasState(Learned):
    """The data of Atlas, and the plans made from it."""

    memory: Memory
    plan: Plan | None = None  # the last plan during training: its actions are applied in training
    planned: list[int] = field(default_factory=list)  # numbers of samples at which plans during training were made
    final: Plan | None = None  # made from all data: its table is the controller that is evaluated, shown and exported
    episodes: int = 0  # begun so far
    followed: int = 0  # samples whose action followed the plan
    curious: int = 0  # samples whose action explored


def due(n: int, last: int) -> bool:
    """Whether to plan at `n` samples, after a plan at `last` (0: none yet)."""
    return n >= FIRST if last == 0 else n - last >= max(EVERY, GROWTH * last)  # (33)
