"""What a sweep is asked for, and what came of it."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from spaql.policy.evaluation import Evaluation
from spaql.runs.spec import Option

Options = dict[str, Option]


@dataclass(frozen=True)
class Sweep:
    """What was asked for; see `sweep`."""

    problem: str
    algorithm: str
    options: tuple[str, ...]
    store: Path
    trials: int = 30
    seeds: int = 3
    best: int = 3
    final_seeds: int = 10
    iterations: int = 200
    samples: int = 2000
    rollouts: int | None = None
    fresh: int = 200
    sampler: str = "random"
    seed: int = 0
    jobs: int | None = None
    executor: str | None = None
    repair: bool = False

    @property
    def name(self) -> str:
        """Of its tables: the same for the same sweep, another for another."""
        asked = [
            self.problem,
            self.algorithm,
            *sorted(self.options),
            self.trials,
            self.seeds,
            self.best,
            self.final_seeds,
        ]
        asked += [self.iterations, self.samples, self.rollouts, self.fresh, self.sampler, self.seed]
        return f"{self.problem}-{self.algorithm.lower()}-{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]}"


@dataclass
class Trial:
    """One set of options."""

    options: Options
    tuned: list[float] = field(default_factory=list)  # fresh returns, one per tuning seed
    reported: list[float] = field(default_factory=list)  # one per reported seed; only of the best

    @property
    def score(self) -> float:
        return float(np.mean(self.tuned))

    @property
    def worth(self) -> Evaluation:
        return Evaluation(np.array(self.reported), 0)


@dataclass
class Swept:
    """What came of it. `best`: in the order of their scores in tuning, which is the order to trust."""

    sweep: Sweep
    trials: list[Trial] = field(default_factory=list)
    best: list[Trial] = field(default_factory=list)
    default: Trial | None = None  # the learner as it comes, judged on the reported seeds
    computed: int = 0
    interrupted: bool = False
