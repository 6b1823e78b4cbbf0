"""What an agent has learned, as plain arrays: this is what files hold and kernels work on."""

from dataclasses import dataclass

import numpy as np

from spaql.compiling import Array, kernel
from spaql.partition.forest import BALL, USED, Forest, Space, grown, new_forest
from spaql.partition.greedy import Greedy, Scratch, merge_all, new_greedy, new_scratch, scratch_width
from spaql.plants.chart import Chart
from spaql.training.history import COLUMNS
from spaql.training.outer import BEST_RETURN


@dataclass
class State:
    """The agent, the trainee that is to become better, and where training stands."""

    space: Space
    forest: Forest  # the agent: what is kept, played and saved
    trainee: Forest  # SPAQL: the copy in training; AQL: the agent itself
    outer: Array
    history: Array
    draws: int = 0  # random predictions made so far
    scratch: Scratch | None = None  # working memory, as large as the forests
    greedy: Greedy | None = None  # the merged policy of `forest`, None after a change

    def make_room(self, room: int) -> Scratch:
        """Room for `room` more balls in agent and trainee, and working memory to match."""
        alone = self.trainee is self.forest
        ahead = int(self.forest.size[USED]) - int(self.trainee.size[USED])  # update() makes the agent grow, learn() the trainee
        self.trainee = grown(self.trainee, room + max(ahead, 0))
        capacity = len(self.trainee.balls)
        self.forest = self.trainee if alone else grown(self.forest, capacity - int(self.forest.size[USED]))
        if self.scratch is None or len(self.scratch.q) != scratch_width(self.space, capacity):
            self.scratch = new_scratch(self.space, capacity)
        return self.scratch

    def policy(self, chart: Chart) -> Greedy:
        """The greedy policy of the agent, merged anew if something has changed."""
        if self.greedy is None:
            capacity = len(self.forest.balls)
            self.greedy = new_greedy(self.space, capacity)
            merge_forest(self.forest, self.space, chart, self.greedy, new_scratch(self.space, capacity))
        return self.greedy

    def touched(self) -> None:
        """The agent was changed from outside: the next training goes on from it, and evaluates it anew first."""
        self.greedy = None
        self.outer[BEST_RETURN] = np.nan


def new_state(space: Space, outer: Array, alone: bool) -> State:
    """`alone`: the agent itself is trained, there is no best copy to keep."""
    forest = new_forest(space)
    return State(space, forest, forest if alone else copied(forest), outer, np.zeros((0, len(COLUMNS))))


def copied(forest: Forest) -> Forest:
    """A copy with as much room."""
    used = int(forest.size[USED])
    balls = np.zeros(len(forest.balls), BALL)  # the room behind is not even touched
    balls[:used] = forest.balls[:used]
    return Forest(balls, forest.size.copy())


@kernel
def merge_forest(forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch) -> None:
    merge_all(forest, space, chart, greedy, scratch)
