"""What a loop pays: a function of some of its variables, by their names."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.compile import made
from spaql.plants.signals import Signals

TRIED = 2000  # combinations of values among which the least reward is looked for


@dataclass(frozen=True)
class Payment:
    """A reward as a function of some symbols; without a function, minus the sum of their squares in units."""

    symbols: tuple[str, ...]
    given: Callable[..., float] | None = None
    units: tuple[float, ...] = ()

    @property
    def function(self) -> Callable[..., float]:
        if self.given is not None:
            return self.given
        arguments = ", ".join(f"e{n}" for n in range(len(self.units)))
        terms = " - ".join(f"(e{n} / {unit!r}) * (e{n} / {unit!r})" for n, unit in enumerate(self.units))
        function: Callable[..., float] = made({}, f"tracking({arguments})", [f"return -{terms}"])
        return function

    def of(self, *values: float) -> float:
        """What is paid, in plain Python; what the user's function raises becomes one line."""
        try:
            return float(self.function(*values))
        except Exception as error:
            names = [] if self.given is None else list(inspect.signature(self.given).parameters)
            told = ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, values, strict=False))
            raise SpaqlError(f"the reward of the loop failed with {told}: {error!r}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        if self.given is not None and not self.given.__qualname__.isidentifier():
            raise SpaqlError("the reward of the loop cannot be sent to another process: define it with def in a module")
        return Payment, (self.symbols, self.given, self.units)


def payment_of(signals: Signals, reward: Any) -> Payment | None:
    """The reward with the symbols of its arguments: those of the plant's text, see loop_plant.py."""
    if reward is None:
        return tracking(signals) if signals.errors else None
    if not inspect.isfunction(reward):
        raise SpaqlError(f"reward must be a plain Python function, not {type(reward).__name__}")
    symbols = {name: symbol.replace("y", "t") for name, symbol in signals.symbols.items()}
    symbols |= {name: f"r{k} - t{j}" for name, (k, j) in signals.errors.items()}
    symbols |= {action: f"u{j}" for j, action in enumerate(signals.action_names)}
    asked = []
    for argument in inspect.signature(reward).parameters:
        meant = [name for name in symbols if word(name) == argument]
        if not meant:
            raise SpaqlError(f"reward: there is no variable {echoed(argument)}: choose {', '.join(map(word, symbols))}")
        if len(meant) > 1:
            raise SpaqlError(f"reward: {argument} may mean {' or '.join(map(echoed, meant))}: rename one of them")
        asked.append(symbols[meant[0]])
    return Payment(tuple(asked), reward)


def tracking(signals: Signals) -> Payment:
    """Minus the squared errors, each in halves of the range of its reference."""
    halves = tuple((signals.references[k].high - signals.references[k].low) / 2 for k, _ in signals.errors.values())
    return Payment(tuple(f"r{k} - t{j}" for k, j in signals.errors.values()), units=halves)


def word(name: str) -> str:
    """A variable as the argument of a function: integral(speed_error) is integral_speed_error."""
    return re.sub(r"\W+", "_", name).strip("_")


def least_paid(payment: Payment, signals: Signals) -> float:
    """The least that is paid for values within the ranges of all variables: of some of them, always the same."""
    rng, low, high = np.random.default_rng(0), *signals.actuator.bounds
    axes = dict(zip(signals.symbols.values(), (signals.axes[name] for name in signals.symbols), strict=True))
    values = {symbol: rng.uniform(*axis.usual, TRIED) for symbol, axis in axes.items()}
    values |= {f"t{j}": values[f"y{j}"] for j in range(len(signals.measured))}
    values |= {f"u{j}": rng.uniform(low[j], high[j], TRIED) for j in range(len(low))}
    columns = []
    for symbol in payment.symbols:
        one, minus, other = symbol.partition(" - ")
        columns.append(values[one] - values[other] if minus else values[one])
    paid = [payment.of(*map(float, row)) for row in zip(*columns, strict=True)]
    least = min(paid, default=0.0)
    if not np.isfinite(least):
        raise SpaqlError("the reward is not finite for some values within the ranges of its variables")
    return least
