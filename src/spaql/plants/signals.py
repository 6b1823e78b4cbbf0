"""The signals of a loop, on the controller's side: from what is measured to what a law sees, from its action to what is
applied.

    measured y, references r  ->  errors r - y, memory            ->  observation of the law
    action of the law         ->  increment, rate limit, interlocks  ->  applied u  ->  memory

Everything here is data: sums of symbols with bounds. The same lines become functions of the compiled plant, the state
of `predict`, and the struct of exported C. Symbols: y0, y1, ... measured; r0, ... references; e0, ... errors; z0, ...
registers of the memory; m0, ... variables made of it; a0, ... the action; u0, ... what is applied.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.limits import Bounds, Interlock, check_together, within
from spaql.plants.memory import Item, Register, Sum, parsed, registers_of
from spaql.plants.references import Reference

FEW = 10  # parts of an episode: the integral of an unbounded error is measured in the largest error times so long


class Functions(NamedTuple):
    """What happens at a step, as plain Python functions of plain numbers; all return tuples."""

    first: Callable[..., Any]  # (y, r) -> z
    seen: Callable[..., Any]  # (y, r, z) -> observation
    applied: Callable[..., Any]  # (y, r, z, a) -> u
    after: Callable[..., Any]  # (y, r, z, u) -> z


@dataclass(frozen=True)
class Signals:
    """What stands between the plant and a law."""

    measured: tuple[Axis, ...]
    actuator: Continuous | Finite  # what the plant takes
    references: tuple[Reference, ...] = ()
    memory: tuple[str, ...] = ()  # see memory.py
    shown: tuple[str, ...] = ()  # names of the variables that the law sees; (): all
    dt: float = 1.0  # seconds per step, for integrals
    increments: tuple[float, ...] = ()  # actions are changes, at most these; (): they are applied as they are
    rates: tuple[float, ...] = ()  # by how much what is applied may change per step; (): by any amount
    interlocks: tuple[Interlock, ...] = ()
    horizon: int = 1

    def parts(self) -> dict[str, Any]:
        """Without what is computed from it."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def __getstate__(self) -> dict[str, Any]:
        return self.parts()  # functions made of text cannot be pickled

    # -- names ---------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def action_names(self) -> tuple[str, ...]:
        return tuple(self.actuator.axis_names)

    @functools.cached_property
    def errors(self) -> dict[str, tuple[int, int]]:
        """By name: reference and measured variable."""
        names = [axis.name for axis in self.measured]
        followed = [(k, reference.of) for k, reference in enumerate(self.references) if reference.of is not None]
        return {f"{of}_error": (k, names.index(of)) for k, of in followed}

    @functools.cached_property
    def items(self) -> tuple[Item, ...]:
        """What is remembered."""
        names = list(self._basic)
        items = [item for text in self.memory for item in parsed(text, names, self.action_names)]
        if self.increments:  # the law must see what it changes
            items += [item for name in self.action_names for item in parsed(f"previous({name})", (), (name,))]
        return tuple({item.name: item for item in items}.values())

    @functools.cached_property
    def symbols(self) -> dict[str, str]:
        """Of every variable that a law can see, by name."""
        return self._basic | {item.name: f"m{j}" for j, item in enumerate(self.items)}

    @functools.cached_property
    def _basic(self) -> dict[str, str]:
        """Of what needs no memory."""
        symbols = {axis.name: f"y{j}" for j, axis in enumerate(self.measured)}
        symbols |= {reference.name: f"r{k}" for k, reference in enumerate(self.references)}
        return symbols | {name: f"e{j}" for j, name in enumerate(self.errors)}

    @functools.cached_property
    def inputs(self) -> tuple[Axis, ...]:
        """What a deployed controller is given at every step: the measured variables, then the references."""
        return (*self.measured, *(reference.axis for reference in self.references))

    # -- axes ----------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def axes(self) -> dict[str, Axis]:
        """Every variable that a law can see, by name."""
        axes = {axis.name: axis for axis in self.inputs}
        for name, (k, j) in self.errors.items():
            axes[name] = _difference(name, self.references[k].axis, self.measured[j])
        for item in self.items:
            axes[item.name] = self._remembered(item, axes)
        return axes

    def _remembered(self, item: Item, known: dict[str, Axis]) -> Axis:
        if item.kind == "previous" or item.of in self.action_names:
            j = self.action_names.index(item.of)
            low, high = self.actuator.bounds
            return Axis(item.name, float(low[j]), float(high[j]), unit=self.actuator.axis_units[j])
        of = known[item.of]
        if item.kind == "integral":
            unit = f"{of.unit}·s" if of.unit else ""
            if math.isfinite(item.number):
                return Axis(item.name, -item.number, item.number, unit=unit)
            reach = 1.0 / of.slope if of.slope is not None else max(abs(of.low), abs(of.high))
            long = max(1.0, self.horizon / FEW) * self.dt
            return Axis(item.name, slope=1.0 / max(reach * long, 1e-12), unit=unit)
        if item.kind == "difference":
            return _difference(item.name, of, of)
        return Axis(item.name, of.low, of.high, of.slope, of.centre, of.unit)

    @functools.cached_property
    def state(self) -> tuple[Axis, ...]:
        """What the law sees."""
        return tuple(self.axes[name] for name in self.shown or self.axes)

    @functools.cached_property
    def actions(self) -> Continuous | Finite:
        """What the law decides."""
        if not self.increments:
            return self.actuator
        names = tuple(f"change of {name}" for name in self.action_names)
        return Continuous(tuple(-most for most in self.increments), self.increments, names, self.actuator.units)

    # -- lines ---------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _memory(self) -> tuple[list[Register], list[Sum]]:
        applied = {name: f"u{j}" for j, name in enumerate(self.action_names)}
        items = list(self.items)
        if self.rates and not self.increments:  # what was applied is needed to limit its change
            shown = {item.name for item in items}
            more = [item for name in self.action_names for item in parsed(f"previous({name})", (), (name,))]
            items += [item for item in more if item.name not in shown]
        return registers_of(items, self._basic, applied, self.dt)

    @property
    def registers(self) -> list[Register]:
        return self._memory[0]

    @property
    def neutral(self) -> tuple[float, ...]:
        """What counts as applied before the first step."""
        return self.actuator.neutral

    def seen_lines(self) -> list[tuple[str, Sum]]:
        """Errors and memory: symbol and sum, in an order in which they can be computed."""
        lines = [(f"e{n}", Sum(((1.0, f"r{k}"), (-1.0, f"y{j}")))) for n, (k, j) in enumerate(self.errors.values())]
        return lines + [(f"m{n}", terms) for n, terms in enumerate(self._memory[1][: len(self.items)])]

    def applied_lines(self) -> list[tuple[str, Sum]]:
        """Increment and bounds of every axis; rate limits and interlocks follow."""
        low, high = self.actuator.bounds
        lines = []
        for j, name in enumerate(self.action_names):
            if self.increments:
                kept = self.previous(name)
                lines.append((f"u{j}", Sum(((1.0, kept), (1.0, f"a{j}")), float(low[j]), float(high[j]))))
            else:
                lines.append((f"u{j}", Sum(((1.0, f"a{j}"),))))
        return lines

    def previous(self, action: str) -> str:
        """The register that holds what was applied in the step before."""
        symbol = f"u{self.action_names.index(action)}"
        return next(f"z{i}" for i, register in enumerate(self.registers) if register.after.terms == ((1.0, symbol),))

    def within(self) -> list[Bounds]:
        """What the interlocks do, in symbols."""
        return [within(lock, self.action_names, self.symbols, self.actuator) for lock in self.interlocks]

    @functools.cached_property
    def functions(self) -> Functions:
        """The lines as Python."""
        axes = self.actuator.axes
        y, r = listed(letters("y", len(self.measured))), listed(letters("r", len(self.references)))
        z, a = listed(letters("z", len(self.registers))), listed(letters("a", axes))
        u = listed(letters("u", axes))
        seen = [f"{symbol} = {python(terms)}" for symbol, terms in self.seen_lines()]
        # registers are made of errors, never of memory
        errors = [line for line in seen if line.startswith("e")]
        out = "".join(f"{self.symbols[axis.name]}, " for axis in self.state)
        applied = [f"{symbol} = {python(terms)}" for symbol, terms in self.applied_lines()]
        for j, rate in enumerate(self.rates):
            before = self.previous(self.action_names[j])
            applied.append(f"u{j} = min(max(u{j}, {before} - {rate!r}), {before} + {rate!r})")
        for u_j, symbol, sign, at, low, high in self.within():
            applied.append(f"{u_j} = min(max({u_j}, {low!r}), {high!r}) if {symbol} {sign} {at!r} else {u_j}")
        begun = [f"u{j}_first = {value!r}" for j, value in enumerate(self.neutral)]
        first = "".join(f"{python(register.first)}, " for register in self.registers)
        after = "".join(f"{python(register.after)}, " for register in self.registers)
        return Functions(
            function_of({}, f"first({y}{r})", [*begun, *errors, f"return ({first})"]),
            function_of({}, f"seen({y}{r}{z})", [*seen, f"return ({out})"]),
            function_of({}, f"applied({y}{r}{z}{a})", [*seen, *applied, f"return ({u})"]),
            function_of({}, f"after({y}{r}{z}{u})", [*errors, f"return ({after})"]),
        )


