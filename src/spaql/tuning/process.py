"""What a controller is tuned on: one input and one output near a working point, linear, at the sample time.

    x' = A x + B u(k - late)        y = c x        inner = c2 x

Of compiled plants it is linearised by central differences (policy/linear.py), without parts that the input does not
reach or the output does not show. A plant without equations is stepped, and a process model is fitted (step_log.py).
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Continuous
from spaql.plants.loop import stated
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.policy.digits import number
from spaql.policy.linear import SAME, Linear, linear_model, moving_part
from spaql.tuning.step_log import fitted, gain_words, problem_of_model

SPANNED = 1e-7  # a part of a direction that is smaller is rounding
INTEGRATES = 1e-5  # a pole nearer to 1 than this is an integrator
SHARE = 0.1  # of the range of the action: a step up from the middle, after as much below
LONGER = (1, 2, 4, 8)  # episodes that a step response may take
ROUNDS = 2  # the second around the action that holds the reference
NEARLY = 1e-7  # no rate at all
LOW = 1e-3  # of the slowest rate: where static gains are compared, also of integrating plants


class Process(NamedTuple):
    """In physical units."""

    a: Array  # (n, n)
    b: Array  # (n,)
    c: Array  # (outputs, n): what is controlled, then what an inner loop measures
    late: int  # dead time in steps
    dt: float
    held: float  # the input at the working point
    seen: Array  # (outputs,) the outputs there
    disturbances: tuple[tuple[int, float, float], ...] = ()  # measured: place, value, static feedforward

    def response(self, z: Array) -> Array:
        """(outputs, points): the transfer functions at complex z."""
        n = len(self.a)
        states = np.linalg.solve(
            z[:, None, None] * np.eye(n) - self.a, np.broadcast_to(self.b[:, None], (len(z), n, 1))
        )
        after: Array = (self.c @ states[:, :, 0].T) * z ** -float(self.late)
        return after

    @property
    def poles(self) -> Array:
        return np.asarray(np.linalg.eigvals(self.a))

    @property
    def times(self) -> Array:
        """Time constants in seconds, the slowest first; negative of what grows, infinite of integrators."""
        size = np.log(np.maximum(np.abs(self.poles), 1e-12))
        size[np.abs(self.poles - 1.0) < INTEGRATES] = -0.0
        with np.errstate(divide="ignore"):
            times = -self.dt / size
        return np.asarray(times[np.argsort(-np.abs(times))])

    @property
    def static_gain(self) -> float:
        """Infinite of integrating processes."""
        if np.isinf(self.times).any():
            return float("inf")
        return float(self.c[0] @ np.linalg.solve(np.eye(len(self.a)) - self.a, self.b))

    @property
    def low_gain(self) -> float:
        """The gain at a rate that is slow for the process, also where it integrates."""
        return _at(self.a, self.b, LOW * self.dt / self.slowest, self.c[0])

    @property
    def total(self) -> float:
        """Of the finite time constants, seconds."""
        return float(np.abs(self.times[np.isfinite(self.times)]).sum())

    @property
    def slowest(self) -> float:
        """The largest finite time constant, at least a step."""
        times = np.abs(self.times[np.isfinite(self.times)])
        return max(self.dt, float(times.max(initial=0.0)))

    def words(self, output: str, given: str) -> str:
        """For people; `output` and `given` are units."""
        times, shown = self.times, []
        if np.isinf(times).any():
            rate = _at(self.a, self.b, NEARLY, self.c[0]) * NEARLY / self.dt
            shown.append(gain_words(rate, output, given, True))
        else:
            shown.append(gain_words(self.static_gain, output, given, False))
        slow = [abs(time) for time in times if np.isfinite(time) and time > 0.1 * self.dt]
        if slow:
            name = "time constants" if len(slow) > 1 else "time constant"
            shown.append(f"{name} {', '.join(number(time, 3) for time in slow[:4])} s")
        grows = [-time for time in times if time < 0.0 and np.isfinite(time)]
        if grows:
            shown.append(f"unstable, time constant {', '.join(number(time, 3) for time in grows)} s")
        shown.append(f"dead time {number(self.late * self.dt, 3)} s")
        return ", ".join(shown)


def process_of(near: Linear, column: int, rows: list[int], late: int, dt: float, may_disturb: list[int]) -> Process:
    """Of a linear model: one action and some of what is observed; `may_disturb`: places of other measured variables."""
    a, b, c = moving_part(near)
    disturbances = _disturbances(a, b[:, column], c, near.seen, rows[0], may_disturb)
    moved = _spanned(a, b[:, [column]])
    a, b, c = moved.T @ a @ moved, moved.T @ b[:, column], c[rows] @ moved
    shown = _spanned(a.T, c.T)
    a, b, c = shown.T @ a @ shown, shown.T @ b, c @ shown
    return Process(a, b, c, late, dt, float(near.action[column]), near.seen[rows], disturbances)


def _spanned(a: Array, b: Array) -> Array:
    """A basis of the states that the columns of b reach."""
    basis, fresh = np.zeros((len(a), 0)), list(b.T)
    while fresh:
        column = fresh.pop(0)
        left = column - basis @ (basis.T @ column)
        left = left - basis @ (basis.T @ left)  # twice: of rounding, nothing is left
        size = float(np.linalg.norm(left))
        if size > SPANNED * float(np.linalg.norm(column)):
            basis = np.column_stack([basis, left / size])
            fresh.append(a @ basis[:, -1])
    return basis


def _disturbances(
    a: Array, b: Array, c: Array, seen: Array, output: int, places: list[int]
) -> tuple[tuple[int, float, float], ...]:
    """Measured variables that the input does not move and that move the output: place, value, static feedforward."""
    poles = np.abs(np.log(np.maximum(np.abs(np.linalg.eigvals(a)), 1e-12)))
    slow = LOW * float(min(poles[poles > INTEGRATES], default=1.0))
    listed, gain = [], _at(a, b, slow, c[output])
    for place in places:
        states = np.flatnonzero(np.abs(c[place]) > SAME * np.abs(c[place]).max())
        if len(states) != 1 or states[0] in np.flatnonzero(np.abs(c[output])):
            continue
        own = int(states[0])
        others = np.arange(len(a)) != own
        if abs(_at(a, b, slow, c[place])) > SAME * abs(gain):
            continue
        moved = _at(a[np.ix_(others, others)], a[others, own] / c[place, own], slow, c[output, others])
        if abs(moved) > SAME:
            listed.append((place, float(seen[place]), -moved / gain))
    return tuple(listed)


def _at(a: Array, b: Array, slow: float, c: Array) -> float:
    """A transfer function at a rate that is slow for it."""
    return float(c @ np.linalg.solve(np.exp(slow) * np.eye(len(a)) - a, b))


# -- of a plant without equations -------------------------------------------------------------------------------------

def stepped(
    source: Problem, column: int, output: int, reference: Reference, dt: float, integrating: bool | None
) -> tuple[list[float], Process]:
    """Actions that hold the working point, and the process there: of two steps, the second where the first sees it."""
    low, high = source.actions.bounds
    held = (low + high) / 2
    for _ in range(ROUNDS):
        size = SHARE * (high[column] - low[column])
        held[column] = np.clip(held[column], low[column] + size, high[column] - size)
        for longer in LONGER:
            given, seen, cut = _recorded(source, held, column, output, size, longer * source.horizon)
            try:
                model = fitted(given, seen, dt, integrating, f"a step of {source.name}")
                break
            except SpaqlError:  # it has not settled
                if cut or longer == LONGER[-1]:
                    raise
        if not model.integrating:
            held[column] = model.at + (reference.middle - model.base) / model.gain
        else:
            held[column] = model.at
    held = np.clip(held, low, high)
    actions = Continuous((float(low[column]),), (float(high[column]),), ("u",))
    ends = (reference.low, reference.high)
    like = problem_of_model(model, source.state[output], actions, dt, ends, source.name)
    plant, _, around = stated(like)
    assert plant.plant is not None
    near = linear_model(plant, plant.plant, np.array([reference.middle]), None)
    return held.tolist(), process_of(near, 0, [0], around.actuator_delay, dt, [])


def _recorded(
    source: Problem, held: Array, column: int, output: int, size: float, steps: int
) -> tuple[Array, Array, bool]:
    """Input and output: rest below, and a step in the middle; whether the episode ended before its time."""
    env = source.open_env()
    observation, _ = env.reset(seed=0)
    given, seen = [], []
    for step in range(steps):
        action = held.copy()
        action[column] += size if step >= steps // 2 else -size
        given.append(action[column])
        seen.append(float(np.asarray(observation).reshape(-1)[output]))
        observation, _, terminated, truncated, _ = env.step(source.native(action))
        if terminated:
            raise SpaqlError(
                f"{source.name} ended after {step + 1} steps of a step response: record one, and tune on it"
            )
        if truncated:
            break
    rested = slice(steps * 2 // 5, None)  # what the start has left behind is over
    return np.array(given)[rested], np.array(seen)[rested], len(seen) < steps
