"""Memory of a controller: variables that are made of what it has measured and applied before, chosen by name.

    integral(speed_error)        sum of the error over all steps before this one, times dt; integral(speed_error, 10):
                                 kept within -10 ... 10
    difference(speed)            its change since the step before; difference(speed, 4): since four steps before
    average(speed, 5)            mean of its last five values, this one included
    past(speed, 3)               its value three steps before
    last(speed, 3)               three variables: past(speed, 1), past(speed, 2), past(speed, 3)
    lag(voltage, 0.5)            what was measured or applied before this step, through a first-order lag of 0.5 s;
                                 lag(voltage, 0.5, 12): it begins at 12
    previous(voltage)            the action that was applied in the step before; previous(voltage, 2): two steps before

All of them are made of *registers*: numbers that are kept from step to step, each a weighted sum of others. So they can
be written down in every language.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from spaql.ground.errors import SpaqlError, echoed

KINDS = ("integral", "difference", "average", "past", "last", "lag", "previous")
LONGEST = 200  # steps that can be remembered
Terms = tuple[tuple[float, str], ...]  # a sum: (weight, symbol)


class Sum(NamedTuple):
    """A weighted sum of symbols, kept within bounds."""

    terms: Terms
    low: float = -math.inf
    high: float = math.inf


class Register(NamedTuple):
    """A number that is kept from step to step."""

    name: str
    first: Sum  # of what is measured at the first step
    after: Sum  # of what was measured, kept and applied


class Item(NamedTuple):
    """One variable that is remembered."""

    name: str
    kind: str
    of: str
    number: float  # steps; of an integral its limit, of a lag its time constant in seconds
    begin: float = math.nan  # of a lag: its first value; NaN: the first that is measured, or the neutral action


def parsed(text: str, variables: Sequence[str], actions: Sequence[str]) -> list[Item]:
    """What a text such as "integral(speed_error, 10)" asks for."""
    match = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text) if isinstance(text, str) else None
    if match is None or match[1] not in KINDS:
        such = ", ".join(f"{kind}(...)" for kind in KINDS)
        raise SpaqlError(f"memory is chosen by names such as 'integral(speed_error)': {such}; not {echoed(text)}")
    kind, inside = match[1], match[2].strip()
    of, number = inside, ""
    if kind == "lag":
        return [_lag(text, inside, (*variables, *actions))]
    if inside not in (*variables, *actions) and "," in inside:  # names may have commas in them
        of, number = (part.strip() for part in inside.rsplit(",", 1))
    allowed = actions if kind == "previous" else variables
    if of not in allowed:
        what = "an action" if kind == "previous" else "a variable"
        raise SpaqlError(f"{text}: {echoed(of)} is not {what}: choose {', '.join(allowed)}")
    try:
        value = float(number) if number else {"integral": math.inf, "average": math.nan, "last": math.nan}.get(kind, 1)
    except ValueError as error:
        raise SpaqlError(f"{text}: {echoed(number)} is not a number") from error
    if kind == "integral":
        if not value > 0:
            raise SpaqlError(f"{text}: the limit of an integral is above 0")
    elif not (value == round(value) if math.isfinite(value) else False) or not 1 <= value <= LONGEST:
        raise SpaqlError(f"{text}: give the number of steps, from 1 to {LONGEST}, such as {kind}({of}, 3)")
    if kind == "last":
        return [Item(_name("past", of, n), "past", of, n) for n in range(1, int(value) + 1)]
    return [Item(_name(kind, of, value), kind, of, value)]


def _lag(text: str, inside: str, allowed: Sequence[str]) -> Item:
    """lag(voltage, 0.5), or lag(voltage, 0.5, 12)."""
    of = next((name for name in sorted(allowed, key=len, reverse=True) if inside.startswith(f"{name},")), None)
    if of is None:
        such = f"{text}: give a variable or an action, and seconds, such as lag({allowed[0]}, 2)"
        raise SpaqlError(f"{such}: choose {', '.join(allowed)}")
    try:
        seconds, *begin = (float(f"{float(part):.6g}") for part in inside.removeprefix(of)[1:].split(","))
        if not (0.0 < seconds < math.inf and len(begin) <= 1 and all(map(math.isfinite, begin))):
            raise ValueError
    except ValueError as error:
        raise SpaqlError(f"{text}: give seconds above 0, and perhaps the first value: lag({of}, 2, 0.5)") from error
    name = ", ".join([of, *(f"{value:.6g}" for value in (seconds, *begin))])
    return Item(f"lag({name})", "lag", of, seconds, *begin)


def _name(kind: str, of: str, number: float) -> str:
    usual = math.inf if kind == "integral" else 0 if kind in ("past", "average") else 1
    return f"{kind}({of})" if number == usual else f"{kind}({of}, {number:g})"


def registers_of(
    items: Sequence[Item], symbols: Mapping[str, str], applied: Mapping[str, str], dt: float
) -> tuple[list[Register], list[Sum]]:
    """The registers that the items need, and every item as a sum of registers and symbols.

    `symbols`: of the variables by name; `applied`: of the actions. Values that several items need are kept once.
    """
    registers: list[Register] = []
    chains: dict[str, list[str]] = {}  # by symbol: its value one step before, two steps before, ...

    def before(of: str, symbol: str, steps: int, begin: Terms) -> str:
        chain = chains.setdefault(symbol, [])
        while len(chain) < steps:
            source = chain[-1] if chain else symbol
            chain.append(f"z{len(registers)}")
            name = f"{of} {len(chain)} before"
            registers.append(Register(name, Sum(begin), Sum(((1.0, source),))))
        return chain[steps - 1]

    sums = []
    for item in items:
        acts = item.kind == "previous" or (item.kind == "lag" and item.of in applied)
        symbol = applied[item.of] if acts else symbols[item.of]
        begin: Terms = ((1.0, f"{symbol}_first"),) if acts else ((1.0, symbol),)
        if item.kind == "lag":
            if item.number < dt:
                raise SpaqlError(f"{item.name}: a lag is no shorter than a step, {dt:g} s")
            own, share = f"z{len(registers)}", dt / item.number
            first = Sum(begin) if math.isnan(item.begin) else Sum((), item.begin, item.begin)
            registers.append(Register(item.name, first, Sum(((1.0 - share, own), (share, symbol)))))
            sums.append(Sum(((1.0, own),)))
        elif item.kind == "integral":
            own = f"z{len(registers)}"
            bounds = (-item.number, item.number)
            registers.append(Register(item.name, Sum(()), Sum(((1.0, own), (dt, symbol)), *bounds)))
            sums.append(Sum(((1.0, own),)))
        elif item.kind == "average":
            n = int(item.number)
            past = [before(item.of, symbol, k, begin) for k in range(1, n)]
            sums.append(Sum(tuple((1.0 / n, value) for value in [symbol, *past])))
        elif item.kind == "difference":
            sums.append(Sum(((1.0, symbol), (-1.0, before(item.of, symbol, int(item.number), begin)))))
        else:
            sums.append(Sum(((1.0, before(item.of, symbol, int(item.number), begin)),)))
    return registers, sums
