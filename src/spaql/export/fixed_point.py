"""C of integers alone, for processors without a floating-point unit, with a proven bound of its error.

A measurement x is given as the integer nearest to x / unit, an action is an integer times its unit; units are powers of
two, chosen so that ranges fill 16 bits. A weighted sum is 16-bit gains times 16-bit measurements, summed in 32 bits
without any rounding: sum(G[j] * X[j]) + C, in a unit of its own. What this differs from the sum of the policy, by
interval arithmetic in exact fractions over the ranges of the observation, is the bound. No input can make it overflow.
"""

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from spaql.export.heading import C_WORDS, c_comment, facts, identifiers, labelled
from spaql.export.programs import BRACES, nested
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Axis
from spaql.policy.digits import number
from spaql.policy.policy import Policy
from spaql.policy.words import action_names, action_units, one_line
from spaql.trees.laws import CLIP, SCORES, THRESHOLD
from spaql.trees.regions import constant_of, deepest_level

LARGEST = 2**15 - 1  # of 16 bits
MOST = 2**30  # of a sum, which leaves a bit for rounding it
FINEST = 62  # powers of two in a unit, at most
BELOW = 15  # powers of two by which a sum may be finer than the action made of it
TOO_LARGE = "precision='fixed': gains and ranges are too large for sums of 32 bits"
DEEPEST = 120  # C99 promises 127 nested blocks


class FixedSum(NamedTuple):
    """sum(gains[j] * X[j]) + offset, in 2**-digits."""

    gains: tuple[int, ...]
    offset: int
    digits: int
    error: Fraction  # of it, at most


class FixedPoint(NamedTuple):
    """The units of a controller in integers, and how far its actions are from those of the policy."""

    observed: tuple[int, ...]  # by variable, n of its unit 2**-n
    applied: tuple[int, ...]  # by axis of the action
    laws: dict[tuple[int, int], FixedSum]  # by leaf and output
    tests: dict[int, FixedSum]  # by node: weighted sums
    error: tuple[Fraction, ...]  # of the actions, where all weighted sums are decided alike
    doubt: Fraction  # so near to its border a weighted sum may be decided otherwise


def fixed_point(policy: Policy) -> FixedPoint:
    """SpaqlError where something has no range, or needs more than 16 bits."""
    problem, tree, laws = policy.problem, policy.rules, policy.rules.laws
    if problem.signals is not None or problem.features is not None:
        what = "a loop around it" if problem.signals is not None else "features"
        raise SpaqlError(f"precision='fixed' is for laws and trees alone: {problem.name} has {what}")
    for axis in problem.measured:
        if axis.slope is not None:
            raise SpaqlError(f"precision='fixed' needs a range of {axis.name}: state spaql.Axis(name, low, high)")
    if deepest_level(tree) > DEEPEST:
        raise SpaqlError(f"the tree is too deep for nested ifs in C ({deepest_level(tree)} levels)")
    axes, ends = problem.measured, [end.tolist() for end in problem.actions.bounds]
    observed = tuple(_digits(max(abs(axis.low), abs(axis.high))) for axis in axes)
    finest = [_digits(max(abs(least), abs(most))) for least, most in zip(*ends, strict=True)]
    clipped = laws is not None and laws.kind == CLIP

    def sums(most: Callable[[int, int], int]) -> dict[tuple[int, int], FixedSum]:
        """Of all laws, with so many digits at most."""
        each = dict[tuple[int, int], FixedSum]()
        for leaf in tree.leaves().tolist() if laws is not None else ():
            assert laws is not None
            for output in range(laws.outputs):
                if constant_of(laws, leaf, output if clipped else 0) is None:
                    given = laws.gains[leaf, output], float(laws.offsets[leaf, output])
                    each[leaf, output] = _sum(*given, axes, observed, most(leaf, output))
        return each

    tests = {
        node: _sum(tree.weights[node], -float(tree.nodes["cut"][node]), axes, observed)
        for node in np.flatnonzero(tree.nodes["feature"] == tree.variables).tolist()
    }
    if not clipped:  # scores of a leaf are compared
        first = sums(lambda leaf, output: FINEST)
        own = sums(lambda leaf, output: min(each.digits for place, each in first.items() if place[0] == leaf))
        applied, twice = finest, 2 if laws is not None and laws.kind == SCORES else 1
    else:
        first, twice = sums(lambda leaf, output: finest[output] + BELOW), 0
        applied = [
            min([most, *(each.digits for place, each in first.items() if place[1] == axis)])
            for axis, most in enumerate(finest)
        ]
        own = sums(lambda leaf, output: applied[output] + BELOW)
    errors = []
    for j, digits in enumerate(applied):
        unit, least, most = Fraction(2) ** -digits, ends[0][j], ends[1][j]
        values = {least, most, *_constants(policy, j)}
        rounded = [abs(_nearest(value, digits, least, most) * unit - Fraction(value)) for value in values]
        mine = [each for place, each in own.items() if clipped and place[1] == j]
        errors.append(max([*rounded, *(each.error + (unit / 2 if each.digits > digits else 0) for each in mine)]))
    near = [twice * each.error for each in own.values()] + [each.error for each in tests.values()]
    return FixedPoint(observed, tuple(applied), own, tests, tuple(errors), max([Fraction(0), *near]))


