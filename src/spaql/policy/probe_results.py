"""What probes of a controller give: how a loop answers when a reference jumps, and the worst episode of a search."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.plants.limits import limit_units
from spaql.plants.problem_text import HARD
from spaql.policy.digits import counted, number, with_unit
from spaql.policy.evaluation import WIDTH, Evaluation, lines_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spaql.plants.problem import Problem
    from spaql.training.episode import Episode

RISE = (0.1, 0.9)  # shares of the step between which it rises
LAST = 0.1  # share of what follows the jump over which the steady-state error is averaged
MOST_CHANGES = 12  # of a reference that are told one by one
Changes = tuple[tuple[int, float], ...]  # (step, value from there on)


class Measures(NamedTuple):
    """Of one response, or of several: seconds, percent, seconds, physical units; NaN for what never came."""

    rise_time: float
    overshoot: float
    settling_time: float
    steady_state_error: float


def measured(after: Array, start: float, to: float, dt: float, tolerance: float, whole: bool) -> Measures:
    """Of an output `after` the reference has jumped, that sample included; `whole`: nothing ended it before its time.

    Everything is measured against the reference: a response that never comes near it has no rise time and never
    settles. The times are those of samples; where the output ends at the reference they are python-control's
    (`step_info`).
    """
    if len(after) < 2:
        return Measures(np.nan, np.nan, np.nan, np.nan)
    part = (after - start) / (to - start)
    begun, risen = (np.flatnonzero(part >= share) for share in RISE)
    rise = float(risen[0] - begun[0]) * dt if len(risen) else np.nan
    outside = np.flatnonzero(~(np.abs(part - 1.0) <= tolerance))
    settled = int(outside[-1]) + 1 if len(outside) else 0
    last = max(1, round(LAST * (len(after) - 1)))
    return Measures(
        rise,
        100.0 * max(0.0, float(part.max()) - 1.0),
        settled * dt if whole and settled < len(after) else np.nan,
        float(np.mean(to - after[-last:])) if whole else np.nan,
    )


@dataclass(frozen=True, eq=False)
class StepResponse:
    """The response of a loop to a step of a reference; print it, plot it.

    - `rise_time`: seconds from 10 to 90 % of the step
    - `overshoot`: how far the output goes beyond the reference, in percent of the step
    - `settling_time`: seconds after which the output stays within `tolerance` of the step around the reference
    - `steady_state_error`: reference minus output, mean of the last tenth of what follows the jump, physical units

    NaN where a value was never reached. Of several episodes these are the means of those that did, and `worst` has the
    largest, NaN if one never did; `each` has all.
    """

    problem: str
    reference: str
    output: str
    unit: str
    start: float
    to: float
    at: int  # the step at which the reference jumps
    dt: float  # seconds per step
    tolerance: float  # share of the step
    each: tuple[Measures, ...]  # one per episode
    outputs: Array  # (episodes, steps + 1) as the plant has them, before noise and delay of sensors; NaN after an end
    variables: Array  # (steps + 1, measured variables) of the first episode, likewise
    inputs: Array  # (steps, action axes) of the first episode: what was applied
    episode: "Episode"  # the first one

    @property
    def rise_time(self) -> float:
        return self._mean("rise_time")

    @property
    def overshoot(self) -> float:
        return self._mean("overshoot")

    @property
    def settling_time(self) -> float:
        return self._mean("settling_time")

    @property
    def steady_state_error(self) -> float:
        return self._mean("steady_state_error")

    @property
    def worst(self) -> Measures:
        """Of all episodes the largest of each; of the errors the one farthest from zero."""
        table = np.array(self.each)
        rows = np.argmax(np.where(np.isnan(table), np.inf, np.abs(table)), axis=0)
        return Measures(*table[rows, np.arange(table.shape[1])].tolist())

    def _mean(self, name: str) -> float:
        values = np.array([getattr(measures, name) for measures in self.each])
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else np.nan

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: all but the arrays; null for what never came."""
        data = {part.name: getattr(self, part.name) for part in fields(self)[:9]}
        data |= {name: self._mean(name) for name in Measures._fields} | {"worst": self.worst._asdict()}
        plain: dict[str, Any] = _without_nan(data | {"episodes": len(self.each)})
        return plain

    def plot(self, path: str | PathLike[str] | None = None) -> "Figure":
        """Reference, output with the band in which it is settled, input, and limits.

        `path`: where to write it, a name that ends with png, svg or pdf.
        """
        from spaql.analysis.control_figures import step_figure

        return step_figure(self, path)

    # -- in words ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={self._mean(name):.4g}" for name in Measures._fields)
        return f"<StepResponse of {self.output}: {means}>"

    def __str__(self) -> str:
        head = f"Step response of {self.output} on {self.problem}: {self.jump}"
        return "\n".join([*textwrap.wrap(head, WIDTH, subsequent_indent="  "), *lines_of(self.rows(), 14, 17)])

    @property
    def jump(self) -> str:
        return f"{self.reference} from {number(self.start)} to {with_unit(number(self.to), self.unit)}"

    def rows(self) -> list[tuple[str, str]]:
        """What was measured, a name and a text each."""
        steps = self.outputs.shape[1] - 1 - self.at
        left = f"in the {number(steps * self.dt)} s after the step"
        band = f"within {number(100.0 * self.tolerance)} % of the step"
        rows = [
            ("rise time", self._summary("rise_time", _seconds, "10 to 90 % of the step", f"never 90 % {left}")),
            ("overshoot", self._summary("overshoot", _percent, "", "unknown: nothing followed the step")),
            ("settling time", self._summary("settling_time", _seconds, band, f"never {band} {left}")),
            ("final error", self._summary("steady_state_error", self._with_unit, "mean of the last tenth", "unknown")),
        ]
        away = self.outputs[:, self.at] - self.start
        if np.any(np.abs(away) > self.tolerance * abs(self.to - self.start)):
            far = self._with_unit(float(away[np.nanargmax(np.abs(away))]))
            rows.append(("before", f"{self.output} had not settled when the reference jumped: {far} from it"))
        ended = int(np.isnan(self.outputs[:, -1]).sum())
        if ended:
            rows.append(("ended", f"the plant ended {_of(ended, len(self.each))} before its time"))
        return rows

    def _summary(self, name: str, text: Callable[[float], str], what: str, never: str) -> str:
        mean, n = self._mean(name), len(self.each)
        missing = sum(bool(np.isnan(getattr(measures, name))) for measures in self.each)
        if missing == n:
            return never
        if n == 1:
            return f"{text(mean)}{what and f' ({what})'}"
        known = [getattr(measures, name) for measures in self.each if not np.isnan(getattr(measures, name))]
        worst = f"{text(max(known, key=abs))} worst of {counted(n, 'episode')}{what and f' ({what})'}"
        summary = f"{text(mean)} mean, {worst}"
        return summary if not missing else f"{summary}; {_of(missing, n)}: {never}"

    def _with_unit(self, value: float) -> str:
        return with_unit(number(value, 3), self.unit)


