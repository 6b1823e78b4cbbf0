"""What fresh rollouts of a policy are worth."""

from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Fresh rollouts of a policy, on random streams used neither in training nor in selection."""

    returns: Array
    samples: int

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

    def __repr__(self) -> str:
        low, high = self.ci95
        counts = f"episodes={len(self.returns)}, samples={self.samples}"
        return f"Evaluation(mean={self.mean:.2f}, ci95=({low:.2f}, {high:.2f}), {counts})"


ALPHA = 0.05  # of the test whether one controller earns less than another


def less(returns: Array, reference: Array) -> float:
    """p of the one-sided paired test that these episodes earn less than the same episodes of a reference."""
    from scipy.special import stdtr

    lost = reference - returns
    n, mean = len(lost), float(lost.mean())
    if n < 2 or np.ptp(lost) == 0.0:
        return float(mean <= 0.0)
    return float(stdtr(n - 1, -mean / (float(lost.std(ddof=1)) / np.sqrt(n))))


def significantly_less(returns: Array, reference: Array) -> bool:
    return less(returns, reference) < ALPHA
