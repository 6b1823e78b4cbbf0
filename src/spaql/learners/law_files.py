"""Law trees in agent files: all trees of a frontier in a few flat arrays. Nothing in a file is trusted."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import FAR
from spaql.plants.problem import Problem
from spaql.policy.outputs import make_laws
from spaql.trees.laws import SCORES, THRESHOLD
from spaql.trees.tree import NODE, Tree, make_tree

# -- the trees found so far, by size: as the search left them, and as they were made readable --------------------------

WORTH = 0.3  # of the tolerance: what more leaves must bring


@dataclass(frozen=True, eq=False)
class ScoredTree:
    """A tree and its mean return: in units on the episodes of the choice, or tidy on those of the confirmation."""

    tree: Tree
    mean: float


@dataclass
class Frontier:
    """By number of leaves. `raw` trees are in units, for the search to go on from; `tidy` ones are for people."""

    raw: dict[int, ScoredTree] = field(default_factory=dict)
    tidy: dict[int, ScoredTree] = field(default_factory=dict)

    def parent(self, leaves: int) -> Tree | None:
        """The best raw tree with fewer leaves."""
        smaller = [entry for size, entry in self.raw.items() if size < leaves]
        return max(smaller, key=lambda entry: entry.mean).tree if smaller else None

    def monotone(self, tolerance: float) -> list[ScoredTree]:
        """The tidy trees, smallest first, without those that are not better than a smaller one.

        On the same episodes, so that a part of what does not count between two trees of one size shows who is better.
        """
        kept: list[ScoredTree] = []
        for leaves in sorted(self.tidy):
            entry = self.tidy[leaves]
            if not kept or entry.mean > kept[-1].mean + WORTH * tolerance:
                kept.append(entry)
        return kept


MOST_TREES = 200
HEAD = ("number", "nodes", "kind")  # of a tree: a number (whether it is tidy), its nodes, the kind of its laws


def arrays_of(frontier: Frontier) -> dict[str, Array]:
    """Of the raw trees of a frontier, then of the tidy ones."""
    by_kind = enumerate((frontier.raw, frontier.tidy))
    return packed([(kind, entry) for kind, entries in by_kind for entry in entries.values()])


def packed(entries: Sequence[tuple[int, ScoredTree]]) -> dict[str, Array]:
    """Heads and means of trees, each with a number that belongs to it, and the rows of all their nodes."""
    heads = [(number, len(entry.tree.nodes), _kind(entry.tree)) for number, entry in entries]
    rows = [row for _, entry in entries for row in _rows(entry.tree)]
    return {
        "heads": np.array(heads, np.int32).reshape(-1, len(HEAD)),
        "means": np.array([entry.mean for _, entry in entries]),
        "rows": np.concatenate(rows) if rows else np.zeros(0),
    }


def _kind(tree: Tree) -> int:
    """-1 without laws."""
    return -1 if tree.laws is None else tree.laws.kind


def _rows(tree: Tree) -> list[Array]:
    """All numbers of a tree, flat."""
    nodes = tree.nodes
    parts = [nodes["cut"], *(nodes[name].astype(float) for name in ("feature", "low", "high"))]
    parts += [tree.weights.ravel()]
    laws = tree.laws
    return parts + ([tree.actions.ravel()] if laws is None else [laws.gains.ravel(), laws.offsets.ravel()])


def restored(arrays: dict[str, Array], problem: Problem) -> Frontier:
    """The frontier of a file."""
    frontier = Frontier()
    for tidy, entry in unpacked(arrays, problem):
        (frontier.tidy if tidy else frontier.raw)[entry.tree.n_leaves] = entry
    return frontier


def finite(arrays: dict[str, Array], name: str, axes: int, what: str) -> Array:
    """An array of numbers of a file, with so many axes."""
    array = arrays[name]
    if array.dtype != np.float64 or array.ndim != axes or not np.isfinite(array).all():
        raise ValueError(f"its {what} malformed")
    return array


def unpacked(arrays: dict[str, Array], problem: Problem) -> list[tuple[int, ScoredTree]]:
    """What `packed` has written."""
    heads, means, rows = arrays["heads"], finite(arrays, "means", 1, "mean returns are"), arrays["rows"]
    if heads.dtype != np.int32 or heads.ndim != 2 or heads.shape[1] != len(HEAD) or len(heads) > MOST_TREES:
        raise ValueError("its trees are malformed")
    if len(means) != len(heads):
        raise ValueError("its mean returns are malformed")
    if rows.dtype != np.float64 or rows.ndim != 1 or not (np.abs(rows) <= FAR).all():
        raise ValueError(f"its trees are malformed: their numbers must be finite, and at most {FAR:g}")
    entries, at = [], 0
    for (number, nodes, kind), mean in zip(heads.tolist(), means.tolist(), strict=True):
        tree, at = _tree(rows, at, nodes, kind, problem)
        entries.append((number, ScoredTree(tree, mean)))
    if at != len(rows):
        raise ValueError("its trees are malformed")
    return entries


def lessons_of_file(arrays: dict[str, Array], width: int) -> tuple[Array, Array, Array]:
    """What a teacher did, its returns, and those of the best tree; older files have none of it."""
    lessons = {"taught": np.zeros((0, 0)), "exams": np.zeros((1, 0))} | arrays
    taught, exams = (finite(lessons, name, 2, "lessons are") for name in ("taught", "exams"))
    if taught.shape[1] != (width if len(taught) else 0) or len(exams) not in (1, 2):
        raise ValueError("its lessons are malformed")
    return taught, exams[0], exams[1] if len(exams) == 2 else np.zeros(0)


def _tree(rows: Array, at: int, n: int, kind: int, problem: Problem) -> tuple[Tree, int]:
    d, axes = len(problem.state), problem.actions.axes
    outputs = len(problem.actions.values) if kind == SCORES else 1 if kind == THRESHOLD else axes
    sizes = [n, n, n, n, n * d, *([n * axes] if kind < 0 else [n * outputs * d, n * outputs])]
    if not 1 <= n <= 1000 or at + sum(sizes) > len(rows):
        raise ValueError("its trees are malformed")
    parts = []
    for size in sizes:
        parts.append(rows[at : at + size])
        at += size
    nodes = np.zeros(n, NODE)
    nodes["cut"] = parts[0]
    for name, part in zip(("feature", "low", "high"), parts[1:4], strict=True):
        if (np.abs(part) > 2**20).any() or (part != np.round(part)).any():
            raise ValueError("its trees are malformed")
        nodes[name] = part.astype(np.int32)
    weights = parts[4].reshape(n, d)
    if kind < 0:
        return make_tree(nodes, parts[5].reshape(n, axes), d, weights), at
    laws = make_laws(parts[5].reshape(n, outputs, d), parts[6].reshape(n, outputs), problem.actions, kind)
    return make_tree(nodes, np.zeros((n, axes)), d, weights, laws), at
