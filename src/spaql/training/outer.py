"""The outer loop of SPAQL: temperature, best agent, resets.

The rules of the published program (`temperature_rule="published"`) and of the paper's pseudocode ("paper"), as a function on a few
numbers, so that they can be tested without a plant or a tree.
"""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import entry

TAU, U, BEST_RETURN, BEST_ARMS, MARK, SPLITS, TRAIN_SAMPLES, EVAL_SAMPLES = range(8)
GO_ON, KEEP, RESET = 0, 1, 2  # what to do with the trainee
MAX_TAU = 1e300


def new_outer(tau_min: float, u: float) -> Array:
    """BEST_RETURN is NaN until the untrained agent has been evaluated."""
    return np.array([tau_min, u, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0])


@entry
def begin(outer: Array, evaluation: float, arms: int) -> None:
    """The agent before its first iteration is the best so far."""
    outer[BEST_RETURN], outer[BEST_ARMS], outer[MARK], outer[SPLITS] = evaluation, arms, arms, 0


@entry
def judge(outer: Array, evaluation: float, arms: int, splits: int, tau_min: float, d: float, published: bool) -> int:
    """After an iteration: the trainee has `arms` leaves, made `splits` splits in it and evaluates to `evaluation`."""
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
