"""What happened in every iteration."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import entry


class Columns(NamedTuple):
    """Where each figure of an iteration stands in its row of the history."""

    evaluation: int = 0  # mean return of the evaluation rollouts of the iteration
    best_seen: int = 1  # the paper's metric
    arms: int = 2  # leaves of the kept agent
    train_samples: int = 3  # steps learned from so far
    eval_samples: int = 4  # steps spent on evaluation so far
    temperature: int = 5  # of the training episode of the iteration


COLUMN = Columns()
COLUMNS = Columns._fields
COUNTS = ("arms", "train_samples", "eval_samples")  # columns of whole numbers


@entry
def write_row(
    row: Array,
    evaluation: float,
    best_seen: float,
    arms: float,
    train_samples: float,
    eval_samples: float,
    temperature: float,
) -> None:
    """One iteration into its row of the history."""
    row[COLUMN.evaluation] = evaluation
    row[COLUMN.best_seen] = best_seen
    row[COLUMN.arms] = arms
    row[COLUMN.train_samples] = train_samples
    row[COLUMN.eval_samples] = eval_samples
    row[COLUMN.temperature] = temperature


def add_row(state: Any, *figures: float) -> None:
    """One iteration, as `write_row` takes it, at the end of the history of an agent's state."""
    row = np.zeros((1, len(COLUMNS)))
    write_row(row[0], *figures)
    state.history = np.concatenate([state.history, row])


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """One entry per iteration, over all `learn` calls of the agent.

    `best_seen` is the paper's metric: of learners that keep the best agent, the best evaluation average so far; of the
    others the evaluation of the current agent. The best is biased upwards: use `agent.evaluate` for the return to
    expect.
    """

    table: Array  # float64, one column per field below
    interrupted: bool = False  # the last learn call was ended by Ctrl-C or by its callback
    seconds: float = 0.0  # wall time of the last learn call

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        """One line, the last iteration: the dataclass would print the whole table."""
        parts = [f"iterations={len(self)}"]
        if len(self):
            parts += [f"best_seen={self.best_seen[-1]:.6g}", *(f"{name}={getattr(self, name)[-1]}" for name in COUNTS)]
        return f"History({', '.join([*parts, f'interrupted={self.interrupted}', f'seconds={self.seconds:.3g}'])})"

    @property
    def evaluation(self) -> Array:
        """Mean return of the evaluation rollouts of this iteration."""
        return self.table[:, COLUMN.evaluation]

    @property
    def best_seen(self) -> Array:
        return self.table[:, COLUMN.best_seen]

    @property
    def arms(self) -> Array:
        """Leaves of the kept agent."""
        return self.table[:, COLUMN.arms].astype(np.int64)

    @property
    def train_samples(self) -> Array:
        """Steps learned from so far."""
        return self.table[:, COLUMN.train_samples].astype(np.int64)

    @property
    def eval_samples(self) -> Array:
        """Steps spent on evaluation rollouts so far, with the first evaluation, of the untrained agent."""
        return self.table[:, COLUMN.eval_samples].astype(np.int64)

    @property
    def temperature(self) -> Array:
        """Boltzmann temperature of this iteration's training episode; 0 without exploration."""
        return self.table[:, COLUMN.temperature]

    def to_pandas(self) -> Any:
        """A DataFrame with one row per iteration (needs pandas)."""
        import pandas

        return pandas.DataFrame(
            {name: getattr(self, name) for name in COLUMNS}, index=pandas.RangeIndex(1, len(self) + 1)
        )
