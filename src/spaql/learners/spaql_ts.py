"""SPAQL-TS: SPAQL with terminal state, for problems where a reference state must be reached and held."""

from collections.abc import Sequence

from spaql.ground.errors import SpaqlError
from spaql.learners.options import learner, number, one_of, option
from spaql.learners.spaql import SPAQL
from spaql.plants.problem import reference_in_cube


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
