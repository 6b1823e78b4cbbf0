"""A process model from a recorded step response: first or second order, or integrating, with dead time.

    level(t) = base + drift t + gain * sum of jumps of the input, each answered by S(t - its time - dead time)

S is the response to a unit step. Gain, base and drift follow by linear least squares, dead time and time constants
from a grid, then by nonlinear least squares. The model with the lowest Bayesian information criterion is taken.
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import expm
from scipy.optimize import least_squares

from spaql.data.table import LogTable, read_table
from spaql.ground.arrays import Array
from spaql.ground.checks import numbers, real
from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Axis, Continuous
from spaql.plants.compile import function_of
from spaql.plants.loop import loop
from spaql.plants.make import from_plant
from spaql.plants.memory import LONGEST
from spaql.plants.plant import PlantFunction
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.policy.digits import number

MOST_ROWS = 5000  # of a longer log every so many rows are fitted
MOST_JUMPS = 400
FEWEST = 10  # rows
JITTER = 0.02  # of a step, by which times may differ
STILL = 1e-9  # of its size: what varies by less is constant
REST = 0.05  # of its whole change: what moves by more in the last tenth has not settled
EXPLAINED = 0.5  # of the variance, at least
LAGS, DELAYS = 24, 24  # of the grid
SHAPES = (0.4, 1.0, 1.5, 3.0)  # of a second order: damping


class ProcessModel(NamedTuple):
    """gain / (T^2 s^2 + 2 shape T s + 1), or gain / (T s + 1) if `shape` is 0, over s if it integrates; dead time."""

    gain: float
    time: float
    shape: float
    dead: float
    integrating: bool
    missed: float  # share of the variance that is not explained
    base: float  # of the output
    at: float = 0.0  # the input that holds it there

    @property
    def flow(self) -> tuple[Array, Array]:
        """a and b of x' = a x + b u, of which the first x is the output."""
        if self.integrating:
            if self.time == 0.0:
                return np.zeros((1, 1)), np.array([self.gain])
            return np.array([[0.0, 1.0], [0.0, -1.0 / self.time]]), np.array([0.0, self.gain / self.time])
        if self.shape == 0.0:
            return np.array([[-1.0 / self.time]]), np.array([self.gain / self.time])
        square = self.time * self.time
        return np.array([[0.0, 1.0], [-1.0 / square, -2 * self.shape / self.time]]), np.array([0.0, self.gain / square])

    def words(self, output: str, given: str) -> str:
        """For people; `output` and `given` are units."""
        shown = [gain_words(self.gain, output, given, self.integrating)]
        if self.shape >= 1.0:
            times = [self.time * (self.shape + sign * math.sqrt(self.shape * self.shape - 1.0)) for sign in (1.0, -1.0)]
            shown.append(f"time constants {', '.join(number(time, 3) for time in times)} s")
        elif self.shape > 0.0:
            shown.append(f"period {number(2 * math.pi * self.time, 3)} s, damping {number(self.shape, 3)}")
        elif self.time > 0.0:
            shown.append(f"time constant {number(self.time, 3)} s")
        shown.append(f"dead time {number(self.dead, 3)} s")
        missed = f"{number(100.0 * (1.0 - self.missed), 4)} % of the variance" if self.missed > 1e-6 else "exactly"
        return f"{', '.join(shown)}; fits {missed}"


def gain_words(gain: float, output: str, given: str, integrating: bool) -> str:
    """ "static gain 3 K per kW", or "integrating, 0.2 m per s"; `output` and `given` are units."""
    below = " and ".join(filter(None, [given, "s" if integrating else ""]))
    unit = f" {output}".rstrip() + (f" per {below}" if below else "")
    return f"{'integrating,' if integrating else 'static gain'} {number(gain)}{unit}"


# -- fitting -----------------------------------------------------------------------------------------------------------


