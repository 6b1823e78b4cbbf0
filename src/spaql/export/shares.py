"""Shares of time in exports: of leaves in words, of all nodes as the width of lines."""

import numpy as np

from spaql.arrays import Array
from spaql.policy.policy import Policy
from spaql.policy.words import share_of_time
from spaql.trees.regions import summed

THIN = 1.0  # width of a line that is never used
MORE = 5.0  # what a line that is always used has more
UNKNOWN = 1.4  # width where nothing is known


def shares(policy: Policy, wanted: bool = True) -> dict[int, str]:
    """By leaf, in words; empty if they are not wanted or not known."""
    if not wanted or not policy.problem.can_run:
        return {}
    return {int(leaf): share_of_time(float(policy.share[leaf])) for leaf in policy.rules.leaves()}


def passing(policy: Policy, wanted: bool = True) -> Array:
    """By node, the share of time in which the state passes through it; NaN if it is not wanted or not known."""
    return summed(policy.rules, policy.share) if wanted else np.full(len(policy.rules.nodes), np.nan)


def width(part: float) -> str:
    """Of a line."""
    return f"{THIN + MORE * part if np.isfinite(part) else UNKNOWN:.2f}"
