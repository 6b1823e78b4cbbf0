"""The checker's programs against exact fractions: what is only a little too small is noticed (benchmarks/mutants.py)."""

from fractions import Fraction

import numpy as np
import pytest

from spaql.proofs.plant_runs import runs


def made(rng, branches=False):
    """A function of three numbers, of random operations; the same for floats, fractions and the checker."""
    steps = [(int(rng.integers(8)), int(rng.integers(3 + k)), int(rng.integers(3 + k))) for k in range(8)]

    def function(x, y, z):
        values = [x, y, z]
        for code, at, other in steps:
            a, b = values[at], values[other]
            if code < 4:
                values.append(a + b if code == 0 else a - b if code == 1 else a * b if code == 2 else a / b)
            else:
                values.append(min(a, b) if code == 4 else max(a, b) if code == 5 else a * a if code == 6 else abs(a))
        if branches and values[5] > values[0]:
            return (values[-1] - values[1],)
        return (values[-1],)

    return function


def boxes(rng, count):
    middle = rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(-2, 2, (count, 3))
    half = np.abs(middle) * 10.0 ** rng.uniform(-17, 0, (count, 3))
    return np.stack([middle - half, middle + half], axis=2)


def exactly(function, x):
    try:
        return function(*map(Fraction, x))[0]
    except ZeroDivisionError:
        return None


@pytest.mark.parametrize("branches", [False, True])
def test_ranges_and_errors_hold_exact_values_and_those_of_programs(branches):
    rng, close = np.random.default_rng(0), 0
    for _ in range(40):
        function, where = made(rng, branches), boxes(rng, 6)
        ways = list(runs(function, where, False, True))
        for n, box in enumerate(where):
            for x in (box[:, 0], box[:, 1], np.clip(rng.uniform(box[:, 0], box[:, 1]), box[:, 0], box[:, 1])):
                exact = exactly(function, x)
                if exact is None:
                    continue
                program = Fraction(float(function(*x.tolist())[0]))
                said = [value for way, (value,) in ways if way.possible[n] and way.finite[n]]
                if len(said) < sum(bool(way.possible[n]) for way, _ in ways):
                    continue  # not defined everywhere
                held = [value for value in said if value.low[n] <= min(exact, program) and max(exact, program) <= value.high[n]]
                assert held
                assert any(abs(program - exact) <= Fraction(float(value.error[n])) for value in held)
                close += any(value.high[n] - value.low[n] < 1e-14 * abs(value.low[n]) for value in held)
    assert close > 20  # where an ulp decides


def test_slopes_hold_the_mean_value_theorem_exactly():
    rng, tight = np.random.default_rng(1), 0
    for _ in range(80):
        function, where = made(rng), boxes(rng, 4)
        ((way, (value,)),) = runs(function, where, True, False)
        for n, box in enumerate(where):
            c, x = box.mean(axis=1).clip(box[:, 0], box[:, 1]), rng.uniform(box[:, 0], box[:, 1]).clip(box[:, 0], box[:, 1])
            if not way.finite[n]:
                continue
            moved = [Fraction(a) - Fraction(b) for a, b in zip(x, c, strict=True)]
            ends = [sorted((Fraction(float(low)) * d, Fraction(float(high)) * d)) for low, high, d in zip(value.slope[0][n], value.slope[1][n], moved, strict=True)]
            went = exactly(function, x) - exactly(function, c)
            assert sum(low for low, _ in ends) <= went <= sum(high for _, high in ends)
            tight += sum(high - low for low, high in ends) < abs(went) / 1000
    assert tight > 30


def test_an_answer_cuts_no_state_that_gives_it():
    """Of a program that rounds up to 1/2 what is a little less, the real value is still there where it says yes."""
    below, tried = np.nextafter(0.5, 0.0), 0

    def rounded(x, k):
        part = x / k * k
        return (part,) if part >= 0.5 else (0.0 * x,)

    for k in range(3, 200):
        if below / k * k >= 0.5:
            point = np.array([[[below, below], [k, k]]], float)
            said = [value for way, (value,) in runs(rounded, point, False, True) if way.possible[0]]
            assert any(Fraction(float(value.low[0])) <= Fraction(float(below)) <= Fraction(float(value.high[0])) for value in said)
            assert any(value.low[0] <= 0.5 <= value.high[0] for value in said)
            tried += 1
    assert tried > 5


def smaller(a, b):
    return min(a, b)


def larger(a, b):
    return -max(b, a)


def apart(a, b):
    return abs(a - b)


@pytest.mark.parametrize("extreme", [smaller, larger, apart])
def test_where_either_may_be_the_extreme_slopes_are_those_of_both(extreme):
    rng = np.random.default_rng(4)

    def function(x, y, z):
        return (extreme(x * 3.0, y + z),)

    for _ in range(60):
        middle = rng.uniform(0.5, 1.0)
        where = np.array([[middle / 3 - 0.1, middle / 3 + 0.1], [middle - 0.3, middle], [0.0, 0.3]])
        ((_, (value,)),) = runs(function, where[None], True, False)
        c, x = (rng.uniform(where[:, 0], where[:, 1]) for _ in range(2))
        moved = x - c
        ends = np.sort(np.stack([value.slope[0][0] * moved, value.slope[1][0] * moved]), axis=0)
        went = function(*x)[0] - function(*c)[0]
        assert ends[0].sum() - 1e-12 <= went <= ends[1].sum() + 1e-12