def _digits(most: float) -> int:
    """The largest n for which most * 2**n fits into 16 bits."""
    n = min(math.frexp(LARGEST / most)[1] - 1 if most > 0.0 else FINEST, FINEST)
    return n if Fraction(most) * Fraction(2) ** n <= LARGEST else n - 1


def _nearest(value: float, digits: int, least: float, most: float) -> int:
    """A value of the action in units, within its range."""
    scale = Fraction(2) ** digits
    low, high = math.ceil(Fraction(least) * scale), math.floor(Fraction(most) * scale)
    return min(max(round(Fraction(value) * scale), low), high)


def _constants(policy: Policy, axis: int) -> list[float]:
    """What leaves apply whatever is observed, and finite actions."""
    tree, laws = policy.rules, policy.rules.laws
    if laws is not None and len(laws.values):
        return [float(value) for value in laws.values]
    leaves = tree.leaves().tolist()
    if laws is None:
        return [float(tree.actions[leaf, axis]) for leaf in leaves]
    return [value for leaf in leaves if (value := constant_of(laws, leaf, axis)) is not None]


def _sum(gains: Array, offset: float, axes: Sequence[Axis], observed: Sequence[int], digits: int = FINEST) -> FixedSum:
    """As many digits as 16 bits for gains and 32 for the sum have; the error over the ranges of the variables."""
    exact = [Fraction(float(gain)) for gain in gains]
    for n in range(digits, -2 * FINEST, -1):
        scale = Fraction(2) ** n
        whole = [round(gain * scale / Fraction(2) ** own) for gain, own in zip(exact, observed, strict=True)]
        constant = round(Fraction(offset) * scale)
        reached = sum(map(abs, whole)) * (LARGEST + 1) + abs(constant)
        if max(map(abs, whole)) <= LARGEST and reached <= MOST:
            break
    else:
        raise SpaqlError(TOO_LARGE)
    low = high = Fraction(constant) / scale - Fraction(offset)
    size = abs(Fraction(offset))
    for gain, own, own_digits, axis in zip(exact, whole, observed, axes, strict=True):
        off = own * Fraction(2) ** own_digits / scale - gain
        ends = off * Fraction(axis.low), off * Fraction(axis.high)
        low, high = low + min(ends), high + max(ends)
        size += abs(gain) * max(abs(Fraction(axis.low)), abs(Fraction(axis.high)))
    rounded = size * (len(exact) + 2) / 2**52  # what the sum of the policy itself loses
    return FixedSum(tuple(whole), constant, n, max(abs(low), abs(high)) + rounded)


def to_fixed_point(policy: Policy, name: str) -> str:
    """`void controller(const int16_t *obs, int16_t *action)`, and in its comment the units and the bound."""
    fixed, tree = fixed_point(policy), policy.rules
    words = identifiers(policy.words.names, C_WORDS | {"obs", "action", name, "sum", "best"})

    def test(node: int) -> str:
        feature = int(tree.nodes["feature"][node])
        if feature == tree.variables:
            return f"{_text(fixed.tests[node], words)} >= 0"
        return f"{words[feature]} >= {_first(float(tree.nodes['cut'][node]), fixed.observed[feature])}"

    lines = nested(tree, BRACES, 1, lambda leaf: _leaf(policy, fixed, leaf, words), test)
    said = set(re.findall(r"\w+", " ".join(lines)))
    read = [f"    const int32_t {word} = obs[{j}];" for j, word in enumerate(words) if word in said]
    read = read or ["    (void)obs;"]
    own = [f"    int32_t {word};" for word in ("best", "sum") if any(f"{word} = " in line for line in lines)]
    signature = f"void {name}(const int16_t *obs, int16_t *action)"
    comment = c_comment([*facts(policy)[:-2], "", *_said(policy, fixed)])
    head = [*comment, "", "#include <stdint.h>", "", f"{signature};", "", signature, "{", *read, *own, ""]
    return "\n".join([*head, *lines, "}"]) + "\n"


