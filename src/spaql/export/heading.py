"""What exports share: the lines on top, shares of time, numbers for machines, identifiers of programming languages."""

import keyword
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.problem import Axis, Finite
from spaql.policy.digits import counted
from spaql.policy.policy import Policy
from spaql.policy.words import (
    action_names,
    action_units,
    different,
    formula_lines,
    number,
    one_line,
    share_of_time,
    variable_names,
    variable_units,
)
from spaql.trees.regions import summed
from spaql.trees.tree import Tree
from spaql.version import __version__

MOST_VALUES = 12  # of a finite action set that are listed


def title(policy: Policy) -> str:
    """What it is and where it comes from."""
    leaves = "1 leaf" if policy.n_leaves == 1 else f"{policy.n_leaves:,} leaves"
    if policy.has_laws:
        leaves = f"{counted(policy.n_leaves, 'law')}, {counted(policy.numbers, 'number')}"
    return f"{one_line(policy.kind)} of {one_line(policy.origin)}: {leaves}"


def facts(policy: Policy, interface: bool = True, place: str = "[{}]", first: int = 0) -> list[str]:
    """The comment on top of a program: the same policy gives the same bytes, the only date is that of its certificate.

    `interface`: with its inputs and outputs; `place` and `first` are how the language writes an element, such as
    "({})" and 1.
    """
    problem = policy.problem
    lines = [
        f"Controller: {title(policy)}.",
        f"Written by spaql {__version__}.",
        f"Problem: {one_line(problem.name)}: {one_line(problem.summary)}.",
    ]
    if policy.assurances:
        lines += ["", *(one_line(line) for line in policy.assurances)]
    if interface:
        lines += ["", "Observation, in this order:"]
        names, units = variable_names(problem), variable_units(problem)
        for j, (name, unit, axis) in enumerate(zip(names, units, problem.measured, strict=False)):
            lines.append(f"  obs{place.format(first + j)}  {labelled(name, unit)}, {range_text(axis)}")
        formulas = formula_lines(problem)
        lines += ["Features, computed from it:", *(f"  {line}" for line in formulas)] if formulas else []
        lines.append("Action:")
        for j, (name, unit) in enumerate(zip(action_names(problem), action_units(problem), strict=True)):
            lines.append(f"  action{place.format(first + j)}  {labelled(name, unit)}, {choices_text(policy, j)}")
    nan = "NaN fails every test, so that its else branch is taken"
    if policy.has_laws:
        applied = "an action of the set" if isinstance(problem.actions, Finite) else "zero, or what is nearest to it"
        nan = f"NaN fails every test, and a law that it leaves without a number applies {applied}"
    return [*lines, "", f"Observations are not checked: {nan}. The caller should check them."]


def labelled(name: str, unit: str) -> str:
    """ "angle [rad]"."""
    return f"{name} [{unit}]" if unit else name


def range_text(axis: Axis) -> str:
    return "any number" if axis.slope is not None else f"from {number(axis.low)} to {number(axis.high)}"


def choices_text(policy: Policy, axis: int) -> str:
    actions = policy.problem.actions
    if not isinstance(actions, Finite):
        return f"from {number(actions.low[axis])} to {number(actions.high[axis])}"
    values = [number(value) for value in actions.values]
    return "one of " + ", ".join(
        values if len(values) <= MOST_VALUES else [*values[: MOST_VALUES - 2], "...", values[-1]]
    )


def c_comment(lines: Iterable[str]) -> list[str]:
    """A block comment of C that nothing in its lines ends, and that has no trigraphs."""
    text = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    text = [re.sub(r"\?(?=\?)", "? ", line) for line in text]
    return [f"/* {text[0]}", *(f" * {line}".rstrip().rstrip("\\") for line in text[1:]), " */"]


# -- shares of time in exports: of leaves in words, of all nodes as the width of lines ---------------------------------

THIN = 1.0  # width of a line that is never used
MORE = 5.0  # what a line that is always used has more
UNKNOWN = 1.4  # width where nothing is known


def shares(policy: Policy, wanted: bool = True) -> dict[int, str]:
    """By leaf, in words; empty if they are not wanted or not known."""
    if not wanted or not policy.problem.can_run:
        return {}
    return {int(leaf): share_of_time(float(policy.share[leaf])) for leaf in policy.rules.leaves()}


def passing(policy: Policy, wanted: bool = True) -> Array:
    """By node, the share of time in which the state passes through it; NaN if it is not wanted or not known."""
    return summed(policy.rules, policy.share) if wanted else np.full(len(policy.rules.nodes), np.nan)


def width(part: float) -> str:
    """Of a line."""
    return f"{THIN + MORE * part if np.isfinite(part) else UNKNOWN:.2f}"


# -- numbers for machines: text that reads back as the same bits. Numbers for people are in `spaql.policy.words` -------

LARGEST_SINGLE = float(np.finfo(np.float32).max)


def double(value: float) -> str:
    """The shortest decimal that reads back as the same double."""
    return repr(float(value))


def single(value: float) -> str:
    """The shortest decimal that reads back as the float nearest to the value."""
    if abs(value) > LARGEST_SINGLE:
        raise SpaqlError(f"{value:g} does not fit into single precision: export in double")
    return str(np.float32(value))


def single_at_least(value: float) -> float:
    """The smallest float that is not below.

    `x >= value` and `x >= single_at_least(value)` are the same for every float x.
    """
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(value)
        if float(near) < value:
            near = np.nextafter(near, np.float32(np.inf))
    return float(near) + 0.0  # no negative zero


