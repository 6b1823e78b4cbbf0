"""When episodes of trials are cut."""

import pytest

from spaql.laws.atlas_trials import STINT, Stint, stint_at


@pytest.mark.parametrize(("samples", "steps"), [(40, STINT), (160, STINT), (400, 100), (2000, 500)])
def test_an_episode_is_a_quarter_of_all_samples_or_as_long_as_the_first_ones(samples, steps):
    driver = Stint(stint_at(samples))
    assert [driver.over(h) for h in (0, steps - 2, steps - 1)] == [False, False, True]
