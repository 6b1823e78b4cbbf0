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
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaql_studies.parts import Part
    from spaql_studies.study import Experiment, Study

# The module of each study, and its words after `spaql reproduce --only`: help needs them before anything is loaded
EXPERIMENTS = {
    "paper": ("scaling", "main", "tuned", "random", "trpo"),
    "atlas": ("atlas", "rivals"),
    "results": ("results",),
    "laws": ("laws", "mujoco", "box2d"),
    "few": ("few",),
    "foreign": ("foreign",),
}


@functools.cache
def studies() -> "tuple[Study, ...]":
    """All studies, in the order of the page."""
    return tuple(import_module(f"spaql_studies.{name}").STUDY for name in EXPERIMENTS)


@functools.cache
def experiments() -> "dict[str, Experiment]":
    """The experiments of all studies by name."""
    return {experiment.name: experiment for study in studies() for experiment in study.experiments}


@functools.cache
def all_parts() -> "tuple[Part, ...]":
    """The parts of all studies, in the order of computing."""
    return tuple(part for experiment in experiments().values() for part in experiment.parts)
