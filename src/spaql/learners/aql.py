"""AQL, NBQL and ZoomRL: one partition per step of the episode, greedy while training.

NBQL has a fixed net of cells; with finitely many states it is tabular Q-learning. ZoomRL cuts cells by confidence and
by a Lipschitz constant.
"""

import math

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.learners import aql_steps
from spaql.learners.forest_agent import ForestAgent, new_state
from spaql.learners.options import learner, number, one_of, option
from spaql.learners.outer import new_outer
from spaql.learners.spaql import BOOTSTRAP_HELP, DEFAULT_XI
from spaql.learners.update import ADAPTIVE, NET, ZOOM, Rule
from spaql.partition.forest import CAP, ESTIMATE, MAX_DEPTH, USED, Forest, depth_of, net_size, new_forest, new_net
from spaql.plants.axes import Space
from spaql.plants.chart import HUGE

NET_STEPS = (0.25, 0.5)  # of these the first step whose net is small enough, else the last step
SMALL_NET_BALLS = 2**20  # a net of at most this size is small enough
MAX_NET_BALLS = 2**24  # about 1 GB while training
DEFAULT_LIPSCHITZ = 1.0  # where there is no bonus to compare with


@learner
class PerStepAgent(ForestAgent):
    """Base of the learners with one partition per step of the episode: greedy while training; no best agent is kept."""

    xi: float | None = option(
        "scale of the exploration bonus (default: the paper's for AQL on this problem, else 1)",
        number(0.0, HUGE),
        default=None,
    )
    bootstrap: str = option(BOOTSTRAP_HELP, one_of("paper", "terminate"), default="paper")

    def _begin_with(self, kind: int, space: Space, forest: Forest | None = None, lipschitz: float = 0.0) -> None:
        """`kind` of partition, and the forest to begin with, if not one ball per step."""
        xi = self._scale()
        terminate = int(self.bootstrap == "terminate")
        self.rule = Rule(xi, math.inf, 0, terminate, np.zeros(len(self.problem.state)), kind, lipschitz)
        self.state = new_state(space, new_outer(0.0, 0.0), alone=True, forest=forest)

    def _scale(self) -> float:
        """xi; by default that of AQL for all learners of this kind, so that they can be compared."""
        if self.xi is None:
            self.xi = self.problem.xi.get(self.algorithm, self.problem.xi.get(AQL.algorithm, DEFAULT_XI))
        return self.xi

    def _learn(self, action: Array, step: int, reward: float, terminated: bool) -> None:
        state = self.state
        assert state.scratch is not None
        aql_steps.learn_outside(state.forest, state.space, self.rule, state.scratch, action, step, reward, terminated)


@learner
class AQL(PerStepAgent):
    """A policy that depends on the step of the episode.

    From outside data it updates its greedy ball, whatever the action.
    """

    algorithm = "AQL"

    def _begin(self) -> None:
        self._begin_with(ADAPTIVE, self.problem.space(self.problem.horizon))


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
            fitting = (step for step in NET_STEPS if net_size(space, depth_of(step)) <= SMALL_NET_BALLS)
            self.step = next(fitting, NET_STEPS[-1])
        self._begin_with(NET, space, new_net(space, _affordable(space, depth_of(self.step))))

    def restore(self, arrays: dict[str, Array]) -> None:
        net = self.state.forest
        super().restore(arrays)
        if not np.array_equal(self.state.forest.balls["first"], net.balls["first"][: net.size[USED]]):
            raise ValueError("its cells are not the net of its step")


def _affordable(space: Space, depth: int) -> int:
    size = net_size(space, depth)
    if size > MAX_NET_BALLS:
        raise SpaqlError(
            f"a net of step {0.5**depth:g} over {space.d} variables, the actions and {space.trees} time steps "
            f"has {size:,} cells, at most {MAX_NET_BALLS:,} are possible: "
            "use a larger step (up to 0.5), or a learner that cuts cells only where they are visited"
        )
    return depth


@learner
class ZoomRL(PerStepAgent):
    """Chooses the ball with the largest index; a ball is cut when its bonus is no more than what Q may vary in it.

    From outside data the ball of `obs` and `action` is updated.
    """

    algorithm = "ZoomRL"
    lipschitz: float | None = option(
        "constant L of the optimal Q in the cube, sup metric "
        "(default: `xi`, 1 if that is 0; balls are then cut after 4^depth visits)",
        number(0.0, HUGE, above=True),
        default=None,
    )

    def _begin(self) -> None:
        space = self.problem.space(self.problem.horizon)
        if self.lipschitz is None:
            self.lipschitz = self._scale() or DEFAULT_LIPSCHITZ
        forest = new_forest(space)
        forest = forest._replace(bounds=np.zeros((len(forest.balls), 3)))
        forest.bounds[: space.trees, ESTIMATE] = space.horizon
        forest.bounds[: space.trees, CAP] = np.inf  # nothing lies around the largest balls
        forest.balls["q"][: space.trees] = space.horizon + self.lipschitz  # (8)
        self._begin_with(ZOOM, space, forest, self.lipschitz)
