"""Parts of studies, how much of them is computed, and their finished runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spaql.plants.catalog import CATALOG
from spaql.runs.rows import Run


class Part(NamedTuple):
    """One experiment on one problem.

    As text, "main-cartpole": its word after `--only`, and the name of its plan in the store.
    """

    experiment: str  # a word without a hyphen
    problem: str  # a name of the catalog, or of another part of the experiment

    def __str__(self) -> str:
        return f"{self.experiment}-{self.problem}"


def part_of(text: str) -> Part:
    """The part with this text."""
    experiment, _, problem = text.partition("-")
    return Part(experiment, problem)


@dataclass(frozen=True)
class Effort:
    """How much of a study is computed."""

    quick: bool = False  # a small but real version
    seeds: int | None = None  # agents of every kind; None: as many as the study has


WHOLE = Effort()
QUICK = Effort(quick=True)


@dataclass(frozen=True)
class Results:
    """Finished runs by part, sorted by algorithm, options and seed: what tables, figures and the page are made from."""

    parts: Mapping[Part, list[Run]]
    plans: Mapping[Part, dict[str, Any]] = field(default_factory=dict)  # as the store keeps them
    missing: Mapping[Part, int] = field(default_factory=dict)  # number of planned runs that the store does not have
    published: frozenset[Part] = frozenset()  # parts whose runs came with the package

    def runs(self, experiment: str, problem: str, algorithm: str | None = None) -> list[Run]:
        found = self.parts.get(Part(experiment, problem), [])
        return [run for run in found if algorithm is None or run.algorithm == algorithm]


# -- what tables and figures call the problems -------------------------------------------------------------------------

TITLES = {name: entry.title for name, entry in CATALOG.items()}
