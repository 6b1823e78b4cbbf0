"""NBQL: net-based Q-learning, a fixed net of cells per step of the episode.

With finitely many states it is tabular Q-learning.
"""

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.learners.aql import PerStepAgent
from spaql.learners.options import learner, number, option
from spaql.learners.update import NET
from spaql.partition.forest import MAX_DEPTH, USED, depth_of, net_size, new_net
from spaql.plants.axes import Space

DEFAULT_STEPS = (0.25, 0.5)  # of these the first step whose net is small enough, else the last step
DEFAULT_BALLS = 2**20  # a net of at most this size is small enough
MAX_NET = 2**24  # balls: about 1 GB while training


@learner
class NBQL(PerStepAgent):
    """Q-learning with a bonus on a fixed net of the state-action cube; the policy depends on the step of the episode.

    Cells come from halving: a step of 0.3 gives the net of 0.25. Every action of a finite set has its own cell. From
    outside data the cell of `obs` and `action` is updated.
    """

    algorithm = "NBQL"
    step: float | None = option(
        "mesh width of the net in the cube: no point is farther than this from the centre of its cell "
        "(default: 0.25, four cells along every axis; 0.5 where that would be more than a million cells)",
        number(0.5**MAX_DEPTH, 0.5),
        default=None,
    )

    def _begin(self) -> None:
        space = self.problem.space(self.problem.horizon)
        space = space._replace(cut=max(space.m, 2))
        if self.step is None:
            fitting = (step for step in DEFAULT_STEPS if net_size(space, depth_of(step)) <= DEFAULT_BALLS)
            self.step = next(fitting, DEFAULT_STEPS[-1])
        self._begin_with(NET, space, new_net(space, _affordable(space, depth_of(self.step))))

    def restore(self, arrays: dict[str, Array]) -> None:
        net = self.state.forest
        super().restore(arrays)
        if not np.array_equal(self.state.forest.balls["first"], net.balls["first"][: net.size[USED]]):
            raise ValueError("its cells are not the net of its step")


def _affordable(space: Space, depth: int) -> int:
    size = net_size(space, depth)
    if size > MAX_NET:
        raise SpaqlError(
            f"a net of step {0.5**depth:g} over {space.d} variables, the actions and {space.trees} time steps "
            f"has {size:,} cells, at most {MAX_NET:,} are possible: "
            "use a larger step (up to 0.5), or a learner that cuts cells only where they are visited"
        )
    return depth
