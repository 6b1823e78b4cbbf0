"""What an agent has learned, as plain arrays: this is what files hold and kernels work on."""

from dataclasses import dataclass

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import kernel
from spaql.ground.errors import SpaqlError
from spaql.learners.agent import Learned
from spaql.learners.outer import BEST_RETURN, TRAIN_SAMPLES
from spaql.partition.forest import USED, Forest, grown, new_forest, resized
from spaql.partition.greedy import Greedy, Scratch, new_greedy, new_scratch, scratch_width
from spaql.partition.merge import merge_all
from spaql.plants.axes import Space
from spaql.plants.chart import Chart

MAX_BALLS = 2**28  # 6 GB for agent and trainee each


@dataclass
class State(Learned):
    """The agent, the trainee that is to become better, and where training stands."""

    space: Space
    forest: Forest  # the agent: what is kept, applied and saved
    trainee: Forest  # SPAQL: the copy in training; AQL: the agent itself
    scratch: Scratch | None = None  # working memory, as large as the forests
    greedy: Greedy | None = None  # the merged policy of `forest`, None after a change

    def make_room(self, room: int) -> Scratch:
        """Room for `room` more balls in agent and trainee, and working memory to match."""
        alone = self.trainee is self.forest
        self._check_size(room)
        used = int(self.forest.size[USED])
        ahead = used - int(self.trainee.size[USED])  # update() makes the agent grow, learn() the trainee
        self.trainee = grown(self.trainee, self.space, room + max(ahead, 0))
        self.forest = self.trainee if alone else grown(self.forest, self.space, len(self.trainee.balls) - used)
        if self.scratch is None or len(self.scratch.q) != scratch_width(self.space, self.trainee):
            self.scratch = new_scratch(self.space, self.trainee)
        return self.scratch

    def policy(self, chart: Chart) -> Greedy:
        """The greedy policy of the agent, merged anew if something has changed."""
        greedy = self.greedy
        if greedy is None:
            greedy = new_greedy(self.space, self.forest)
            merge_forest(self.forest, self.space, chart, greedy, new_scratch(self.space, self.forest))
            self.greedy = greedy  # only when it is complete: another thread may look at it
        return greedy

    def _check_size(self, room: int) -> None:
        needed = int(max(self.forest.size[USED], self.trainee.size[USED])) + room
        if needed > MAX_BALLS // (self.space.d if len(self.forest.forks) else 1):
            raise SpaqlError(
                f"this partition needs room for {needed:,} cells ({room:,} for one episode): "
                "use a shorter horizon or fewer variables"
            )

    def touched(self) -> None:
        """The agent was changed from outside: the next training goes on from it, and evaluates it anew first."""
        self.greedy = None
        self.outer[BEST_RETURN] = np.nan
        self.outer[TRAIN_SAMPLES] += 1


def new_state(space: Space, outer: Array, alone: bool, forest: Forest | None = None) -> State:
    """An agent that has learned nothing.

    `alone`: the agent itself is trained, there is no best copy to keep. `forest`: the partition to begin with, if not
    one ball per tree.
    """
    forest = new_forest(space) if forest is None else forest
    return State(space, forest, forest if alone else copied(forest, space), outer=outer)


def copied(forest: Forest, space: Space) -> Forest:
    """A copy with as much room."""
    return resized(forest, space, len(forest.balls))


@kernel
def merge_forest(forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch) -> None:
    merge_all(forest, space, chart, greedy, scratch)
