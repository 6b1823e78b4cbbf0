"""Numba: the versions with which this package is tested, and the public interfaces of the one that is installed.

Only this module imports Numba's public names, so that a Numba which cannot be loaded or is too old is told in one line,
whatever needs it first.

Where the private interfaces are not those we know, functions are compiled through these, to the same bits. Every one
becomes machine code by itself and again inside of each of its callers, so that a first run takes two to three times as
long as with `spaql.ground.numba_internals`, whose functions these are. Both keep compiled code in the folder below.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import multiprocessing
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.interrupts import raise_swallowed
from spaql.ground.writing import make_folder
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

# No fastmath: with it the scalar and the vector version of a loop differ in the last bit, and so do results between
# CPUs.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


def part(function: Callable[..., Any], inline: bool) -> Any:
    """For use inside of kernels. LLVM decides alone what to inline."""
    return numba.njit(**OPTIONS)(function)


def kernel(function: Callable[..., Any], inline: bool) -> Any:
    """Called from Python, and kept on disk."""
    with _our_folder():
        return numba.njit(cache=keeps(), **OPTIONS)(function)


def callback(function: Callable[..., None], signature: Any, wide: bool = False) -> Any:
    """Called by pointer."""
    with _our_folder():
        return numba.cfunc(signature, cache=keeps(), **OPTIONS)(function)


def machine_code(function: Any, *_arguments: Any) -> Any:
    """Numba looks at the types at every call."""
    return function


def code_of(function: Any, _types: tuple[Any, ...]) -> Any:
    return function


def prove() -> None:
    """Compile and run a callback and a kernel. Raises whatever an unknown Numba raises."""
    numbers = types.Array(types.float64, 1, "C")
    add = callback(_add_one, types.void(numbers))
    if kernel(_called, False)(add, np.zeros(1)) != 1.0:
        raise ArithmeticError("0 + 1 is not 1")


def _add_one(x: Array) -> None:
    x[0] += 1.0


def _called(function: Callable[[Array], None], x: Array) -> float:
    function(x)
    return x[0]  # type: ignore[no-any-return]


@contextlib.contextmanager
def _our_folder() -> Iterator[None]:
    """Numba asks for the folder of its cache when a function is declared. That of a user's own functions stays."""
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder())
    try:
        yield
    finally:
        config.CACHE_DIR = before


# -- the folder of compiled code: a disk cache that cannot go stale ----------------------------------------------------
#
# Numba's own cache looks only at the file a function stands in, not at the functions it calls. Here the folder has a
# fingerprint of all compiled sources of the package, so that an edit anywhere recompiles what depends on it.


@functools.cache
def fingerprint() -> str:
    """Hash of the compiled sources, and of what compiles them."""
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for name, text in compiled_sources().items():
        digest.update(name.encode() + b"\0" + text)
    return digest.hexdigest()[:16]


def compiled_sources() -> dict[str, bytes]:
    """Every source file that compiles something, or defines records: kernels read their fields by position."""
    package = Path(__file__).parent.parent
    texts = {str(path.relative_to(package)): path.read_bytes() for path in sorted(package.rglob("*.py"))}
    marks = (b"spaql.ground.compiling", b"numba", b"(NamedTuple)")
    return {name: text for name, text in texts.items() if any(mark in text for mark in marks)}


@functools.cache
def cache_folder() -> Path:
    """`$SPAQL_CACHE_DIR`, else the user's cache; one folder per version of the code; old folders are removed."""
    named = os.environ.get("SPAQL_CACHE_DIR")
    root = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spaql"
    folder = root / f"code-{fingerprint()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        month_ago = time.time() - 30 * 86400
        for old in root.iterdir():
            if re.fullmatch(r"code-[0-9a-f]{16}", old.name) and old.stat().st_mtime < month_ago:
                shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass  # a read-only home: see `keeps`
    return folder


def nothing_there() -> bool:
    """Whether this is the first program on this machine."""
    return not any(cache_folder().rglob("*.nbi"))


@functools.cache
def keeps() -> bool:
    """Whether what is compiled now can be kept. If not, the process that the user has started says so, once."""
    try:
        make_folder(cache_folder())
    except SpaqlError as error:
        if multiprocessing.parent_process() is None:
            remedy = "set SPAQL_CACHE_DIR to a folder that can be written"
            text = f"{error}: compiled code is not kept, and every program compiles anew; {remedy}"
            warnings.warn(text, SpaqlWarning, stacklevel=2)
        return False
    return True
