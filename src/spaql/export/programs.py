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

import numpy as np

from spaql.export.heading import affine, identifiers, weighted_sum
from spaql.plants.formula_tracing import FUNCTIONS
from spaql.plants.formulas import SEVERAL, Grammar
from spaql.plants.limits import excludes
from spaql.plants.memory import Register, Sum
from spaql.plants.signals import Signals, total
from spaql.policy.policy import Policy
from spaql.trees.laws import CLIP, SCORES, LeafLaws
from spaql.trees.regions import branches, constant_of, neutral_of
from spaql.trees.tree import Tree

BRACES = {"if": "if ({}) {{", "elif": "}} else if ({}) {{", "else": "}} else {{", "end": "}}"}  # heads of C
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
    functions: Mapping[str, str]  # of formulas, by name: their call; "{}" are its arguments
    clipped: str = ""  # low, high, neutral: the score within these ends, the last one if it is not a number
    real: str = ""  # the type of numbers

    @property
    def grammar(self) -> Grammar:
        """How formulas are written."""
        return Grammar(self.functions, self.chosen, self.literal)


def calls(name_of: Callable[[str], str]) -> dict[str, str]:
    """The functions of formulas by the names that a language gives them."""
    return {name: f"{name_of(name)}({', '.join(['{}'] * SEVERAL.get(name, 1))})" for name in FUNCTIONS}


def indented(lines: Iterable[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]


def nested(
    tree: Tree, heads: Mapping[str, str], levels: int, leaf: Callable[[int], Iterable[str]], test: Callable[[int], str]
) -> list[str]:
    """Tests in each other, indented by so many levels. `leaf`: its statements; `test`: the condition of a node.

    `heads`: those of the language.
    """
    lines = []
    for what, level, node in branches(tree):
        if what == "leaf":
            lines += indented(leaf(node), levels + level)
        elif heads[what]:
            condition = test(node) if what in ("if", "elif") else ""
            lines += indented([heads[what].format(condition)], levels + level)
    return lines


def condition_of(
    tree: Tree, words: Sequence[str], language: Language, cut: Callable[[int], str] | None = None
) -> Callable[[int], str]:
    """The condition of a node; `cut`: its number, where the literal alone would not do."""

    def condition(node: int) -> str:
        feature = int(tree.nodes["feature"][node])
        tested = words[feature] if feature < tree.variables else weighted_sum(tree, node, words, language.literal)
        return f"{tested} >= {language.literal(float(tree.nodes['cut'][node])) if cut is None else cut(node)}"

    return condition


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


# -- features: which are needed, and their formulas --------------------------------------------------------------------


def formulas_of(policy: Policy, language: Language, words: Sequence[str], every: bool = False) -> list[tuple[int, str]]:
    """Place and expression of the features that tests and laws look at, or of all; `words`: of all variables."""
    features = policy.problem.features
    if features is None:
        return []
    wanted = needed(policy)
    written = enumerate(features.written(language.grammar, words), features.raw)
    return [(place, text) for place, text in written if every or place in wanted]


def needed(policy: Policy) -> set[int]:
    """The variables that tests and laws look at, with those of which features among them are made."""
    tree, features = policy.rules, policy.problem.features
    feature = tree.nodes["feature"]
    looked = tree.weights[feature == tree.variables].any(axis=0)
    if tree.laws is not None:
        looked = looked | tree.laws.gains.any(axis=(0, 1))
    plain = feature[(feature >= 0) & (feature < tree.variables)]
    used = {*plain.tolist(), *np.flatnonzero(looked).tolist()}
    return used if features is None else features.needed(used)
