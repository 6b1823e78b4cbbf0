"""PID controllers in one call: `spaql.tune`.

    pi = spaql.tune(problem, "PI", overshoot=5)
    pi = spaql.tune("step.csv", "PI", input="valve", output="level", limits=(0, 100))

The plant is linearised at its working point, or a process model is fitted to the log. Gains are searched for on the
linear loop (gain_search.py) and confirmed on the plant itself, with all of its limits. Where that breaks a demand, they
are made smaller.
"""

import warnings
from dataclasses import fields, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.ground.checks import choice, flag, real
from spaql.ground.errors import SpaqlError, SpaqlWarning, echoed
from spaql.plants.loop import extended, stated
from spaql.plants.problem import Problem
from spaql.plants.signals import Signals
from spaql.policy.law import law
from spaql.policy.linear import linear_model
from spaql.policy.policy import Policy
from spaql.tuning.gain_search import Demands, GainSearch, Kind
from spaql.tuning.pid_loop import Gains, PidLoop, overshoot_of, settling_of
from spaql.tuning.process import Process, process_of, stepped
from spaql.tuning.step_log import problem_of_log
from spaql.tuning.tuned import Tuned, Tuning, broken_limits, too_far, unmet_of

FORMS = {
    "P": Kind(False, False, False, False),
    "PI": Kind(True, False, False, False),
    "PD": Kind(False, True, False, False),
    "PID": Kind(True, True, False, False),
    "PI + feedforward": Kind(True, False, False, True),
    "PID + feedforward": Kind(True, True, False, True),
    "cascade": Kind(True, False, True, False),
}
STEP = 0.6  # of the range of the reference: the step that is tried
KICK = 2.0  # ranges of the action that it may ask for at once
NOISY = 0.1  # of the range of the action, that sensor noise may move it
EPISODES = 5  # in which a compiled plant is stepped
SMALLER, TRIES = 0.85, 8  # gains of the next try, and how many there are


def tune(
    problem: Any,
    form: str = "PI",
    *,
    overshoot: float | None = 10.0,
    settling_time: float | None = None,
    gain_margin: float | None = None,
    phase_margin: float | None = None,
    ms: float = 1.6,
    reference: Any = None,
    action: str | None = None,
    inner: str | None = None,
    model: Problem | None = None,
    input: str | None = None,
    output: str | None = None,
    limits: Any = None,
    dt: float | None = None,
    integrating: bool | None = None,
) -> Tuned:
    """A PID controller for a problem in a loop, or for a recorded step response; print it.

    - `form`: "P", "PI", "PD", "PID", "PI + feedforward", "PID + feedforward" or "cascade"
    - `overshoot`: percent of a step of the reference; `settling_time`: seconds until it is within 2 %; None asks
      nothing
    - `gain_margin` (a factor), `phase_margin` (degrees), `ms` (maximum sensitivity): at the working point, at the input
      of the plant, at the sample time
    - `reference`: the one to follow, if there are several; of a log its range (low, high)
    - `action`: the one that controls, if there are several; others are held
    - `inner`: the measured variable of the inner loop of a cascade, if there are several
    - `model`: another problem whose plant is linearised: `spaql.from_data(...)`, or the plant without drawn parameters

    Of a log (a file or a data frame with a column `time`, or `dt`):

    - `input`, `output`: columns of what was applied and what was measured; `limits`: (low, high) of the actuator
    - `integrating`: whether the output keeps moving after a step, where the log does not show it

    Integral action is back-calculated from what was applied, after all limits, in exported code, too. Demands that are
    not met bring a `SpaqlWarning` and stand in `notes`.
    """
    choice("form", form, FORMS)
    if integrating is not None:
        flag("integrating", integrating)
    demands = _demands(overshoot, settling_time, gain_margin, phase_margin, ms)
    if isinstance(problem, Problem):
        of_log = {"input": input, "output": output, "limits": limits, "dt": dt}
        if given := [name for name, value in of_log.items() if value is not None]:
            raise SpaqlError(f"{given[0]} goes with a log of a step response, not with {problem.name}")
        words = ""
    else:
        problem, words = problem_of_log(problem, input, output, limits, dt, integrating, reference)
        reference = None
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save
        return _Case(problem, form, demands, reference, action, inner, model, integrating, words).tuned()


def _demands(overshoot: Any, settling_time: Any, gain_margin: Any, phase_margin: Any, ms: Any) -> Demands:
    most = real("ms", ms, 1.0, above=True)
    return Demands(
        None if overshoot is None else real("overshoot", overshoot, 0.0, 1000.0),
        None if settling_time is None else real("settling_time", settling_time, 0.0, above=True),
        None if gain_margin is None else real("gain_margin", gain_margin, 1.0, above=True),
        None if phase_margin is None else real("phase_margin", phase_margin, 0.0, 90.0, above=True),
        most,
    )


