"""What happened in every iteration."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spaql.arrays import Array

COLUMNS = ("evaluation", "best_seen", "arms", "train_samples", "eval_samples", "temperature")


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """One entry per iteration, over all `learn` calls of the agent.

    `best_seen` is the paper's metric: the best evaluation average so far for SPAQL and SPAQL-TS; for AQL, NBQL, ZoomRL and Random, which
    keep no best agent, the evaluation of the current one. It is biased upwards: `agent.evaluate` tells what the agent is worth.
    """

    table: Array  # float64, one column per field below
    interrupted: bool = False  # the last learn call was ended by Ctrl-C or by its callback
    seconds: float = 0.0  # wall time of the last learn call

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        """One line, the last iteration: the dataclass would print the whole table."""
        said = [f"iterations={len(self)}"]
        if len(self):
            said += [f"best_seen={self.best_seen[-1]:.6g}", *(f"{name}={getattr(self, name)[-1]}" for name in COLUMNS[2:5])]
        return f"History({', '.join([*said, f'interrupted={self.interrupted}', f'seconds={self.seconds:.3g}'])})"

    @property
    def evaluation(self) -> Array:
        """Mean return of the evaluation rollouts of this iteration."""
        return self.table[:, 0]

    @property
    def best_seen(self) -> Array:
        return self.table[:, 1]

    @property
    def arms(self) -> Array:
        """Leaves of the kept agent."""
        return self.table[:, 2].astype(np.int64)

    @property
    def train_samples(self) -> Array:
        """Steps learned from so far."""
        return self.table[:, 3].astype(np.int64)

    @property
    def eval_samples(self) -> Array:
        """Steps spent on evaluation rollouts so far, the first one of the untrained agent included."""
        return self.table[:, 4].astype(np.int64)

    @property
    def temperature(self) -> Array:
        """Boltzmann temperature of this iteration's training episode; 0 without exploration."""
        return self.table[:, 5]

    def to_pandas(self) -> Any:
        """A DataFrame with one row per iteration (needs pandas)."""
        import pandas

        return pandas.DataFrame({name: getattr(self, name) for name in COLUMNS}, index=pandas.RangeIndex(1, len(self) + 1))


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
        return f"Evaluation(mean={self.mean:.2f}, ci95=({low:.2f}, {high:.2f}), episodes={len(self.returns)}, samples={self.samples})"
