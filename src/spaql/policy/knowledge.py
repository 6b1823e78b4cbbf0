"""What learning knew when a policy was made: all that `why`, tables, pages, exports and `compress` ask of a learner.

A learner gives its policies one object below `Knowledge`; the trees made from a table keep the one of the table.
Nobody else needs to know which learner it was.
"""

from dataclasses import dataclass
from typing import NamedTuple

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


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is asked about the origin of a policy.

    As it stands here: of a policy that was made by hand or read from a file. Nobody knows values or visits.
    """

    learner: str = ""  # its name; empty: nothing was learned
    seed: int = 0  # of the learner
    samples: Samples = Samples()  # noqa: RUF009  (what learning took; a tuple)
    table: KnownTable | None = None  # as learned; None if nobody knows one
    model: object | None = None  # a learned model to search in instead of the plant (see `compress.in_model`)
    step: int = 0  # of a learner with one policy per time step: the step this one belongs to
    per_step: bool = False  # whether the learner has one policy per time step
    unvisited: str = "the action is a default, not a choice"  # what it rests on where no training step was made

    def opinion(self, observation: Array) -> Opinion:
        """The actions the learner tells apart at an observation, with their values."""
        return Opinion((), None)

    def visits(self, rules: Tree) -> Array | None:
        """Training steps behind each leaf of a tree, from left to right; None if they cannot be told."""
        return None if self.table is None else table_visits(self.table, rules)

    def exact(self) -> Tree:
        """The smallest tree we can find that does exactly what the table does."""
        raise AssertionError("without a table there is nothing to be exact about")


def table_visits(table: KnownTable, rules: Tree) -> Array | None:
    """Training steps behind each leaf, if the rules are those of the table."""
    if rules is not table.rules:
        return None
    counts: Array = table.rows.visits[table.row_of_node[rules.leaves()]]
    return counts
