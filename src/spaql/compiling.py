"""How this library compiles: one set of options, and a disk cache that cannot go stale.

Numba's own cache looks only at the file a function stands in, not at the functions it calls. Here every cached function carries a
fingerprint of the whole package, so that an edit anywhere recompiles what depends on it.
"""

import functools
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.ccallback import CFunc

Function = TypeVar("Function", bound=Callable[..., Any])
Array = npt.NDArray[Any]

# No fastmath: it lets the scalar and the vector version of a loop differ in the last bit, and with it the results between CPUs.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}


def compiled(function: Function) -> Function:
    """A small function for use inside kernels: compiled as part of its callers."""
    result: Function = numba.njit(**OPTIONS)(function)
    return result


def inlined(function: Function) -> Function:
    """Like `compiled`, for the body of a loop over rollouts: LLVM vectorises the loop only if nothing in it stays a call."""
    result: Function = numba.njit(**OPTIONS, forceinline=True)(function)
    return result


def entry(function: Function) -> Function:
    """Like `inlined`, for a small function that Python calls too: kept on disk."""
    dispatcher = numba.njit(**OPTIONS, forceinline=True)(function)
    dispatcher._cache = DiskCache(function)
    result: Function = dispatcher
    return result


def kernel(function: Function) -> Function:
    """An entry point called from Python: compiled at the first call, then kept on disk."""
    dispatcher = numba.njit(**OPTIONS)(function)
    dispatcher._cache = DiskCache(function)
    result: Function = dispatcher
    return result


def callback(function: Callable[..., None], signature: Any) -> Any:
    """A typed first-class function that kernels call by pointer: one kernel serves every plant."""
    made = CFunc(function, (signature.args, signature.return_type), locals={}, options=dict(OPTIONS))
    made._cache = DiskCache(function)
    made.compile()
    return made


@functools.cache
def fingerprint() -> str:
    """Hash of every source file of the package and of what compiles it."""
    package = Path(__file__).parent
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def cache_folder() -> Path:
    """`$SPAQL_CACHE_DIR`, else the user's cache; one sub-folder per version of the code, old ones removed."""
    named = os.environ.get("SPAQL_CACHE_DIR")
    root = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spaql"
    folder = root / fingerprint()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        month_ago = time.time() - 30 * 86400
        for old in root.iterdir():
            if len(old.name) == len(folder.name) and old.stat().st_mtime < month_ago:
                shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass  # a read-only home: the locator below then declines, and every process compiles for itself
    return folder


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Where numba puts the machine code of a function of this package or of a user's plant."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return fingerprint()

    def get_disambiguator(self) -> str:
        return str(self.line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], _file: str) -> "_Locator":
        return cls(function)


class _CacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_Locator]


class DiskCache(FunctionCache):  # type: ignore[misc]
    """Numba's function cache in our folder; without a writable folder it compiles and keeps nothing."""

    _impl_class = _CacheImpl

    def _save_overload(self, signature: Any, data: Any) -> None:
        try:
            super()._save_overload(signature, data)
        except OSError:
            self.disable()
