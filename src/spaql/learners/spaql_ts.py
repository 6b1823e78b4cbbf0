"""SPAQL-TS: SPAQL with terminal state, for problems where a reference state must be reached and held."""

from collections.abc import Sequence
from typing import Any

from spaql.checks import choice, real
from spaql.errors import SpaqlError
from spaql.learners.agent import Agent
from spaql.learners.spaql import set_up_spaql, update_spaql
from spaql.plants.problem import Problem, reference_in_cube

DISTANCES = ("euclidean", "sup")


class SPAQLTS(Agent):
    """SPAQL whose value of the next state is weighted with a Gaussian around a reference state, exp(-(D(x, x_ref) / lambda)^2).

    - `lam`: width of the Gaussian, in the cube
    - `reference`: the state to hold, in physical units (default: the problem's)
    - `distance`: "euclidean" as in the published program, or "sup" as in the paper's text; both in the cube
    - the others as for SPAQL
    """

    algorithm = "SPAQL-TS"

    def __init__(
        self, problem: Problem, *, xi: float | None = None, lam: float = 1.2, reference: Sequence[float] | None = None,
        distance: str = "euclidean", tau_min: float = 0.01, u: float = 2.0, d: float = 0.8,
        temperature_rule: str = "published", bootstrap: str = "paper", seed: int = 0,
    ) -> None:  # fmt: skip
        options = {
            "xi": xi, "lam": lam, "reference": reference, "distance": distance, "tau_min": tau_min, "u": u, "d": d,
            "temperature_rule": temperature_rule, "bootstrap": bootstrap,
        }  # fmt: skip
        self._set_up(problem, seed, options)
        if reference is None and problem.reference is None:
            raise SpaqlError(f"SPAQL-TS needs the state to hold: {problem.name} has no reference, give reference=(...)")
        held = problem.reference if reference is None else reference
        point = reference_in_cube(problem, held)  # type: ignore[arg-type]
        if reference is not None:
            options["reference"] = [float(v) for v in reference]
        sup = choice("distance", distance, DISTANCES) == "sup"
        set_up_spaql(self, real("lam", lam, 0.0, above=True), sup, point)

    def update(self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int = 0) -> None:
        with self.state.guard.write():
            update_spaql(self, obs, action, reward, next_obs, terminated, step)