def weighted_sum(tree: Tree, node: int, words: Sequence[str], literal: Callable[[float], str]) -> str:
    """An oblique test's sum in a program, from left to right, as the policy sums.

    A product with a negative weight is subtracted, which is the same to the bit.
    """
    if tree.laws is not None:
        return affine(tree.weights[node].tolist(), 0.0, words, literal)
    text = ""
    for weight, word in zip(tree.weights[node].tolist(), words, strict=True):
        if weight != 0:
            sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
            text += f"{sign}{literal(abs(weight))} * {word}"
    return text or literal(0.0)


def affine(weights: Sequence[float], offset: float, words: Sequence[str], literal: Callable[[float], str]) -> str:
    """A weighted sum and a constant in a program, in the order in which laws sum.

    Weights of one and zeros are left out, which is the same to the bit, but for the sign of a zero.
    """
    text = ""
    for weight, word in zip((*weights, offset), (*words, ""), strict=True):
        if weight == 0.0:
            continue
        sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
        factor = literal(abs(weight))
        text += sign + (factor if not word else word if abs(weight) == 1.0 else f"{factor} * {word}")
    return text or literal(0.0)


# -- identifiers of programming languages, alike to the names people read ----------------------------------------------

_C = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "_Bool _Complex _Imaginary asm typeof main acos asin atan atan2 cos sin tan cosh sinh tanh exp exp2 expm1 log "
    "log10 log1p log2 pow sqrt cbrt hypot erf gamma lgamma tgamma ceil floor trunc round rint fabs fmod fmin fmax "
    "fdim fma frexp ldexp modf abs labs div index time signal y0 y1 yn j0 j1 jn printf scanf fprintf NULL EOF "
    "INFINITY NAN stdin stdout stderr class new delete this template operator public private true false bool "
    "_Alignas _Alignof _Atomic _Generic _Noreturn alignas alignof constexpr nullptr static_assert thread_local "
    "typeof_unqual and bitand bitor catch compl concept decltype explicit export final friend import module mutable "
    "namespace noexcept not or override protected requires throw try typename using virtual wchar_t xor errno"
)
# Macros without an underscore that compilers define unless told to keep to the standard: gcc -std=gnu17, its default,
# makes `linux` a 1. Of the systems and processors that GCC knows, and of those for controllers.
_MACROS = (
    "unix linux i386 WIN32 WIN64 WINNT vms VMS sun sparc sgi mips host_mips MIPSEB MIPSEL R3000 R4000 hppa hpux "
    "hp9000s800 PWB m68k mc68000 mc68010 mc68020 mc68030 mc68040 mc68060 vax pdp11 PPC powerpc ppc arm ARM AVR avr "
    "bfin BFIN frv m32r nios2 NIOS2 nios nds32 pyr sequent sh tahoe xtensa XTENSA MSP430 msp430"
)
# keywords, elementary types and standard functions of IEC 61131-3, in which capitals and small letters are the same
_ST = (
    "abs acos action add and any array asin at atan atan2 begin bool by byte case char class concat configuration "
    "constant continue cos ctd ctu ctud date delete div do dint dt dword else elsif end end_case end_for end_if "
    "end_repeat end_var end_while eq exit exp expt extends f_edge f_trig false final find for from function "
    "function_block ge goto gt if implements in initial_step insert int interface internal interval ld le left len "
    "limit lint ln log lreal lt ltime ltod lword max method mid min mod move mul mux namespace ne non_retain not null "
    "of on or override per persistent pointer private program property protected public r_edge r_trig read_only "
    "read_write real ref ref_to reference repeat replace reset resource retain return right rol ror round rs sel set "
    "shl shr sin single sint sizeof sqrt sr st step string struct sub super tan task then this time time_of_day tod "
    "to tof ton tp transition true trunc type udint uint ulint until usint using var var_access var_config "
    "var_external var_global var_in_out var_input var_output var_stat var_temp wchar while with word wstring xor en "
    "eno"
)
C_WORDS, ST_WORDS = frozenset([*_C.split(), *_MACROS.split()]), frozenset(_ST.split())
PYTHON_WORDS = frozenset([*keyword.kwlist, "float", "map"])


def _latin(sign: str) -> str:
    """A sign in the letters of an identifier; Greek letters by their names."""
    if sign.isascii():
        return sign if sign.isalnum() else "_"
    greek = re.fullmatch(r"GREEK \w+ LETTER (\w+?)(?: WITH .*)?", unicodedata.name(sign, ""))
    if greek:
        return greek[1].lower()
    return "".join(part for part in unicodedata.normalize("NFKD", sign) if part.isascii() and part.isalnum()) or "_"


def identifiers(names: Sequence[str], reserved: Collection[str], fold: bool = False) -> list[str]:
    """Valid and different identifiers, alike to the names.

    `fold`: the language does not tell capitals from small letters.
    """
    words = []
    for j, name in enumerate(names):
        # PLCs take neither two underscores in a row nor an underscore at the end
        word = re.sub("_+", "_", "".join(map(_latin, name))).strip("_")
        if not word or word[0].isdigit():
            word = f"x_{word}" if word else f"x{j}"
        words.append(f"{word}_value" if (word.casefold() if fold else word) in reserved else word)
    return different(words, fold)


def checked_name(name: str, reserved: Collection[str], fold: bool = False) -> str:
    """A name the user chose for the exported function."""
    word = name if isinstance(name, str) else ""
    known = word.casefold() if fold else word
    if not re.fullmatch(r"[A-Za-z](_?[A-Za-z0-9])*", word) or known in reserved:
        raise SpaqlError(
            "the name of the function must be letters, digits and single underscores, and no reserved word; "
            f"not {echoed(name)}"
        )
    return word
