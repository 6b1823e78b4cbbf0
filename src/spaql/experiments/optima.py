"""The best return known of a problem, by hand or by dynamic programming with the true equations: what is left to gain."""

import math

_MOST_OIL = 0.7 + math.pi / 60.0
_SCALE = math.pi**2 + 0.1 * 8.0**2 + 0.001 * 2.0**2  # by which pendulum-scaled divides

OPTIMA = {
    "pendulum": -137.7,  # benchmarks/pendulum_optimum.py, all start states
    "pendulum-5": -137.8,
    "pendulum-scaled": 200.0 - 137.7 / _SCALE,
    "cartpole": 200.0,
    "cartpole-fitted": 200.0,
    "cartpole-500": 500.0,
    "mountain-car": -97.8,  # benchmarks/mountain_car_optimum.py: can be earned, and little more
    "mountain-car-continuous": 99.5,
    "oil-laplace": 5.0 - _MOST_OIL,  # go there at once and stay; see docs/plants.md
    "oil-quadratic": 5.0 - _MOST_OIL + 1.0 / 20.0,
    # Where one waits does not change where the next call comes from: every step by itself, by numbers in tests/test_results_plan.py
    "ambulance": 4.36976,
    "ambulance-uniform": 3.88657,
}
