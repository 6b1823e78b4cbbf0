"""Numba: the versions with which this package is tested, and the one that is installed.

Only this module imports Numba's public names, so that a Numba which cannot be loaded or is too old is told in one line,
whatever needs it first. Private names: `spaql.ground.numba_internals`.
"""

import importlib.metadata
import re

from spaql.ground.errors import SpaqlError
from spaql.ground.interrupts import raise_swallowed
from spaql.version import __version__

__all__ = ["KNOWN", "REMEDY", "errors", "intrinsic", "is_untested", "numba", "types"]

# The same bounds stand in pyproject.toml. The oldest and the newest Numba between them are tried by `make test-all`.
OLDEST = (0, 63)
UNTESTED = (0, 69)  # the first that is too new to have been tested
RANGE = f"numba>={OLDEST[0]}.{OLDEST[1]},<{UNTESTED[0]}.{UNTESTED[1]}"
KNOWN = f"spaql {__version__} is tested with {RANGE}"
REMEDY = f"pip install '{RANGE}'"


def installed() -> str:
    """The version that is installed, also where it cannot be loaded."""
    try:
        return importlib.metadata.version("numba")
    except importlib.metadata.PackageNotFoundError:
        return "(of unknown version)"


try:
    import numba
    from numba import errors, types
    from numba.extending import intrinsic
except Exception as error:  # versions of NumPy that do not fit, a library in C that does not load
    raise_swallowed()
    raise SpaqlError(f"Numba {installed()} cannot be loaded ({error}); {KNOWN}: {REMEDY}") from error

_release = tuple(int(number) for number in re.findall(r"\d+", numba.__version__)[:2])
is_untested = _release >= UNTESTED
if _release < OLDEST:
    raise SpaqlError(f"Numba {numba.__version__} is too old; {KNOWN}: {REMEDY}")
