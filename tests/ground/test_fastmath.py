"""sin, cos, exp, log, tanh and atan2 of the plants agree with libm to the last bits."""

import math

import numba
import numpy as np
import pytest

from spaql.ground import fastmath

NAMES = ["sin", "cos", "exp", "log", "tanh"]


@numba.njit
def fill(function, x, y):
    for i in range(len(x)):
        y[i] = function(x[i])


def over(name, x):
    x = np.atleast_1d(np.asarray(x, float))
    y = np.empty_like(x)
    fill(getattr(fastmath, name), x, y)
    return y


def spread(low, high, count=20000):
    return np.random.default_rng(7).uniform(low, high, count)


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("reach", [1.0, 10.0, 1e3, 1.6e6])
def test_sine_and_cosine_are_within_1e_15(name, reach):
    x = spread(-reach, reach)
    np.testing.assert_allclose(over(name, x), getattr(np, name)(x), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_at_multiples_of_a_quarter_turn(name):
    x = np.arange(-2000, 2001) * (np.pi / 4)
    np.testing.assert_allclose(over(name, x), getattr(np, name)(x), rtol=0, atol=1e-15)


def test_sine_of_small_angles_is_relatively_exact():
    x = 10.0 ** spread(-300, -1)
    np.testing.assert_allclose(over("sin", x), np.sin(x), rtol=4e-16)


def test_sine_and_cosine_are_symmetric():
    x = spread(0, 100)
    np.testing.assert_array_equal(over("sin", -x), -over("sin", x))
    np.testing.assert_array_equal(over("cos", -x), over("cos", x))


def test_exponential_is_relatively_exact():
    x = spread(-700, 700)
    np.testing.assert_allclose(over("exp", x), np.exp(x), rtol=5e-16)


def test_exponential_at_its_limits():
    assert over("exp", [0.0, -708.5, -1e308, -math.inf]).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert over("exp", [708.5, 1e308, math.inf]).tolist() == [math.inf] * 3
    assert over("exp", 708.0) == pytest.approx(math.exp(708.0), rel=1e-15)


def test_logarithm_is_relatively_exact():
    x = np.concatenate([10.0 ** spread(-307, 308), spread(0, 1), spread(0.5, 2.0), 1.0 + 10.0 ** spread(-16, -1)])
    np.testing.assert_allclose(over("log", x), np.log(x), rtol=5e-16, atol=0)


def test_logarithm_at_its_limits():
    assert over("log", [0.0, -0.0, 1.0, math.inf]).tolist() == [-math.inf, -math.inf, 0.0, math.inf]
    assert np.isnan(over("log", [-1.0, -1e-320, -math.inf])).all()
    for x in (5e-324, 1e-310, 2.2250738585072014e-308, 1.7976931348623157e308):
        assert over("log", x) == pytest.approx(math.log(x), rel=1e-15)


def test_hyperbolic_tangent_is_within_1e_15():
    x = np.concatenate([spread(-1, 1), spread(-30, 30), [-1e308, 1e308]])
    np.testing.assert_allclose(over("tanh", x), np.tanh(x), rtol=0, atol=1e-15)
    assert over("tanh", [math.inf, -math.inf, 0.0]).tolist() == [1.0, -1.0, 0.0]


def test_short_formula_of_the_hyperbolic_tangent_is_exact_where_it_is_used():
    x = np.concatenate([spread(-fastmath.SMALL, fastmath.SMALL), [-fastmath.SMALL, 0.0, fastmath.SMALL]])
    np.testing.assert_allclose(over("tanh_small", x), np.tanh(x), rtol=5e-16, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_not_a_number_stays_not_a_number(name):
    assert math.isnan(over(name, math.nan)[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_gives_the_bits_of_its_elements(name):
    x = spread(-20, 20, 1001)
    together = over(name, x)
    np.testing.assert_array_equal(together, np.concatenate([over(name, value) for value in x]))


@numba.njit
def fill_angles(y, x, angles):
    for i in range(len(y)):
        angles[i] = fastmath.atan2(y[i], x[i])


def angles_of(y, x):
    angles = np.empty(len(y))
    fill_angles(np.asarray(y, float), np.asarray(x, float), angles)
    return angles


def test_angles_of_points_are_within_1e_15():
    rng = np.random.default_rng(7)
    near, far = rng.normal(size=(2, 20000)), 10 ** rng.uniform(-300, 300, (2, 20000)) * rng.choice([-1, 1], (2, 20000))
    for y, x in (near, far):
        np.testing.assert_allclose(angles_of(y, x), np.arctan2(y, x), rtol=1e-15, atol=0)


def test_angles_at_zeros_infinities_and_nan_have_the_signs_of_c():
    values = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
    y, x = np.array([(a, b) for a in values for b in values]).T
    angles, expected = angles_of(y, x), np.arctan2(y, x)
    np.testing.assert_allclose(angles, expected, rtol=1e-15, atol=0)
    np.testing.assert_array_equal(np.signbit(angles[~np.isnan(angles)]), np.signbit(expected[~np.isnan(expected)]))
