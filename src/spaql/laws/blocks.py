"""Polishing a large tree a few numbers at a time.

Sixty numbers at once are too many for CMA-ES to learn how they belong together before the budget ends. Most of that
is known: a test belongs to the laws on its two sides, a law to the tests that lead to it. So blocks of a dozen numbers
take turns: a test with what stands below it, then a leaf with its path. Every four cycles steps are halved, and
episodes doubled.
"""

import numpy as np

from spaql.laws.lock_step import Task
from spaql.laws.optimisers import CMA
from spaql.laws.search import FINE_STEP, Search
from spaql.laws.tidy import POLISH_GENERATIONS
from spaql.laws.vector import Free, numbers_of, steps_of
from spaql.plants.plant import LANES
from spaql.trees.tree import LEAF, Tree, path_to

BLOCK_CYCLES = 10
BLOCK_EPISODES = LANES  # per candidate: as many as run side by side; eight times as many decide whether it is kept


def refine(search: Search, tree: Tree, cycles: int = BLOCK_CYCLES) -> None:
    """The tree goes to the judge after each cycle: the budget may end."""
    means = [-np.inf] * 2
    for cycle in range(cycles):
        blocks = _blocks(tree, below=cycle % 2 == 0)
        for at in search.rng.permutation(len(blocks)):
            tree = _improved(search, tree, blocks[at], 2 ** (cycle // 4))
        task = search.task(tree, 0, cma=True)
        search.judge(task)
        means.append(max(means[-1], task.mean))
        if means[-1] == means[-3]:  # a cycle of either kind in vain
            return


def _blocks(tree: Tree, below: bool) -> list[list[int]]:
    """Nodes whose numbers move together."""
    feature, low, high = (tree.nodes[name].tolist() for name in ("feature", "low", "high"))
    if below and tree.n_leaves > 1:
        return [[node, low[node], high[node]] for node in range(len(feature)) if feature[node] != LEAF]
    leaves = [node for node in range(len(feature)) if feature[node] == LEAF]
    return [[leaf, *(node for node, _ in path_to(tree, leaf))] for leaf in leaves]


def _improved(search: Search, tree: Tree, nodes: list[int], finer: int) -> Tree:
    """Some generations of one block, kept if better on episodes of their own. `finer`: how many times as careful."""
    free, mine = search.free(tree), np.zeros(len(tree.nodes), bool)
    mine[nodes] = True
    block = Free(
        free.weights & mine[:, None], free.cuts & mine, free.gains & mine[:, None, None], free.offsets & mine[:, None]
    )
    x = numbers_of(tree, block)
    if len(x) == 0:
        return tree
    task = Task(tree, block, CMA(x, steps_of(tree, block), search.rng, search.tried(POLISH_GENERATIONS, 4)))
    task.optimiser.sigma = FINE_STEP / finer
    generations = max(1, round(POLISH_GENERATIONS * min(1.0, search.effort)))
    search.advance(task, generations, search.count(finer * BLOCK_EPISODES, 2), False)
    seeds = search.episodes(search.count(8 * finer * BLOCK_EPISODES, 4))
    after, before = search.values([task.best, tree], seeds)
    return task.best if after > before else tree
