"""Gains for a linear process: the least integral of absolute error that keeps what is asked of the loop.

The cost is that of a step of the reference plus that of a load at the input, each over the least that was seen of it.
A grid over the crossover frequency and the times of the controller in its periods, then Nelder and Mead's simplex from
the best. Nothing in it is random.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from spaql.ground.arrays import Array
from spaql.tuning.pid_loop import Gains, Margins, PidLoop, overshoot_of, settling_of
from spaql.tuning.process import INTEGRATES

CROSSOVERS = 32
INNER_CROSSOVERS = 5
INNER_PARTS = (0.1, 0.3, 1.0)  # of the gain with such a crossover
INTEGRAL_PERIODS = (0.3, 0.6, 1.0, 1.5, 2.5, 4.0, 8.0, 16.0, 50.0)  # integral time times the crossover frequency
DERIVATIVE_PERIODS = (0.02, 0.15, 0.3, 0.6, 1.0, 1.6)
SMALLER = (1.0, 0.5, 0.25, 0.1)  # without integral action a loop gain may be below 1 everywhere
SMALLEST = (0.1, 0.01)
WEIGHTS = np.linspace(0.0, 1.0, 6)  # of the reference: shares of what may be taken from the proportional part
WORTH = 0.9  # a second number for the reference must lower the cost to this part
STRICT = 200.0  # how much a broken demand costs, in costs
FAR_OFF = 0.5  # a demand broken by more is not looked at closer
BEST = 2  # of the grid that are refined
REFINED = 160  # trials of a refinement
DIGITS = 4


@dataclass(frozen=True)
class Demands:
    """What is asked of the loop; None: nothing."""

    overshoot: float | None  # percent of a step of the reference
    settling_time: float | None  # seconds
    gain_margin: float | None  # factor
    phase_margin: float | None  # degrees
    ms: float

    def broken(self, margins: Margins) -> float:
        """By how much of what was asked, summed."""
        parts = [margins.ms / self.ms - 1.0]
        if self.gain_margin is not None:
            parts.append(self.gain_margin / margins.gain - 1.0)
        if self.phase_margin is not None:
            parts.append(self.phase_margin / max(margins.phase, 1e-6) - 1.0)
        return sum(max(0.0, part) for part in parts)


class Attempt(NamedTuple):
    """Gains, what they cost, and by how much they break demands."""

    cost: float
    gains: Gains
    tracking: float = math.inf
    load: float = math.inf
    broken: float = math.inf  # of all demands
    robust: bool = False  # the demands on margins are kept


class Kind(NamedTuple):
    """What a form of controller has."""

    integral: bool
    derivative: bool
    cascade: bool
    ahead: bool  # feedforward from the reference


class GainSearch:
    """The search in one loop."""

    def __init__(
        self, loop: PidLoop, kind: Kind, demands: Demands, largest: float = math.inf, noisy: float = math.inf
    ) -> None:
        """The largest gain of the error, for steps, and of the output at high frequencies, for noise."""
        self.loop, self.kind, self.demands, self.largest, self.noisy = loop, kind, demands, largest, noisy
        self.best = (1.0, 1.0)  # of tracking and load: what costs are measured in
        gain = loop.process.static_gain
        self._grows = float(np.abs(loop.process.poles).max(initial=0.0)) > 1.0 + INTEGRATES
        self.inverse = 0.0 if not np.isfinite(gain) or gain == 0.0 else 1.0 / gain

    def found(self) -> Gains | None:
        """The best gains; None if no gains of this form hold the process."""
        parts = (1.0,) if self.kind.integral else SMALLER
        first = [self._tried(gains, False) for gains in self._grid(parts)]
        if not self._grows and not any(math.isfinite(trial.tracking) for trial in first):  # a resonance
            first = [self._tried(gains, False) for gains in self._grid(SMALLEST)]
        if not any(math.isfinite(trial.tracking) for trial in first):
            return None
        fair = [trial for trial in first if trial.robust] or [trial for trial in first if math.isfinite(trial.tracking)]
        self.best = min(trial.tracking for trial in fair), min(trial.load for trial in fair)
        results = [self._refined(first, False)]
        if self.kind.integral:
            near = sorted(first, key=self._cost)[: max(200, len(first) // 3)]
            results.append(self._refined([self._tried(trial.gains, True) for trial in near], True))
        alone, ahead = results[0], results[-1]
        results.sort(key=self._cost)
        first_choice = ahead if self.kind.ahead or ahead.cost < WORTH * alone.cost else alone
        return next((trial.gains for trial in (first_choice, *results) if self.loop.is_stable(trial.gains)), None)

    # -- trials --------------------------------------------------------------------------------------------------------

    def _cost(self, trial: Attempt) -> float:
        if not math.isfinite(trial.tracking):
            return 1e6 * (1.0 + min(trial.broken, 1e6))
        return (trial.tracking / self.best[0] + trial.load / self.best[1]) * (1.0 + STRICT * trial.broken)

    def _tried(self, gains: Gains, ahead: bool) -> Attempt:
        """`ahead`: with the best feedforward from the reference."""
        loop, demands, dt = self.loop, self.demands, self.loop.process.dt
        sizes = abs(gains.k) / self.largest, (abs(gains.k) + abs(gains.damping(dt))) / self.noisy
        broken = demands.broken(loop.margins(gains)) + max(0.0, *(size - 1.0 for size in sizes))
        if broken > FAR_OFF:
            return Attempt(math.inf, gains, broken=broken)
        base, load = loop.responses(gains)
        if not (self._settles(base) and self._settles(load)):
            return Attempt(math.inf, gains, broken=10.0 + broken)
        paid = dt * float(np.abs(load).sum())
        tried = []
        for weight in self._weights(gains) if ahead else [0.0]:
            answer = base + weight * load
            too_much = broken + self._too_slow(answer)
            tracking = dt * float(np.abs(1.0 - answer).sum())
            ahead_of = gains._replace(ahead=float(f"{weight:.{DIGITS}g}"))
            trial = Attempt(0.0, ahead_of, tracking, paid, too_much, broken == 0.0)
            tried.append(trial._replace(cost=self._cost(trial)))
        return min(tried, key=lambda trial: trial.cost)

    def _weights(self, gains: Gains) -> list[float]:
        weights = [-gains.k * share for share in WEIGHTS]
        return weights + [self.inverse * share for share in WEIGHTS[1:]] if self.kind.ahead else weights

    def _too_slow(self, answer: Array) -> float:
        broken, demands = 0.0, self.demands
        if demands.overshoot is not None:
            broken += max(0.0, (overshoot_of(answer) - demands.overshoot) / 100.0)
        if demands.settling_time is not None:
            settling = min(settling_of(answer, self.loop.process.dt), self.loop.steps * self.loop.process.dt)
            broken += max(0.0, settling / demands.settling_time - 1.0)
        return broken

    def _settles(self, answer: Array) -> bool:
        """Whether the response has come to rest in its last tenth. What grows has not, or begins before its cause."""
        last, most = answer[-(len(answer) // 10) :], float(np.abs(answer).max())
        return bool(np.isfinite(most) and float(np.ptp(last)) <= 0.1 * most and abs(answer[0]) <= 1e-3 * most)

    # -- grid and simplex ----------------------------------------------------------------------------------------------

    def _grid(self, parts: tuple[float, ...]) -> Iterator[Gains]:
        loop, kind, dt = self.loop, self.kind, self.loop.process.dt
        places = np.unique(np.linspace(0, len(loop.angles) - 1, CROSSOVERS // (2 if kind.cascade else 1)).astype(int))
        inner = [0.0]
        if kind.cascade:
            at = np.unique(np.linspace(len(loop.angles) // 4, len(loop.angles) - 1, INNER_CROSSOVERS).astype(int))
            sizes = [part / abs(complex(loop.near[1, i])) for i in at for part in INNER_PARTS]
            inner = [sign * size for size in sizes for sign in (1.0, -1.0)]
        periods = INTEGRAL_PERIODS[2:] if kind.cascade else INTEGRAL_PERIODS
        signs: tuple[float, ...] = (1.0, -1.0)
        if not self._grows:
            signs = (float(np.sign(loop.process.low_gain)),)
        for second, i, ti, td, sign, part in itertools.product(
            inner, places, periods if kind.integral else (0.0,), DERIVATIVE_PERIODS if kind.derivative else (0.0,),
            signs, parts,
        ):  # fmt: skip
            rate = loop.angles[i] / dt
            size = abs(complex(loop.near[0, i])) / abs(1.0 + second * (complex(loop.near[1, i]) if second else 0.0))
            size *= math.hypot(1.0, td) * (math.hypot(1.0, 1.0 / ti) if ti else 1.0)
            yield self._kept(Gains(sign * part / size, ti / rate, td / rate, second))

    def _kept(self, gains: Gains) -> Gains:
        """With a lag that is not shorter than a step, of the digits that are printed."""
        dt = self.loop.process.dt
        ti = max(gains.ti, 1.001 * dt, gains.td) if gains.ti else 0.0
        return Gains(*(float(f"{value:.{DIGITS}g}") for value in (gains.k, ti, gains.td, gains.inner)))

    def _refined(self, trials: list[Attempt], ahead: bool) -> Attempt:
        """The best of the simplex from the best of the grid."""
        begin = sorted(trials, key=self._cost)[:BEST]
        results = [trial._replace(cost=self._cost(trial)) for trial in begin]
        for trial in begin:
            signs = np.sign(trial.gains[:4])
            free = np.flatnonzero(signs)

            def gains_of(logs: Array, signs: Array = signs, free: Array = free) -> Gains:
                values = np.zeros(4)
                values[free] = signs[free] * np.exp(np.clip(logs, -60.0, 60.0))
                return self._kept(Gains(*values.tolist()))

            def cost_of(logs: Array, gains_of: Callable[[Array], Gains] = gains_of) -> float:
                return self._tried(gains_of(logs), ahead).cost if np.isfinite(logs).all() else math.inf

            at = np.log(np.abs(np.array(trial.gains[:4])[free]))
            corners = np.concatenate([at[None], at + 0.3 * np.eye(len(at))])
            options = {"initial_simplex": corners, "maxfev": REFINED, "xatol": 1e-3, "fatol": 1e-4}
            fit = minimize(
                lambda logs, cost_of=cost_of: min(cost_of(logs), 1e12), at, method="Nelder-Mead", options=options
            )
            results.append(self._tried(gains_of(fit.x), ahead))
        return min(results, key=self._cost)
