"""How observations of any environment are mapped into the cube."""

import numpy as np
import pytest

import spaql
from gym_envs import Line, Wide
from helpers import from_cube
from spaql.plants.chart import to_cube


def mapped(problem, observation):
    x = np.empty(len(problem.state))
    assert to_cube(problem.chart(), np.asarray(observation, float), x) == -1
    return x


def test_bounded_variables_are_mapped_linearly():
    problem = spaql.from_gym(Line(-4.0, 8.0), horizon=5)
    assert problem.map_samples == 0
    assert [mapped(problem, [o])[0] for o in (-4.0, 2.0, 8.0)] == [-1.0, 0.0, 1.0]


def test_unbounded_variables_are_measured_in_random_episodes():
    problem = spaql.from_gym(Wide(), horizon=20)
    first, second, third = problem.state
    assert 1 / 100 < first.slope < 1 / 20
    assert abs(first.centre) < 20
    assert 1 / 10 < second.slope < 1 / 2
    assert 990 < second.centre < 1010
    assert third.slope > 0
    assert third.centre == 7.0
    assert problem.map_samples > 0


def test_measuring_gives_the_same_map_every_time():
    assert spaql.from_gym(Wide(), horizon=20).state == spaql.from_gym(Wide(), horizon=20).state


def test_measuring_an_environment_that_writes_over_its_last_observation_gives_the_same_map():
    class Reuses(Wide):
        def __init__(self):
            super().__init__()
            self.shown = np.empty(3)

        def see(self):
            self.shown[:] = super().see()
            return self.shown

    assert spaql.from_gym(Reuses(), horizon=20).state == spaql.from_gym(Wide(), horizon=20).state


def test_measuring_counts_as_training():
    problem = spaql.from_gym(Wide(), horizon=20)
    history = spaql.SPAQL(problem, seed=1).learn(2, rollouts=1)
    assert history.train_samples.tolist() == [problem.map_samples + 20, problem.map_samples + 40]


def test_given_slopes_are_taken():
    problem = spaql.from_gym(Wide(), horizon=20, slopes=[0.01, 0.001, 0.1])
    assert [axis.slope for axis in problem.state] == [0.01, 0.001, 0.1]
    assert problem.map_samples == 0
    assert mapped(problem, [50.0, 0.0, 0.0])[0] == pytest.approx(np.tanh(0.5), rel=1e-14)


def test_only_the_variables_without_slope_or_bounds_are_measured():
    problem = spaql.from_gym(Wide(), horizon=20, slopes=[0.01, None, None], state_low=[None, None, 0], state_high=[None, None, 10])
    assert problem.state[0].slope == 0.01
    assert problem.state[1].slope is not None
    assert (problem.state[2].low, problem.state[2].high, problem.state[2].slope) == (0, 10, None)


def test_given_bounds_replace_missing_ones():
    problem = spaql.from_gym(Wide(), horizon=20, state_low=[-100, 980, 0], state_high=[100, 1020, 14])
    assert problem.map_samples == 0
    np.testing.assert_array_equal(mapped(problem, [50, 1010, 7]), [0.5, 0.5, 0.0])
    spaql.SPAQL(problem, seed=1).learn(2, rollouts=1)


def test_given_bounds_replace_declared_ones():
    problem = spaql.from_gym(Line(), horizon=5, state_low=[-2.0], state_high=[2.0])
    assert mapped(problem, [1.0]).tolist() == [0.5]


def test_a_slope_can_replace_declared_bounds():
    problem = spaql.from_gym(Line(), horizon=5, slopes=[3.0])
    assert mapped(problem, [0.5])[0] == pytest.approx(np.tanh(1.5), rel=1e-14)


def test_a_bound_of_float32s_maximum_is_no_bound():
    largest = float(np.finfo(np.float32).max)
    assert spaql.from_gym(Line(-largest, largest), horizon=5).state[0].slope is not None


def test_observations_outside_given_bounds_are_an_error():
    problem = spaql.from_gym(Line(), horizon=20, state_low=[-0.01], state_high=[0.01])
    with pytest.raises(spaql.SpaqlError, match=r"x0 = .* outside the map -0.01 ... 0.01.*clip=True"):
        spaql.SPAQL(problem, seed=1).learn(3)


@pytest.mark.parametrize("learner", [spaql.SPAQL, spaql.AQL, spaql.NBQL, spaql.ZoomRL, spaql.Random])
def test_clip_moves_them_to_the_edge(learner):
    problem = spaql.from_gym(Line(), horizon=20, state_low=[-0.01], state_high=[0.01], clip=True)
    assert mapped(problem, [0.7]).tolist() == [1.0]
    agent = learner(problem, seed=1)
    assert len(agent.learn(3, rollouts=2)) == 3
    if learner is not spaql.Random:
        np.testing.assert_array_equal(agent.predict([5.0])[0], agent.predict([0.01])[0])


def test_maps_can_be_inverted():
    problem = spaql.from_gym(Wide(), horizon=20, slopes=[0.01, None, None], state_low=[None, None, 0], state_high=[None, None, 10])
    observation = np.array([[12.0, 1003.0, 7.0], [-250.0, 990.0, 0.5]])
    back = from_cube(problem.chart(), np.array([mapped(problem, o) for o in observation]))
    np.testing.assert_allclose(back, observation, rtol=1e-12)


def test_float32_roundings_outside_a_bound_are_not_an_error():
    agent = spaql.SPAQL(spaql.from_gym(Line(-0.1, 0.1), horizon=5))
    agent.predict(np.array([np.float64(np.float32(0.1)) + 1e-9]))
