"""SPAQL, single-partition adaptive Q-learning, and SPAQL-TS, its form for a reference state to be reached and held."""

import math
from collections.abc import Sequence

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.learners import spaql_steps
from spaql.learners.forest_agent import ForestAgent, new_state
from spaql.learners.options import learner, number, one_of, option
from spaql.learners.outer import TAU, Cooling, new_outer
from spaql.learners.update import Rule
from spaql.plants.chart import HUGE
from spaql.plants.problem import reference_in_cube

DEFAULT_XI = 1.0  # for problems the paper does not have
BOOTSTRAP_HELP = (
    '"paper" uses the value of the next state also when the episode has terminated, "terminate" sets it to 0 then'
)


@learner
class SPAQL(ForestAgent):
    """One partition for all steps of the episode; Boltzmann exploration; the best agent seen is kept."""

    algorithm = "SPAQL"
    xi: float | None = option(
        "scale of the exploration bonus (default: the paper's for the problem, else 1)",
        number(0.0, HUGE),
        default=None,
    )
    tau_min: float = option("lowest temperature", number(0.0, above=True), default=0.01)
    u: float = option("factor by which the temperature grows", number(1.0), default=2.0)
    d: float = option("exponent that damps the growth after every improvement", number(0.0, 1.0), default=0.8)
    temperature_rule: str = option(
        '"published" follows the authors\' program, "paper" the paper\'s pseudocode',
        one_of("published", "paper"),
        default="published",
    )
    bootstrap: str = option(BOOTSTRAP_HELP, one_of("paper", "terminate"), default="paper")

    def _begin(self) -> None:
        self._begin_with(math.inf, False, np.zeros(len(self.problem.state)))

    def _begin_with(self, lam: float, sup: bool, reference: Array) -> None:
        """One ball, and the Gaussian of SPAQL-TS: `lam` infinite for none."""
        self.xi = self.problem.xi.get(self.algorithm, DEFAULT_XI) if self.xi is None else self.xi
        self.rule = Rule(self.xi, lam, int(sup), int(self.bootstrap == "terminate"), reference)
        self.cooling = Cooling(self.tau_min, self.d, self.temperature_rule == "published")
        self.state = new_state(self.problem.space(), new_outer(self.tau_min, self.u), alone=False)

    def _learn(self, action: Array, step: int, reward: float, terminated: bool) -> None:
        """Update the agent itself; the next `learn` call starts from it and evaluates it first."""
        state = self.state
        assert state.scratch is not None
        spaql_steps.learn_outside(state.forest, state.space, self.rule, state.scratch, action, reward, terminated)
        state.outer[TAU] = self.tau_min


@learner
class SPAQLTS(SPAQL):
    """SPAQL whose value of the next state is weighted with a Gaussian around a reference state.

    The weight is exp(-(D(x, x_ref) / lambda)^2).
    """

    algorithm = "SPAQL-TS"
    lam: float = option("width of the Gaussian, in the cube", number(0.0, above=True), default=1.2)
    reference: Sequence[float] | None = option(
        "the state to hold, in physical units (default: the problem's; required if it has none)",
        default=None,
    )
    distance: str = option(
        '"euclidean" as in the published program, or "sup" as in the paper\'s text; both in the cube',
        one_of("euclidean", "sup"),
        default="euclidean",
    )

    def _begin(self) -> None:
        held = self.problem.reference if self.reference is None else self.reference
        if held is None:
            name = self.problem.name
            raise SpaqlError(f"SPAQL-TS needs the state to hold: {name} has no reference, give reference=(...)")
        point = reference_in_cube(self.problem, held)
        if self.reference is not None:
            self.reference = [float(v) for v in self.reference]
        self._begin_with(self.lam, self.distance == "sup", point)
