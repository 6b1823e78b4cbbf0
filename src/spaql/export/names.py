"""Identifiers of programming languages, alike to the names people read."""

import keyword
import re
import unicodedata
from collections.abc import Collection, Sequence

from spaql.errors import SpaqlError, echoed
from spaql.policy.words import different

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
    made = []
    for j, name in enumerate(names):
        # PLCs take neither two underscores in a row nor an underscore at the end
        word = re.sub("_+", "_", "".join(map(_latin, name))).strip("_")
        if not word or word[0].isdigit():
            word = f"x_{word}" if word else f"x{j}"
        made.append(f"{word}_value" if (word.casefold() if fold else word) in reserved else word)
    return different(made, fold)


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
