"""A law that does about what is wanted at some states: least squares, with scores that saturate at -1 and 1.

Where a law and what it is to explain are beyond the same end there is no error, so such states are left out of the next
fit, again and again.
"""

import math

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel

RIDGE = 1e-3  # times the number of states
MIN_LEAF_STATES = 20
SATURATED_SCORE = 0.99


def fit(inputs: Array, scores: Array, weights: Array, rounds: int) -> tuple[Array, float]:
    """Gains with the offset last, (variables + 1, outputs), and the squared error of the saturated scores."""
    size, outputs = inputs.shape[1], scores.shape[1]
    law = np.zeros((outputs, size))
    error = _fit(inputs, scores, weights, rounds, law, np.zeros((size, size)), np.zeros(len(inputs), bool))
    return law.T.copy(), error


@kernel
def _fit(inputs: Array, scores: Array, weights: Array, rounds: int, law: Array, left: Array, kept: Array) -> float:
    """`fit`: fills (outputs, variables + 1) gains. `left`, `kept`: memory for the normal equations and their states."""
    n, size = inputs.shape
    ridge, error = RIDGE * n, 0.0
    for output in range(len(law)):
        own = law[output]
        for turn in range(rounds):
            count = 0
            for i in range(n):
                said, score = _said(own, inputs[i]), scores[i, output]
                same = (said > 1.0 and score >= SATURATED_SCORE) or (said < -1.0 and score <= -SATURATED_SCORE)
                kept[i] = turn == 0 or not same
                count += kept[i]
            if turn > 0 and (count == n or count < MIN_LEAF_STATES):
                break
            left[:] = 0.0
            for a in range(size):
                left[a, a], own[a] = ridge, (ridge * own[a] if turn > 0 else 0.0)
            for i in range(n):
                if kept[i]:
                    for a in range(size):
                        weighted = weights[i] * inputs[i, a]
                        own[a] += weighted * scores[i, output]
                        for b in range(a + 1):
                            left[a, b] += weighted * inputs[i, b]
            _solve(left, own)
        for i in range(n):
            wrong = min(max(_said(own, inputs[i]), -1.0), 1.0) - scores[i, output]
            error += weights[i] * wrong * wrong
    return error


@inlined
def _said(law: Array, x: Array) -> float:
    total = 0.0
    for a in range(len(law)):
        total += law[a] * x[a]
    return total


@inlined
def _solve(left: Array, right: Array) -> None:
    """Cholesky's method, in the lower half of `left`, which is positive definite; the solution in `right`."""
    for a in range(len(right)):
        for b in range(a + 1):
            rest = left[a, b]
            for k in range(b):
                rest -= left[a, k] * left[b, k]
            left[a, b] = math.sqrt(rest) if a == b else rest / left[b, b]
    for a in range(len(right)):
        for k in range(a):
            right[a] -= left[a, k] * right[k]
        right[a] /= left[a, a]
    for a in range(len(right) - 1, -1, -1):
        for k in range(a + 1, len(right)):
            right[a] -= left[k, a] * right[k]
        right[a] /= left[a, a]
