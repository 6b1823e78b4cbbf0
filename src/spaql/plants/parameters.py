"""The parameters of a plant and its noise, checked: what a user, a file or the command line gives."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from spaql.checks import real, whole
from spaql.errors import SpaqlError
from spaql.plants.between import Between, value_of
from spaql.plants.catalog import CATALOG, make_from_catalog
from spaql.plants.problem import Axis

USUAL = (1e-6, 1e6)  # the range of a parameter whose file does not say another
MOST_NOISE = 1e6
OTHERS = ("horizon", "process_noise", "observation_noise")


def physical(name: str, given: Mapping[str, Any], defaults: Any, ranges: Mapping[str, tuple[float, float]], fixed: Sequence[str]) -> Any:
    """The defaults, a named tuple, with what is given in their place: numbers, or ranges from which every episode draws one."""
    known = [*defaults._fields, *OTHERS]
    if not isinstance(given, Mapping):
        raise SpaqlError(f"the parameters of {name} are names with values ({', '.join(known)}), not {_short(given)}")
    for key in given:
        if key not in known:
            raise SpaqlError(f"{name} has no parameter {_short(key)}: choose among {', '.join(known)}")
    values = {key: value_of(key, given[key], *ranges.get(key, USUAL)) for key in defaults._fields if key in given}
    for key in fixed:
        if isinstance(values.get(key), Between):
            raise SpaqlError(f"{key} is the range of the actions of {name}, the same in every episode: give one number, not {values[key]}")
    return defaults._replace(**values)


def widest(p: Any) -> Any:
    """The named tuple with the high end of every range: axes made for it hold the states of every episode."""
    return p._replace(**{key: value.high for key, value in p._asdict().items() if isinstance(value, Between)})


def horizon(given: Mapping[str, Any], default: int) -> int:
    return whole("horizon", given.get("horizon", default), 1, 10**6)


def process_noise(given: Mapping[str, Any], variables: Sequence[str]) -> dict[str, float]:
    """Standard deviations by state variable, zeros left out."""
    told = given.get("process_noise", {})
    if not isinstance(told, Mapping):
        raise SpaqlError(f"process_noise gives standard deviations by name ({', '.join(variables)}), not {_short(told)}")
    return _spreads("process_noise", told, variables)


def observation_noise(given: Mapping[str, Any], axes: Sequence[Axis]) -> dict[str, float]:
    """Standard deviations by observed variable, zeros left out; from a number, that fraction of every range."""
    told, names = given.get("observation_noise", {}), [axis.name for axis in axes]
    if isinstance(told, Mapping):
        return _spreads("observation_noise", told, names)
    fraction = real(f"observation_noise, a fraction of the ranges, or standard deviations by name ({', '.join(names)}),", told, 0.0, 1.0)
    unbounded = [axis.name for axis in axes if axis.slope is not None]
    if unbounded:
        raise SpaqlError(
            f"observation_noise={fraction:g}: {' and '.join(unbounded)} have no range to take a fraction of; "
            f"give standard deviations by name, observation_noise={{{names[0]!r}: ...}} ({', '.join(names)})"
        )
    return {axis.name: fraction * (axis.high - axis.low) for axis in axes if fraction > 0.0}


def _spreads(what: str, told: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
    """In the order of the variables; angular_velocity means 'angular velocity'."""
    by_name: dict[str, float] = {}
    for key, value in told.items():
        name = key.replace("_", " ") if isinstance(key, str) else key
        if name not in names or name in by_name:
            reason = "twice the variable" if name in names else "no variable"
            raise SpaqlError(f"{what}: {reason} {_short(key)}; choose among {', '.join(names)}")
        by_name[name] = real(f"{what} of {name}, a standard deviation,", value, 0.0, MOST_NOISE)
    return {name: by_name[name] for name in names if by_name.get(name, 0.0) > 0.0}


def of_a_file(name: str, env_id: str | None, given: Any) -> dict[str, Any]:
    """What a file tells, checked as if a user had given it: nothing in it reaches Gymnasium that is not a parameter of that problem."""
    if given == {}:
        return {}
    if name not in CATALOG or env_id not in (None, CATALOG[name].env_id):
        raise SpaqlError(f"parameters go with the problems of the catalog, not with {_short(name)}")
    return dict(make_from_catalog(name, given).parameters)


def told(parameters: Mapping[str, Any]) -> str:
    """In one line: m=2, l=0.9..1.1, process_noise(velocity=0.1)."""
    return ", ".join(f"{key}{_told(value)}" for key, value in parameters.items())


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({told(value)})"
    return f"={value}" if isinstance(value, Between) else f"={value:.6g}"


def plain(value: Any) -> Any:
    """What JSON cannot write, as it is written in files: a range, a number of NumPy."""
    if isinstance(value, Between):
        return asdict(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be written to a file")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
