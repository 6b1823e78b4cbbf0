"""What learning knew when a policy was made: all that `why`, tables, pages, exports and `compress` ask of a learner.

A learner gives its policies one object that answers `Knowledge`; the trees made from a table keep the one of the table.
Nobody else needs to know which learner it was.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from spaql.ground.arrays import Array
from spaql.trees.tree import Tree


@dataclass(frozen=True, eq=False)
class KnownRows:
    """What learning knows about each cell of a table."""

    action: Array  # (cells, axes), physical: what is applied there
    q: Array  # the value of that action
    visits: Array  # training steps behind it
    runner_up: Array  # (cells, axes): the best other action, NaN if there is none
    runner_up_q: Array

    @property
    def margin(self) -> Array:
        """How much better the action is than the runner-up."""
        margin: Array = self.q - self.runner_up_q
        return margin


@dataclass(frozen=True, eq=False)
class KnownTable:
    """The policy as it was learned: a tree whose leaves are cells, and what is known about the cells."""

    rules: Tree
    row_of_node: Array  # by node of the rules: its row in `rows`; -1 at tests
    rows: KnownRows


class Choice(NamedTuple):
    """An action that the learner tells apart from others at one observation."""

    action: Array
    q: float
    after: Array | None = None  # the next observation a learned model expects; None if there is no model


class Opinion(NamedTuple):
    """What the learner thinks at one observation."""

    choices: tuple[Choice, ...]  # best first; empty where the learner knows nothing
    visits: int | None  # training steps behind the best choice, if they are known for this very observation


class Samples(NamedTuple):
    """Steps of the plant up to the time when the policy was made."""

    training: int = 0
    evaluation: int = 0  # to choose the best agent


NONE = Samples()


class Knowledge(Protocol):
    """What is asked about the origin of a policy."""

    @property
    def learner(self) -> str:
        """The name of the learner; empty if nothing was learned."""

    @property
    def seed(self) -> int:
        """The seed of the learner."""

    @property
    def step(self) -> int:
        """Of a learner with one policy per time step: the step this one belongs to; else 0."""

    @property
    def per_step(self) -> bool:
        """Whether the learner has one policy per time step."""

    @property
    def samples(self) -> Samples:
        """What learning took."""

    @property
    def table(self) -> KnownTable | None:
        """The table as learned; None if nobody knows one."""

    @property
    def model(self) -> object | None:
        """A learned model to search in instead of the plant (see `compress.in_model`), or None."""

    @property
    def unvisited(self) -> str:
        """What an action rests on where no training step was made, for people."""

    def opinion(self, observation: Array) -> Opinion:
        """The actions the learner tells apart at an observation, with their values."""

    def visits(self, rules: Tree) -> Array | None:
        """Training steps behind each leaf of a tree, from left to right; None if they cannot be told."""

    def exact(self) -> Tree:
        """The smallest tree we can find that does exactly what the table does."""


@dataclass(frozen=True)
class Nothing:
    """Of a policy that was made by hand or read from a file: nobody knows values or visits."""

    step: int = 0
    learner: str = ""
    seed: int = 0
    per_step: bool = False
    samples: Samples = NONE
    table: KnownTable | None = None
    model: object | None = None
    unvisited: str = "the action is a default, not a choice"

    def opinion(self, observation: Array) -> Opinion:
        return Opinion((), None)

    def visits(self, rules: Tree) -> Array | None:
        return None

    def exact(self) -> Tree:
        raise AssertionError("without a table there is nothing to be exact about")


NOTHING = Nothing()


def table_visits(table: KnownTable, rules: Tree) -> Array | None:
    """Training steps behind each leaf, if the rules are those of the table."""
    if rules is not table.rules:
        return None
    counts: Array = table.rows.visits[table.row_of_node[rules.leaves()]]
    return counts
