"""Which sets of options a sweep tries: at random, or as Optuna proposes from the results so far."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from spaql.errors import SpaqlError
from spaql.studies.sweep.records import Options, Sweep, Trial
from spaql.studies.sweep.space import Parameter, random_trial

BATCH = 4  # trials that TPE proposes at once, whatever the number of workers: the same sweep everywhere

# The fresh returns of every set of options on every seed; the text names the stage.
Run = Callable[[Sequence[Options], range, str], list[list[float]]]


def random_search(sweep: Sweep, parameters: Sequence[Parameter], run: Run) -> Iterator[list[Trial]]:
    sets = [random_trial(parameters, sweep.seed, number) for number in range(sweep.trials)]
    yield [
        Trial(options, values) for options, values in zip(sets, run(sets, range(sweep.seeds), "trials"), strict=True)
    ]


def tpe_search(sweep: Sweep, parameters: Sequence[Parameter], run: Run) -> Iterator[list[Trial]]:
    """Optuna's tree-structured Parzen estimator.

    Given the seed and the results so far it proposes the same: the store resumes it.
    """
    try:
        import optuna
    except ImportError as error:
        raise SpaqlError(
            "the sampler tpe needs the extra: pip install 'spaql[sweep]' (--sampler random needs nothing)"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=sweep.seed))
    for first in range(0, sweep.trials, BATCH):
        asked = [
            study.ask({p.name: _distribution(p, optuna) for p in parameters})
            for _ in range(min(BATCH, sweep.trials - first))
        ]
        sets = [{p.name: p.tidy(trial.params[p.name]) for p in parameters} for trial in asked]
        results = run(sets, range(sweep.seeds), f"trials {first + 1} to {first + len(asked)} of {sweep.trials}")
        for trial, values in zip(asked, results, strict=True):
            study.tell(trial, float(np.mean(values)))
        yield [Trial(options, values) for options, values in zip(sets, results, strict=True)]


def _distribution(parameter: Parameter, optuna: Any) -> Any:
    if parameter.choices:
        return optuna.distributions.CategoricalDistribution(parameter.choices)
    if parameter.whole:
        return optuna.distributions.IntDistribution(int(parameter.low), int(parameter.high), log=parameter.log)
    return optuna.distributions.FloatDistribution(parameter.low, parameter.high, log=parameter.log)
