"""Numba's public interfaces: how functions are compiled where the private ones are not those we know, to the same bits.

Every function becomes machine code by itself and again inside of each of its callers, so that a first run takes two to
three times as long as with `spaql.ground.numba_internals`, whose functions these are.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.code_cache import cache_folder, keeps
from spaql.ground.numba_version import numba, types

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


def callback(function: Callable[..., None], signature: Any, wide: bool) -> Any:
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
    add = callback(_add_one, types.void(numbers), False)
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
