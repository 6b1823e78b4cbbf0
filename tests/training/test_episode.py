"""A recorded episode is a rollout of `evaluate`, step by step."""

import numpy as np
import pytest

import spaql
from spaql.ground.streams import FRESH_PLANT, plant_seed
from spaql.plants.environment import PlantEnv
from spaql.training.episode import open_at


def test_it_has_one_observation_more_than_actions_in_physical_units():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=0)
    episode = agent.episode()
    assert episode.observations.shape == (201, 3)
    assert episode.actions.shape == (200, 1)
    assert len(episode) == 200
    assert np.abs(episode.actions).max() > 1.0
    assert np.abs(episode.actions).max() <= 2.0
    np.testing.assert_allclose(episode.observations[:, 0] ** 2 + episode.observations[:, 1] ** 2, 1.0)


def test_it_ends_where_the_pole_falls():
    episode = spaql.Random(spaql.make("cartpole"), seed=0).episode()
    assert episode.terminated
    assert abs(episode.observations[-1, 2]) > 12 * np.pi / 180 or abs(episode.observations[-1, 0]) > 2.4


def test_in_a_gymnasium_environment_it_is_the_first_rollout():
    agent = spaql.SPAQL(spaql.from_gym("CartPole-v1", horizon=200), seed=0)
    assert agent.episode(seed=2).rewards.sum() == agent.evaluate(1, seed=2).returns[0]
    with pytest.raises(spaql.SpaqlError, match="rollout 0"):
        agent.episode(rollout=1)


@pytest.fixture(scope="module")
def fall():
    problem = spaql.make("cartpole", limits=[spaql.Limit("angle", -0.1, 0.1)])
    return spaql.Random(problem, seed=0).episode()


def test_as_a_data_frame_its_columns_are_the_variables_the_action_and_the_reward(fall):
    frame = fall.to_pandas()
    assert list(frame.columns) == ["position", "velocity", "angle", "angular velocity", "push", "reward"]
    assert frame.index.name == "step"
    assert frame.attrs["units"]["angular velocity"] == "rad/s"
    np.testing.assert_array_equal(frame.to_numpy()[:, :4], fall.observations)
    np.testing.assert_array_equal(frame["push"][:-1], fall.actions[:, 0])
    assert np.isnan(frame["reward"].iloc[-1])
    assert frame["reward"].sum() == fall.total == len(fall)


def test_printed_it_is_a_few_lines(fall):
    text = str(fall)
    assert f"Episode on cartpole: {len(fall)} steps, return {len(fall)}, the plant ended it" in text
    assert "first" in text
    assert "angular velocity = " in text
    assert len(text.splitlines()) <= 5
    assert max(map(len, text.splitlines())) <= 80
    assert repr(fall) == f"<Episode: {len(fall)} steps, return {len(fall)}, terminated>"


def test_four_fields_are_enough():
    plain = spaql.Episode(np.zeros((3, 2)), np.zeros((2, 1)), np.ones(2), False)
    assert list(plain.to_pandas().columns) == ["x0", "x1", "action", "reward"]
    assert "2 steps, return 2, cut" in str(plain)
    assert len(plain.plot().axes) == 4


def test_its_picture_has_a_panel_for_every_variable_and_lines_at_the_limits(fall, tmp_path):
    figure = fall.plot()
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["position\n(m)", "velocity\n(m/s)", "angle\n(rad)", "angular velocity\n(rad/s)", "push", "reward"]
    levels = {float(line.get_ydata()[0]) for line in figure.axes[2].lines if line.get_linestyle() == "--"}
    assert levels == {-0.1, 0.1}
    assert not any(line.get_linestyle() == "--" for line in figure.axes[0].lines)
    low, high = figure.axes[2].get_ylim()
    assert low < -0.1 < 0.1 < high
    for form in ("png", "svg", "pdf"):
        fall.plot(tmp_path / f"episode.{form}")
        assert (tmp_path / f"episode.{form}").stat().st_size > 5000


def test_a_picture_of_an_unknown_kind_is_refused(fall, tmp_path):
    with pytest.raises(spaql.SpaqlError, match="choose a name that ends with png, svg, pdf"):
        fall.plot(tmp_path / "episode.bmp")


@pytest.mark.parametrize("learner", [spaql.SPAQL, spaql.AQL, spaql.Random])
def test_it_is_the_rollout_of_the_evaluation_to_the_last_bit(learner):
    agent = learner(spaql.make("cartpole"), seed=1)
    agent.learn(20, 5)
    returns = agent.evaluate(4, seed=9).returns
    episodes = [agent.episode(seed=9, rollout=rollout) for rollout in range(4)]
    assert [episode.total for episode in episodes] == returns.tolist()
    env = PlantEnv(agent.problem)
    for rollout, episode in enumerate(episodes):  # and the plant, given these actions, does the same
        _, seen = open_at(agent.problem, 9, rollout)
        assert seen.tolist() == episode.observations[0].tolist()
    observation, _ = env.reset(seed=int(plant_seed(9, FRESH_PLANT, 0)))
    for h, action in enumerate(episodes[0].actions):
        assert observation.tolist() == episodes[0].observations[h].tolist()
        observation, _, terminated, _, _ = env.step(int(action[0]))
    assert terminated == episodes[0].terminated


def grow(x, a):
    return (x + 1.0,), 0.0, False


def test_on_a_plant_that_leaves_its_bounds_the_step_is_named():
    problem = spaql.from_plant(
        spaql.reset(lambda u: (u,)), spaql.step(grow), state=[spaql.Axis("x", -1.0, 4.0)], actions=spaql.Finite((0, 1)), horizon=9
    )
    with pytest.raises(spaql.SpaqlError, match=r"left its declared bounds: x = 4\.\d+ .*rollout 3, step 4"):
        spaql.SPAQL(problem, seed=0).episode(rollout=3)
