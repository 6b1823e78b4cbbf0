"""What Atlas has seen and made of it, and when it plans."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from spaql.gp.model import Model
from spaql.learners.agent import Learned
from spaql.learners.atlas.experience import Experience
from spaql.learners.atlas.plan import Plan
from spaql.learners.law_files import ScoredTree
from spaql.policy.knowledge import KnownTable

if TYPE_CHECKING:
    from spaql.laws.trust import Trust

FIRST = 100  # samples before the first plan
EVERY = 50  # samples between two plans, at least
GROWTH = 0.25  # share by which the data must have grown for a new plan
MODELLED = 40  # samples between two models in which to look ahead, at least
GROWN = 160  # samples before the first laws
REGROWTH = 0.5  # share by which the data must have grown for other laws
OFTEN = 400  # samples from which on laws are searched for when the data has doubled


class Grown(NamedTuple):
    """Laws that were found in the model of the first samples, with the model's word about them."""

    samples: int
    entry: ScoredTree


@dataclass
class AtlasState(Learned):
    """The data of Atlas, and the plans made from it."""

    memory: Experience
    plan: Plan | None = None  # the last plan during training: its actions are applied in training
    planned: list[int] = field(default_factory=list)  # numbers of samples at which plans during training were made
    final: Plan | None = None  # made from all data; its table may be the controller
    table: KnownTable | None = None  # that table, of a loaded agent perhaps without its plan
    table_samples: int = 0  # of that table
    episodes: int = 0  # begun so far
    followed: int = 0  # samples whose action followed the plan
    curious: int = 0  # samples whose action explored
    models: dict[int, Model] = field(default_factory=dict)  # by samples: each is learned once
    modelled: int = 0  # samples of the model in which training looks ahead; 0: none yet
    grown: list[Grown] = field(default_factory=list)  # laws on the way
    laws: Grown | None = None  # made from all data: the controller, if laws are
    trust: "Trust | None" = None  # in the controller of all data
    tabled: int = 0  # samples with which a table was found better than laws; 0: never


def due(n: int, last: int) -> bool:
    """Whether to plan at `n` samples, after a plan at `last` (0: none yet)."""
    return n >= FIRST if last == 0 else n - last >= max(EVERY, GROWTH * last)  # (33)


def model_due(n: int, last: int) -> bool:
    """Whether to learn a model at `n` samples, after one of the first `last`."""
    return n - last >= max(MODELLED, GROWTH * last)


def growth_at(last: int) -> int:
    """Samples at which to search for laws, after a search at `last` (0: none yet)."""
    if last == 0:
        return GROWN
    soon = math.ceil((1.0 + REGROWTH) * last)
    return soon if soon < OFTEN else max(OFTEN, 2 * last)
