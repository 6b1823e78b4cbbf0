"""Limits that no start is within are refused where they are stated: a search would learn, and fail in every episode."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spaql.ground.errors import SpaqlError
from spaql.plants.answers import begun, observed
from spaql.plants.limits import Limit
from spaql.plants.plant import tried

if TYPE_CHECKING:
    from spaql.plants.problem import Problem

STARTS = 300  # drawn on a plant before a limit is refused
RESETS = 30  # of an environment; both end with the first start within


def check_starts(problem: "Problem", limits: Sequence[Limit], trip: bool = False) -> None:
    """Every limit on a variable must hold at one start at least. `trip`: violations end the episode."""
    remembered = {item.name for item in problem.signals.items} if problem.signals is not None else set()
    places = {axis.name: j for j, axis in enumerate(problem.state) if axis.name not in remembered}
    open_ = [limit for limit in limits if limit.variable in places]
    if not open_ or not problem.can_run:
        return
    seen = []
    for start in _starts(problem):
        seen.append(start)
        open_ = [one for one in open_ if not one.low <= start[places[one.variable]] <= one.high]
        if not open_:
            return
    limit = open_[0]
    values, unit = [start[places[limit.variable]] for start in seen], problem.state[places[limit.variable]].unit
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    found = f"{low if low == high else f'{low} to {high}'}{f' {unit}' if unit else ''}"
    so = "every episode would end after its first step" if trip else "every episode would begin with a violation"
    raise SpaqlError(
        f"no start satisfies the {'trip' if trip else 'limit'} {limit.text(unit)}: in {len(seen)} starts "
        f"{limit.variable} is {found}, so that {so}; widen it, or begin episodes within it"
    )


def _starts(problem: "Problem") -> Iterator[Sequence[float]]:
    """Observations at the beginning of episodes, always the same ones; of a plant in plain Python."""
    plant = problem.plant
    if plant is None:
        env, names = problem.open_env(), [axis.name for axis in problem.state]
        for seed in range(RESETS):
            yield observed(names, begun(env.reset(seed=seed)), f"start {seed}").tolist()
        return
    plant, rng = plant.in_functions(), np.random.default_rng(0)
    for chances in rng.random((STARTS, plant.reset_noise)).tolist():
        state = tried(plant.reset, chances)
        yield state if plant.observe is None else tried(plant.observe, list(state))
