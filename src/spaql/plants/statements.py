"""What is stated of a problem must be able to happen: what could never act, asks for what is forbidden, or is violated
at every start is refused where it is stated."""

import math
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from spaql.ground.checks import real
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.plants.answers import begun, observed
from spaql.plants.limits import Limit
from spaql.plants.plant import tried
from spaql.plants.problem import SHORTEST, Problem
from spaql.plants.references import Reference
from spaql.plants.signals import Signals

BEYOND = 0.02  # of the range of the data: so far beyond it a model may be asked
SAME_STEP = 1e-6  # of a step: so much its time may differ by rounding
STARTS = 300  # drawn on a plant before a limit is refused
RESETS = 30  # of an environment; both end with the first start within


def check_statements(signals: Signals, limits: Sequence[Limit], trips: Sequence[Limit]) -> None:
    """Of a loop whose names are known to exist."""
    for lock in signals.interlocks:
        (low, high), at = signals.axes[lock.when].ends, lock.above if lock.above is not None else lock.below
        if at is not None and not low <= at <= high:
            raise SpaqlError(
                f"{lock}: {lock.when} goes from {low:g} to {high:g}, so that this holds always or never; "
                "give a threshold within this range"
            )
    for trip in trips:
        low, high = signals.axes[trip.variable].ends
        if -math.inf < trip.low <= low or math.inf > trip.high >= high:
            raise SpaqlError(
                f"the trip {trip.text()} has an end that is never exceeded: {trip.variable} goes from {low:g} to "
                f"{high:g}; give an end within this range, or leave it out"
            )
    for reference in signals.references:
        if isinstance(reference.hold, tuple) and reference.hold[0] >= signals.horizon:
            raise SpaqlError(
                f"{reference.name} is held for {reference.hold[0]} steps, and an episode has {signals.horizon}: "
                "it would never change; shorten hold, or leave it out"
            )
        for limit in (*limits, *trips):
            least, most = asked(reference)
            if limit.variable in (reference.of, reference.name) and not limit.low <= least <= most <= limit.high:
                raise SpaqlError(
                    f"{reference.name} asks for {least:g} to {most:g}, beyond the limit {limit.text()}: "
                    "widen the limit, or ask for less"
                )


def asked(reference: Reference) -> tuple[float, float]:
    """The least and the most that a reference asks for."""
    values = reference.values or (reference.low, reference.high)
    return min(values), max(values)


def warn_beyond(problem: Problem, references: Sequence[Reference]) -> None:
    """Where a learned plant has no data it guesses, and a controller that is tried there is ranked by the guess."""
    for reference in references:
        for axis, (low, high) in zip(problem.state, problem.seen, strict=False):
            (least, most), slack = asked(reference), BEYOND * (high - low)
            if axis.name == reference.of and not low - slack <= least <= most <= high + slack:
                unit, asks = f" {axis.unit}" if axis.unit else "", f"{least:g} to {most:g}"
                warnings.warn(
                    f"{reference.name} asks for {axis.name} from {asks}{unit}, and the data of the model have "
                    f"{low:.4g} to {high:.4g}{unit}: beyond them it guesses, and may rank controllers wrongly; "
                    "record more, or ask for less",
                    SpaqlWarning,
                    stacklevel=3,
                )


def dt_of(problem: Problem, given: float | None = None) -> float:
    """Seconds per step, as given or as the plant has it: these must agree."""
    own, dt = problem.dt, real("dt", 1.0 if given is None else given, SHORTEST, 1 / SHORTEST)
    if own is None:
        return dt
    if given is not None and abs(dt - own) > SAME_STEP * own:
        both = f"dt = {dt:g} s, but a step of {problem.name} takes {own:g} s"
        raise SpaqlError(f"{both}: leave dt out, or make the plant with this step")
    return own


def check_starts(problem: Problem, limits: Sequence[Limit], trip: bool = False) -> None:
    """Every limit on a variable must hold at one start at least. `trip`: violations end the episode."""
    remembered = {item.name for item in problem.signals.items} if problem.signals is not None else set()
    places = {axis.name: j for j, axis in enumerate(problem.state) if axis.name not in remembered}
    open_ = [limit for limit in limits if limit.variable in places]
    if not open_ or not problem.can_run:
        return
    seen = []
    for start in first_observations(problem):
        seen.append(start)
        open_ = [limit for limit in open_ if not limit.low <= start[places[limit.variable]] <= limit.high]
        if not open_:
            return
    limit = open_[0]
    values, unit = [start[places[limit.variable]] for start in seen], problem.state[places[limit.variable]].unit
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    span = f"{low if low == high else f'{low} to {high}'}{f' {unit}' if unit else ''}"
    so = "every episode would end after its first step" if trip else "every episode would begin with a violation"
    raise SpaqlError(
        f"no start satisfies the {'trip' if trip else 'limit'} {limit.text(unit)}: in {len(seen)} starts "
        f"{limit.variable} is {span}, so that {so}; widen it, or begin episodes within it"
    )


def first_observations(problem: Problem) -> Iterator[Sequence[float]]:
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
