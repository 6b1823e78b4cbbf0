"""One run of an experiment: what it is, and the key under which its result is kept."""

import functools
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spaql.learners.registry import CARDS, Card, rivals
from spaql.plants.catalog import CATALOG

# -- which sources decide about the bits of a run: all that the module which computes runs imports, directly or not ----
#
# Import statements are read, not executed. Imports inside functions count too, because learners load their loops when
# they are called, and so does a text such as "spaql.training.loop:Loop"; imports under `if TYPE_CHECKING` do not. Two
# lists are written by hand, and tests/runs/test_sources.py compares them with the modules that real runs load:
#
# - `UNUSED`: folders that are imported only inside functions which no run calls, such as `Agent.replay`.
# - `NAMED`: folders whose catalogs find modules by name. All of their modules count.

HOME = Path(__file__).parents[2]  # of both packages
DECIDING = ("spaql", "spaql_studies/runs")  # folders that may decide about a run
START = "spaql_studies/runs/compute.py"
UNUSED = ("spaql/analysis", "spaql/cli", "spaql/data", "spaql/export", "spaql/report")
NAMED = ("spaql/learners", "spaql/plants")

_TYPES_ONLY = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import (spaql[\w.]*)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from (spaql[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_TEXT = re.compile(r'"(spaql\w*\.[\w.]+):\w+"')


def sources_of(home: Path = HOME, left_out: Sequence[str] = ()) -> list[str]:
    """The files that decide about a run; without the folders and files in `left_out`."""
    paths = (path for folder in DECIDING for path in (home / folder).rglob("*.py"))
    names = {path.relative_to(home).as_posix() for path in paths}
    there = {name for name in names if not _within(name, (*UNUSED, *left_out))}
    ahead = [START, *(name for name in there if _within(name, NAMED))]
    deciding: set[str] = set()
    while ahead:
        name = ahead.pop()
        if name not in deciding:
            deciding.add(name)
            ahead += [file for module in imported_by(home / name) for file in files_of(module) if file in there]
    return sorted(deciding)


def _within(name: str, places: Sequence[str]) -> bool:
    """Whether a file is one of these, or in one of these folders."""
    return any(name == place or name.startswith(f"{place}/") for place in places)


@functools.cache
def imported_by(path: Path) -> frozenset[str]:
    """The names in the import statements of a file: modules of ours, or something in them."""
    text = _TYPES_ONLY.sub("", path.read_text("utf-8"))
    names = {*_IMPORT.findall(text), *_TEXT.findall(text)}
    for module, imported in _FROM.findall(text):
        names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", re.sub(r"#.*| as \w+", "", imported)))}
    return frozenset(names)


@functools.cache
def files_of(module: str) -> tuple[str, ...]:
    """The files that are run when a module is imported: its own, and the `__init__.py` of the packages around it."""
    words = module.split(".")
    folders = ("/".join(words[:depth]) for depth in range(1, len(words) + 1))
    return (*(f"{folder}/__init__.py" for folder in folders), f"{'/'.join(words)}.py")


# -- one run of an experiment: what it is, and the key under which its result is kept ----------------------------------

TREE_SOURCES = ("spaql/compress",)  # of runs with checkpoints by samples alone: they make small trees of their policies

Option = float | int | bool | str


@dataclass(frozen=True)
class Spec:
    """A run is a pure function of these fields and of the code."""

    problem: str
    algorithm: str
    seed: int
    iterations: int
    rollouts: int  # evaluation rollouts per iteration
    fresh: int  # episodes of the re-evaluation on fresh seeds
    options: tuple[tuple[str, Option], ...] = ()  # keyword arguments of the learner
    checkpoints: tuple[int, ...] = ()  # numbers of samples at which the agent is evaluated; the last ends the run
    leaves: int = 0  # of the small tree made at the last checkpoints; 0: no tree
    oblique: bool = False  # whether tests of that tree may weigh two variables
    parameters: str = ""  # of the problem, where they are not the usual ones, as JSON: '{"m": 2.0}'; of a Gymnasium
    # id the keywords of `from_gym`: '{"flatten": true}'

    @property
    def xi(self) -> float | None:
        xi = dict(self.options).get("xi")
        return None if xi is None else float(xi)

    @property
    def code(self) -> str:
        return code_version(self.algorithm)

    @property
    def key(self) -> str:
        return self.key_by(self.code)

    def key_by(self, code: str) -> str:
        """The key of the run as computed by this version of the code."""
        return _key(self, code)

    @property
    def steps(self) -> float:
        """Plant steps that the run will take at most: the unit of the progress bars."""
        horizon = float(CATALOG[self.problem].horizon if self.problem in CATALOG else 200)
        if self.checkpoints:
            evaluations = horizon * self.fresh * len(self.checkpoints)
            return CARDS[self.algorithm].sample_cost * self.checkpoints[-1] + evaluations
        return horizon * (self.iterations * (self.rollouts + 1) + self.fresh)

    def __str__(self) -> str:
        texts = ((name, f"{value:g}" if isinstance(value, float) else value) for name, value in self.options)
        options = "".join(f", {name} = {text}" for name, text in texts)
        changed = f" with {self.parameters}" if self.parameters else ""
        return f"{self.algorithm} on {self.problem}{changed}{options}, seed {self.seed}"


@functools.lru_cache(10_000)  # asked for by everybody who handles a run: the store, its claims, the runner
def _key(spec: Spec, code: str) -> str:
    fields = asdict(spec)
    if not spec.checkpoints:  # the same key as before there were checkpoints
        fields = {name: value for name, value in fields.items() if name not in ("checkpoints", "leaves")}
    for name in ("oblique", "parameters"):  # the same key as before there were these fields
        if not fields[name]:
            del fields[name]
    text = json.dumps(fields | {"code": code}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def spec_from(data: dict[str, Any]) -> Spec:
    """A Spec from its JSON form."""
    options = tuple((str(name), value) for name, value in data["options"])
    spec = Spec(**(data | {"options": options, "checkpoints": tuple(data.get("checkpoints", ()))}))
    counts = (spec.seed, spec.iterations, spec.rollouts, spec.fresh, spec.leaves, *spec.checkpoints)
    good = all(isinstance(value, float | int | bool | str) for _, value in options)
    named = all(isinstance(text, str) for text in (spec.problem, spec.algorithm, spec.parameters))
    if not good or not named or not all(isinstance(n, int) for n in counts):
        raise ValueError(f"not a run: {data}")
    return spec


def sources(algorithm: str) -> list[str]:
    """The source files that decide about the results of an algorithm."""
    card = CARDS[algorithm]
    strangers = {_file_of(rival) for rival in rivals()} - {_file_of(card)}
    unused = () if card.learns_by == "samples" and not card.rival else TREE_SOURCES
    return sources_of(left_out=[*strangers, *unused])


def _file_of(card: Card) -> str:
    """The file that a card calls the home of its learner or rival."""
    return card.home.split(":")[0].replace(".", "/") + ".py"


@functools.cache
def code_version(algorithm: str) -> str:
    """Hash of the sources that decide about the results of an algorithm. Versions of libraries are not in it."""
    digest = hashlib.sha256()
    for name in sources(algorithm):
        digest.update(name.encode() + b"\0" + (HOME / name).read_bytes())
    return digest.hexdigest()[:12]
