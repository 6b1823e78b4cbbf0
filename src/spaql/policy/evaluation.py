"""What fresh rollouts of a policy are worth: returns, failures, violations of limits, effort."""

import math
import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import numbers, whole
from spaql.ground.errors import SpaqlError
from spaql.plants.limits import Limit
from spaql.policy.certificate import Certificate, Failures
from spaql.policy.digits import counted, number, percent, with_unit
from spaql.version import __version__

WORST = 0.05  # share of the episodes
WIDTH = 80  # letters of a printed line
STATE_ENDS = 'ends="failure" or ends="success"'  # what a problem has to say


def lines_of(rows: Iterable[tuple[str, str]], letters: int, indent: int) -> list[str]:
    """A name and a text each, in lines of 80 letters; `letters` of the names, `indent` of lines that go on."""
    return [
        line
        for name, text in rows
        for line in textwrap.wrap(text, WIDTH, initial_indent=f"  {name:<{letters}} ", subsequent_indent=" " * indent)
    ]


def _nothing() -> Array:
    """Of episodes that were not watched step by step."""
    return np.zeros(0)


@dataclass(frozen=True)
class Violation:
    """How a limit was kept."""

    limit: Limit
    unit: str
    steps: float  # share of all steps after which, or in which, it was violated
    episodes: float  # share of the episodes with such a step
    excess: float  # the worst one, in physical units; 0 if there was none

    def __str__(self) -> str:
        if self.episodes == 0.0:
            return f"{self.limit.text(self.unit)}: none"
        shares = f"{percent(self.steps)} of steps, {percent(self.episodes)} of episodes"
        return f"{self.limit.text(self.unit)}: {shares}, worst by {with_unit(number(self.excess, 3), self.unit)}"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Fresh rollouts of a policy, on random streams used neither in training nor in selection; print it.

    Arrays have one entry per episode. All but the returns are empty where episodes were not watched step by step.
    """

    returns: Array
    samples: int
    lengths: Array = field(default_factory=_nothing)  # steps
    terminated: Array = field(default_factory=_nothing)  # whether the plant ended the episode before the horizon cut it
    last: Array = field(default_factory=_nothing)  # reward of the last step
    # mean over steps and axes of |action - middle of its range|, as share of half its range
    effort: Array = field(default_factory=_nothing)
    # mean over steps and axes of |action - action before|, as share of the range
    switching: Array = field(default_factory=_nothing)
    violated: Array = field(default_factory=_nothing)  # (episodes, limits) share of steps
    excess: Array = field(default_factory=_nothing)  # (episodes, limits) the worst, in physical units
    limits: tuple[Limit, ...] = ()
    units: tuple[str, ...] = ()  # of the limits
    plant: str = ""
    horizon: int = 0
    seed: int | None = None
    ends: str = ""  # of the problem: "failure" or "success", what it means that the plant ends an episode

    def __post_init__(self) -> None:
        object.__setattr__(self, "returns", numbers("returns", self.returns, (-1,)))
        if not len(self.returns):
            raise SpaqlError("an evaluation has the return of one episode at least")
        whole("samples", self.samples, 0)

    # -- returns -------------------------------------------------------------------------------------------------------

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    @property
    def ci95(self) -> tuple[float, float]:
        """Student's 95 % confidence interval of the mean."""
        from scipy.special import stdtrit

        n = len(self.returns)
        half = float(stdtrit(n - 1, 0.975) * np.std(self.returns, ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
        return self.mean - half, self.mean + half

    @property
    def std(self) -> float:
        """Of the returns; 0 of one episode."""
        return float(np.std(self.returns, ddof=1)) if len(self.returns) > 1 else 0.0

    @property
    def median(self) -> float:
        return float(np.median(self.returns))

    @property
    def worst5(self) -> float:
        """Mean return of the worst 5 % of the episodes, at least of one."""
        return float(np.mean(np.sort(self.returns)[: self._worst]))

    @property
    def _worst(self) -> int:
        return int(np.ceil(WORST * len(self.returns)))

    # -- failures and limits -------------------------------------------------------------------------------------------

    @property
    def ending(self) -> str:
        """Whether it is "good" or "bad" that the plant ends an episode, as stated with the problem; "": not stated."""
        return {"success": "good", "failure": "bad"}.get(self.ends, "")

    @property
    def failed(self) -> Array:
        """By episode: it violated a limit, ended where that is a failure, or was cut where an end is the goal.

        Only what is stated counts, never rewards: they differ from sample to sample, and a rule must not.
        """
        self._watched()
        failed: Array = np.asarray(np.any(self.violated > 0.0, axis=1))
        if self.ends:
            failed |= self.terminated == (self.ends == "failure")
        return failed

    @property
    def failures(self) -> Failures:
        """The share of episodes that failed, with its exact interval: `.share`, `.ci95`, `.count`, `.rule`."""
        failed, ends = int(self.failed.sum()), {"failure": "ends", "success": "does not end"}
        parts = [f"{ends[self.ends]} within {self.horizon:,} steps"] if self.ends else []
        parts += ["violates a limit"] if self.limits else []
        return Failures(failed, len(self.returns), " or ".join(parts))

    @property
    def violations(self) -> dict[str, Violation]:
        """By the name of the limited variable or action: share of steps, share of episodes, worst excess."""
        self._watched()
        steps, total = self.violated * self.lengths[:, None], float(self.lengths.sum())
        return {
            limit.variable: Violation(
                limit,
                unit,
                float(steps[:, j].sum()) / total,
                float((self.violated[:, j] > 0.0).mean()),
                float(self.excess[:, j].max()),
            )
            for j, (limit, unit) in enumerate(zip(self.limits, self.units, strict=True))
        }

    def certificate(self, confidence: float = 0.95, date: str | None = None) -> Certificate:
        """That the failure rate is at most so much, with this confidence. `date`: of the certification (now)."""
        failures = self.failures
        if not failures.rule:
            raise SpaqlError(
                "there is nothing to certify: say what a failure is with limits=[spaql.Limit(...)], or, of an episode "
                'that the plant ends, with ends="failure" or ends="success" (from_plant, from_gym, from_fmu; --ends)'
            )
        if self.seed is None:
            raise SpaqlError("a certificate states the seed of its episodes, and these have none")
        today = datetime.now(UTC).date().isoformat() if date is None else date
        facts = failures.episodes, failures.count, confidence, failures.rule
        return Certificate(*facts, self.plant, self.seed, today, __version__)

    def _watched(self) -> None:
        if len(self.lengths) != len(self.returns) or not len(self.returns):
            raise SpaqlError("only the returns of these episodes are known: they were not recorded step by step")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: all but the arrays."""
        low, high = self.ci95
        data: dict[str, Any] = {"mean": self.mean, "ci95": [low, high], "std": self.std, "median": self.median}
        data |= {"worst5": self.worst5, "episodes": len(self.returns), "samples": self.samples, "seed": self.seed}
        if not len(self.lengths):
            return data
        failures = self.failures
        share, interval = (failures.share, list(failures.ci95)) if failures.rule else (None, None)
        data["failures"] = asdict(failures) | {"share": share, "ci95": interval}
        data["ended"] = int(self.terminated.sum())
        data["violations"] = {
            name: {"steps": violation.steps, "episodes": violation.episodes, "excess": violation.excess}
            for name, violation in self.violations.items()
        }
        return data | {"effort": float(self.effort.mean()), "switching": float(self.switching.mean())}

    # -- in words ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        low, high = self.ci95
        counts = f"episodes={len(self.returns)}, samples={self.samples}"
        return f"Evaluation(mean={self.mean:.2f}, ci95=({low:.2f}, {high:.2f}), {counts})"

    def __str__(self) -> str:
        where = f" on {self.plant}" if self.plant else ""
        seed = "" if self.seed is None else f", seed {self.seed}"
        head = f"{counted(len(self.returns), 'fresh episode')}{where}{seed}: {self.samples:,} steps"
        return "\n".join([head, *self.lines()])

    def lines(self, first: int = 0) -> list[str]:
        """What was found, in lines of 80 letters; from the row `first` on."""
        return lines_of(self._rows()[first:], 11, 16)

    def _failure_rows(self) -> list[tuple[str, str]]:
        failures, ended = self.failures, int(self.terminated.sum())
        share = f"{ended:,} of {failures.episodes:,} episodes ended early"
        unstated = f"{share}; whether that is a failure is not stated ({STATE_ENDS})" if ended else ""
        if not failures.rule:
            return [("failures", f"unknown: {unstated or 'no episode ended early, and the problem has no limits'}")]
        low, high = (number(100.0 * end, 2) for end in failures.ci95)
        counts = f"{failures.count:,} of {failures.episodes:,}"
        share = f"{percent(failures.share)} (95 %: {low} to {high} %), {counts} episodes"
        rows = [("failures", share), ("", f"a failure is an episode that {failures.rule}")]
        return rows + ([("", unstated)] if unstated and not self.ends else [])

    def _rows(self) -> list[tuple[str, str]]:
        """A name, empty where a row goes on with the one before, and a text."""
        low, high = self.ci95
        interval = f"(95 %: {low:.2f} to {high:.2f})" if np.isfinite(low) else "(one episode)"
        few = "the worst episode" if self._worst == 1 else f"mean of the {self._worst} worst episodes"
        rows = [
            ("return", f"{self.mean:.2f} {interval}, median {number(self.median)}, std {number(self.std)}"),
            ("worst 5 %", f"{self.worst5:.2f} ({few})"),
        ]
        if not len(self.lengths):
            return rows
        rows += self._failure_rows()
        rows += [("" if j else "violations", str(violation)) for j, violation in enumerate(self.violations.values())]
        effort, switching = (percent(float(share.mean())) for share in (self.effort, self.switching))
        return [
            *rows,
            ("effort", f"{effort} of half the range, mean distance of actions from its middle"),
            ("switching", f"{switching} of the range, mean change from step to step"),
        ]



ALPHA = 0.05  # of the test whether one controller earns less than another


def paired(returns: Array, reference: Array) -> tuple[float, float]:
    """How much more is earned than in the same episodes of a reference: mean, and standard error (0 of one episode).

    Where one has more episodes, the first ones count.
    """
    n = min(len(returns), len(reference))
    more = returns[:n] - reference[:n]
    error = float(more.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return float(more.mean()), error


def less(returns: Array, reference: Array) -> float:
    """p of the one-sided paired test that these episodes earn less than the same episodes of a reference."""
    from scipy.special import stdtr

    lost, error = paired(reference, returns)
    if np.ptp(reference - returns) == 0.0:
        return float(lost <= 0.0)
    return float(stdtr(len(returns) - 1, -lost / error))


def significantly_less(returns: Array, reference: Array) -> bool:
    return less(returns, reference) < ALPHA
