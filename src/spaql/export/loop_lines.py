"""The loop around a law in any language: what is measured goes in, what is applied comes out, and memory is kept.

A step, in this order: inputs; errors; at the first step the registers; variables of the memory; the law; increments,
rate limits and interlocks; the registers, the last one first, because some take over what another held.

While an input cannot be used (NaN, infinite, or larger than any measurement), the controller does what a process
controller does with a bad measurement: the last action is held, nothing is taken into the memory but the actions
themselves, and an interlock whose variable is not known counts as active. So the output is always a number within all
bounds, and control goes on with the first good measurement.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from spaql.export.heading import identifiers
from spaql.plants.interlocks import excludes
from spaql.plants.memory import Register, Sum
from spaql.plants.signals import Signals, total

# what the comments of exported loops say; "{}" is the largest number that is used
UNUSABLE = (
    "While an input is NaN, infinite or beyond {}: the last action is held, the memory takes in",
    "nothing else, and interlocks on that variable are active.",
)


class Syntax(NamedTuple):
    """How a language writes what a step needs."""

    let: Callable[[str, str], str]  # a new name for a value
    put: Callable[[str, str], str]  # a value into what is there already
    limited: Callable[[str, str, str], str]  # (value, low, high), names or numbers
    chosen: Callable[[str, str, str], str]  # (condition, value if it holds, value if not)
    usable: Callable[[Sequence[str]], str]  # whether these inputs are numbers that can be used
    unless: Callable[[str, str], str]  # (condition, usable): the condition holds, or it is not known
    literal: Callable[[float], str]
    register: str  # "{}" is its name
    read: str  # an input; "{}" is its number


class Step(NamedTuple):
    """The statements of a step, without indentation."""

    registers: dict[str, str]  # by name: the value before the first step
    inputs: list[str]
    usable: str  # whether all inputs are numbers that can be used
    errors: list[str]
    first: list[str]  # at the first step with inputs that can be used
    seen: list[str]  # before the law
    observation: list[str]  # what the law is given, one expression per variable
    applied: list[str]  # after the law; the names u are those of `outputs`
    outputs: list[str]
    after: list[str]  # if the inputs can be used
    kept: list[str]  # in any case: the actions of the steps before


def step_of(signals: Signals, syntax: Syntax, reserved: Collection[str], fold: bool = False) -> Step:
    """`reserved`: words that names must not be; the action of the law is `action` by number."""
    named = {symbol: name for name, symbol in signals.symbols.items()}
    all_registers, last = _registers(signals)
    words = [*named.values(), *(f"{register.name} kept" for register in all_registers), *_applied(signals)]
    made = identifiers(words, reserved, fold)
    place = dict(zip(named, made, strict=False))
    registers = made[len(named) : len(named) + len(all_registers)]
    outputs = made[len(named) + len(registers) :]
    place |= {f"z{i}": syntax.register.format(name) for i, name in enumerate(registers)}
    place |= {f"u{j}": name for j, name in enumerate(outputs)}
    place |= {f"a{j}": f"action[{j}]" for j in range(len(outputs))}
    sums, begin = dict(signals.seen_lines()), {f"u{j}_first": value for j, value in enumerate(signals.neutral)}
    used = _used(signals, sums)

    def value(one: Sum) -> str:
        text = total(one, lambda symbol: place[symbol], syntax.literal)
        free = one.low == -float("inf") and one.high == float("inf")
        return text if free else syntax.limited(text, syntax.literal(one.low), syntax.literal(one.high))

    count = len(signals.measured)
    inputs = [(f"y{j}", j) for j in range(count)] + [(f"r{k}", count + k) for k in range(len(signals.references))]
    lines = [(symbol, value(one)) for symbol, one in sums.items() if symbol in used]
    applied = [syntax.let(place[symbol], value(one)) for symbol, one in signals.applied_lines()]
    for j, rate in enumerate(signals.rates):
        kept, most = place[signals.previous(signals.action_names[j])], syntax.literal(rate)
        applied.append(syntax.put(outputs[j], syntax.limited(outputs[j], f"{kept} - {most}", f"{kept} + {most}")))
    for name, z in zip(outputs, last, strict=True):
        applied.append(syntax.put(name, syntax.chosen("usable", name, place[z])))
    locks = signals.within()
    for lock in locks:
        name = place[lock.action]
        kept_within = syntax.limited(name, syntax.literal(lock.low), syntax.literal(lock.high))
        condition = f"{place[lock.symbol]} {lock.sign} {syntax.literal(lock.at)}"
        made_from = [place[symbol] for symbol, _ in inputs if symbol in _parts({lock.symbol}, sums)]
        if made_from and not any(excludes(lock, other) for other in locks):  # of two such, neither may win
            condition = syntax.unless(condition, syntax.usable(made_from))
        applied.append(syntax.put(name, syntax.chosen(condition, kept_within, name)))
    begins = [[begin[symbol] for _, symbol in register.first.terms if symbol in begin] for register in all_registers]
    numbered = [(f"z{i}", register, bool(begins[i])) for i, register in enumerate(all_registers)]
    return Step(
        {name: syntax.literal(sum(values)) for name, values in zip(registers, begins, strict=True)},
        [syntax.let(place[symbol], syntax.read.format(j)) for symbol, j in inputs if symbol in used],
        syntax.usable([place[symbol] for symbol, _ in inputs if symbol in used]),
        [syntax.let(place[symbol], text) for symbol, text in lines if symbol[0] == "e"],
        [syntax.put(place[z], value(register.first)) for z, register, acts in numbered if not acts],
        [syntax.let(place[symbol], text) for symbol, text in lines if symbol[0] == "m"],
        [place[signals.symbols[axis.name]] for axis in signals.state],
        applied,
        outputs,
        [syntax.put(place[z], value(register.after)) for z, register, acts in numbered[::-1] if not acts],
        [syntax.put(place[z], value(register.after)) for z, register, acts in numbered[::-1] if acts],
    )


def _registers(signals: Signals) -> tuple[list[Register], list[str]]:
    """Those of the memory and, where it has none, of the action of the step before; the symbols of the latter."""
    registers = list(signals.registers)
    for j, name in enumerate(signals.action_names):
        before = Register(f"{name} 1 before", Sum(((1.0, f"u{j}_first"),)), Sum(((1.0, f"u{j}"),)))
        registers += [] if before in registers else [before]
    sources = [register.after.terms for register in registers]
    return registers, [f"z{sources.index(((1.0, f'u{j}'),))}" for j in range(len(signals.action_names))]


def _applied(signals: Signals) -> list[str]:
    return [f"{name} applied" for name in signals.action_names]


def _used(signals: Signals, sums: Mapping[str, Sum]) -> set[str]:
    """The symbols that something is made of: compilers warn of others."""
    wanted = {signals.symbols[axis.name] for axis in signals.state} | {lock.symbol for lock in signals.within()}
    wanted |= {symbol for kept in signals.registers for part in (kept.first, kept.after) for _, symbol in part.terms}
    return _parts(wanted, sums)


def _parts(symbols: Collection[str], sums: Mapping[str, Sum]) -> set[str]:
    """The symbols and all that they are made of in a step."""
    wanted, parts = list(symbols), set[str]()
    while wanted:
        symbol = wanted.pop()
        if symbol not in parts:
            parts.add(symbol)
            wanted += [name for _, name in sums[symbol].terms] if symbol in sums else []
    return parts
