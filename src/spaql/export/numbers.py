"""Numbers for machines: text that reads back as the same bits. Numbers for people are in `spaql.policy.words`."""

from collections.abc import Callable, Sequence

import numpy as np

from spaql.errors import SpaqlError
from spaql.trees.tree import Tree

LARGEST_SINGLE = float(np.finfo(np.float32).max)


def double(value: float) -> str:
    """The shortest decimal that reads back as the same double."""
    return repr(float(value))


def single(value: float) -> str:
    """The shortest decimal that reads back as the float nearest to the value."""
    if abs(value) > LARGEST_SINGLE:
        raise SpaqlError(f"{value:g} does not fit into single precision: export in double")
    return str(np.float32(value))


def single_at_least(value: float) -> float:
    """The smallest float that is not below.

    `x >= value` and `x >= single_at_least(value)` are the same for every float x.
    """
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(value)
        if float(near) < value:
            near = np.nextafter(near, np.float32(np.inf))
    return float(near) + 0.0  # no negative zero


def weighted_sum(tree: Tree, node: int, words: list[str], literal: Callable[[float], str]) -> str:
    """An oblique test's sum in a program, from left to right, as the policy sums.

    A product with a negative weight is subtracted, which is the same to the bit.
    """
    if tree.laws is not None:
        return affine(tree.weights[node].tolist(), 0.0, words, literal)
    text = ""
    for weight, word in zip(tree.weights[node].tolist(), words, strict=True):
        if weight != 0:
            sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
            text += f"{sign}{literal(abs(weight))} * {word}"
    return text or literal(0.0)


def affine(weights: Sequence[float], offset: float, words: Sequence[str], literal: Callable[[float], str]) -> str:
    """A weighted sum and a constant in a program, in the order in which laws sum.

    Weights of one and zeros are left out, which is the same to the bit, but for the sign of a zero.
    """
    text = ""
    for weight, word in zip((*weights, offset), (*words, ""), strict=True):
        if weight == 0.0:
            continue
        sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
        factor = literal(abs(weight))
        text += sign + (factor if not word else word if abs(weight) == 1.0 else f"{factor} * {word}")
    return text or literal(0.0)
