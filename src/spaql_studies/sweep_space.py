"""What a sweep varies: options of a learner, each in a range or from a list."""

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.errors import SpaqlError, echoed
from spaql.learners.options import options_of, typed
from spaql_studies.runs.spec import Option
from spaql_studies.sweep_table import Options, Sweep, Trial

if TYPE_CHECKING:
    from spaql.learners.agent import Agent

DIGITS = 4  # of drawn numbers: more mean nothing, and tables are to be read
EXAMPLE = "such as xi=0.1..100:log, lam=0.5..2 or distance=euclidean,sup"


@dataclass(frozen=True)
class Parameter:
    """One option: a list of choices, or a range, even or logarithmic, of numbers or of whole numbers."""

    name: str
    choices: tuple[Option, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False

    def at(self, u: float) -> Option:
        """The value at a place u in [0, 1) of the range or list."""
        if self.choices:
            return self.choices[int(u * len(self.choices))]
        if self.whole and not self.log:
            return int(self.low + math.floor(u * (self.high - self.low + 1)))
        value = (
            math.exp(math.log(self.low) + u * math.log(self.high / self.low))
            if self.log
            else self.low + u * (self.high - self.low)
        )
        return self.tidy(value)

    def tidy(self, value: Any) -> Option:
        """A value as it is tried."""
        if self.choices:
            return value  # type: ignore[no-any-return]
        near = min(max(float(f"{float(value):.{DIGITS}g}"), self.low), self.high)
        return round(near) if self.whole else near

    @property
    def ends(self) -> tuple[Option, ...]:
        return self.choices or (self.tidy(self.low), self.tidy(self.high))

    def __str__(self) -> str:
        if self.choices:
            return f"{self.name}={','.join(map(str, self.choices))}"
        return f"{self.name}={self.low:g}..{self.high:g}{':log' if self.log else ''}"


def parameters_of(texts: Sequence[str], learner: "type[Agent]") -> tuple[Parameter, ...]:
    """`--option` of `spaql sweep`."""
    signature = inspect.signature(learner.__init__).parameters
    known = [option.name for option in options_of(learner)]
    parameters: dict[str, Parameter] = {}
    for text in texts:
        if not isinstance(text, str):
            raise SpaqlError(f"an option of a sweep is a text, {EXAMPLE}; not {echoed(text)}")
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise SpaqlError(f"--option takes NAME=RANGE, {EXAMPLE}; not {echoed(text)}")
        if name not in known:
            raise SpaqlError(f"{learner.algorithm} has no option {echoed(name)}: it has {', '.join(known)}")
        if name in parameters:
            raise SpaqlError(f"--option {text}: {name} is given twice")
        parameters[name] = _parameter(name, value, text, signature[name].annotation in (int, int | None))
    if not any(len(set(parameter.ends)) > 1 for parameter in parameters.values()):
        raise SpaqlError(f"a sweep needs something to vary: --option NAME=RANGE, {EXAMPLE}")
    return tuple(parameters.values())


def _parameter(name: str, value: str, text: str, whole: bool) -> Parameter:
    if ".." not in value:
        return Parameter(name, choices=tuple(typed(part.strip()) for part in value.split(",")))
    span, colon, scale = value.partition(":")
    low, _, high = span.partition("..")
    try:
        ends = float(low), float(high)
    except ValueError as error:
        raise SpaqlError(f"--option {text}: the ends of a range are numbers, {EXAMPLE}") from error
    if scale not in ("", "log", "linear") or (colon and not scale):
        raise SpaqlError(f"--option {text}: the scale is log or linear, not {echoed(scale)}")
    if not all(map(math.isfinite, ends)) or ends[0] >= ends[1]:
        raise SpaqlError(f"--option {text}: a range goes from a lower to a higher number")
    if scale == "log" and ends[0] <= 0:
        raise SpaqlError(f"--option {text}: a logarithmic range begins above 0")
    return Parameter(name, low=ends[0], high=ends[1], log=scale == "log", whole=whole)


def random_trial(parameters: Sequence[Parameter], seed: int, number: int) -> dict[str, Option]:
    """Trial `number` of a random search: the same whatever came before it, and however many follow."""
    places = np.random.default_rng([seed, number]).random(len(parameters))
    return {parameter.name: parameter.at(float(u)) for parameter, u in zip(parameters, places, strict=True)}


# -- which sets of options a sweep tries: at random, or as Optuna proposes from the results so far ---------------------

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
