"""CMA-ES and augmented random search climb: on a plain hill, on a narrow ridge, and in noise."""

import numpy as np
import pytest

from spaql.laws.optimisers import ARS, CMA

BEST = np.array([1.0, -2.0, 0.5, 3.0])
BOTH = pytest.mark.parametrize("kind", [CMA, ARS])


def climbed(kind, value, generations, seed=0, n=4):
    optimiser = kind(np.zeros(n), np.full(n, 0.5), np.random.default_rng(seed), 16)
    for _ in range(generations):
        optimiser.tell(np.array([value(x) for x in optimiser.ask()]))
    return optimiser.mean


@BOTH
def test_a_hill_is_climbed(kind):
    np.testing.assert_allclose(climbed(kind, lambda x: -((x - BEST) ** 2).sum(), 300), BEST, atol=0.1)


def test_cma_climbs_a_ridge_a_thousand_times_as_narrow_as_it_is_long():
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    steep = np.array([1.0, 10.0, 100.0, 1000.0])
    found = climbed(CMA, lambda x: -(steep * (turn @ (x - BEST)) ** 2).sum(), 300)
    np.testing.assert_allclose(found, BEST, atol=1e-3)


def test_with_many_numbers_cma_adapts_the_diagonal_alone():
    n = 100
    found = climbed(CMA, lambda x: -((x - 1.0) ** 2 * np.linspace(1, 50, n)).sum(), 1500, n=n)
    np.testing.assert_allclose(found, 1.0, atol=0.2)


@BOTH
def test_noise_as_large_as_the_hill_is_averaged_out(kind):
    noise = np.random.default_rng(5)
    found = climbed(kind, lambda x: -((x - BEST) ** 2).sum() + noise.normal(), 400)
    assert ((found - BEST) ** 2).sum() < 0.1 * (BEST**2).sum()


@BOTH
def test_the_same_seed_takes_the_same_steps(kind):
    def value(x):
        return -np.abs(x - 1.0).sum()

    assert climbed(kind, value, 20, 3).tobytes() == climbed(kind, value, 20, 3).tobytes()
    assert climbed(kind, value, 20, 3).tobytes() != climbed(kind, value, 20, 4).tobytes()


@BOTH
def test_values_that_are_all_the_same_lead_nowhere(kind):
    assert np.isfinite(climbed(kind, lambda x: 0.0, 50)).all()
