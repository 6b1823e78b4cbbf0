"""Checks of input: compiled code trusts the values that have passed them."""

import math
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError, echoed

FAR = 1e100  # larger numbers in data are taken for errors
ROUNDING = 1e-9  # relative: smaller differences come from rounding


def whole(name: str, value: Any, low: int, high: int = 2**62) -> int:
    """A whole number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        limit = f"from {low}" if high == 2**62 else f"from {low} to {high}"
        raise SpaqlError(f"{name} must be a whole number {limit}, not {echoed(value)}")
    return int(value)


def real(name: str, value: Any, low: float = -math.inf, high: float = math.inf, above: bool = False) -> float:
    """A finite number in [low, high], or strictly above low."""
    good = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    try:
        number = float(value) if good else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not low <= number <= high or (above and number == low):
        limit = (f" above {low:g}" if above else f" from {low:g}") if math.isfinite(low) else ""
        limit += f" up to {high:g}" if math.isfinite(high) else ""
        raise SpaqlError(f"{name} must be a finite number{limit}, not {echoed(value)}")
    return number


def bound(name: str, value: Any) -> float:
    """A number, or infinite where there is no bound."""
    infinite = isinstance(value, float | np.floating) and math.isinf(value)
    return float(value) if infinite else real(name, value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise SpaqlError(f"{name} must be True or False, not {echoed(value)}")
    return bool(value)


def bit(name: str, value: Any) -> bool:
    """True or False, also as the numbers 1 and 0, alone or as an array of one entry."""
    number = value.item() if isinstance(value, np.ndarray | np.generic) and value.size == 1 else value
    if not isinstance(number, bool | int | float) or number not in (0, 1):
        raise SpaqlError(f"{name} must be True or False, not {echoed(value)}")
    return bool(number)


def text(name: str, value: Any) -> str:
    """A text that files can hold: half of a surrogate pair is no sign of any alphabet."""
    if not isinstance(value, str):
        raise SpaqlError(f"{name} must be a text, not {echoed(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SpaqlError(f"{name} contains half of a surrogate pair, which is not a character: {value!a}") from error
    return value


def items(name: str, value: Any) -> list[Any]:
    """The entries of a list, a tuple, an array or anything else one can go through once; a text is not meant."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return list(value)
    except TypeError as error:
        raise SpaqlError(f"{name} must be a list, not {echoed(value)}") from error


def checked_path(value: Any) -> Path:
    """A path in the file system: a text or anything else that stands for one."""
    try:
        path = Path(value)
        os.fsencode(path)
    except (TypeError, UnicodeEncodeError) as error:
        raise SpaqlError(f"a path must be a text or a pathlib.Path, not {echoed(value)}") from error
    if "\0" in str(path):
        raise SpaqlError(f"a path must not contain the null character: {echoed(value)}")
    return path


def choice(name: str, value: Any, options: Collection[str]) -> str:
    """One of the options."""
    if not isinstance(value, str) or value not in options:
        raise SpaqlError(f"{name} must be one of {', '.join(map(repr, options))}, not {echoed(value)}")
    return str(value)


DEVICES = ("cpu", "cuda")  # where episodes run: compiled, or on a graphics card


def device(value: Any) -> str:
    return choice("device", value, DEVICES)


def numbers(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """An array of float64, finite or not, of the given shape; -1 stands for any length."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"its dtype is {array.dtype}")
        array = np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise SpaqlError(f"{name} must be an array of numbers: {error}") from error
    fits = len(array.shape) == len(shape)
    if not fits or any(want not in (-1, have) for want, have in zip(shape, array.shape, strict=True)):
        wanted = " x ".join("n" if length == -1 else str(length) for length in shape) or "a single number"
        given = " x ".join(map(str, array.shape)) or "a single number"
        raise SpaqlError(f"{name} must have shape {wanted}, not {given}")
    return array


def depth(name: str, value: Any) -> int:
    """How many axes an array of numbers has: 0 of a number, 1 of a list, 2 of a table."""
    try:
        return int(np.ndim(value))
    except ValueError as error:  # rows of different lengths
        raise SpaqlError(f"{name} must be an array of numbers: {error}") from error


def observations(value: Any, d: int) -> tuple[Array, bool]:
    """One observation or a batch as (n, d), and whether it was a single observation."""
    single = depth("observation", value) == 1
    return numbers("observation", value, (d,) if single else (-1, d)).reshape(-1, d), single