def _said(policy: Policy, fixed: FixedPoint) -> list[str]:
    """Units and bound, for the comment."""
    problem, errors = policy.problem, list[str]()
    lines = ["Integers alone: a measurement x is given as the integer nearest to x / unit, within 16 bits."]
    for j, (axis, digits) in enumerate(zip(problem.measured, fixed.observed, strict=True)):
        lines.append(_unit(f"obs[{j}]", one_line(labelled(axis.name, axis.unit)), digits))
    names = zip(action_names(problem), action_units(problem), fixed.applied, fixed.error, strict=True)
    for j, (name, unit, digits, error) in enumerate(names):
        lines.append(_unit(f"action[{j}]", one_line(labelled(name, unit)), digits))
        errors.append(f"{_at_least(error)} {one_line(unit)}".strip())
    lines += ["Proven, for all integers within the ranges above: actions differ from those of the policy for the same",
              f"numbers by at most {', '.join(errors)}."]  # fmt: skip
    if fixed.doubt:
        lines.append(f"Weighted sums within {_at_least(fixed.doubt)} of their borders may be decided otherwise.")
    return [*lines, "No input makes it overflow."]


def _unit(place: str, name: str, digits: int) -> str:
    return f"  {place}  {name}: the unit is 2^{-digits} = {number(2.0**-digits, 6)}"


def _at_least(value: Fraction) -> str:
    """Rounded up, to two digits."""
    if not value:
        return "0"
    power = math.floor(math.log10(value)) - 1
    return number(float(math.ceil(value / Fraction(10) ** power) * Fraction(10) ** power))


def _first(cut: float, digits: int) -> int:
    """The first integer that passes a test: the same test for all integers."""
    if math.isinf(cut):
        return LARGEST + 1 if cut > 0 else -LARGEST - 1
    return min(max(math.ceil(Fraction(cut) * Fraction(2) ** digits), -LARGEST - 1), LARGEST + 1)


def _text(each: FixedSum, words: Sequence[str]) -> str:
    terms = ""
    for j, gain in enumerate(each.gains):
        if gain:
            sign = (" - " if gain < 0 else " + ") if terms else ("-" if gain < 0 else "")
            terms += f"{sign}{abs(gain)} * {words[j]}"
    constant = f"{' - ' if each.offset < 0 else ' + '}{abs(each.offset)}" if each.offset else ""
    return terms + constant if terms else str(each.offset)


def _bracketed(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def _leaf(policy: Policy, fixed: FixedPoint, leaf: int, words: Sequence[str]) -> list[str]:
    """What a leaf applies."""
    tree, laws = policy.rules, policy.rules.laws
    ends = [end.tolist() for end in policy.problem.actions.bounds]

    def unit(value: float, axis: int) -> int:
        return _nearest(value, fixed.applied[axis], ends[0][axis], ends[1][axis])

    lines = list[str]()
    for axis in range(tree.actions.shape[1]):
        output = f"action[{axis}]"
        constant = float(tree.actions[leaf, axis]) if laws is None else constant_of(laws, leaf, axis)
        if constant is not None:
            lines.append(f"{output} = {unit(constant, axis)};")
            continue
        assert laws is not None
        values = [unit(value, axis) for value in laws.values.tolist()]
        if laws.kind == CLIP:
            each = fixed.laws[leaf, axis]
            finer = each.digits - fixed.applied[axis]
            least, most = unit(ends[0][axis], axis), unit(ends[1][axis], axis)
            low, high = least * 2**finer, most * 2**finer
            lines.append(f"sum = {_text(each, words)};")
            lines.append(f"sum = sum < {low} ? {low} : sum > {high} ? {high} : sum;")
            if finer:  # of what is not negative: what a shift of other numbers does, C leaves open
                positive = f"((uint32_t)(sum - {_bracketed(low)}) + {2 ** (finer - 1)})"
                lines.append(f"sum = (int32_t)({positive} >> {finer}) + {_bracketed(least)};")
            lines.append(f"{output} = (int16_t)sum;")
        elif laws.kind == THRESHOLD:
            lines.append(f"{output} = {_text(fixed.laws[leaf, 0], words)} >= 0 ? {values[-1]} : {values[0]};")
        elif laws.kind == SCORES:
            for k, value in enumerate(values):
                text = _text(fixed.laws[leaf, k], words)
                better = ["if (sum > best) {", "    best = sum;", f"    {output} = {value};", "}"]
                lines += [f"sum = {text};", *better] if k else [f"best = {text};", f"{output} = {value};"]
        else:
            each = fixed.laws[leaf, 0]
            lines += [f"sum = {_text(each, words)};", f"{output} = {values[0]};"]
            for k, value in enumerate(values[1:], 1):  # scores from k - 1/2 on
                border = math.ceil(Fraction(2 * k - 1, 2) * Fraction(2) ** each.digits)
                lines += [f"if (sum >= {border}) {{", f"    {output} = {value};", "}"]
    return lines
