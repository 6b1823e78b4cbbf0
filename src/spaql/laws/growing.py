"""How much of a search for trees a budget of samples allows in a slow simulator."""

import math

from spaql.laws.search import CHOICE, FEW, FRESH, GROWN, POPULATION, SCREENED

LATEST = 0.4  # of the samples that are left, for a later stage
GROWING = 0.7  # of that for the search
EFFORTS = [0.8**i for i in range(16)]


def affordable_effort(samples: float, steps: float) -> float | None:
    """The effort of a fresh search with so many samples, episodes having so many steps; None: too few for any."""
    return next((effort for effort in EFFORTS if _episodes(effort) * steps <= samples), None)


def _episodes(effort: float) -> float:
    """Episodes of a fresh search, about."""

    def count(number: float, least: int) -> int:
        return max(least, round(number * effort))

    screened = count(SCREENED, 4) * count(FEW, 1) + count(GROWN, 4) * count(2 * FEW, 1)
    population = count(POPULATION * 4 * math.e, 4)
    rounds = sum(count(a, 2) * (count(b, 1) * count(c, 2) * population + count(CHOICE, 4)) for a, b, c in FRESH)
    return screened + rounds