class _Case:
    """One problem, one form, one set of demands."""

    def __init__(
        self,
        problem: Problem,
        form: str,
        demands: Demands,
        reference: Any,
        action: Any,
        inner: Any,
        model: Any,
        integrating: bool | None,
        words: str,
    ) -> None:
        self.problem, self.form, self.kind = problem, form, FORMS[form]
        self.demands = demands if self.kind.integral else replace(demands, overshoot=None)  # there is an offset
        signals = problem.signals
        followed = [] if signals is None else [signal for signal in signals.references if signal.of is not None]
        if signals is None or not followed:
            such = "references=[spaql.Reference('target', low, high, of=...)]"
            raise SpaqlError(f"{problem.name} has no reference to follow: state it, spaql.loop(problem, {such})")
        if signals.increments or signals.actuator.values:
            raise SpaqlError(
                "tune needs continuous actions, neither increments nor a finite set: give rates= to the loop"
            )
        self.signals: Signals = signals
        self.words = words  # of the process, if it was fitted
        names = [signal.name for signal in followed]
        self.followed = followed[_place("reference=... names the one to follow", reference, names)]
        self.column = _place("action=... names the axis that controls", action, list(signals.action_names))
        self.measured = [axis.name for axis in signals.measured]
        self.output = self.measured.index(str(self.followed.of))
        self.low, self.high = (float(end[self.column]) for end in signals.actuator.bounds)
        self.inner, self.integrating = inner, integrating
        self.held, self.process = self._linear(model)
        floor = (self.process.late + 1) * signals.dt
        if demands.settling_time is not None and demands.settling_time < floor:
            raise SpaqlError(
                f"settling_time={demands.settling_time:g} s is shorter than dead time and sample time, {floor:g} s: "
                "no controller can do that"
            )

    # -- the linear process ----------------------------------------------------------------------------------------

    def _linear(self, model: Any) -> tuple[list[float], Process]:
        base, signals, around = stated(self.problem)
        source = base if model is None else model
        if not isinstance(source, Problem) or [axis.name for axis in source.state] != self.measured:
            raise SpaqlError(f"model is a problem with the measured variables {', '.join(self.measured)}, in no loop")
        point = np.full(len(self.measured), np.nan)
        point[self.output] = self.followed.middle
        late = around.sensor_delay + around.actuator_delay
        rows, others = [self.output], [j for j in range(len(self.measured)) if j != self.output]
        if source.plant is None:
            if self.kind.cascade or self.kind.ahead:
                raise SpaqlError(
                    f"{self.form} needs equations or model=spaql.from_data(...): {source.name} is only stepped"
                )
            held, process = stepped(source, self.column, self.output, self.followed, signals.dt, self.integrating)
            return held, process._replace(late=process.late + late)
        near = linear_model(source, source.plant, point, None)
        if self.kind.cascade:
            rows = [self.output, self._inner(others)]
        process = process_of(near, self.column, rows, late, signals.dt, others if self.kind.ahead else [])
        if len(process.b) == 0 or not np.abs(process.c[0]).any():
            act = signals.action_names[self.column]
            raise SpaqlError(f"{act} does not move {self.followed.of} at the working point: choose another action")
        return near.action.tolist(), process

    def _inner(self, others: list[int]) -> int:
        if not others:
            raise SpaqlError(f"a cascade needs a second measured variable, and {self.problem.name} has none")
        names = [self.measured[j] for j in others]
        return others[_place("inner=... names the measured variable of the inner loop", self.inner, names)]

    # -- gains -----------------------------------------------------------------------------------------------------

    def tuned(self) -> Tuned:
        span = self.followed.high - self.followed.low
        largest = KICK * (self.high - self.low) / (STEP * span)
        spread = dict(stated(self.problem)[2].noise).get(self.output, 0.0)
        noisy = NOISY * (self.high - self.low) / spread if spread > 0.0 else np.inf
        loop = PidLoop(self.process)
        gains = GainSearch(loop, self.kind, self.demands, largest, noisy).found()
        if gains is None:
            instead = "PID, or a shorter dead time" if self.form != "PID" else "a shorter dead time, or spaql.lqr"
            raise SpaqlError(
                f"no {self.form} controller holds {self.followed.of} ({self._model_text()}): try {instead}"
            )
        best = tried = self._confirmed(loop, gains)
        for _ in range(TRIES):
            if not too_far(tried.tuning, self.demands):
                break
            smaller = (gains.k * SMALLER, gains.ahead * SMALLER)
            gains = gains._replace(k=float(f"{smaller[0]:.4g}"), ahead=float(f"{smaller[1]:.4g}"))
            if not loop.is_stable(gains) or self.demands.broken(loop.margins(gains)) > 0.01:
                break
            tried = self._confirmed(loop, gains)
            best = best if too_far(tried.tuning, self.demands) else tried
        if best.tuning.unmet:
            not_met = f"{self.form} controller of {self.problem.name}: {'; '.join(best.tuning.unmet)}"
            warnings.warn(not_met, SpaqlWarning, stacklevel=3)
        return best

    def _model_text(self) -> str:
        if self.words:
            return self.words
        axis, units = self.signals.measured[self.output], self.signals.actuator.axis_units
        return self.process.words(axis.unit, units[self.column])

    def _confirmed(self, loop: PidLoop, gains: Gains) -> Tuned:
        """The controller with what it does on the plant."""
        policy = self._policy(gains)
        episodes = EPISODES if self.problem.plant is not None else 1
        response = policy.step_response(self.followed.name, episodes=episodes)
        applied = response.inputs[response.at :, self.column]
        near = 1e-6 * (self.high - self.low)
        at_limit = (applied <= self.low + near) | (applied >= self.high - near)
        margins = loop.margins(gains, exact=True)
        base, load = loop.responses(gains)
        answer, dt = base + gains.ahead * load, self.process.dt
        kp, ki, kd = gains.ideal()
        tuning = Tuning(
            form=self.form, kp=kp, ki=ki, kd=kd, **gains._asdict(),
            disturbances=tuple((self.measured[j], gain) for j, _, gain in self.process.disturbances),
            model=self._model_text(), gain_margin=margins.gain, phase_margin=margins.phase, ms=margins.ms,
            overshoot=response.worst.overshoot, settling_time=response.worst.settling_time,
            left=response.worst.steady_state_error / (response.to - response.start),
            saturation=float(np.mean(at_limit)) if len(applied) else 0.0,
            linear_overshoot=overshoot_of(answer), linear_settling_time=settling_of(answer, dt),
            iae_load=dt * float(np.abs(load).sum()), iae_reference=dt * float(np.abs(1.0 - answer).sum()),
            jump=response.jump, unmet=(),
        )  # fmt: skip
        unmet = unmet_of(tuning, self.demands, (response.outputs.shape[1] - 1 - response.at) * response.dt)
        if not self.low < self.process.held < self.high:
            unmet += (f"the working point needs {self.process.held:.4g}, at the limit of the actuator",)
        unmet += broken_limits(self.problem.limits, self.measured, response.variables)
        kept = {part.name: getattr(policy, part.name) for part in fields(Policy)}
        return Tuned(**kept | {"notes": unmet}, tuning=replace(tuning, unmet=unmet))

    def _policy(self, gains: Gains) -> Policy:
        """One affine law: its memory follows what was applied, so that it does not wind up."""
        act, out = self.signals.action_names[self.column], self.measured[self.output]
        process, dt = self.process, self.signals.dt
        sums = {f"{out}_error": gains.k}
        if self.kind.integral:
            sums[_lagged(act, gains.ti, process.held)] = 1.0
        if gains.td:
            lagged = _lagged(out, gains.filter_of(dt))
            sums |= {out: -gains.damping(dt), lagged: gains.damping(dt)}
        if gains.inner:
            name = self.measured[self._inner([j for j in range(len(self.measured)) if j != self.output])]
            sums |= {name: -gains.inner, _lagged(name, gains.ti, float(process.seen[1])): gains.inner}
        if gains.ahead:
            name = self.followed.name
            sums |= {name: gains.ahead, _lagged(name, gains.ti, self.followed.middle): -gains.ahead}
        for place, value, gain in process.disturbances:
            name = self.measured[place]
            sums |= {name: gain, _lagged(name, gains.ti, value): -gain}
        in_loop = extended(self.problem, [name for name in sums if name.startswith("lag(")], list(sums))
        axes = list(self.signals.action_names)
        offsets = dict(zip(axes, self.held, strict=True))
        if self.kind.integral:
            offsets[act] = 0.0
        if len(axes) == 1:
            return law(in_loop, sums, offsets[act], name=f"{self.form} controller")
        return law(in_loop, {act: sums}, offsets, name=f"{self.form} controller")


def _place(what: str, given: Any, names: list[str]) -> int:
    """Of a name; the only one need not be given."""
    if given is None and len(names) == 1:
        return 0
    if not isinstance(given, str) or given not in names:
        raise SpaqlError(f"{what}: {', '.join(names)}; not {echoed(given)}")
    return names.index(given)


def _lagged(name: str, seconds: float, begin: float | None = None) -> str:
    return f"lag({name}, {seconds:.6g}{'' if begin is None else f', {begin + 0.0:.6g}'})"
