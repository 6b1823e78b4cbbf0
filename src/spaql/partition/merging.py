"""The greedy policy of any forest, built anew or refreshed where it has changed."""

from spaql.arrays import Array
from spaql.compiling import inlined
from spaql.partition.forest import Forest, Space, root_key
from spaql.partition.greedy import USED, Greedy, Scratch, merge_full, merge_full_after
from spaql.partition.sparse_greedy import merge_sparse, merge_sparse_after
from spaql.plants.chart import Chart


@inlined
def merge_all(forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch) -> None:
    """Build the merged trees of all partitions from nothing."""
    greedy.size[USED] = space.trees
    for tree in range(space.trees):
        greedy.jump[tree] = tree
        greedy.depth[tree] = 0
        scratch.stack[0].ball, scratch.stack[0].key = tree, root_key(space)
        if len(forest.forks) > 0:
            merge_sparse(forest, space, chart, greedy, scratch, tree, tree, 0, 0, 1, -1, 0)
        else:
            merge_full(forest, space, chart, greedy, scratch, tree, tree, 0, 0, 1, -1, 0)


@inlined
def merge_after(forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch, tree: int, path: Array, depth: int) -> None:
    """Refresh the merged tree after the ball of depth `depth` over the state of `path` has changed."""
    if len(forest.forks) > 0:
        merge_sparse_after(forest, space, chart, greedy, scratch, tree, path, depth)
    else:
        merge_full_after(forest, space, chart, greedy, scratch, tree, path, depth)
