"""The single statistics, from SciPy.

A sample has one value per run: the runs differ in their seed and are independent of each other. Higher values are
better. A group without spread is a legitimate result (a controller that always reaches 200), so it gives numbers, never
NaN. `scipy.stats` is slow to import and therefore imported inside the functions.
"""

import math
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from spaql.analysis.samples import LARGEST, fraction, sample, summary
from spaql.ground.arrays import Array
from spaql.ground.checks import choice, items, real, whole
from spaql.ground.errors import SpaqlError

Interval = tuple[float, float]
CORRECTIONS = ("holm", "bh", "none")
TRIMMED = {"mean": 0.0, "iqm": 0.25}  # share of the values cut off at each end
RESAMPLES = 9999  # of a bootstrap
MOST_SEEDS = 100_000  # that `seeds_needed` looks at


@dataclass(frozen=True)
class Welch:
    """Welch's test of a against b; `difference` is mean(a) - mean(b), `p` is two-sided."""

    difference: float
    interval: Interval
    t: float
    df: float
    p: float


@dataclass(frozen=True)
class Improvement:
    """Probability that a run of a is better than a run of b, ties counted half, and its bootstrap interval."""

    probability: float
    interval: Interval


@dataclass(frozen=True)
class Verdict:
    """Our runs against a published mean; `difference` is ours minus published."""

    label: Literal["reproduced", "differs"]
    direction: Literal["better", "worse", ""]  # empty when reproduced
    p: float
    difference: float
    overlap: bool  # of the two 95 % intervals; information only, the label does not depend on it


def mean_interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """Student's confidence interval of the mean."""
    level = fraction("level", level)
    mean, sd, n = summary(sample("values", values))
    half = _quantile(n - 1, level) * sd / math.sqrt(n)
    return mean - half, mean + half


def iqm(values: Iterable[float]) -> float:
    """Interquartile mean: the mean after a quarter of the values (rounded down) is cut off at each end."""
    return float(_trimmed_mean(sample("values", values), share=TRIMMED["iqm"]))


