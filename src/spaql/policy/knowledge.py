"""What learning knew when a policy was made: all that `why`, tables, pages, exports and `compress` ask of a learner.

A learner gives its policies one object below `Knowledge`; the trees made from a table keep the one of the table.
Nobody else needs to know which learner it was. Below: the table of a policy, a row per region, that shows it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.policy.words import number, share_of_time
from spaql.trees.laws import SCORES
from spaql.trees.tree import Tree, leaf_of

if TYPE_CHECKING:
    from spaql.policy.policy import Policy


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


# -- the policy as a table: one row per region -------------------------------------------------------------------------


def known(policy: "Policy") -> dict[str, Array]:
    """What learning knows about each leaf of the rules, in their order: value, runner-up, margin, visits.

    A table knows its own cells. A tree knows the cells of its table where the closed loop goes: of the states seen in a
    leaf the mean value, margin and visits; NaN where none was seen. Where training steps can be counted, visits are all
    those made in the leaf.
    """
    leaves, axes, table = policy.rules.leaves(), policy.rules.actions.shape[1], policy.knowledge.table
    unknown = np.full(len(leaves), np.nan)
    facts = dict.fromkeys(("q", "margin", "visits"), unknown) | {"runner_up": np.full((len(leaves), axes), np.nan)}
    if table is None:
        return facts
    rows = table.rows
    if policy.rules is table.rules:
        index = table.row_of_node[leaves]
        return {name: getattr(rows, name)[index] for name in facts}
    counted, usage = policy.knowledge.visits(policy.rules), policy.usage
    q, margin, visits = unknown.copy(), unknown.copy(), unknown.copy() if counted is None else counted
    if usage is not None:
        inside = leaf_of(policy.rules, usage.states)
        cell = table.row_of_node[leaf_of(table.rules, usage.states)]
        for i, leaf in enumerate(leaves):
            members = cell[inside == leaf]
            if len(members):
                q[i], margin[i] = rows.q[members].mean(), rows.margin[members].mean()
                if counted is None:
                    visits[i] = rows.visits[members].mean()
    return facts | {"q": q, "margin": margin, "visits": visits}


def policy_table(policy: "Policy") -> Any:
    """See `Policy.table`."""
    import pandas as pd

    leaves, (low, high), words = policy.rules.leaves(), policy.bounds(), policy.words
    columns: dict[str, Any] = {}
    for j, (name, unit) in enumerate(zip(words.names, words.units, strict=True)):
        label = f"{name} ({unit})" if unit else name
        columns[f"{label} from"], columns[f"{label} to"] = low[leaves, j], high[leaves, j]
    facts = known(policy)
    if policy.has_laws:
        columns |= _law_columns(policy, leaves)
    else:
        for k, name in enumerate(words.action_names):
            columns[name] = policy.rules.actions[leaves, k]
    columns["Q"] = facts["q"]
    for k, name in enumerate(words.action_names):
        columns[f"runner-up {name}"] = facts["runner_up"][:, k]
    columns |= {"margin": facts["margin"], "visits": facts["visits"], "share of time": policy.share[leaves]}
    table = pd.DataFrame(columns)
    table.index = pd.RangeIndex(1, len(table) + 1, name="region")
    return table


def _law_columns(policy: "Policy", leaves: Array) -> dict[str, Any]:
    """Tests that are no bounds, the law of each axis of the action in words, and all its coefficients as numbers."""
    words, laws = policy.words, policy.rules.laws
    assert laws is not None
    columns: dict[str, Any] = {}
    if policy.rules.oblique:
        columns["tests"] = [
            " and ".join(words.test(node, high) for node, high in words.regions[leaf].oblique)
            for leaf in leaves.tolist()
        ]
    for axis, name in enumerate(words.action_names):
        columns[name] = [words.law(leaf, axis) for leaf in leaves.tolist()]
    for output, name in enumerate(score_names(policy)):
        for j, variable in enumerate(words.names):
            columns[f"{name}: gain of {variable}"] = laws.gains[leaves, output, j]
        columns[f"{name}: constant"] = laws.offsets[leaves, output]
    return columns


def score_names(policy: "Policy") -> list[str]:
    """What the scores of laws are called: by the axis of the action, or by the action they stand for."""
    laws, words = policy.rules.laws, policy.words
    if laws is None or laws.kind != SCORES:
        return words.action_names
    return [f"{words.action_names[0]} = {words.applied_value(0, value)}" for value in laws.values.tolist()]


def bare_table(**options: Any) -> Any:
    """A table for a terminal, without lines around it."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), **options)