def _difference(name: str, axis: Axis, other: Axis) -> Axis:
    """The axis of one variable minus another."""
    if axis.slope is None and other.slope is None:
        return Axis(name, axis.low - other.high, axis.high - other.low, unit=other.unit)
    return Axis(name, slope=1.0 / (0.5 * axis.width + 0.5 * other.width), unit=other.unit)


def python(weighted: Sum, name: Callable[[str], str] = str, literal: Callable[[float], str] = repr) -> str:
    """A sum in Python and, but for its bounds, in every language."""
    text = total(weighted, name, literal)
    if weighted.low == -math.inf and weighted.high == math.inf:
        return text
    return f"min(max({text}, {literal(weighted.low)}), {literal(weighted.high)})"


def total(weighted: Sum, name: Callable[[str], str] = str, literal: Callable[[float], str] = repr) -> str:
    """The terms, added in their order."""
    parts: list[str] = []
    for weight, symbol in weighted.terms:
        sign = "-" if weight < 0 else "+"
        product = name(symbol) if abs(weight) == 1.0 else f"{literal(abs(weight))} * {name(symbol)}"
        parts.append(f" {sign} {product}" if parts else ("-" if weight < 0 else "") + product)
    return "".join(parts) or literal(0.0)


def signals_of(**parts: Any) -> Signals:
    """Checked: names that exist and differ, numbers that fit."""
    signals = Signals(**parts)
    measured = [axis.name for axis in signals.measured]
    for reference in signals.references:
        if reference.of is None:
            continue
        if reference.of not in measured:
            wrong = f"{echoed(reference.of)} is not measured: choose {', '.join(measured)}"
            raise SpaqlError(f"reference {reference.name}: {wrong}")
        axis = signals.measured[measured.index(reference.of)]
        if axis.slope is None and not (axis.low <= reference.low and reference.high <= axis.high):
            outside = f"{reference.low:g} to {reference.high:g} is not within {axis.low:g} to {axis.high:g}"
            raise SpaqlError(f"reference {reference.name}: {outside}, the range of {reference.of}")
    names = [*measured, *(reference.name for reference in signals.references)]
    followed = [reference.of for reference in signals.references if reference.of is not None]
    for of in followed:
        if followed.count(of) > 1:
            raise SpaqlError(f"two references of {echoed(of)}: a variable follows one")
    names = [*signals.action_names, *names, *(f"{of}_error" for of in followed), *(item.name for item in signals.items)]
    for n, name in enumerate(names):
        if name in names[:n]:
            raise SpaqlError(f"two variables or actions are called {echoed(name)}: give references other names")
    for name in signals.shown:
        if name not in signals.axes:
            raise SpaqlError(f"observe: there is no variable {echoed(name)}: choose {', '.join(signals.axes)}")
    if len(set(signals.shown)) < len(signals.shown):
        raise SpaqlError(f"observe: a variable is there twice in {', '.join(signals.shown)}")
    if signals.actuator.values and (signals.increments or signals.rates):
        raise SpaqlError("increments and rate limits are for continuous actions, not for a finite set")
    if signals.increments and signals.rates:
        raise SpaqlError("increments are limits of the change themselves: give increments or rates, not both")
    check_together(signals.interlocks, signals.within())
    return signals
