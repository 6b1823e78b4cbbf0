"""How this library compiles: decorators for compiled functions, with one set of options and a disk cache.

Numba's private interfaces are used where they are those we know (numba_internals.py), because they compile in a
third to a half of the time. Where one is missing, and in a Numba newer than those tested, all goes through the public
ones (`spaql.ground.numba_public`): the same bits after a slower first run. A warning says so once.
"""

import multiprocessing
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from spaql.ground import numba_public
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.numba_public import KNOWN, REMEDY, is_untested, numba

Function = TypeVar("Function", bound=Callable[..., Any])
interfaces: ModuleType = numba_public
_VERSION = f"Numba {numba.__version__}"


def _warn(cause: str) -> None:
    """Not in worker processes: the process that the user has started says it."""
    if multiprocessing.parent_process() is None:
        slower = "so first runs compile two to three times as long; results are the same"
        warnings.warn(f"{cause}, {slower}. {KNOWN}: {REMEDY}", SpaqlWarning, stacklevel=3)


if is_untested:
    try:
        numba_public.prove()
    except Exception as error:  # whatever a Numba of the future raises
        raise SpaqlError(f"{_VERSION} is too new ({type(error).__name__}: {error}); {KNOWN}: {REMEDY}") from error
    _warn(f"{_VERSION} is too new to have been tested and is used through its public interfaces")
else:
    try:
        from spaql.ground import numba_internals

        interfaces = numba_internals
    except Exception as error:  # a name that is missing, or anything that Numba raises
        _warn(f"{_VERSION} is not as expected ({error}) and is used through its public interfaces")


def inlined(function: Function) -> Function:
    """A function for use inside kernels: LLVM vectorises a loop over rollouts only if nothing in it stays a call."""
    return interfaces.part(function, True)  # type: ignore[no-any-return]


def apart(function: Function) -> Function:
    """A function for use inside kernels that may stay a call: long code, compiled once in each kernel."""
    return interfaces.part(function, False)  # type: ignore[no-any-return]


def entry(function: Function) -> Function:
    """Like `inlined`, for a small function that Python calls too: kept on disk."""
    return interfaces.kernel(function, True)  # type: ignore[no-any-return]


def kernel(function: Function) -> Function:
    """An entry point called from Python: compiled at the first call, then kept on disk."""
    return interfaces.kernel(function, False)  # type: ignore[no-any-return]


# `callback(function, signature, wide=False)`: a typed first-class function that kernels call by pointer, so that one
# kernel serves every plant. `wide`: its loops are over lanes that do not depend on each other.
callback: Callable[..., Any] = interfaces.callback
# `machine_code(function, *arguments)`: a kernel's machine code for arguments of these types, called without looking at
# types again: a third of the time. The caller must give arguments of exactly these types.
machine_code: Callable[..., Callable[..., Any]] = interfaces.machine_code
# `code_of(function, types)`: the same for these types.
code_of: Callable[..., Callable[..., Any]] = interfaces.code_of
