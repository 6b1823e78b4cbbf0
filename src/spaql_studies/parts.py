"""Studies: runs that belong together, with their tables, figures and a section of the page.

To add a study, make a module and add a line to `EXPERIMENTS` below:

1. The module `spaql_studies.NAME` has `STUDY = Study("NAME", experiments, tables, sections, ...)`; laws.py is
   an example. A benchmark, learners on problems with so many samples, needs no more than its tasks and the columns of
   its table: benchmark.py.
2. An `Experiment(name, title, problems, specs)` for each word after `spaql reproduce --only`. `specs(problem, effort,
   finished)` lists the runs on a problem as `Spec`s: fewer and shorter ones if `effort.quick`, with `effort.seeds`
   agents if that number is given. `finished` has the runs of parts that the experiment `needs`; most need none.
   - `Spec(problem, algorithm, seed, iterations, rollouts, fresh, options)` for learners by iterations; `rollouts` of
     the problem are `CATALOG[problem].rollouts`. `options` are pairs, such as `(("xi", 2.0),)`: not a dict.
   - `Spec(problem, algorithm, seed, 0, 0, fresh, options, checkpoints)` for learners by samples: the run ends at the
     last checkpoint, so that `(2000,)` is a run of 2000 samples.
   - Seeds from 1000 on for what is reported, because tuning uses seeds below 100: `seeds_of(effort)` of
     benchmark.py gives them. Only the paper's study counts from 0 and tunes from 100,000 on.
   - The same Spec in two studies is one run in the store.
3. `tables(results)` makes a `Table` from `results.runs(experiment, problem)` for everything there are runs for.
4. A `Section(anchor, heading, words, tables=None, figures=True)` shows them on the page.

Plans, store, progress, report, page, terminal and help text follow. To add a figure, write a function
`draw(figure, results)` that returns the caption, and a `Drawing(name, title, draw, height)` in the `figures` of its
study; figures are numbered in order. `sweep` is no study in this sense: its runs are those that somebody asks for.
"""

import functools
from collections.abc import Iterable, Sequence
from importlib import import_module

from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.catalog import CATALOG
from spaql_studies.runs.spec import Spec
from spaql_studies.study import Effort, Experiment, Finished, Part, Study, part_of

# The module of each study, and its words after `spaql reproduce --only`: help needs them before anything is loaded
EXPERIMENTS = {
    "paper": ("scaling", "main", "tuned", "random", "trpo"),
    "atlas": ("atlas", "rivals"),
    "results": ("results",),
    "laws": ("laws", "mujoco", "box2d"),
    "few": ("few",),
    "foreign": ("foreign",),
    "boards": ("boards",),
}


@functools.cache
def studies() -> tuple[Study, ...]:
    """All studies, in the order of the page."""
    return tuple(import_module(f"spaql_studies.{name}").STUDY for name in EXPERIMENTS)


@functools.cache
def experiments() -> dict[str, Experiment]:
    """The experiments of all studies by name."""
    return {experiment.name: experiment for study in studies() for experiment in study.experiments}


@functools.cache
def all_parts() -> tuple[Part, ...]:
    """The parts of all studies, in the order of computing."""
    return tuple(part for experiment in experiments().values() for part in experiment.parts)


# What tables and figures call the problems
TITLES = {name: entry.title for name, entry in CATALOG.items()}


# -- which of them, and in which order ---------------------------------------------------------------------------------


def chosen_parts(names: Sequence[str], tuned: bool = False) -> list[Part]:
    """The parts meant by `--only` and `--tuned`; without names those that are computed by default."""
    chosen: dict[Part, None] = {}
    for name in names or [experiment.name for experiment in experiments().values() if experiment.by_default]:
        words = (name, *experiments()[name].along) if name in experiments() else ()
        meant = [part for part in all_parts() if part.experiment in words or part == part_of(name)]
        if not meant:
            known = ", ".join(experiments())
            raise SpaqlError(
                f"unknown experiment {echoed(name)}: choose from {known} or one part of them, such as {all_parts()[0]}"
            )
        for part in meant:
            instead = experiments()[part.experiment].tuned if tuned else ""
            chosen[Part(instead or part.experiment, part.problem)] = None
    return in_order(chosen)


def in_order(some: Iterable[Part]) -> list[Part]:
    """Parts in the order of computing, which is that of the page."""
    return sorted(some, key=all_parts().index)


def needed_parts(some: Iterable[Part]) -> list[Part]:
    """The parts that must be finished before the runs of these parts are known."""
    return in_order({needed for part in some for needed in experiments()[part.experiment].needs(part.problem)})


def stages_of(some: Sequence[Part]) -> list[list[Part]]:
    """The parts in the order in which they can be computed: what others need comes first, with all of its
    experiment."""
    needed = needed_parts(some)
    if not needed:
        return [list(some)]
    early = {part.experiment for part in needed}
    first = list(dict.fromkeys([*needed, *(part for part in some if part.experiment in early)]))
    return [first, [part for part in some if part not in first]]


def specs_of(part: Part, effort: Effort, finished: Finished | None = None) -> list[Spec]:
    """All runs of a part; `finished`: the runs of the parts it needs."""
    return experiments()[part.experiment].specs(part.problem, effort, finished or {})


def title_of(part: Part) -> str:
    """A part as people read it."""
    experiment = experiments()[part.experiment]
    return experiment.other_parts.get(part.problem) or f"{TITLES[part.problem]}: {experiment.title}"
