"""Entries of rig.toml: tables with keys that are known, pairs of numbers."""

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from spaql.ground.checks import real
from spaql.ground.errors import SpaqlError, echoed


def tables_of(kind: str, tables: Mapping[str, Any], keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """[kind.NAME] for some names."""
    given = table_of(kind, tables.get(kind, {}))
    for name, entry in given.items():
        check_keys(f"[{kind}.{name}]", table_of(f"{kind}.{name}", entry), keys)
    return given


def table_of(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise SpaqlError(f"{name} is a table, [{name}] with a line for each entry, not {echoed(given)}")
    return given


def check_keys(where: str, table: Mapping[str, Any], names: Sequence[str]) -> None:
    for key in table:
        if key not in names:
            near = difflib.get_close_matches(key, names, 1)
            raise SpaqlError(
                f"{where}: unknown key {echoed(key)}{f' ({near[0]}?)' if near else ''}; there are {', '.join(names)}"
            )


def pair_of(name: str, given: Any) -> tuple[float, float]:
    pair = given if isinstance(given, list) and len(given) == 2 else (math.nan, math.nan)
    if given is None:
        raise SpaqlError(f"{name} is missing: give [low, high]")
    if not isinstance(given, list) or len(given) != 2:
        raise SpaqlError(f"{name} is [low, high], not {echoed(given)}")
    low, high = (real(name, end) for end in pair)
    if not low < high:
        raise SpaqlError(f"{name}: low must be below high, not {low:g} and {high:g}")
    return low, high


def pair_within(name: str, given: Any, ends: Any, of: str) -> tuple[float, float]:
    (low, high), (least, most) = pair_of(name, given), pair_of(of, ends)
    if not least <= low < high <= most:
        raise SpaqlError(f"{name} {low:g} ... {high:g} is not within {of}, {least:g} ... {most:g}: other units?")
    return low, high
