"""What a training episode works on, as one record for the compiled steps of all learners."""

from typing import NamedTuple

import numpy as np

from spaql.ground.compiling import inlined
from spaql.learners.act import Actor
from spaql.learners.update import Rule
from spaql.partition.forest import Forest
from spaql.partition.greedy import Greedy, Scratch
from spaql.plants.axes import Space
from spaql.plants.chart import Chart


class Trainee(NamedTuple):
    """A partition in training."""

    space: Space  # sizes of the problem
    chart: Chart  # between physical units and the cube
    rule: Rule  # of the update
    forest: Forest  # the partition itself
    greedy: Greedy  # its merged policy: AQL refreshes it after every step, SPAQL merges it after the episode
    scratch: Scratch  # working memory, and what an episode remembers from one step to the next


class Exploration(NamedTuple):
    """How the actions of one training episode are drawn."""

    key: np.uint64  # random stream of the actions
    tau: float  # Boltzmann temperature of SPAQL and SPAQL-TS; 0 for the other learners, which are greedy


@inlined
def actor_of(trainee: Trainee) -> Actor:
    """The greedy policy of a trainee."""
    return Actor(trainee.space, trainee.chart, trainee.greedy)