def fitted(given: Array, output: Array, dt: float, integrating: bool | None, where: str) -> ProcessModel:
    """The process model of a log; `integrating`: None asks it to find out, where that can be seen."""
    every = -(-len(output) // MOST_ROWS)
    time, seen = dt * np.arange(0, len(output), every), output[::every]
    jumps = np.flatnonzero(np.diff(given)) + 1
    if len(jumps) > MOST_JUMPS:
        raise SpaqlError(
            f"{where}: the input changes {len(jumps)} times; give a stretch with at most {MOST_JUMPS} steps"
        )
    if len(jumps) == 0 or np.ptp(given) <= STILL * np.abs(given).max():
        raise SpaqlError(f"{where}: the input is constant: record a step of it, from rest")
    if np.ptp(output) <= STILL * max(np.abs(output).max(), 1e-300):
        raise SpaqlError(f"{where}: the output is constant: it does not react to the input, or was not recorded")
    steps = [(dt * int(at), float(given[at] - given[at - 1])) for at in jumps]
    kinds = [(False, False), (False, True)] if not integrating else []
    kinds += [(True, False), (True, True)] if integrating is None or integrating else []
    fits = {kind: _fit(time, seen, steps, *kind) for kind in kinds}
    chosen = min(fits, key=lambda kind: _criterion(fits[kind], len(seen), kind))
    model, free = fits[chosen], float(time[-1] - steps[0][0])
    slow = not model.integrating and model.time * max(1.0, 2 * model.shape) + model.dead > free / 3.0
    if integrating is None and (model.integrating or (slow and _moves(seen))):
        raise SpaqlError(
            f"{where}: the output has not settled in the {free:.4g} s after the first step of the input, it may "
            "integrate or be slow: say integrating=True or False (--integrating, --settles), or record until it rests"
        )
    if model.missed > 1.0 - EXPLAINED:
        raise SpaqlError(
            f"{where}: the input explains {100 * (1 - model.missed):.0f} % of what the output does: record a larger "
            "step, from rest and without other changes"
        )
    if model.integrating:
        return model._replace(base=float(output.mean()), at=float(given[0]) - model.at / model.gain)
    at = float(given.mean())
    return model._replace(base=model.base + model.gain * (at - float(given[0])), at=at)


def _moves(seen: Array) -> bool:
    tenth = max(1, len(seen) // 10)
    return bool(abs(seen[-tenth:].mean() - seen[-2 * tenth : -tenth].mean()) > REST * np.ptp(seen))


def _criterion(model: ProcessModel, rows: int, kind: tuple[bool, bool]) -> float:
    """Bayesian; noise of a part in 1e6 is below any sensor. An integrator has a drift for its time constant."""
    return rows * math.log(max(model.missed, 1e-6)) + (4 + kind[1] + 0.5 * kind[0]) * math.log(rows)


def _fit(time: Array, seen: Array, steps: list[tuple[float, float]], integrating: bool, second: bool) -> ProcessModel:
    length, first = float(time[-1]), steps[0][0]
    dt = float(time[1] - time[0])

    def solved(free: Array) -> tuple[Array, Array]:
        dead, lag = free[0], free[1] if len(free) > 1 else 0.0
        shape = free[2] if len(free) > 2 else 0.0
        answer = sum(size * _step(time - at - dead, lag, shape, integrating) for at, size in steps)
        columns = [np.asarray(answer), np.ones(len(time)), *([time] if integrating else [])]
        basis = np.stack(columns, axis=1)
        weights = np.linalg.lstsq(basis, seen, rcond=None)[0]
        return weights, basis @ weights - seen

    fine = 1 if not second or integrating else 2  # three numbers are searched on a coarser grid
    lags = np.geomspace(max(0.3 * dt, length / 2000), 3.0 * length, LAGS // fine).tolist()
    deads = np.concatenate([[0.0], np.geomspace(0.5 * dt, 0.6 * (length - first) + dt, DELAYS // fine)]).tolist()
    parts: list[list[float]] = [deads]
    parts += [lags] if not integrating or second else []
    parts += [list(SHAPES)] if second and not integrating else []
    grid = sorted((float(np.square(solved(np.array(free))[1]).sum()), free) for free in itertools.product(*parts))
    ends = [(0.0, length), (0.05 * dt, 20.0 * length), (0.1, 20.0)][: len(parts)]
    bounds = tuple(np.array(ends).T)
    fits = [
        least_squares(lambda x: solved(x)[1], np.clip(free, *bounds), bounds=bounds, x_scale=np.maximum(free, dt))
        for _, free in grid[:3]
    ]
    best = min(fits, key=lambda fit: float(fit.cost))
    weights, wrong = solved(best.x)
    dead, lag, shape = [*best.x.tolist(), 0.0, 0.0][:3]
    missed = float(np.square(wrong).sum() / np.square(seen - seen.mean()).sum())
    others = weights[1:].tolist()  # of an integrator also a drift, in the place of `at`
    return ProcessModel(float(weights[0]), lag, shape, dead, integrating, missed, *others)


def _step(t: Array, lag: float, shape: float, integrating: bool) -> Array:
    """The response to a unit step at time zero, of a gain of 1."""
    t = np.maximum(t, 0.0)
    if integrating:
        return t - lag * -np.expm1(-t / lag) if lag > 0.0 else t
    if shape == 0.0:
        return np.asarray(-np.expm1(-t / lag))
    root = np.sqrt(complex(shape * shape - 1.0)) or 1e-6
    fast, slow = (-shape - root) / lag, (-shape + root) / lag
    after = 1.0 + (slow * np.exp(fast * t) - fast * np.exp(slow * t)) / (fast - slow)
    return np.asarray(after.real)


# -- a problem that behaves like it ------------------------------------------------------------------------------------


def problem_of_log(
    log: Any, given: Any, output: Any, limits: Any, dt: float | None, integrating: bool | None, followed: Any
) -> tuple[Problem, str]:
    """The process of a log, in a loop in which a reference is followed, and what it is in words."""
    table = read_table(log)
    for what, name in (("input", given), ("output", output)):
        if not isinstance(name, str):
            raise SpaqlError(f"{table.name}: name its column, {what}=...: {', '.join(table.columns[:20])}")
    table.require([given, output], "input and output of the step response")
    u, y = (_whole(table, name) for name in (given, output))
    if len(table) < FEWEST:
        raise SpaqlError(f"{table.name} has {len(table)} rows: a step response needs at least {FEWEST}")
    if limits is None:
        raise SpaqlError(f"give the limits of {given}, such as limits=(0, 100): a log does not tell them")
    low, high = numbers("limits", limits, (2,)).tolist()
    if not (math.isfinite(low) and math.isfinite(high) and low < high and low <= u.min() and u.max() <= high):
        went = f"{given} goes from {u.min():g} to {u.max():g}"
        raise SpaqlError(f"limits are two numbers, the lower first, and {went} in {table.name}: got {low:g}, {high:g}")
    sampled = _sampling(table, dt)
    model = fitted(u, y, sampled, integrating, table.name)
    span = (
        (float(y.min()), float(y.max())) if followed is None else tuple(numbers("reference", followed, (2,)).tolist())
    )
    units = table.units
    axes = Axis(output, slope=1.0 / max(1e-9, float(np.ptp(y))), centre=float(y.mean()), unit=units.get(output, ""))
    act = Continuous((low,), (high,), (given,), (units.get(given, ""),))
    words = model.words(axes.unit, act.axis_units[0])
    return problem_of_model(model, axes, act, sampled, (span[0], span[1]), table.name), words


def problem_of_model(
    model: ProcessModel, axis: Axis, actions: Continuous, dt: float, span: tuple[float, float], name: str
) -> Problem:
    """The process model as a plant, its dead time as a delay of the actuator and a part of a step."""
    late, part = int(model.dead // dt), float(model.dead % dt)
    if late > LONGEST:
        raise SpaqlError(
            f"{name}: the dead time is {late} steps of {dt:g} s: log or control every {model.dead / 50:.2g} s"
        )
    a, b = model.flow
    n = len(b)
    both = np.zeros((n + 1, n + 1))
    both[:n, :n], both[:n, n] = a, b
    whole, new, old = (expm(both * seconds) for seconds in (dt, dt - part, part))
    fresh, before = new[:n, n], (expm(a * (dt - part)) @ old[:n, n])
    x, names = whole[:n, :n], [f"x{i}" for i in range(n)]
    rows = [
        " + ".join(
            [*(f"{x[i, j].item()!r} * x{j}" for j in range(n)), f"{before[i].item()!r} * w", f"{fresh[i].item()!r} * v"]
        )
        for i in range(n)
    ]
    lines = [f"v = u - {model.at!r}", f"return ({', '.join(rows)}, v), 0.0, False"]
    low, high = span
    holds = 0.0 if model.integrating else 1.0 / model.gain
    begin = [f"y = {low - model.base!r} + {high - low!r} * u1"]
    zeros, seen = "0.0, " * (n - 1), f"measured({', '.join(names)}, w)"
    plant = from_plant(
        PlantFunction("reset", function_of({}, "at_rest(u1)", [*begin, f"return (y, {zeros}y * {holds!r})"])),
        PlantFunction("step", function_of({}, f"process({', '.join(names)}, w, u)", lines)),
        observe=PlantFunction("observe", function_of({}, seen, [f"return (x0 + {model.base!r},)"])),
        state=[axis], actions=actions, name=f"process of {name}",
        horizon=int(np.clip(40 * (model.time * max(1.0, 2 * model.shape) + model.dead) / dt, 200, 20_000)),
    )  # fmt: skip
    reference = Reference(f"{axis.name} reference", low, high, of=axis.name, unit=axis.unit)
    return loop(plant, references=[reference], delay={"actuator": late}, dt=dt, name=f"process of {name}")


def _whole(table: LogTable, name: str) -> Array:
    values = table.numbers(name)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        table.fail(bad, f"{name} is missing or not finite: fill it in, or cut the log there")
    return values


def _sampling(table: LogTable, dt: float | None) -> float:
    """Seconds between rows."""
    given = None if dt is None else real("dt", dt, 0.0, above=True)
    if "time" not in table:
        if given is None:
            raise SpaqlError(f"{table.name} has no column time: give the seconds between its rows, dt=...")
        return given
    between = np.diff(table.times("time"))
    usual = float(np.median(between))
    bad = np.flatnonzero(~((between > 0.0) & (np.abs(between - usual) <= JITTER * usual)))
    if len(bad):
        table.fail(
            bad + 1, f"the sample time is {between[bad[0]]:.4g} s, usually {usual:.4g} s: sample the log evenly first"
        )
    if given is not None and abs(given - usual) > JITTER * usual:
        raise SpaqlError(f"{table.name} is sampled every {usual:.4g} s, not every {given:g} s: leave dt out")
    return float(f"{usual:.9g}")
