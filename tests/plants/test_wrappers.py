"""Gymnasium's wrappers around an environment that is learned in: they see every episode, and count as we do."""

import gymnasium
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, RecordVideo, TimeLimit, TransformObservation

import spaql


@pytest.mark.parametrize("learner", [spaql.AQL, spaql.SPAQL, spaql.SPAQLTS])
def test_episode_statistics_count_what_the_history_counts(learner):
    env = RecordEpisodeStatistics(gymnasium.make("CartPole-v1"), buffer_length=1000)
    problem = spaql.from_gym(env, slopes=[None, 0.5, None, 0.5], reference=(0, 0, 0, 0))
    agent = learner(problem, seed=0)
    history = agent.learn(6, rollouts=3)
    first = 0 if learner is spaql.AQL else 3  # SPAQL evaluates the untrained agent too
    assert env.episode_count == len(env.return_queue) == first + 6 * (1 + 3)
    assert sum(env.length_queue) == history.train_samples[-1] + history.eval_samples[-1]
    last = list(env.return_queue)[-3:]
    assert history.evaluation[-1] == pytest.approx(sum(last) / 3)
    evaluation = agent.evaluate(4)
    assert list(env.return_queue)[-4:] == evaluation.returns.tolist()


@pytest.mark.slow
def test_episode_statistics_count_the_steps_of_atlas():
    env = RecordEpisodeStatistics(gymnasium.make("CartPole-v1"), buffer_length=1000)
    agent = spaql.Atlas(spaql.from_gym(env), controller="table", seed=0)
    measured = agent.problem.map_samples  # random episodes for the map of unbounded variables
    before = sum(env.length_queue)
    assert before == measured
    history = agent.learn(iterations=4)
    assert sum(env.length_queue) - before == history.train_samples[-1] - measured


def test_a_time_limit_is_the_horizon():
    env = RecordEpisodeStatistics(TimeLimit(gymnasium.make("MountainCar-v0"), 30))
    problem = spaql.from_gym(env)
    assert problem.horizon == 30
    agent = spaql.SPAQL(problem, seed=0)
    history = agent.learn(3, rollouts=2)
    assert set(env.length_queue) == {30}
    assert history.train_samples[-1] == 90


def test_observations_may_be_transformed():
    env = gymnasium.make("MountainCar-v0")
    box = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    scaled = TransformObservation(env, lambda seen: (seen - [-0.3, 0.0]) / [0.9, 0.07], box)
    agent = spaql.SPAQL(spaql.from_gym(scaled, horizon=30), seed=0)
    agent.learn(2, rollouts=2)
    assert [axis.high for axis in agent.problem.state] == [1.0, 1.0]


def test_videos_are_recorded_of_the_episodes_asked_for(tmp_path):
    pytest.importorskip("moviepy", reason="RecordVideo needs moviepy")
    pytest.importorskip("pygame", reason="CartPole draws with pygame")
    env = RecordVideo(gymnasium.make("CartPole-v1", render_mode="rgb_array"), str(tmp_path), episode_trigger=lambda n: n in (0, 4))
    agent = spaql.AQL(spaql.from_gym(env, slopes=[None, 0.5, None, 0.5]), seed=0)
    agent.learn(3, rollouts=1)
    env.close()
    assert sorted(path.name for path in tmp_path.glob("*.mp4")) == ["rl-video-episode-0.mp4", "rl-video-episode-4.mp4"]
