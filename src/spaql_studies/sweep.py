"""`spaql sweep`: options of a learner tried on some seeds, the best of them judged on others."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spaql.ground.checks import checked_path, choice, items, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.progress import at_work
from spaql.learners.registry import Card, card_of, learner_class
from spaql.plants.catalog import CATALOG
from spaql.plants.make import make_from_catalog
from spaql_studies.reproduce import failure, usable
from spaql_studies.runs.runner import Open, executor_of, run_missing
from spaql_studies.runs.spec import Spec
from spaql_studies.runs.store import Store
from spaql_studies.sweep_space import Parameter, parameters_of, random_search, tpe_search
from spaql_studies.sweep_table import FIRST_REPORTED, Options, Sweep, Swept, Trial

SAMPLERS = ("random", "tpe")
MOST_TUNING_SEEDS = 100  # seeds by which options are chosen are below


class _InterruptedError(Exception):
    pass


def sweep(
    problem: str,
    algorithm: str,
    options: Sequence[str],
    store: Path | str = "results",
    *,
    trials: int = 30,
    seeds: int = 3,
    best: int = 3,
    final_seeds: int = 10,
    iterations: int = 200,
    samples: int = 2000,
    rollouts: int | None = None,
    fresh: int = 200,
    sampler: str = "random",
    seed: int = 0,
    jobs: int | None = None,
    executor: str | None = None,
    repair: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> Swept:
    """Tune the options of a learner on some seeds, and judge the best on others. Computes what the store does not have.

    After Ctrl-C `interrupted` of the result says so; the same call goes on from there.

    Args:
        problem: a name of `spaql.problems()`.
        algorithm: a learner by name, such as "spaql".
        options: what to vary, as on the command line: "xi=0.1..100:log", "lam=0.5..2", "distance=euclidean,sup".
        store: folder of results. Finished runs in it are not computed again.
        trials: sets of options to try.
        seeds: seeds per trial, from 0 on.
        best: how many of the best sets are judged again.
        final_seeds: seeds, from 1000 on, on which the best are judged.
        iterations: training episodes per run.
        samples: training steps per run, of learners that learn by samples.
        rollouts: evaluation rollouts per training episode; None for those of the problem.
        fresh: episodes of the fresh evaluation of a run.
        sampler: "random", or "tpe" (Optuna, extra `sweep`).
        seed: of the search itself.
        jobs: processes; None for all cores.
        executor: None for processes on this machine, or "dask://HOST:PORT".
        repair: whether damaged result files are computed again.
        on_progress: called with a line of text now and then.
    """
    asked = Sweep(
        problem, algorithm, tuple(items("options", options)), checked_path(store), trials, seeds, best, final_seeds,
        iterations, samples, rollouts, fresh, sampler, seed, jobs, executor, repair,
    )  # fmt: skip
    return run_sweep(asked, on_progress)


def run_sweep(sweep: Sweep, say: Callable[[str], None] | None = None) -> Swept:
    """Compute what the store does not have. After Ctrl-C the result says so; the same call goes on from there."""
    card = card_of(sweep.algorithm)
    parameters = _checked(sweep, card)
    open_executor = executor_of(sweep.executor, sweep.jobs)
    store, swept = Store(sweep.store), Swept(sweep)
    store.tidy()
    bench = _Bench(sweep, card, store, open_executor, swept, say or (lambda text: None))
    try:
        searched = (tpe_search if sweep.sampler == "tpe" else random_search)(sweep, parameters, bench.run)
        for trials in searched:
            swept.trials += trials
        # the first of equal ones, and every set of options once: lists of choices repeat themselves
        ranked = {json.dumps(trial.options, sort_keys=True): trial for trial in reversed(swept.trials)}.values()
        swept.best = sorted(ranked, key=lambda trial: -trial.score)[: sweep.best]
        swept.default = Trial({})
        seeds = range(FIRST_REPORTED, FIRST_REPORTED + sweep.final_seeds)
        finalists = [*swept.best, swept.default]
        returns = bench.run([trial.options for trial in finalists], seeds, "the best, on new seeds")
        for trial, values in zip(finalists, returns, strict=True):
            trial.reported = values
    except _InterruptedError:
        swept.interrupted = True
    return swept


def _checked(sweep: Sweep, card: Card) -> tuple[Parameter, ...]:
    if not isinstance(sweep.problem, str) or sweep.problem not in CATALOG:
        raise SpaqlError(
            "a sweep needs a problem by name, because its runs are kept by it: "
            f"{', '.join(CATALOG)}; not {echoed(sweep.problem)}"
        )
    if not card.learns:
        raise SpaqlError(f"{card.name} does not learn: there is nothing to tune")
    learner: Any = learner_class(card)
    parameters = parameters_of(sweep.options, learner)
    for name, low, high in (
        ("trials", 1, 100_000),
        ("seeds", 1, MOST_TUNING_SEEDS),
        ("best", 1, 1000),
        ("final_seeds", 2, 10_000),
        ("iterations", 1, 10**9),
        ("samples", 1, 10**9),
        ("fresh", 1, 10**7),
        ("seed", 0, 2**31),
    ):
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
        self, sweep: Sweep, card: Card, store: Store, open_executor: Open, swept: Swept, say: Callable[[str], None]
    ) -> None:  # fmt: skip
        self.sweep, self.card, self.store = sweep, card, store
        self.open, self.swept, self.say = open_executor, swept, say

    def run(self, sets: Sequence[Options], seeds: range, what: str) -> list[list[float]]:
        """The mean fresh return of every set on every seed."""
        specs = [[self._spec(options, seed) for seed in seeds] for options in sets]
        unique = list(dict.fromkeys(spec for row in specs for spec in row))
        missing = [spec for spec in unique if not usable(self.store, spec, self.sweep.repair)]
        done = len(unique) - len(missing)
        self.say(f"{what}: {done} of {len(unique)} runs are there")
        at_work(what, done, len(unique))

        def finished(spec: Spec) -> None:
            nonlocal done
            done += 1
            at_work(what, done, len(unique))
            if done == len(unique) or done % max(1, len(unique) // 10) == 0:
                self.say(f"{what}: {done} of {len(unique)} runs")

        outcome = run_missing(missing, self.store, self.open, finished)
        self.swept.computed += outcome.computed
        if outcome.error is not None:
            raise failure(outcome.error, outcome.spec, "finished runs are kept") from outcome.error
        if outcome.interrupted:
            raise _InterruptedError
        runs = {spec: run.fresh for spec in unique if (run := self.store.read(spec)) is not None}
        return [[runs[spec] for spec in row] for row in specs]

    def _spec(self, options: Options, seed: int) -> Spec:
        sweep, given = self.sweep, tuple(sorted(options.items()))
        if self.card.learns_by == "samples":
            return Spec(sweep.problem, self.card.name, seed, 0, 0, sweep.fresh, given, (sweep.samples,))
        rollouts = CATALOG[sweep.problem].rollouts if sweep.rollouts is None else sweep.rollouts
        return Spec(sweep.problem, self.card.name, seed, sweep.iterations, rollouts, sweep.fresh, given)
