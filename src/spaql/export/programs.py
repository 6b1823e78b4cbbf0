"""A tree, its laws and the loop around them as statements of a programming language, one by one.

A step of a loop, in this order: inputs; errors; at the first step the registers; variables of the memory; the law;
increments, rate limits and interlocks; the registers, the last one first, because some take over what another held.

While an input cannot be used (NaN, infinite, or larger than any measurement), the controller does what a process
controller does with a bad measurement: the last action is held, nothing is taken into the memory but the actions
themselves, and an interlock whose variable is not known counts as active. So the output is always a number within all
bounds, and control goes on with the first good measurement.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from spaql.export.heading import affine, identifiers, weighted_sum
from spaql.plants.limits import excludes
from spaql.plants.memory import Register, Sum
from spaql.plants.signals import Signals, total
from spaql.trees.laws import CLIP, SCORES, LeafLaws
from spaql.trees.regions import branches, constant_of, neutral_of
from spaql.trees.tree import Tree

# what the comments of exported loops say; "{}" is the largest number that is used
UNUSABLE = (
    "While an input is NaN, infinite or beyond {}: the last action is held, the memory takes in",
    "nothing else, and interlocks on that variable are active.",
)


class Language(NamedTuple):
    """How a language writes what programs need; "{}" are the places of names, numbers and conditions."""

    literal: Callable[[float], str]
    put: str  # a value into what is there already
    let: str  # a new name for a value
    heads: Mapping[str, str]  # of nested tests, as `branches` calls them: if, elif, else, end
    limited: str  # value, low, high
    chosen: str  # condition, value if it holds, value if not
    usable: str  # whether an input is a number that can be used
    both: str  # between two conditions
    true: str
    unless: str  # condition, usable: the condition holds, or it is not known
    register: str  # its name
    clipped: str = ""  # low, high, neutral: the score within these ends, the last one if it is not a number


def indented(lines: Iterable[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]


def nested(
    tree: Tree, words: Sequence[str], language: Language, leaf: Callable[[int], Iterable[str]], levels: int,
    cut: Callable[[int], str] | None = None,
) -> list[str]:  # fmt: skip
    """Tests in each other, indented by so many levels. `leaf`: its statements; `cut`: the number of a test."""
    feature, lines = tree.nodes["feature"].tolist(), []
    for what, level, node in branches(tree):
        if what == "leaf":
            lines += indented(leaf(node), levels + level)
        elif language.heads[what]:
            plain = feature[node] < tree.variables
            tested = words[feature[node]] if plain else weighted_sum(tree, node, words, language.literal)
            at = language.literal(float(tree.nodes["cut"][node])) if cut is None else cut(node)
            lines += indented([language.heads[what].format(f"{tested} >= {at}")], levels + level)
    return lines


def score_text(
    laws: LeafLaws, leaf: int, output: int, words: Sequence[str], literal: Callable[[float], str], offset: bool = True
) -> str:
    """The weighted sum of a law, with its constant or without."""
    constant = float(laws.offsets[leaf, output]) if offset else 0.0
    return affine(laws.gains[leaf, output].tolist(), constant, words, literal)


def leaf_lines(
    tree: Tree, leaf: int, words: Sequence[str], outputs: Sequence[str], language: Language,
    stepped: Callable[[LeafLaws, int], list[str]],
) -> list[str]:  # fmt: skip
    """Assignments to the outputs. `stepped`: those of a law with thresholds, which differ between languages."""
    laws, literal, put = tree.laws, language.literal, language.put.format
    if laws is None:
        return [put(word, literal(value)) for word, value in zip(outputs, tree.actions[leaf].tolist(), strict=True)]
    lines = []
    for axis, word in enumerate(outputs):
        fixed = constant_of(laws, leaf, axis)
        if fixed is not None:
            lines.append(put(word, literal(fixed)))
        elif laws.kind == CLIP:
            ends = (float(laws.low[axis]), float(laws.high[axis]), neutral_of(laws, axis))
            lines.append(put("score", score_text(laws, leaf, axis, words, literal)))
            lines.append(put(word, language.clipped.format(*map(literal, ends))))
        elif laws.kind == SCORES:
            for k, value in enumerate(laws.values.tolist()):
                lines.append(put("score" if k else "best", score_text(laws, leaf, k, words, literal)))
                best = [put("best", "score"), put(word, literal(value))]
                better = [language.heads["if"].format("score > best"), *indented(best), language.heads["end"].format()]
                lines += better if k else best[1:]
        else:
            lines += stepped(laws, leaf)
    return lines


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
    carried: dict[str, int]  # registers that hold an action from the start on: which axis of it


def step_of(
    signals: Signals, language: Language, given: Sequence[str], decided: Sequence[str], reserved: Collection[str],
    fold: bool = False,
) -> Step:  # fmt: skip
    """`given`, `decided`: how inputs and the action of the law are read; `reserved`: words that names must not be."""
    literal, let, put = language.literal, language.let.format, language.put.format
    limited, chosen = language.limited.format, language.chosen.format
    named = {symbol: name for name, symbol in signals.symbols.items()}
    registers, last = _registers(signals)
    words = [*named.values(), *(f"{register.name} kept" for register in registers)]
    names = identifiers([*words, *(f"{name} applied" for name in signals.action_names)], reserved, fold)
    kept, outputs = names[len(named) : len(named) + len(registers)], names[len(named) + len(registers) :]
    place = dict(zip(named, names, strict=False))
    place |= {f"z{i}": language.register.format(name) for i, name in enumerate(kept)}
    place |= {f"u{j}": name for j, name in enumerate(outputs)} | {f"a{j}": name for j, name in enumerate(decided)}
    sums, begin = dict(signals.seen_lines()), {f"u{j}_first": value for j, value in enumerate(signals.neutral)}
    used = _used(signals, sums)

    def value(one: Sum) -> str:
        text = total(one, lambda symbol: place[symbol], literal)
        free = one.low == -float("inf") and one.high == float("inf")
        return text if free else limited(text, literal(one.low), literal(one.high))

    def usable(symbols: Iterable[str]) -> str:
        return language.both.join(language.usable.format(place[symbol]) for symbol in symbols) or language.true

    read = dict(zip((symbol for symbol in named if symbol[0] in "yr"), given, strict=True))
    lines = [(symbol, let(place[symbol], value(total))) for symbol, total in sums.items() if symbol in used]
    applied = [let(place[symbol], value(total)) for symbol, total in signals.applied_lines()]
    for j, rate in enumerate(signals.rates):
        before, most = place[signals.previous(signals.action_names[j])], literal(rate)
        applied.append(put(outputs[j], limited(outputs[j], f"{before} - {most}", f"{before} + {most}")))
    applied += [put(name, chosen("usable", name, place[z])) for name, z in zip(outputs, last, strict=True)]
    locks = signals.within()
    for lock in locks:
        name, condition = place[lock.action], f"{place[lock.symbol]} {lock.sign} {literal(lock.at)}"
        made_from = [symbol for symbol in read if symbol in _parts({lock.symbol}, sums)]
        if made_from and not any(excludes(lock, other) for other in locks):  # of two such, neither may win
            condition = language.unless.format(condition, usable(made_from))
        applied.append(put(name, chosen(condition, limited(name, literal(lock.low), literal(lock.high)), name)))
    begins = [[begin[symbol] for _, symbol in register.first.terms if symbol in begin] for register in registers]
    firsts = [put(place[f"z{i}"], value(register.first)) for i, register in enumerate(registers) if not begins[i]]
    afters = [
        (put(place[f"z{i}"], value(register.after)), bool(begins[i])) for i, register in enumerate(registers)
    ][::-1]
    return Step(
        {name: literal(sum(values)) for name, values in zip(kept, begins, strict=True)},
        [let(place[symbol], text) for symbol, text in read.items() if symbol in used],
        usable(symbol for symbol in read if symbol in used),
        [text for symbol, text in lines if symbol[0] == "e"],
        firsts,
        [text for symbol, text in lines if symbol[0] == "m"],
        [place[signals.symbols[axis.name]] for axis in signals.state],
        applied,
        outputs,
        [text for text, acts in afters if not acts],
        [text for text, acts in afters if acts],
        {
            name: int(symbol.removeprefix("u").removesuffix("_first"))
            for name, register in zip(kept, registers, strict=True)
            for _, symbol in register.first.terms
            if symbol in begin
        },
    )


def _registers(signals: Signals) -> tuple[list[Register], list[str]]:
    """Those of the memory and, where it has none, of the action of the step before; the symbols of the latter."""
    registers = list(signals.registers)
    for j, name in enumerate(signals.action_names):
        before = Register(f"{name} 1 before", Sum(((1.0, f"u{j}_first"),)), Sum(((1.0, f"u{j}"),)))
        registers += [] if before in registers else [before]
    sources = [register.after.terms for register in registers]
    return registers, [f"z{sources.index(((1.0, f'u{j}'),))}" for j in range(len(signals.action_names))]


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
