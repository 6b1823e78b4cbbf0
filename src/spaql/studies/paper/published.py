"""The published results: "Control with adaptive Q-learning", Araújo, Figueiredo and Ayala Botto."""

import functools
import json
from importlib.resources import files
from typing import Any


@functools.cache
def paper() -> Any:
    """Protocol, tables and remarks, as in `paper_results.json`."""
    return json.loads(files("spaql.studies.paper").joinpath("paper_results.json").read_text("utf-8"))


def published(problem: str, algorithm: str, what: str = "reward") -> tuple[float, float] | None:
    """Mean and half-width of the 95 % interval over 20 agents: "reward" or "arms".

    None if the paper has no such number.
    """
    entry = paper().get(problem, {}).get(algorithm, {})
    return tuple(entry[what]) if what in entry else None
