"""The graphics card: whether there is one, and our compiled functions as functions of the card.

A function of a plant or of a law is compiled a second time, from the same Python. Multiplications and additions are not
fused, as on the CPU, so that an episode has the same bits on both.
"""

import contextlib
import functools
import importlib.util
import math
import re
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from spaql.ground import fastmath
from spaql.ground.errors import SpaqlError, one_line
from spaql.ground.numba_public import errors, numba
from spaql.plants.compile import rewired

USE_CPU = 'leave out device="cuda" to use the CPU'


def is_simulated() -> bool:
    """Numba's simulator of a card, in Python: NUMBA_ENABLE_CUDASIM=1 in the environment."""
    return bool(getattr(numba.config, "ENABLE_CUDASIM", 0))


@functools.cache
def opened() -> Any:
    """`numba.cuda`, if a card can be used."""
    if not is_simulated() and importlib.util.find_spec("numba_cuda") is None:  # what Numba itself has is no longer kept
        raise SpaqlError("device=\"cuda\" needs numba-cuda: pip install 'spaql[cuda]'")
    vars(numba.config)["CUDA_LOW_OCCUPANCY_WARNINGS"] = 0  # small launches are meant to be small
    try:
        cuda: Any = importlib.import_module("numba.cuda")
        cuda.current_context()
    except Exception as error:  # no driver, no card, a driver that is too old: numba-cuda has an error for each
        said = one_line(str(error).strip(" :\n"), 160)
        raise SpaqlError(f"no CUDA card can be used ({said}): install its driver, or {USE_CPU}") from error
    return cuda


def card_name() -> str:
    """The card as its maker calls it."""
    name = opened().get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def kernel_options() -> dict[str, bool]:
    """Optimised when compiled, not when linked: the linker fuses multiplications and additions."""
    return {} if is_simulated() else {"lto": False}


@contextlib.contextmanager
def numba_as_needed() -> Iterator[None]:
    """While Numba compiles for the card: two things for which it has no public way.

    - a * b + c is rounded twice, as on the CPU;
    - numba-cuda 0.30 loads only with `np.row_stack`, which NumPy 2.5 has not.
    """
    nvvm: Any = importlib.import_module("numba.cuda.cudadrv.nvvm")
    usual, missing = nvvm.compile_ir, not hasattr(np, "row_stack")
    nvvm.compile_ir = functools.partial(usual, fma=False)
    if missing:
        np.row_stack = np.vstack
    try:
        yield
    finally:
        nvvm.compile_ir = usual
        if missing:
            del np.row_stack


_translated: dict[Any, Any] = {}  # by the plain function


def translated(value: Any) -> Any:
    """A compiled function of ours as one of the card, with all that it calls; anything else as it is."""
    if isinstance(value, types.ModuleType):
        return _module(value)
    if value is fastmath.fused:
        value = _simulated_fused if is_simulated() else _fused()
    python = getattr(value, "py_func", None)
    if python is None:
        return value
    if python not in _translated:
        inlined = {} if is_simulated() else {"forceinline": True}
        _translated[python] = opened().jit(device=True, **inlined)(rewired(python, translated, {}))
    return _translated[python]


@functools.cache
def _fused() -> Any:
    """`fastmath.fused` of the card; Numba knows `cuda.fma` by this name only."""
    cuda = opened()

    def fused(a: Any, b: Any, c: Any) -> Any:
        return cuda.fma(a, b, c)

    return cuda.jit(device=True, forceinline=True)(fused)


def _simulated_fused(a: Any, b: Any, c: Any) -> Any:
    """The same in Python: a product of two single numbers is exact in double precision."""
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


def _module(module: types.ModuleType) -> types.ModuleType:
    """`math` or `np`, as plants and our own functions know them: with functions of the card where it needs others."""
    ours = {name: value for name, value in vars(module).items() if hasattr(value, "py_func")}
    if getattr(module, "floor", None) is np.floor and not is_simulated():  # Numba knows NumPy's on the CPU only
        ours |= {"floor": opened().libdevice.floor, "ceil": opened().libdevice.ceil, "sqrt": math.sqrt}
    if not ours:
        return module
    copy = types.ModuleType(module.__name__)
    copy.__dict__.update({name: translated(value) for name, value in ours.items()})
    copy.__dict__["__getattr__"] = lambda name: getattr(module, name)
    return copy


def launched(name: str, kernel: Any, count: int, *arguments: Any) -> None:
    """A kernel with a thread for each of so many episodes; what the card or its compiler says, in one line."""
    cuda = opened()
    try:
        with contextlib.nullcontext() if is_simulated() else numba_as_needed():
            kernel[-(-count // THREADS), THREADS](*arguments)
        cuda.synchronize()
    except errors.NumbaError as error:
        said = one_line(_cause(str(error)), 160)
        raise SpaqlError(f"{name} does not compile for the card ({said}): {USE_CPU}") from error
    except Exception as error:  # of the driver: memory, a card that is busy or has been lost
        said = one_line(f"{type(error).__name__}: {error}", 160)
        raise SpaqlError(f"the card failed on {name} ({said}): free its memory, or {USE_CPU}") from error


def _cause(message: str) -> str:
    """The line of Numba's message that says why: those around it name its own passes and files."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(("Failed in", "During", "File ", "<source", "---"))]
    return (plain or lines or ["its compiler does not say why"])[0]


THREADS = 128  # of a block
