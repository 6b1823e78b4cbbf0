"""Options of a learner are declared once: a field of its class with a default, a line for people, and a check.

    @learner
    class AQL(ForestAgent):
        xi: float | None = option("scale of the bonus (default: the paper's)", number(0.0, HUGE), default=None)

The constructor, its checks, the list in the class's docstring, `agent.options`, `--option` with its help, sweeps and
the tables of the docs follow from that line. None as the default means that the learner finds a value for the problem.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

from spaql.ground.checks import choice, flag, real, whole
from spaql.ground.errors import SpaqlError, echoed

Check = Callable[[str, Any], Any]  # takes the option's name and its value, returns the value or raises a SpaqlError
Class = TypeVar("Class")
ABOUT = "about"
CHECK = "check"


def option(about: str, check: Check | None = None, *, default: Any) -> Any:
    """A field of a learner's class: a line that explains it, and a check of its value."""
    return field(default=default, metadata={ABOUT: about, CHECK: check})


def number(low: float = -math.inf, high: float = math.inf, *, above: bool = False) -> Check:
    """A finite number in [low, high], or strictly above low."""
    return lambda name, value: real(name, value, low, high, above)


def count(low: int, high: int = 2**62) -> Check:
    """A whole number in [low, high]."""
    return lambda name, value: whole(name, value, low, high)


def one_of(*words: str) -> Check:
    return lambda name, value: choice(name, value, words)


switch: Check = flag


def names(name: str, value: Any) -> tuple[str, ...]:
    """Names, or a text of names with commas between them."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not parts or not all(isinstance(part, str) and part for part in parts):
        raise SpaqlError(f"{name} is a list of names, not {echoed(value)}")
    return tuple(parts)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(option, field))
def learner(cls: type[Class]) -> type[Class]:
    """Makes a constructor of the options, and lists them in the docstring."""
    decorated = dataclass(kw_only=True, eq=False, repr=False)(cls)
    lines = [f"- `{option.name}`: {option.metadata[ABOUT]}" for option in options_of(decorated)]
    decorated.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", *lines]).rstrip() + "\n"
    return decorated


def options_of(cls: type) -> list[Field[Any]]:
    """The fields of a learner's class that are options."""
    return [entry for entry in fields(cls) if ABOUT in entry.metadata]


def checked(entry: Field[Any], value: Any) -> Any:
    """The value of an option; None, where it is the default, is left for the learner to replace."""
    check: Check | None = entry.metadata[CHECK]
    return value if check is None or (value is None and entry.default is None) else check(entry.name, value)


def typed(text: str) -> int | float | bool | str:
    """The value of an option as somebody types it."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
