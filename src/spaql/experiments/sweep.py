"""`spaql sweep`: options of a learner tried on some seeds, the best of them judged on others."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spaql.checks import choice, whole
from spaql.errors import SpaqlError
from spaql.experiments.executors import Open, executor_of
from spaql.experiments.naming import learner_of
from spaql.experiments.reproduce import usable
from spaql.experiments.runner import run_missing
from spaql.experiments.spec import Option, Spec
from spaql.experiments.store import Store
from spaql.experiments.sweep_space import Parameter, parameters_of, random_trial
from spaql.plants.catalog import CATALOG, make_from_catalog
from spaql.training.history import Evaluation

SAMPLERS = ("random", "tpe")
MOST_TUNING_SEEDS, FIRST_REPORTED = 100, 1000  # what is chosen by is never what is reported
BATCH = 4  # trials TPE proposes at once, whatever the number of workers: the same sweep everywhere

Options = dict[str, Option]


@dataclass(frozen=True)
class Sweep:
    """What was asked for."""

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
        asked = [self.problem, self.algorithm, *sorted(self.options), self.trials, self.seeds, self.best, self.final_seeds]
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


class _InterruptedError(Exception):
    pass


def run_sweep(sweep: Sweep, told: Callable[[str], None] | None = None) -> Swept:
    """Compute what the store does not have. After Ctrl-C the result says so; the same call goes on from there."""
    learner: Any = learner_of(sweep.algorithm)
    parameters = _checked(sweep, learner)
    open_executor = executor_of(sweep.executor, sweep.jobs)
    store, made = Store(sweep.store), Swept(sweep)
    store.tidy()
    bench = _Bench(sweep, str(learner.algorithm), store, open_executor, made, told or (lambda text: None))
    try:
        searched = _tpe(sweep, parameters, bench) if sweep.sampler == "tpe" else _random(sweep, parameters, bench)
        for trials in searched:
            made.trials += trials
        # the first of equal ones, and every set of options once: lists of choices repeat themselves
        ranked = {json.dumps(trial.options, sort_keys=True): trial for trial in reversed(made.trials)}.values()
        made.best = sorted(ranked, key=lambda trial: -trial.score)[: sweep.best]
        made.default = Trial({})
        seeds = range(FIRST_REPORTED, FIRST_REPORTED + sweep.final_seeds)
        finalists = [*made.best, made.default]
        for trial, values in zip(
            finalists, bench.run([trial.options for trial in finalists], seeds, "the best, on new seeds"), strict=True
        ):
            trial.reported = values
    except _InterruptedError:
        made.interrupted = True
    return made


def _checked(sweep: Sweep, learner: Any) -> tuple[Parameter, ...]:
    if sweep.problem not in CATALOG:
        raise SpaqlError(f"a sweep needs a problem by name, because its runs are kept by it: {', '.join(CATALOG)}; not {sweep.problem!r}")
    if learner.algorithm == "Random":
        raise SpaqlError("Random does not learn: there is nothing to tune")
    parameters = parameters_of(sweep.options, learner)
    for name, low, high in (
        ("trials", 1, 100_000), ("seeds", 1, MOST_TUNING_SEEDS), ("best", 1, 1000), ("final_seeds", 2, 10_000), ("iterations", 1, 10**9),
        ("samples", 1, 10**9), ("fresh", 1, 10**7), ("seed", 0, 2**31),
    ):  # fmt: skip
        whole(name.replace("_", " "), getattr(sweep, name), low, high)
    choice("the sampler", sweep.sampler, SAMPLERS)
    problem = make_from_catalog(sweep.problem)
    for parameter in parameters:  # a bad value is better known now than from a worker
        for end in parameter.ends:
            learner(problem, **{parameter.name: end})
    return parameters


class _Bench:
    """Runs sets of options on seeds, over the store and the executor."""

    def __init__(
        self, sweep: Sweep, algorithm: str, store: Store, open_executor: Open, made: Swept, told: Callable[[str], None]
    ) -> None:  # fmt: skip
        self.sweep, self.algorithm, self.store, self.open, self.made, self.told = sweep, algorithm, store, open_executor, made, told

    def run(self, sets: Sequence[Options], seeds: range, what: str) -> list[list[float]]:
        """The mean fresh return of every set on every seed."""
        specs = [[self._spec(options, seed) for seed in seeds] for options in sets]
        unique = list(dict.fromkeys(spec for row in specs for spec in row))
        missing = [spec for spec in unique if not usable(self.store, spec, self.sweep.repair)]
        done = len(unique) - len(missing)
        self.told(f"{what}: {done} of {len(unique)} runs are there")

        def finished(spec: Spec) -> None:
            nonlocal done
            done += 1
            if done == len(unique) or done % max(1, len(unique) // 10) == 0:
                self.told(f"{what}: {done} of {len(unique)} runs")

        outcome = run_missing(missing, self.store, self.open, finished)
        self.made.computed += outcome.computed
        if outcome.error is not None:
            kind = "" if isinstance(outcome.error, SpaqlError) else f"{type(outcome.error).__name__}: "
            raise SpaqlError(f"{outcome.spec} failed: {kind}{outcome.error} (finished runs are kept)") from outcome.error
        if outcome.interrupted:
            raise _InterruptedError
        return [[self._fresh(spec) for spec in row] for row in specs]

    def _spec(self, options: Options, seed: int) -> Spec:
        sweep, given = self.sweep, tuple(sorted(options.items()))
        if self.algorithm == "Atlas":
            return Spec(sweep.problem, "Atlas", seed, 0, 0, sweep.fresh, given, (sweep.samples,))
        rollouts = CATALOG[sweep.problem].rollouts if sweep.rollouts is None else sweep.rollouts
        return Spec(sweep.problem, self.algorithm, seed, sweep.iterations, rollouts, sweep.fresh, given)

    def _fresh(self, spec: Spec) -> float:
        run = self.store.read(spec)
        assert run is not None
        return run.fresh


def _random(sweep: Sweep, parameters: Sequence[Parameter], bench: _Bench) -> Iterator[list[Trial]]:
    sets = [random_trial(parameters, sweep.seed, number) for number in range(sweep.trials)]
    yield [Trial(options, values) for options, values in zip(sets, bench.run(sets, range(sweep.seeds), "trials"), strict=True)]


def _tpe(sweep: Sweep, parameters: Sequence[Parameter], bench: _Bench) -> Iterator[list[Trial]]:
    """Optuna's tree-structured Parzen estimator. Given the seed and the results so far it proposes the same: the store resumes it."""
    try:
        import optuna
    except ImportError as error:
        raise SpaqlError("the sampler tpe needs the extra: pip install 'spaql[sweep]' (--sampler random needs nothing)") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=sweep.seed))
    for first in range(0, sweep.trials, BATCH):
        asked = [study.ask({p.name: _distribution(p, optuna) for p in parameters}) for _ in range(min(BATCH, sweep.trials - first))]
        sets = [{p.name: p.tidy(trial.params[p.name]) for p in parameters} for trial in asked]
        results = bench.run(sets, range(sweep.seeds), f"trials {first + 1} to {first + len(asked)} of {sweep.trials}")
        for trial, values in zip(asked, results, strict=True):
            study.tell(trial, float(np.mean(values)))
        yield [Trial(options, values) for options, values in zip(sets, results, strict=True)]


def _distribution(parameter: Parameter, optuna: Any) -> Any:
    if parameter.choices:
        return optuna.distributions.CategoricalDistribution(parameter.choices)
    if parameter.whole:
        return optuna.distributions.IntDistribution(int(parameter.low), int(parameter.high), log=parameter.log)
    return optuna.distributions.FloatDistribution(parameter.low, parameter.high, log=parameter.log)
