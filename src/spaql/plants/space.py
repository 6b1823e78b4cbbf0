"""Sizes of a problem, as kernels need them, and how large they may be."""

from typing import NamedTuple

MAX_AXES = 4  # continuous action axes: their key has k * MAX_DEPTH <= 63 bits
MAX_SPLIT = 1 << 14  # children of one split


class Space(NamedTuple):
    """Sizes of the problem, as the kernels need them."""

    d: int  # state dimensions
    k: int  # continuous action axes, 0 for a finite set
    m: int  # actions of a finite set, 0 if continuous
    horizon: int
    trees: int
    cut: int = 2  # parts a split makes of a list of actions: two halves, or more than 2 for single actions