def bootstrap_interval(
    values: Iterable[float], statistic: str = "mean", level: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """Bootstrap interval of the "mean" or the "iqm".

    BCa, or percentile where BCa is not defined because hardly any values differ.
    """
    from scipy import stats

    share = TRIMMED[choice("statistic", statistic, TRIMMED)]
    level, seed, resamples = fraction("level", level), whole("seed", seed, 0), whole("resamples", resamples, 1)
    data = sample("values", values)
    if np.ptp(data) == 0.0:
        return float(data[0]), float(data[0])
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the cases of which SciPy warns are handled here
            resampled = stats.bootstrap(
                (data,), partial(_trimmed_mean, share=share), vectorized=True, method=method, confidence_level=level,
                n_resamples=resamples, batch=max(1, 10**6 // len(data)), rng=np.random.default_rng(seed),
            ).confidence_interval  # fmt: skip
        if np.isfinite(resampled).all():
            break
    return float(resampled.low), float(resampled.high)


def welch(a: Iterable[float], b: Iterable[float], level: float = 0.95) -> Welch:
    """Welch's t-test: do the means differ, without assuming equal variances?

    See `welch_from_summary` for groups without spread.
    """
    return welch_from_summary(*summary(sample("a", a)), *summary(sample("b", b)), level=level)


def welch_from_summary(
    mean1: float, sd1: float, n1: int, mean2: float, sd2: float, n2: int, level: float = 0.95
) -> Welch:
    """Welch's t-test from means, standard deviations and numbers of runs.

    With both sd zero: p = 1 if the means are equal, else 0.
    """
    level, n1, n2 = fraction("level", level), whole("n1", n1, 2), whole("n2", n2, 2)
    sd1, sd2 = real("sd1", sd1, 0.0, LARGEST), real("sd2", sd2, 0.0, LARGEST)
    difference = real("mean1", mean1, -LARGEST, LARGEST) - real("mean2", mean2, -LARGEST, LARGEST)
    scale = max(sd1, sd2)
    if scale == 0.0:
        t = math.copysign(math.inf, difference) if difference else 0.0
        return Welch(difference, (difference, difference), t, float(n1 + n2 - 2), 0.0 if difference else 1.0)
    from scipy.stats import ttest_ind_from_stats

    s1, s2 = sd1 / scale, sd2 / scale  # so that squares neither overflow nor vanish
    with np.errstate(over="ignore"):  # an infinite t is right for a spread next to nothing
        t, p = ttest_ind_from_stats(difference / scale, s1, n1, 0.0, s2, n2, equal_var=False)
    df = _satterthwaite(s1**2 / n1, n1, s2**2 / n2, n2)
    half = _quantile(df, level) * scale * math.sqrt(s1**2 / n1 + s2**2 / n2)
    return Welch(difference, (difference - half, difference + half), float(t), df, float(p))


def sd_from_half_width(half_width: float, n: int, level: float = 0.95) -> float:
    """The standard deviation behind a published "mean ± half-width" of Student's interval over n runs."""
    n = whole("n", n, 2)
    quantile = _quantile(n - 1, fraction("level", level))
    if quantile <= 0.0:
        raise SpaqlError(f"no standard deviation follows from an interval with a level of {level:g}")
    return real("half_width", half_width, 0.0, LARGEST) * math.sqrt(n) / quantile


def hedges_g(a: Iterable[float], b: Iterable[float]) -> float:
    """Difference of the means in standard deviations, corrected for its bias in small samples.

    The standardiser is the root of the mean of the two variances (Bonett, 2008): the variances may differ, and a larger
    group does not count more. With groups of equal size this is Hedges' g with the pooled standard deviation. Infinite
    when both groups have no spread and their means differ.
    """
    from scipy.special import gammaln

    (mean1, sd1, n1), (mean2, sd2, n2) = summary(sample("a", a)), summary(sample("b", b))
    difference, sd, half_df = mean1 - mean2, math.hypot(sd1, sd2) / math.sqrt(2.0), (n1 + n2 - 2) / 2
    if sd == 0.0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / sd * math.exp(gammaln(half_df) - gammaln(half_df - 0.5)) / math.sqrt(half_df)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the given order: they control the probability of one false alarm among all tests."""
    p = _p_values(p_values)
    order = np.argsort(p, kind="stable")
    result = np.empty_like(p)
    result[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return [float(value) for value in result]


def adjusted(p_values: Sequence[float], correction: str = "holm") -> list[float]:
    """p-values corrected for multiple comparisons: "holm", "bh" (Benjamini-Hochberg) or "none"."""
    from scipy.stats import false_discovery_control

    choice("correction", correction, CORRECTIONS)
    if correction == "holm":
        return holm(p_values)
    p = _p_values(p_values)
    return [float(value) for value in (false_discovery_control(p) if correction == "bh" and len(p) else p)]


def probability_of_improvement(
    a: Iterable[float], b: Iterable[float], level: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
) -> Improvement:
    """P(A > B) + P(A = B) / 2 from the Mann-Whitney U, with a percentile bootstrap interval over both groups."""
    from scipy import stats

    level, seed, resamples = fraction("level", level), whole("seed", seed, 0), whole("resamples", resamples, 1)
    first, second = sample("a", a), sample("b", b)

    def probability(x: Array, y: Array, axis: int = -1) -> Any:
        # `method` is that of the p-value, which is not used
        u = stats.mannwhitneyu(x, y, axis=axis, method="asymptotic").statistic
        return u / (x.shape[axis] * y.shape[axis])

    resampled = stats.bootstrap(
        (first, second), probability, vectorized=True, method="percentile", confidence_level=level,
        n_resamples=resamples, batch=max(1, 10**6 // (len(first) + len(second))), rng=np.random.default_rng(seed),
    ).confidence_interval  # fmt: skip
    return Improvement(float(probability(first, second)), (float(resampled.low), float(resampled.high)))


def seeds_needed(a: Iterable[float], b: Iterable[float], power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Runs per group for a new comparison, if the true means and deviations are those of a and b.

    See `seeds_needed_from_summary`.
    """
    (mean1, sd1, _), (mean2, sd2, _) = summary(sample("a", a)), summary(sample("b", b))
    return seeds_needed_from_summary(mean1 - mean2, sd1, sd2, power, alpha)


def seeds_needed_from_summary(
    difference: float, sd1: float, sd2: float, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """The fewest runs per group with which Welch's two-sided test finds the difference with probability `power`.

    The difference must be found with the right sign. None for more than 100,000 runs, and for a difference of zero.
    """
    difference, power, alpha = abs(real("difference", difference)), fraction("power", power), fraction("alpha", alpha)
    sd1, sd2 = real("sd1", sd1, 0.0, LARGEST), real("sd2", sd2, 0.0, LARGEST)
    if difference == 0.0:
        return None
    scale = max(sd1, sd2)
    if scale == 0.0:
        return 2
    sizes = range(2, MOST_SEEDS + 1)
    place = bisect_left(sizes, power, key=lambda n: _power(n, difference / scale, sd1 / scale, sd2 / scale, alpha))
    return sizes[place] if place < len(sizes) else None


def verdict(
    published_mean: float, published_half_width: float, published_n: int, ours: Iterable[float], alpha: float = 0.05
) -> Verdict:
    """Is a published "mean ± half-width of the 95 % interval" reproduced? "differs" if Welch's test says p < alpha."""
    alpha, n = fraction("alpha", alpha), whole("published_n", published_n, 2)
    mean, half = real("published_mean", published_mean), real("published_half_width", published_half_width, 0.0)
    values = sample("ours", ours)
    test = welch_from_summary(*summary(values), mean, sd_from_half_width(half, n), n)
    low, high = mean_interval(values)
    overlap = low <= mean + half and mean - half <= high
    if test.p >= alpha:
        return Verdict("reproduced", "", test.p, test.difference, overlap)
    return Verdict("differs", "better" if test.difference > 0 else "worse", test.p, test.difference, overlap)


def _quantile(df: float, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def _trimmed_mean(values: Array, axis: int = -1, *, share: float) -> Any:
    """As `scipy.stats.trim_mean`, but with the same bits for every order of the values.

    BCa counts the resamples that are equal to the data.
    """
    n = values.shape[axis]
    cut = int(share * n)
    return np.mean(np.take(np.sort(values, axis=axis), np.arange(cut, n - cut), axis=axis), axis=axis)


def _satterthwaite(v1: float, n1: int, v2: float, n2: int) -> float:
    """Degrees of freedom from the squared standard errors of the two means."""
    return (v1 + v2) ** 2 / (v1**2 / (n1 - 1) + v2**2 / (n2 - 1))


def _power(n: int, difference: float, sd1: float, sd2: float, alpha: float) -> float:
    from scipy.stats import nct

    v1, v2 = sd1**2 / n, sd2**2 / n
    df = _satterthwaite(v1, n, v2, n)
    shift = min(difference / math.sqrt(v1 + v2), 1e8)  # for far larger shifts nct gives NaN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the series of nct warns for probabilities next to 0 and 1
        return float(nct.sf(_quantile(df, 1 - alpha), df, shift))


def _p_values(values: Sequence[float]) -> Array:
    return np.array([real("a p-value", value, 0.0, 1.0) for value in items("p-values", values)], dtype=np.float64)
