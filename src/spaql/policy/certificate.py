"""How often a controller fails, from a number of episodes: exact binomial bounds, and a certificate of them."""

import math
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from spaql.ground.checks import real, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.policy.digits import counted

LONGEST = 1000  # letters of a text in a file


def rate_interval(count: int, trials: int) -> tuple[float, float]:
    """Clopper and Pearson's two-sided 95 % interval of a rate of which `count` of `trials` were seen."""
    from scipy.special import betaincinv

    tail = (1.0 - 0.95) / 2.0
    low = 0.0 if count == 0 else float(betaincinv(count, trials - count + 1, tail))
    high = 1.0 if count == trials else float(betaincinv(count + 1, trials - count, 1.0 - tail))
    return low, high


def rate_bound(count: int, trials: int, confidence: float = 0.95) -> float:
    """The rate that is not exceeded with this confidence (one-sided, exact)."""
    from scipy.special import betaincinv

    return 1.0 if count == trials else float(betaincinv(count + 1, trials - count, confidence))


@dataclass(frozen=True)
class Failures:
    """How many episodes have failed, and by which rule; an empty rule: nobody has said what a failure is."""

    count: int
    episodes: int
    rule: str

    @property
    def share(self) -> float:
        """NaN if nobody has said what a failure is."""
        return self.count / self.episodes if self.rule else math.nan

    @property
    def ci95(self) -> tuple[float, float]:
        """The exact 95 % interval of the failure rate (Clopper and Pearson)."""
        return rate_interval(self.count, self.episodes) if self.rule else (math.nan, math.nan)

    def __float__(self) -> float:
        return self.share


@dataclass(frozen=True)
class Certificate:
    """After `episodes` fresh episodes with `failures` failures, the failure rate is at most `bound`; print it."""

    episodes: int
    failures: int
    confidence: float
    rule: str  # what a failure is
    plant: str
    seed: int
    date: str  # of the certification, ISO
    version: str  # of spaql

    def __post_init__(self) -> None:
        whole("episodes", self.episodes, 1), whole("failures", self.failures, 0, self.episodes)
        whole("seed", self.seed, 0)
        confidence = real("confidence", self.confidence)
        if not 0.0 < confidence < 1.0:
            raise SpaqlError(f"confidence must be between 0 and 1, not {echoed(self.confidence)}")
        object.__setattr__(self, "confidence", confidence)
        for name in ("rule", "plant", "date", "version"):
            text = getattr(self, name)
            if not isinstance(text, str) or len(text) > LONGEST:
                raise SpaqlError(f"the {name} of a certificate must be text of at most {LONGEST} letters")
            text.encode()  # half of a pair of surrogates is no text
        try:
            date.fromisoformat(self.date)
        except ValueError as error:
            wanted = "the date of a certificate is written like 2026-01-31"
            raise SpaqlError(f"{wanted}, not {echoed(self.date)}") from error

    @property
    def bound(self) -> float:
        """The failure rate that is not exceeded with this confidence (exact binomial, one-sided)."""
        return rate_bound(self.failures, self.episodes, self.confidence)

    @property
    def lines(self) -> list[str]:
        failed = counted(self.failures, "failure")
        return [
            f"Certified {self.date} by spaql {self.version} on {self.plant}, seed {self.seed}:",
            f"after {self.episodes:,} fresh episodes with {failed} the failure rate is at most",
            f"{bound_text(self.bound)} with {100 * self.confidence:.6g} % confidence (exact binomial).",
            f"A failure is an episode that {self.rule}.",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for files."""
        return asdict(self)


def certificate_of_file(entries: Any) -> Certificate:
    """What `to_dict` gave, read with distrust."""
    keys = set(Certificate.__dataclass_fields__)
    if not isinstance(entries, dict) or entries.keys() != keys:
        raise SpaqlError(f"a certificate must be an object with {', '.join(sorted(keys))}")
    return Certificate(**entries)


def bound_text(rate: float) -> str:
    """Three digits, rounded up, so that the text does not promise more than the number."""
    if rate >= 1.0:
        return "100 %"
    place = 10.0 ** (2 - math.floor(math.log10(100.0 * rate)))
    return f"{min(math.ceil(100.0 * rate * place) / place, 100.0):.4g} %"
