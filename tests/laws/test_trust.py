"""What the model says about a controller, in numbers."""

import numpy as np
import pytest

from spaql.laws.trust import Trust

RETURNS = np.random.default_rng(0).normal(-150.0, 90.0, (8, 50))


def trust(begun, returns=RETURNS):
    return Trust(1000, begun, returns, -1200.0, None, {}, {})


def width(one):
    low, high = one.mean_interval
    return high - low


def test_few_beginnings_say_little_about_the_mean():
    assert width(trust(4)) > 2 * width(trust(16)) > 0
    low, high = trust(15).mean_interval
    assert low < -150.0 < high
    assert width(trust(15)) == pytest.approx(2 * 2.14 * 90.0 / np.sqrt(15), rel=0.25)


def test_functions_that_differ_say_little_about_it_either():
    apart = RETURNS + np.linspace(-100, 100, 8)[:, None]
    assert width(trust(1000, apart)) > 5 * width(trust(1000))


def test_it_is_said_with_the_number_of_beginnings():
    assert "on average (95 %, 15 starts seen: -2" in str(trust(15))
