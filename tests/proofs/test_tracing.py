"""What is traced, and what is refused with its line instead of guessed."""

import math

import numpy as np
import pytest

import spaql
from spaql.proofs.graph import Graph
from spaql.proofs.tracing import paths


def count_of(function, inputs=2):
    return len(paths(function, inputs, Graph()))


def helper(x):
    return x if x > 0.0 else -x


def test_branches_fork_and_helpers_are_traced():
    def step(x, y):
        z = helper(x) + min(x, y, 3.0) ** 2
        return (np.clip(z, -1.0, 1.0) if y > x else math.sin(z),)

    assert count_of(step) == 4


def test_loops_of_known_length_unroll():
    def step(x, y):
        for _ in range(5):
            x = x + 0.1 * y
        return (x,)

    assert count_of(step) == 1


def waits(x, y):
    while x < 1.0:
        x = x + y
    return (x,)


def takes_an_element(x, _y):
    return ((1.0, 2.0)[x],)


def makes_it_whole(x, _y):
    return (float(int(x)),)


def calls_what_is_unknown(x, _y):
    return (math.gamma(x),)


def asks_for_the_kind(x, _y):
    return (x if isinstance(x, float) else 0.0,)


def adds_a_condition(x, y):
    return (x + (x > y),)


def hides_refusals(x, _y):
    try:
        return (float(int(x)),)
    except Exception:
        return (0.0,)


REFUSED = [waits, takes_an_element, makes_it_whole, calls_what_is_unknown, asks_for_the_kind, adds_a_condition]


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_cannot_be_traced_is_refused_with_its_line(function):
    with pytest.raises(spaql.SpaqlError, match=rf"{function.__name__} cannot be traced, line \d+ of test_tracing.py") as told:
        count_of(function)
    assert "\n" not in str(told.value)


def test_a_function_that_may_hide_a_refusal_is_refused():
    with pytest.raises(spaql.SpaqlError, match="`try` or `with`"):
        count_of(hides_refusals)
