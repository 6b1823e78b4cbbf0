"""The trees found so far, by size: as the search left them, and as they were made readable."""

from dataclasses import dataclass, field

from spaql.trees.tree import Tree

WORTH = 0.3  # of the tolerance: what more leaves must bring


@dataclass(frozen=True, eq=False)
class Entry:
    """A tree and its mean return: in units on the episodes of the choice, or tidy on those of the confirmation."""

    tree: Tree
    mean: float


@dataclass
class Frontier:
    """By number of leaves. `raw` trees are in units, for the search to go on from; `tidy` ones are for people."""

    raw: dict[int, Entry] = field(default_factory=dict)
    tidy: dict[int, Entry] = field(default_factory=dict)

    def parent(self, leaves: int) -> Tree | None:
        """The best raw tree with fewer leaves."""
        smaller = [entry for size, entry in self.raw.items() if size < leaves]
        return max(smaller, key=lambda entry: entry.mean).tree if smaller else None

    def monotone(self, tolerance: float) -> list[Entry]:
        """The tidy trees, smallest first, without those that are not better than a smaller one.

        On the same episodes, so that a part of what does not count between two trees of one size shows who is better.
        """
        kept: list[Entry] = []
        for leaves in sorted(self.tidy):
            entry = self.tidy[leaves]
            if not kept or entry.mean > kept[-1].mean + WORTH * tolerance:
                kept.append(entry)
        return kept
