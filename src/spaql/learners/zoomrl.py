"""ZoomRL: zooming by confidence and by a Lipschitz constant, one partition per step of the episode."""

import numpy as np

from spaql.learners.aql import PerStepAgent
from spaql.learners.options import learner, number, option
from spaql.learners.update import ZOOM
from spaql.partition.forest import CAP, ESTIMATE, new_forest
from spaql.plants.chart import HUGE

DEFAULT_LIPSCHITZ = 1.0  # where there is no bonus to compare with


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
