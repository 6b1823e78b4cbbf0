"""The dyadic grid in which coverage is counted."""

import numpy as np

from spaql.arrays import Array

PER_CELL = 4  # samples per cell, if the samples were spread evenly: decides how fine the grid is
FINEST = 5  # halvings per variable at most


def depth_of(samples: int, d: int) -> int:
    """Halvings per variable of the grid for `samples` samples."""
    fine = 1
    while fine < FINEST and 2.0 ** ((fine + 1) * d) <= samples / PER_CELL:
        fine += 1
    return fine


def cells_of(points: Array, depth: int) -> Array:
    """The cell of every point: whole numbers (n, d)."""
    made: Array = np.minimum((points * 2**depth).astype(np.int64), 2**depth - 1)
    return made
