"""The loop around a law in any language: what is measured goes in, what is applied comes out, and memory is kept.

A step, in this order: inputs; errors; at the first step the registers; variables of the memory; the law; increments,
rate limits and interlocks; the registers, the last one first, because some take over what another held.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

from spaql.export.names import identifiers
from spaql.plants.memory import Sum
from spaql.plants.signals import Signals, total


class Syntax(NamedTuple):
    """How a language writes what a step needs."""

    let: Callable[[str, str], str]  # a new name for a value
    put: Callable[[str, str], str]  # a value into what is there already
    limited: Callable[[str, str, str], str]  # (value, low, high), names or numbers
    chosen: Callable[[str, str, str], str]  # (condition, value if it holds, value if not)
    literal: Callable[[float], str]
    register: str  # "{}" is its name
    read: str  # an input; "{}" is its number


class Step(NamedTuple):
    """The statements of a step, without indentation."""

    registers: list[str]  # their names
    inputs: list[str]
    first: list[str]  # at the first step
    seen: list[str]  # before the law
    observation: list[str]  # what the law is given, one expression per variable
    applied: list[str]  # after the law; the names u are those of `outputs`
    outputs: list[str]
    after: list[str]


def step_of(signals: Signals, syntax: Syntax, reserved: Collection[str], fold: bool = False) -> Step:
    """`reserved`: words that names must not be; the action of the law is `action` by number."""
    named = {symbol: name for name, symbol in signals.symbols.items()}
    words = [*named.values(), *(f"{one.name} kept" for one in signals.registers), *_applied(signals)]
    made = identifiers(words, reserved, fold)
    place = dict(zip(named, made, strict=False))
    registers = made[len(named) : len(named) + len(signals.registers)]
    outputs = made[len(named) + len(registers) :]
    place |= {f"z{i}": syntax.register.format(name) for i, name in enumerate(registers)}
    place |= {f"u{j}": name for j, name in enumerate(outputs)}
    place |= {f"u{j}_first": syntax.literal(value) for j, value in enumerate(signals.neutral)}
    place |= {f"a{j}": f"action[{j}]" for j in range(len(outputs))}
    used = _used(signals)

    def value(one: Sum) -> str:
        text = total(one, lambda symbol: place[symbol], syntax.literal)
        free = one.low == -float("inf") and one.high == float("inf")
        return text if free else syntax.limited(text, syntax.literal(one.low), syntax.literal(one.high))

    count = len(signals.measured)
    inputs = [(f"y{j}", j) for j in range(count)] + [(f"r{k}", count + k) for k in range(len(signals.references))]
    lines = [(symbol, value(one)) for symbol, one in signals.seen_lines() if symbol in used]
    applied = [syntax.let(place[symbol], value(one)) for symbol, one in signals.applied_lines()]
    for j, rate in enumerate(signals.rates):
        kept, most = place[signals.previous(signals.action_names[j])], syntax.literal(rate)
        applied.append(syntax.put(outputs[j], syntax.limited(outputs[j], f"{kept} - {most}", f"{kept} + {most}")))
    for one in signals.within():
        name = place[one.action]
        kept_within = syntax.limited(name, syntax.literal(one.low), syntax.literal(one.high))
        condition = f"{place[one.symbol]} {one.sign} {syntax.literal(one.at)}"
        applied.append(syntax.put(name, syntax.chosen(condition, kept_within, name)))
    numbered = list(enumerate(signals.registers))
    return Step(
        registers,
        [syntax.let(place[symbol], syntax.read.format(j)) for symbol, j in inputs if symbol in used]
        + [syntax.let(place[symbol], text) for symbol, text in lines if symbol[0] == "e"],
        [syntax.put(place[f"z{i}"], value(one.first)) for i, one in numbered],
        [syntax.let(place[symbol], text) for symbol, text in lines if symbol[0] == "m"],
        [place[signals.symbols[axis.name]] for axis in signals.state],
        applied,
        outputs,
        [syntax.put(place[f"z{i}"], value(one.after)) for i, one in numbered[::-1]],
    )


def _applied(signals: Signals) -> list[str]:
    return [f"{name} applied" for name in signals.action_names]


def _used(signals: Signals) -> set[str]:
    """The symbols that something is made of: compilers warn of others."""
    sums = dict(signals.seen_lines())
    found: set[str] = set()
    wanted = [signals.symbols[axis.name] for axis in signals.state] + [one.symbol for one in signals.within()]
    wanted += [symbol for one in signals.registers for part in (one.first, one.after) for _, symbol in part.terms]
    while wanted:
        symbol = wanted.pop()
        if symbol not in found:
            found.add(symbol)
            wanted += [name for _, name in sums[symbol].terms] if symbol in sums else []
    return found