def rich_table(policy: "Policy", rows: int = 20, width: int = 120) -> Any:
    """The regions the closed loop uses most, for a terminal of this width: no cell is broken.

    Where there is no room for all columns, those that say least go; where there is not even room for a column per
    variable, the bounds of a region stand below each other.
    """
    from rich.text import Text

    leaves, words = policy.rules.leaves(), policy.words
    share, facts = policy.share[leaves], known(policy)
    order = np.argsort(-np.nan_to_num(share, nan=0.0), kind="stable")[:rows]
    shown = bare_table()
    if policy.has_laws:
        return _law_rows(policy, shown, [(int(leaves[i]), float(share[i])) for i in order])
    time = {"time": [share_of_time(float(share[i])) or "–" for i in order]}
    applied = {
        _headed(name, unit): [words.applied_value(axis, float(policy.rules.actions[leaves[i], axis])) for i in order]
        for axis, (name, unit) in enumerate(zip(words.action_names, words.action_units, strict=True))
    }
    bounds = _bound_columns(policy, [int(leaves[i]) for i in order])
    values = {name: [_cell(facts[key][i]) for i in order] for name, key in (("Q", "q"), ("margin", "margin"))}
    visits = {"visits": ["–" if np.isnan(facts["visits"][i]) else f"{facts['visits'][i]:,.0f}" for i in order]}
    for extra in (values | visits, values, {"Q": values["Q"]}, {}):
        columns = time | applied | bounds | extra
        if sum(_wide(heading, cells) + 1 for heading, cells in columns.items()) + len(columns) + 1 <= width:
            break
    else:
        rules = {"if": ["\nand ".join(words.rule(int(leaves[i]))) or "always" for i in order]}
        columns = time | applied | rules
    for heading in columns:  # as text: brackets are no markup
        shown.add_column(Text(heading), justify="left" if heading == "if" else "right", no_wrap=True)
    for cells in zip(*columns.values(), strict=True):
        shown.add_row(*map(Text, cells))
    return shown


def _headed(name: str, unit: str) -> str:
    return f"{name}\n[{unit}]" if unit else name


def _wide(heading: str, cells: list[str]) -> int:
    return max(map(len, [*heading.split("\n"), *cells]))


def _cell(value: float) -> str:
    return "–" if np.isnan(value) else number(float(value))


def _bound_columns(policy: "Policy", leaves: list[int]) -> dict[str, list[str]]:
    """By heading: the interval of a variable in each leaf."""
    (low, high), words = policy.bounds(), policy.words
    return {
        _headed(name, unit): [f"{words.bound(j, low[leaf, j])} … {words.bound(j, high[leaf, j])}" for leaf in leaves]
        for j, (name, unit) in enumerate(zip(words.names, words.units, strict=True))
    }


def _law_rows(policy: "Policy", shown: Any, rows: list[tuple[int, float]]) -> Any:
    """Laws are long: each has a row with what must hold, instead of a column per variable."""
    from rich.text import Text

    words = policy.words
    several = policy.n_leaves > 1
    for heading, justify in (("time", "right"), ("law", "left"), ("if", "left"))[: 3 if several else 2]:
        shown.add_column(heading, justify=justify, vertical="top")
    for leaf, share in rows:
        rule, laws = "\nand ".join(words.rule(leaf)), "\n".join(words.leaf_lines(leaf))
        shown.add_row(share_of_time(share) or "–", Text(laws), *([Text(rule)] if several else []))
    return shown
