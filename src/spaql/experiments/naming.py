"""Learners and their options by name, as they are typed."""

import inspect
from typing import TYPE_CHECKING

from spaql.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.learners.agent import Agent


def learner_of(algorithm: str) -> "type[Agent]":
    from spaql.files import ALGORITHMS

    classes = {name.lower(): cls for name, cls in ALGORITHMS.items()}
    if algorithm.lower() not in classes:
        raise SpaqlError(f"unknown algorithm {algorithm!r}: choose one of {', '.join(classes)}")
    return classes[algorithm.lower()]


def options_of(learner: "type[Agent]") -> list[str]:
    """The names of a learner's options."""
    return [name for name in inspect.signature(learner.__init__).parameters if name not in ("self", "problem", "seed")]


def value_of(text: str) -> int | float | bool | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
