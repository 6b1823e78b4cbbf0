"""Growing a tree best first: the part that gains most by a split is split next.

Cells of Atlas (`learners.atlas.cells`) are grown in the same order by a compiled loop, because there are thousands of
them per plan.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import TypeVar

Part = TypeVar("Part")
Split = TypeVar("Split")


def best_first(
    root: Part,
    offer: Callable[[Part], tuple[float, Split] | None],
    divide: Callable[[Part, Split], tuple[Part, Part] | None],
) -> Iterator[None]:
    """Yields after every split; of equal gains, the part that was offered first is split first.

    `offer`: the gain of a part and its best split, None if it is to stay whole; `divide`: its two parts, None if the
    split does not divide it after all.
    """
    heap: list[tuple[float, int, Part, Split]] = []
    offered = itertools.count()

    def push(part: Part) -> None:
        found = offer(part)
        if found is not None:
            heapq.heappush(heap, (-found[0], next(offered), part, found[1]))

    push(root)
    while heap:
        _, _, part, split = heapq.heappop(heap)
        halves = divide(part, split)
        if halves is not None:
            for half in halves:
                push(half)
            yield