def _seconds(value: float) -> str:
    return f"{number(value, 3)} s"


def _percent(value: float) -> str:
    return f"{number(value, 3)} % of the step"


def _of(some: int, n: int) -> str:
    return "the episode" if n == 1 else f"{some} of {n} episodes"


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(entry) for name, entry in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value


# -- the worst episode that a search has found, beside ordinary ones ---------------------------------------------------


@dataclass(frozen=True, eq=False)
class Worst:
    """The worst episode that `policy.falsify()` has found; print it, plot it.

    `episode` is its replay, step by step, and `typical` the median of ordinary episodes.
    """

    problem: "Problem"
    by: str  # what was searched for: the lowest "return", or the largest excess over "limits"
    total: float  # its return
    failed: bool
    rule: str  # what a failure is: an episode that ...; "" if nothing tells
    excess: dict[str, float]  # by limited variable: the worst excess, physical units; below zero: the limit was kept
    start: dict[str, float]  # the first values of the variables
    parameters: dict[str, float]  # that it has drawn, by name
    references: dict[str, Changes]  # by name, with the steps at which they change
    units: dict[str, str]  # of the variables and references
    episode: "Episode"
    typical: "Episode"
    evaluation: Evaluation  # of the ordinary episodes
    tried: int  # episodes of the search
    seed: int

    def plot(self, path: str | PathLike[str] | None = None) -> "Figure":
        """The episode over its steps, with the typical one behind it.

        `path`: where to write it, a name that ends with png, svg or pdf.
        """
        from spaql.analysis.episode_figure import worst_figure

        return worst_figure(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: all but the episodes."""
        names = ("by", "total", "failed", "rule", "excess", "start", "parameters", "references", "tried", "seed")
        fresh = {"mean": self.evaluation.mean, "worst": float(self.evaluation.returns.min())}
        data = {name: getattr(self, name) for name in names}
        return data | {"fresh": fresh | {"episodes": len(self.evaluation.returns)}, "steps": len(self.episode)}

    # -- in words ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        failed = "failed" if self.failed else "did not fail"
        return f"<Worst of {self.tried:,} episodes: return {number(self.total)}, {failed}>"

    def __str__(self) -> str:
        head = f"The worst of {self.tried:,} episodes that were searched on {self.problem.name}, seed {self.seed}"
        lines = [*textwrap.wrap(head, WIDTH, subsequent_indent="  "), *lines_of(self.rows(), 11, 14)]
        return "\n".join(lines).replace(HARD, " ")

    def rows(self) -> list[tuple[str, str]]:
        """What was found, a name and a text each."""
        rows = [("return", f"{number(self.total)}; {self._ordinary()}"), ("failure", self._failure())]
        units = limit_units(self.problem.limits, self.problem.state, self.problem.actions)
        for limit, unit in zip(self.problem.limits, units, strict=True):
            over = self.excess[limit.variable]
            size = with_unit(number(abs(over), 3), unit)
            kept = f"exceeded by {size}" if over > 0.0 else f"kept, with {size} to spare"
            rows.append(("limit", f"{limit.text(unit)}: {kept}; {self._usually(limit.variable, unit)}"))
        rows.append(("start", self._values(self.start)))
        rows += [("parameters", self._values(self.parameters))] if self.parameters else []
        return rows + [("reference", self._changes(name)) for name in self.references]

    def _ordinary(self) -> str:
        returns = self.evaluation.returns
        if self.problem.plant is None:  # the tried seeds are all there is
            return f"the mean of all is {number(self.evaluation.mean)}"
        mean, worst = number(self.evaluation.mean), number(float(returns.min()))
        return f"{len(returns):,} fresh episodes have {mean} on average, {worst} at worst"

    def _failure(self) -> str:
        if not self.rule:
            return "not defined: the problem has no limits, and does not say what its ends mean"
        failures, fresh = self.evaluation.failures, "fresh episodes" if self.problem.plant is not None else "seeds"
        usual = f"{failures.count:,} of {failures.episodes:,} {fresh} failed"
        return f"{'yes' if self.failed else 'no'}; {usual}. A failure is an episode that {self.rule}"

    def _usually(self, variable: str, unit: str) -> str:
        excess = self.evaluation.violations[variable].excess
        which = "fresh episodes" if self.problem.plant is not None else "all seeds"
        return f"{which}: never" if excess == 0.0 else f"{which}: by {with_unit(number(excess, 3), unit)}"

    def _values(self, values: dict[str, float]) -> str:
        parts = [f"{name} = {with_unit(number(value), self.units.get(name, ''))}" for name, value in values.items()]
        return ", ".join(part.replace(" ", HARD) for part in parts)

    def _changes(self, name: str) -> str:
        changes, unit = self.references[name], self.units.get(name, "")
        values = [value for _, value in changes]
        if len(changes) > MOST_CHANGES:
            low, high = number(min(values)), with_unit(number(max(values)), unit)
            return f"{name} moves from {number(values[0])} on, between {low} and {high}"
        texts = [with_unit(number(value), unit) for value in values]
        later = [f"{text} from step {step} on" for text, (step, _) in zip(texts[1:], changes[1:], strict=True)]
        return ", ".join(part.replace(" ", HARD) for part in [f"{name} = {texts[0]}", *later])
