"""A PID controller around a linear process: its frequency response, margins, and responses to steps.

    u = k e + lag(u, Ti) - w (y - lag(y, Tf)) - inner (y2 - lag(y2, Ti)) + ahead (r - lag(r, Ti))

with e = r - y and w = k Td / Tf. In continuous time that is k (1 + Td s / (1 + Tf s)) (1 + 1 / (Ti s)): the series
form, with the derivative of the output alone, anti-windup by what was applied, and feedforward from the reference.

Responses are inverse Fourier transforms on a circle outside of the unit circle: any dead time costs nothing.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from spaql.ground.arrays import Array
from spaql.tuning.process import Process

FILTER = 8.0  # derivative time over that of its filter
POINTS = 500  # frequencies of a margin
LAGS, LATE = 10.0, 80.0  # length of a response in sums of time constants, and in dead times
FADE = 1e4  # by which a response is damped over its length, so that its end does not return at its beginning
SETTLED = 0.02  # of the step
LONGEST = 1 << 13  # steps of a response


class Gains(NamedTuple):
    """Of the series form, in physical units."""

    k: float
    ti: float = 0.0  # 0: no integral action
    td: float = 0.0
    inner: float = 0.0  # gain of the inner loop of a cascade
    ahead: float = 0.0  # of the reference

    def filter_of(self, dt: float) -> float:
        seconds = float(f"{max(self.td / FILTER, dt):.6g}")  # as it is written
        return seconds if seconds >= dt else seconds * (1.0 + 1e-5)

    def damping(self, dt: float) -> float:
        """Of the output against its lag."""
        return self.k * self.td / self.filter_of(dt)

    def ideal(self) -> tuple[float, float, float]:
        """Kp, Ki and Kd of Kp + Ki / s + Kd s."""
        ki = self.k / self.ti if self.ti else 0.0
        return self.k + ki * self.td, ki, self.k * self.td


class Margins(NamedTuple):
    gain: float  # by which the loop gain may grow; infinite if by any factor
    phase: float  # degrees; infinite if the loop gain never is 1
    ms: float  # maximum of the sensitivity


class Responses(NamedTuple):
    """To unit steps, by step: of the reference without feedforward, and of a load at the input of the process."""

    reference: Array
    load: Array


class PidLoop:
    """The process, with its frequency responses computed once."""

    def __init__(self, process: Process) -> None:
        self.process, dt = process, process.dt
        longest = LAGS * process.total + LATE * (process.late + 4) * dt
        end = min(max(longest / dt, 200.0), float(LONGEST))
        self.steps = 1 << int(np.ceil(np.log2(end)))
        fade = np.log(FADE) / self.steps
        self.circle = np.exp(fade + 2j * np.pi * np.arange(self.steps // 2 + 1) / self.steps)
        self.grows = np.exp(fade * np.arange(self.steps))
        self.far = process.response(self.circle)
        low = 1e-3 * dt / max(process.slowest, longest / 30)
        angles = np.geomspace(low, np.pi * (1 - 1e-6), POINTS)
        turns = np.abs(np.angle(process.poles))
        near = [turn * np.linspace(0.9, 1.1, 21) for turn in turns[turns > low]]
        self.angles = np.unique(np.clip(np.concatenate([angles, *near]), low, np.pi))
        self.z = np.exp(1j * self.angles)
        self.near = process.response(self.z)

    def open_loop(self, gains: Gains, z: Array, response: Array) -> Array:
        """Broken at the input of the process."""
        dt = self.process.dt
        own = gains.k * response[0]
        if gains.td:
            own = own + gains.damping(dt) * (1.0 - _lag(z, gains.filter_of(dt), dt)) * response[0]
        if gains.ti:
            own = own / (1.0 - _lag(z, gains.ti, dt))
        loop: Array = own + gains.inner * response[1] if gains.inner else own
        return loop

    def margins(self, gains: Gains, exact: bool = False) -> Margins:
        """On the frequencies of the loop; `exact`: crossings and the maximum between them, too."""
        loop = self.open_loop(gains, self.z, self.near)
        apart = np.abs(1.0 + loop)
        ms = 1.0 / max(float(apart.min()), 1e-12)
        crossing = np.flatnonzero(np.diff(np.sign(loop.imag)) != 0)
        crossing = crossing[loop.real[crossing] < 0.0]
        unit = np.flatnonzero(np.diff(np.sign(np.abs(loop) - 1.0)) != 0)
        if exact:
            worst, imaginary = int(apart.argmin()), lambda angle: self._at(gains, angle).imag
            sizes = [-self._at(gains, self._root(imaginary, i)).real for i in crossing.tolist()]
            beyond = [self._root(lambda angle: abs(self._at(gains, angle)) - 1.0, i) for i in unit.tolist()]
            phases = [float(np.angle(-self._at(gains, angle))) for angle in beyond]
            first, last = self.angles[max(worst - 1, 0)], self.angles[min(worst + 1, len(apart) - 1)]
            between = np.exp(1j * np.linspace(first, last, 200))
            finer = self.open_loop(gains, between, self.process.response(between))
            ms = max(ms, 1.0 / max(float(np.abs(1.0 + finer).min()), 1e-12))
        else:
            part = loop.imag[crossing] / (loop.imag[crossing] - loop.imag[crossing + 1])
            sizes = list(-(loop.real[crossing] + part * (loop.real[crossing + 1] - loop.real[crossing])))
            phases = list(np.angle(-loop[unit]))
        sizes.append(-loop[-1].real)  # at half the sampling rate every loop is real
        gain = max((size for size in sizes if 0.0 < size < 1.0), default=0.0)
        gain = 1.0 / max(gain, 1e-12)
        phase = float(np.degrees(min(map(abs, phases), default=np.inf)))
        return Margins(float("inf") if gain > 1e6 else float(gain), phase, ms)

    def _at(self, gains: Gains, angle: float) -> complex:
        z = np.array([np.exp(1j * angle)])
        return complex(self.open_loop(gains, z, self.process.response(z))[0])

    def _root(self, function: Callable[[float], float], i: int) -> float:
        return float(brentq(function, self.angles[i], self.angles[i + 1], xtol=1e-14))

    def responses(self, gains: Gains) -> Responses:
        """Of the closed loop."""
        z, dt = self.circle, self.process.dt
        load = self.far[0] / (1.0 + self.open_loop(gains, z, self.far))
        reference = gains.k * load / (1.0 - _lag(z, gains.ti, dt) if gains.ti else 1.0)
        after = np.cumsum(np.fft.irfft(np.stack([reference, load]), self.steps) * self.grows, axis=1)
        return Responses(after[0], after[1])

    def is_stable(self, gains: Gains) -> bool:
        """By the eigenvalues of process, dead time and controller."""
        return bool(np.abs(np.linalg.eigvals(self.closed(gains))).max() < 1.0 - 1e-12)

    def closed(self, gains: Gains) -> Array:
        """The matrix of the closed loop: states of the process, inputs on their way, lags of the controller."""
        a, b, c, late, dt, *_ = self.process
        n = len(a)
        lags = n + late
        m = np.zeros((lags + 3, lags + 3))
        applied = np.zeros(lags + 3)
        applied[:n] = -(gains.k + gains.damping(dt)) * c[0]
        applied[lags] = 1.0 if gains.ti else 0.0
        applied[lags + 1] = gains.damping(dt)
        if gains.inner:
            applied[:n] -= gains.inner * c[1]
            applied[lags + 2] = gains.inner
        arriving = np.zeros(lags + 3)
        arriving[lags - 1] = 1.0
        m[:n, :n] = a
        m[:n] += b[:, None] * (arriving if late else applied)
        for place in range(late):
            m[n + place] = applied if place == 0 else np.eye(lags + 3)[n + place - 1]
        shares = [dt / gains.ti if gains.ti else 0.0, dt / gains.filter_of(dt), dt / gains.ti if gains.ti else 0.0]
        taken = [applied, c[0], c[1] if len(c) > 1 else np.zeros(n)]
        for place, (share, row) in enumerate(zip(shares, taken, strict=True)):
            m[lags + place, : len(row)] += share * row
            m[lags + place, lags + place] += (1.0 - share) if share else 0.0
        return m


def overshoot_of(response: Array) -> float:
    """In percent of the step."""
    return 100.0 * max(0.0, float(response.max()) - 1.0)


def settling_of(response: Array, dt: float) -> float:
    """Seconds until it stays near 1; infinite if it does not."""
    outside = np.flatnonzero(~(np.abs(response - 1.0) <= SETTLED))
    last = int(outside[-1]) + 1 if len(outside) else 0
    return last * dt if last < len(response) else float("inf")


def _lag(z: Array, seconds: float, dt: float) -> Array:
    share = dt / seconds
    after: Array = share / (z - 1.0 + share)
    return after
