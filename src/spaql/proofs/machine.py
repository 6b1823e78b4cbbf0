"""The machine that runs a tape on a box: ranges of all values, derivatives, and how far a double
program may be off.

For every value v of the program and all inputs in the box

    range       low <= v <= high, in real arithmetic and in any double program        (intervals.py)
    slopes      dv/dx_j in [slope_low, slope_high]: forward differentiation in interval arithmetic.
    Of min, max and abs
                where both sides are possible, the hull of both derivatives: Clarke's generalised
                derivative, for which the mean value theorem holds (Clarke 1983, theorem 2.6.5). Of
                floor where it jumps: all numbers
    error       |v of a double program - v of real arithmetic| <= error, of the same inputs: every
    operation hands on
                the errors of its operands by its Lipschitz constant, and adds 2^-52 of its result,
                twice the half ulp

A mean value form speaks about the real function on the whole way from the centre to a state. On
that way the conditions of a path need not hold, so slopes for it are taken with `asks` off:
conditions are not asked, and cut nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, kernel
from spaql.proofs.operations import Registers, refine, slope_of, truth_of, value_of
from spaql.proofs.tape import ASK, CONST, NOT, OUT, TRUE, TRUTH, X

IMPOSSIBLE, POSSIBLE, CERTAIN = 0, 1, 2  # whether the conditions of a path hold in the box


class Result(NamedTuple):
    """What the machine finds, a row per output."""

    box: Array  # (outputs, 2)
    slopes: Array  # (outputs, inputs, 2)
    error: Array
    # whether the path is taken; whether its truth holds (0 no, 1 perhaps, 2 yes); whether all values are finite
    verdict: Array


def registers(length: int, inputs: int) -> Registers:
    numbers, slopes = np.zeros((3, length)), np.zeros((2, length, inputs))
    return Registers(numbers[0], numbers[1], numbers[2], slopes[0], slopes[1])


def result(outputs: int, inputs: int) -> Result:
    return Result(np.zeros((outputs, 2)), np.zeros((outputs, inputs, 2)), np.zeros(outputs), np.zeros(3, np.int64))


@apart
def run(tape: Array, begin: int, end: int, x: Array, slopes: bool, asks: bool, r: Registers, out: Result) -> int:
    """The instructions begin ... end on the box x, (inputs, 2). Returns whether the path is
    taken."""
    inputs, possible = len(x), CERTAIN
    out.verdict[1], out.verdict[2] = 0, 1
    for at in range(begin, end):
        line = tape[at]
        code, n, a = line.code, line.to, line.a
        if code <= CONST:
            r.low[n] = x[a, 0] if code == X else line.constant
            r.high[n] = x[a, 1] if code == X else line.constant
            r.error[n] = 0.0
            if slopes:
                for j in range(inputs):
                    r.slope_low[n, j] = r.slope_high[n, j] = 1.0 if (code == X) & (j == a) else 0.0
        elif code < TRUE:
            low, high, error, slope_low, slope_high = value_of(code, line, r)
            known = low <= high  # NaN where infinities met: nothing is known
            r.low[n], r.high[n] = low if known else -math.inf, high if known else math.inf
            if not (r.low[n] > -math.inf and r.high[n] < math.inf):
                out.verdict[2] = 0
            r.error[n] = error if error >= 0.0 else math.inf
            for j in range(inputs if slopes else 0):
                low, high = 0.0, 0.0
                if (line.inputs >> np.uint64(j)) & np.uint64(1):
                    low, high = slope_of(code, line, r, j, slope_low, slope_high)
                known = low <= high
                r.slope_low[n, j], r.slope_high[n, j] = low if known else -math.inf, high if known else math.inf
        elif code <= NOT:
            r.low[n], r.high[n] = truth_of(code, line, r)
        elif code == OUT:
            out.box[n, 0], out.box[n, 1], out.error[n] = r.low[a], r.high[a], r.error[a]
            for j in range(inputs if slopes else 0):
                out.slopes[n, j, 0], out.slopes[n, j, 1] = r.slope_low[a, j], r.slope_high[a, j]
        elif code == TRUTH:
            out.verdict[1] = 2 if r.low[a] == 1.0 else 0 if r.high[a] == 1.0 else 1
        elif asks and code == ASK:
            answer = line.b == 1
            if (r.high[a] if answer else r.low[a]) == 1.0:
                out.verdict[0] = IMPOSSIBLE
                return IMPOSSIBLE
            if (r.low[a] if answer else r.high[a]) != 1.0:
                possible = POSSIBLE
        elif asks:
            refine(code, line, r)
    out.verdict[0] = possible
    return possible


@kernel
def enclose(tape: Array, begin: int, end: int, x: Array, slopes: bool, asks: bool, r: Registers, out: Result) -> int:
    """`run`, called from Python."""
    return run(tape, begin, end, x, slopes, asks, r, out)
