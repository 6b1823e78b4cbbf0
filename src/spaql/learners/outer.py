"""The outer loop of SPAQL: temperature, best agent, resets.

The rules of the published program (`temperature_rule="published"`) and of the paper's pseudocode ("paper"), as a
function on a few numbers, so that they can be tested without a plant or a tree.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import entry

# entries of `outer`, the numbers of the outer loop
TAU = 0  # temperature
U = 1  # growth of the temperature
BEST_RETURN = 2  # best evaluation so far
BEST_ARMS = 3  # arms of the best agent
MARK = 4  # published rule: arms after the first split since the best agent
SPLITS = 5  # paper's rule: splits since the best agent or the last reset
TRAIN_SAMPLES = 6  # steps learned from so far
EVAL_SAMPLES = 7  # steps spent on evaluation so far
# what to do with the trainee
GO_ON = 0
KEEP = 1  # it becomes the best agent
RESET = 2  # the best agent takes its place
MAX_TAU = 1e300  # so that the temperature stays finite


class Cooling(NamedTuple):
    """How the temperature changes."""

    tau_min: float
    d: float  # exponent that damps the growth after every improvement
    published: bool  # by the rule of the published program, else by the paper's


def new_outer(tau_min: float, u: float) -> Array:
    """BEST_RETURN is NaN until the untrained agent has been evaluated."""
    return np.array([tau_min, u, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0])


@entry
def begin(outer: Array, evaluation: float, arms: int) -> None:
    """The agent before its first iteration is the best so far."""
    outer[BEST_RETURN], outer[BEST_ARMS], outer[MARK], outer[SPLITS] = evaluation, arms, arms, 0


@entry
def judge(outer: Array, evaluation: float, arms: int, splits: int, tau_min: float, d: float, published: bool) -> int:
    """After an iteration with `splits` splits: the trainee has `arms` leaves and evaluates to `evaluation`."""
    outer[SPLITS] += splits
    if outer[MARK] == outer[BEST_ARMS] and arms != outer[MARK]:
        outer[MARK] = arms  # first split since the best agent
    if evaluation >= outer[BEST_RETURN]:
        outer[BEST_RETURN], outer[BEST_ARMS] = evaluation, arms
        outer[TAU], outer[U], outer[SPLITS] = tau_min, outer[U] ** d, 0
        return KEEP
    if published:
        if outer[TAU] < 10.0 and outer[MARK] != outer[BEST_ARMS]:
            outer[TAU] = min(outer[TAU] * outer[U], MAX_TAU)
        reset = outer[MARK] != outer[BEST_ARMS] and arms != outer[MARK]
    else:
        outer[TAU] = min(outer[TAU] * outer[U], MAX_TAU)
        reset = outer[SPLITS] > 2
    if reset:
        outer[MARK], outer[TAU], outer[SPLITS] = outer[BEST_ARMS], tau_min, 0
        return RESET
    return GO_ON
