"""How this library compiles: one set of options, and a disk cache that cannot go stale.

Numba's own cache looks only at the file a function stands in, not at the functions it calls. Here every cached function
carries a fingerprint of all compiled sources of the package, so that an edit anywhere recompiles what depends on it.
"""

import functools
import hashlib
import multiprocessing
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba._dispatcher import compute_fingerprint
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.ccallback import CFunc
from numba.core.compiler import Compiler
from numba.core.runtime.nrt import rtsys
from numba.experimental import function_type  # noqa: F401  (lets numba tell the type of a callback)

from spaql.errors import SpaqlError, SpaqlWarning
from spaql.linking import Inside, Kernel, PartCompiler
from spaql.wide import WideCompiler
from spaql.writing import make_folder

Function = TypeVar("Function", bound=Callable[..., Any])

# No fastmath: with it the scalar and the vector version of a loop differ in the last bit, and so do results between
# CPUs. No reference counting (`_nrt`): kernels work on arrays that their caller holds and allocate no arrays;
# counting would cost more than the work.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
# Functions that only kernels call need no form that Python can call, each of which would hold a second copy of all that
# is inlined: a third of the time of compiling.
INSIDE: dict[str, Any] = {"no_cpython_wrapper": True}


def inlined(function: Function) -> Function:
    """A function for use inside kernels: LLVM vectorises a loop over rollouts only if nothing in it stays a call."""
    result: Any = Inside(function, {**OPTIONS, **INSIDE, "forceinline": True}, PartCompiler)
    return result  # type: ignore[no-any-return]


def apart(function: Function) -> Function:
    """A function for use inside kernels that may stay a call: long code, compiled once in each kernel."""
    result: Any = Inside(function, {**OPTIONS, **INSIDE}, PartCompiler)
    return result  # type: ignore[no-any-return]


def entry(function: Function) -> Function:
    """Like `inlined`, for a small function that Python calls too: kept on disk."""
    return _kept(function, inlined(function))


def kernel(function: Function) -> Function:
    """An entry point called from Python: compiled at the first call, then kept on disk."""
    return _kept(function, apart(function))


def _kept(function: Function, part: Any) -> Function:
    result: Any = Kernel(function, OPTIONS, part, DiskCache(function))  # type: ignore[no-untyped-call]
    return result  # type: ignore[no-any-return]


_made: dict[tuple[Any, bytes], Callable[..., Any]] = {}


def machine_code(function: Any, *arguments: Any) -> Callable[..., Any]:
    """A kernel's machine code for arguments of these types, called without looking at types again: a third of the time.

    The caller must give arguments of exactly these types. The code is found by numba's own fingerprint of the types
    of all arguments: `typeof` takes as long as an episode.
    """
    key = function, compute_fingerprint(arguments)
    if key not in _made:
        types = tuple(numba.typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]
        function.compile(types)
        _made[key] = function.get_overload(types)
    return _made[key]


def callback(function: Callable[..., None], signature: Any, wide: bool = False) -> Any:
    """A typed first-class function that kernels call by pointer: one kernel serves every plant.

    `wide`: its loops are over lanes that do not depend on each other.
    """
    pipeline: Any = WideCompiler if wide else Compiler
    made: Any = CFunc(function, (signature.args, signature.return_type), {}, dict(OPTIONS), pipeline)
    made._cache = DiskCache(function)  # type: ignore[no-untyped-call]
    made.compile()
    return made


@functools.cache
def fingerprint() -> str:
    """Hash of the compiled sources, and of what compiles them."""
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for name, text in compiled_sources().items():
        digest.update(name.encode() + b"\0" + text)
    return digest.hexdigest()[:16]


def compiled_sources() -> dict[str, bytes]:
    """Every source file that compiles something, or defines records: kernels read their fields by position."""
    package = Path(__file__).parent
    texts = {str(path.relative_to(package)): path.read_bytes() for path in sorted(package.rglob("*.py"))}
    marks = (b"spaql.compiling", b"(NamedTuple)")
    own = Path(__file__).name
    return {name: text for name, text in texts.items() if name == own or any(mark in text for mark in marks)}


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
    return not any(cache_folder().glob("*.nbi"))


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


class _Locator(_CacheLocator):
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


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes: list[Any] = [_Locator]  # noqa: RUF012  (numba declares the list so)


class DiskCache(FunctionCache):
    """Numba's function cache in our folder; without a writable folder numba compiles and nothing is kept."""

    _impl_class = _CacheImpl

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Code from the disk needs numba's runtime only. All that compiling needs, SciPy's linear algebra among it,
        takes as long to load as the rest of the library; numba loads it when it compiles."""
        rtsys.initialize(target)
        found = self._load_overload(signature, target)
        if found is None:
            keeps()
        return found

    def _load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super()._load_overload(signature, target)  # type: ignore[no-untyped-call]
        except Exception:  # whatever a damaged or foreign file in the cache raises: compile again
            return None

    def _save_overload(self, signature: Any, data: Any) -> None:
        try:
            super()._save_overload(signature, data)  # type: ignore[no-untyped-call]
        except Exception:  # no space, no rights, or a damaged index: the code runs, but is not kept
            self.disable()  # type: ignore[no-untyped-call]
