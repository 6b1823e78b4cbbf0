"""What `spaql.tune` returns: a controller that tells what it was designed for."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.plants.limits import Limit
from spaql.policy.digits import number
from spaql.policy.evaluation import lines_of
from spaql.policy.policy import Policy
from spaql.tuning.gain_search import Demands

FOLLOWS, OFFSET = 0.2, 0.7  # of a step: errors at the end, with integral action and without
CLEAR = 1.05  # of a demand: a loop this near keeps it

@dataclass(frozen=True)
class Tuning:
    """Gains, the model they were found on, and what the loop does; seconds, and percent of a step.

    Kp, Ki and Kd are those of Kp + Ki / s + Kd s; k, ti and td of the series form k (1 + 1 / (ti s)) (1 + td s).
    """

    form: str
    kp: float
    ki: float
    kd: float
    k: float
    ti: float
    td: float
    inner: float  # gain of the inner loop of a cascade
    ahead: float  # feedforward from the reference
    disturbances: tuple[tuple[str, float], ...]  # feedforward from measured disturbances
    model: str
    gain_margin: float
    phase_margin: float  # degrees
    ms: float
    overshoot: float  # of the plant itself, the worst of its episodes
    settling_time: float  # the same; NaN if one never settled
    left: float  # of the error at the end, in steps; NaN if the plant ended
    saturation: float  # share of the time after the step at which the actuator was at a limit
    linear_overshoot: float
    linear_settling_time: float
    iae_load: float  # of unit steps, on the linear model
    iae_reference: float
    jump: str
    unmet: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; null for what is infinite or never came."""
        plain = asdict(self).items()
        return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in plain}

    def rows(self) -> list[tuple[str, str]]:
        """A name and a text each."""
        parts, ideal = [f"Kp {number(self.kp)}"], number(self.kp)
        if self.ki:
            parts.append(f"Ti {number(self.kp / self.ki)} s")
            ideal += f" + {number(self.ki)}/s".replace("+ -", "- ")
        if self.kd:
            parts.append(f"Td {number(self.kd / self.kp)} s")
            ideal += f" + {number(self.kd)} s".replace("+ -", "- ")
        rows = [("gains", f"{', '.join(parts)}: {ideal}" if self.ki or self.kd else parts[0])]
        if self.inner:
            rows = [
                ("outer loop", f"Kp {number(self.k / self.inner)}, Ti {number(self.ti)} s"),
                ("inner loop", f"Kp {number(self.inner)}"),
            ]
        elif self.ahead < 0.0 < self.k or self.k < 0.0 < self.ahead:
            weight = number(1.0 + self.ahead / self.k, 3)
            rows.append(("reference", f"setpoint weight {weight} of the proportional part"))
        elif self.ahead or self.form.endswith("feedforward"):
            why = "" if self.ahead else ": more costs more than it helps"
            rows.append(("feedforward", f"{number(self.ahead)} from the reference{why}"))
        rows += [("feedforward", f"{number(gain)} from {name}") for name, gain in self.disturbances]
        never = math.isnan(self.settling_time)
        step = ["no response" if math.isnan(self.overshoot) else f"overshoot {number(self.overshoot, 3)} %"]
        step.append("not settled in time" if never else f"settling time {number(self.settling_time, 3)} s")
        step.append(f"at a limit {number(100 * self.saturation, 3)} % of the time")
        gain = f"gain margin {number(self.gain_margin, 3)}"
        phase = f"phase margin {number(self.phase_margin, 3)}°"
        rows += [
            ("model", self.model),
            ("margins", f"Ms {number(self.ms, 3)}, {gain}, {phase}"),
            ("step", f"{', '.join(step)} ({self.jump})"),
        ]
        return rows + [("not met", text) for text in self.unmet]


def too_far(tuning: Tuning, asked: Demands) -> bool:
    """Whether it overshoots by more than was asked."""
    return asked.overshoot is not None and tuning.overshoot > CLEAR * asked.overshoot + 0.2


def unmet_of(tuning: Tuning, asked: Demands, seconds: float) -> tuple[str, ...]:
    """What is not met, a text each; `seconds`: so long the response was watched."""
    unmet = []
    if too_far(tuning, asked):
        unmet.append(f"overshoot {tuning.overshoot:.3g} % instead of {asked.overshoot:g} %")
    if not abs(tuning.left) <= (FOLLOWS if tuning.ki else OFFSET):
        left = "it ended" if math.isnan(tuning.left) else f"{100.0 * abs(tuning.left):.3g} % of a step are left"
        unmet.append(f"the plant does not follow as its model does: after {seconds:.4g} s {left}")
    settled = tuning.settling_time
    if asked.settling_time is not None and not settled <= CLEAR * asked.settling_time:
        watched = f"not settled within {seconds:.4g} s" if math.isnan(settled) else f"settling time {settled:.4g} s"
        unmet.append(f"{watched} instead of {asked.settling_time:g} s")
    if asked.gain_margin is not None and tuning.gain_margin * CLEAR < asked.gain_margin:
        unmet.append(f"gain margin {tuning.gain_margin:.3g} instead of {asked.gain_margin:g}")
    if asked.phase_margin is not None and tuning.phase_margin * CLEAR < asked.phase_margin:
        unmet.append(f"phase margin {tuning.phase_margin:.3g}° instead of {asked.phase_margin:g}°")
    if tuning.ms > CLEAR * asked.ms:
        unmet.append(f"Ms {tuning.ms:.3g} instead of {asked.ms:g}")
    return tuple(unmet)


def broken_limits(limits: Sequence[Limit], names: list[str], variables: Array) -> tuple[str, ...]:
    """Limits of the problem beyond which measured variables were (steps, variables), a text each."""
    broken = []
    for limit in limits:
        seen = variables[:, names.index(limit.variable)] if limit.variable in names else np.zeros(0)
        seen = seen[~np.isnan(seen)]  # of an episode that ended
        ends = (limit.low, seen.min(initial=limit.low)), (limit.high, seen.max(initial=limit.high))
        for end, far in ends:
            if far != end:
                broken.append(f"{limit.variable} reaches {far:.4g}, beyond its limit of {end:g}")
    return tuple(broken)


@dataclass(frozen=True, eq=False)
class Tuned(Policy):
    """A controller of `spaql.tune`: a policy, with its `tuning`."""

    tuning: Tuning = None  # type: ignore[assignment]  # fields of the policy have defaults

    def __str__(self) -> str:
        lines = [line for line in self.to_text(share=False).splitlines()[1:] if line.strip()]
        return "\n".join([f"{self.kind} of {self.origin}", *lines_of(self.tuning.rows(), 12, 15), *lines])
