"""PI and PID controllers of `spaql.tune` beside the rules of Skogestad (SIMC), Astrom and Hagglund (AMIGO), and Ziegler and
Nichols, on eight processes of the test batch of Astrom and Hagglund.

    python benchmarks/tune.py            # some seconds

Every controller in the same loop, sampled 100 times in the dead time of SIMC's model: integral of absolute error (IAE) after a
unit step of a load at the input and of the reference, maximum sensitivity Ms. SIMC takes its half rule, AMIGO the delay and
the time constant of the half rule, Ziegler and Nichols ultimate gain and period.
"""

import argparse
import math

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.signal import tf2ss

from spaql.tuning.gain_search import Demands, GainSearch, Kind
from spaql.tuning.pid_loop import Gains, PidLoop, overshoot_of
from spaql.tuning.process import Process

# name, lags in seconds, dead time, zero in the right half plane (its time constant), integrating
BATCH = (
    ("1/(s+1)^4", [1.0] * 4, 0.0, 0.0, False),
    ("1/(s+1)^8", [1.0] * 8, 0.0, 0.0, False),
    ("lags 1, 0.2, 0.04, 0.008", [1.0, 0.2, 0.04, 0.008], 0.0, 0.0, False),
    ("(1-0.5s)/(s+1)^3", [1.0] * 3, 0.0, 0.5, False),
    ("exp(-s)/(0.2s+1)", [0.2], 1.0, 0.0, False),
    ("exp(-s)/(5s+1)", [5.0], 1.0, 0.0, False),
    ("exp(-s)/(2s+1)^2", [2.0, 2.0], 1.0, 0.0, False),
    ("exp(-s)/s", [], 1.0, 0.0, True),
)
KINDS = {"PI": Kind(True, False, False, False), "PID": Kind(True, True, False, False)}
SAMPLES = 100


def half_rule(lags: list[float], dead: float, zero: float, order: int) -> tuple[list[float], float]:
    """The largest lags and the dead time of a model of first or second order."""
    kept, rest = lags[:order], lags[order:]
    if rest:
        kept[-1] += rest[0] / 2
        dead += rest[0] / 2 + sum(rest[1:])
    return kept, dead + zero


def sampled(lags: list[float], dead: float, zero: float, integrating: bool, dt: float) -> Process:
    below = np.poly1d([1.0, 0.0] if integrating else [1.0])
    for lag in lags:
        below *= np.poly1d([lag, 1.0])
    a, b, c, _ = tf2ss(np.poly1d([-zero, 1.0]).coeffs if zero else [1.0], below.coeffs)
    n = len(a)
    both = np.zeros((n + 1, n + 1))
    both[:n, :n], both[:n, n] = a, b[:, 0]
    step = expm(both * dt)
    return Process(step[:n, :n], step[:n, n], c, round(dead / dt), dt, 0.0, np.zeros(1))


def rules(form: str, loop: PidLoop, lags: list[float], dead: float, zero: float, integrating: bool) -> dict[str, Gains]:
    """Gains by rule, in the series form."""
    kept, late = half_rule(lags, dead, zero, 1 if form == "PI" else 2)
    first = kept[0] if kept else math.inf
    simc = Gains(
        0.5 / late if integrating else first / (2 * late), min(first, 8 * late), kept[1] if len(kept) > 1 else 0.0
    )
    found = {"SIMC": simc}
    if form == "PI":
        kept, late = half_rule(lags, dead, zero, 1)
        t = math.inf if integrating else kept[0]
        k = 0.35 / late if integrating else 0.15 + (0.35 - late * t / (late + t) ** 2) * t / late
        ti = 13.4 * late if integrating else 0.35 * late + 13 * late * t**2 / (t**2 + 12 * late * t + 7 * late**2)
        found["AMIGO"] = Gains(k, ti)

    def phase(angle: float) -> float:
        return float(np.imag(loop.process.response(np.array([np.exp(1j * angle)]))[0, 0]))

    crossing = next(i for i in np.flatnonzero(np.diff(np.sign(loop.near[0].imag))) if loop.near[0, i].real < 0)
    angle = brentq(phase, loop.angles[crossing], loop.angles[crossing + 1])
    largest = -1.0 / float(np.real(loop.process.response(np.array([np.exp(1j * angle)]))[0, 0]))
    period = 2 * math.pi / angle * loop.process.dt
    ideal = Gains(0.45 * largest, period / 1.2) if form == "PI" else Gains(0.3 * largest, period / 4, period / 4)
    return found | {"Ziegler-Nichols": ideal}  # 0.6 Ku, Tu/2 and Tu/8 are this series form


def figures(loop: PidLoop, gains: Gains) -> tuple[float, float, float, float]:
    """IAE of the load and of the reference, overshoot in percent, Ms."""
    base, load = loop.responses(gains)
    answer, dt = base + gains.ahead * load, loop.process.dt
    ms = loop.margins(gains, exact=True).ms
    return dt * float(np.abs(load).sum()), dt * float(np.abs(1 - answer).sum()), overshoot_of(answer), ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ms", type=float, default=1.6, help="what spaql.tune keeps")
    asked = Demands(10.0, None, None, None, parser.parse_args().ms)
    for form, kind in KINDS.items():
        ratios: dict[str, list[tuple[float, float]]] = {}
        print(f"\n{form:<26}{'controller':<17}{'IAE load':>9}{'IAE ref.':>9}{'overshoot':>10}{'Ms':>7}   gains")
        for name, lags, dead, zero, integrating in BATCH:
            _, late = half_rule(list(lags), dead, zero, 1)
            loop = PidLoop(sampled(lags, dead, zero, integrating, late / SAMPLES))
            found = GainSearch(loop, kind, asked).found()
            assert found is not None
            listed = {"spaql.tune": found} | rules(form, loop, list(lags), dead, zero, integrating)
            own = figures(loop, found)
            for who, gains in listed.items():
                load, reference, overshoot, ms = figures(loop, gains)
                ratios.setdefault(who, []).append((load / own[0], reference / own[1]))
                told = ", ".join(f"{value:.3g}" for value in gains if value)
                print(f"{name if gains is found else '':<26}{who:<17}{load:>9.2f}{reference:>9.2f}{overshoot:>8.0f} %{ms:>7.2f}   {told}")
        for who, pairs in ratios.items():
            means = np.exp(np.log(np.array(pairs)).mean(axis=0))
            print(
                f"{'all eight, over spaql.tune' if who == 'spaql.tune' else '':<26}{who:<17}{means[0]:>9.2f}{means[1]:>9.2f}"
            )


if __name__ == "__main__":
    main()
