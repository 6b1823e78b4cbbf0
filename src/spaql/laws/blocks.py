"""Polishing a large tree a few numbers at a time.

Sixty numbers at once are too many for CMA-ES to learn how they belong together before the budget ends. Most of that is
known: a test belongs to the laws on its two sides, a law to the tests that lead to it. So blocks of a dozen numbers
take turns: a test with what stands below it, then a leaf with its path.
"""

from collections.abc import Sequence

import numpy as np

from spaql.laws.cma import CMA
from spaql.laws.search import Search, Task
from spaql.laws.vector import Free, all_free, numbers_of, steps_of
from spaql.trees.tree import LEAF, Tree, path_to

Cycle = tuple[float, int, int]  # part of the usual steps, episodes per candidate, episodes of the verdict
CYCLES: tuple[Cycle, ...] = (*[(0.3, 128, 1024)] * 2, *[(0.15, 256, 2048)] * 4, *[(0.08, 512, 2048)] * 4)
IN_VAIN = 2  # cycles in a row, one of each kind: a tree that they do not improve is done
GENERATIONS = 12  # of a block
POPULATION = 12


def refine(search: Search, tree: Tree, cycles: Sequence[Cycle] = CYCLES) -> None:
    """The tree goes to the judge after each cycle: the budget may end."""
    before = [-np.inf] * IN_VAIN
    for number, (part, episodes, verdict) in enumerate(cycles):
        groups = _groups(tree, below=number % 2 == 0)
        for at in search.rng.permutation(len(groups)):
            tree = _improved(search, tree, groups[at], (part, episodes, verdict))
        free = all_free(tree, search.units.live)
        x = numbers_of(tree, free)
        task = Task(tree, free, CMA(x, steps_of(tree, free), search.rng, POPULATION))
        search.judge(task)
        before.append(max(before[-1], task.mean))
        if before[-1] == before[-1 - IN_VAIN]:
            return


def _groups(tree: Tree, below: bool) -> list[list[int]]:
    """Nodes whose numbers move together."""
    feature, low, high = (tree.nodes[name].tolist() for name in ("feature", "low", "high"))
    if below and tree.n_leaves > 1:
        return [[node, low[node], high[node]] for node in range(len(feature)) if feature[node] != LEAF]
    leaves = [node for node in range(len(feature)) if feature[node] == LEAF]
    return [[leaf, *(node for node, _ in path_to(tree, leaf))] for leaf in leaves]


def _improved(search: Search, tree: Tree, nodes: list[int], cycle: Cycle) -> Tree:
    """Some generations of one block, kept if better on episodes of their own."""
    part, episodes, verdict = cycle
    free, mine = all_free(tree, search.units.live), np.zeros(len(tree.nodes), bool)
    mine[nodes] = True
    block = Free(
        free.weights & mine[:, None], free.cuts & mine, free.gains & mine[:, None, None], free.offsets & mine[:, None]
    )
    x = numbers_of(tree, block)
    if len(x) == 0:
        return tree
    task = Task(tree, block, CMA(x, steps_of(tree, block), search.rng, search.count(POPULATION, 4)))
    task.optimiser.sigma = part
    search.advance(task, search.count(GENERATIONS, 1), search.count(episodes, 2), False)
    seeds = search.episodes(search.count(verdict, 4))
    return task.best if search.value(task.best, seeds) > search.value(tree, seeds) else tree
