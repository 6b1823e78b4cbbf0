"""What a study is: its parts and experiments, and how its results are shown.

Data and functions; `spaql_studies.parts` says how to add one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, NamedTuple

from spaql.analysis.style import WIDTH
from spaql_studies.runs.rows import Run
from spaql_studies.runs.spec import Spec
from spaql_studies.tables import NOTHING, Table, span


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
        runs = self.parts.get(Part(experiment, problem), [])
        return [run for run in runs if algorithm is None or run.algorithm == algorithm]


# -- experiments, and how their results are shown ----------------------------------------------------------------------

Fact = tuple[str, str]  # a heading and a text, or a value and its name
Finished = Mapping[Part, Sequence[Run]]  # the runs of the parts that an experiment needs
Tables = Mapping[str, list[Table]]  # by study
Draw = Callable[[Any, Results], str | None]


def lengths_of(runs: Sequence[Run]) -> tuple[str, str]:
    """Training episodes, or samples, and evaluation rollouts of a part."""
    rollouts = span(run.rollouts for run in runs)
    if not all(len(run.checkpoints) for run in runs):
        return span(run.iterations for run in runs), rollouts
    samples = f"{span(int(run.checkpoints[-1]) for run in runs)} samples"
    return samples, NOTHING if rollouts == "0" else rollouts


@dataclass(frozen=True)
class Published:
    """Runs of an experiment that come with the package, because computing them needs an extra."""

    module: str  # the module without which they cannot be computed
    needed_by: str  # the subject of the sentence "... the extra"
    label: str  # of their column in the table of versions
    beside: tuple[str, ...] = ()  # experiments beside whose runs they are shown; none: beside anything
    extra: str = "trpo"  # of the package, with which they can be computed


class Extra(NamedTuple):
    """An extra of the package, without which a part cannot be computed."""

    module: str  # that comes with it
    name: str

    @property
    def there(self) -> bool:
        return find_spec(self.module) is not None


@dataclass(frozen=True)
class Experiment:
    """Runs of one kind on some problems: one part per problem."""

    name: str  # the word after `spaql reproduce --only`, without a hyphen
    title: str  # in progress bars and in the page's table of parts
    problems: tuple[str, ...]  # names of the catalog
    specs: Callable[[str, Effort, Finished], list[Spec]]  # the runs on a problem
    other_parts: Mapping[str, str] = field(default_factory=dict)  # parts that are not about one problem: name and title
    by_default: bool = False  # computed if there is no `--only`
    # parts to be finished before the runs on a problem are known
    needs: Callable[[str], tuple[Part, ...]] = lambda problem: ()
    along: tuple[str, ...] = ()  # experiments that its word means too
    extras: Mapping[str, Extra] = field(default_factory=dict)  # of problems that need one
    tuned: str = ""  # the experiment that takes the place of this one with `--tuned`
    published: Published | None = None  # if runs come with the package
    lengths: Callable[[Sequence[Run]], tuple[str, str]] = lengths_of  # training and evaluation, for the table of parts

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(self.name, problem) for problem in (*self.problems, *self.other_parts))


@dataclass(frozen=True)
class Drawing:
    """A figure to draw. The number of the figure is its place among all drawings of all studies."""

    name: str  # of its files, after the number
    title: str
    draw: Draw  # `draw(figure, results)` returns the caption, or None without data
    height: float  # in inches
    width: float = WIDTH  # in inches


@dataclass(frozen=True)
class Section:
    """A section of the page. It is left out if there is nothing to show in it."""

    anchor: str  # for links
    heading: str
    words: str = ""  # the paragraph below the heading
    tables: tuple[str, ...] | None = ()  # names of the tables shown; None: those that no other section shows
    figures: bool = False  # whether the figures of the study stand here, before the tables
    curves: bool = False  # whether its learning curves stand here, to be looked at with the mouse
    captions: bool = True  # False for a single table under a heading that says the same


@dataclass(frozen=True)
class Agents:
    """Agents that differ in nothing but their seed."""

    label: str
    algorithm: str
    runs: list[Run]
    dashes: str  # strokes and gaps of their curve, in pixels
    paper: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # published values: "best_seen", "arms"


@dataclass(frozen=True)
class Compared:
    """All agents of a study on a problem: their curves, and a list of every one of them."""

    problem: str
    title: str
    groups: list[Agents]
    curves: bool = True  # False if none of them learns


InTerminal = Callable[[Table, bool], Table | None]


def terminal_view(hidden: Sequence[str] = (), narrow: tuple[str, ...] = (), always: tuple[str, ...] = ()) -> InTerminal:
    """How tables are shown in a terminal, roomy or not.

    `hidden`: tables that are too wide. Columns whose headings begin like one in `always` are left out, in a narrow
    terminal those in `narrow` too.
    """

    def shown(table: Table, roomy: bool) -> Table | None:
        if table.name in hidden:
            return None
        left_out = always if roomy else always + narrow
        kept = [column for column in table.columns if not column.heading.startswith(left_out)]
        return replace(table, columns=tuple(kept))

    return shown


AS_IT_IS = terminal_view()


@dataclass(frozen=True)
class Study:
    """Everything about a study. Only the first four fields are needed."""

    name: str  # of its folder
    experiments: tuple[Experiment, ...]  # what is computed
    tables: Callable[[Results], list[Table]]  # those there are runs for
    sections: tuple[Section, ...]  # of the page
    title: str = ""  # of a page with runs of this study
    opening: str = ""  # a sentence at the top of such a page
    figures: tuple[Drawing, ...] = ()  # in the order of their numbers
    in_terminal: InTerminal = AS_IT_IS  # a table in a terminal, roomy or not; None: left out
    # agents whose curves and returns the page lists
    compared: Callable[[Results], list[Compared]] = lambda results: []
    # from the tables of the study: the end of the page's summary, and values with their names
    verdict: Callable[[Sequence[Table]], str] = lambda tables: ""
    key_figures: Callable[[Sequence[Table]], list[Fact]] = lambda tables: []
    # what to know before believing a number: heading and text
    remarks: Callable[[Results], list[Fact]] = lambda results: []
