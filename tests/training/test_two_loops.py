"""Our plants, run through Gymnasium's interface, teach the same to the last bit as in the compiled loop."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import LEARNERS, PER_STEP, TRAINED, assert_same, linear_plant, quick_first, wrapped
from spaql.partition.forest_tables import leaf_table
from spaql.plants.catalog import CATALOG

PROBLEMS = {name: entry.env_id for name, entry in CATALOG.items()}
OPTIONS = [{}, {"bootstrap": "terminate"}, {"temperature_rule": "paper"}]


def both(name, learner, iterations=3, rollouts=2, **options):
    agents = [LEARNERS[learner](problem, seed=6, **options) for problem in (spaql.make(name), spaql.from_gym(PROBLEMS[name]))]
    for agent in agents:
        agent.learn(iterations, rollouts)
    return agents


SHORT = ("pendulum", "pendulum-5", "cartpole", "mountain-car", "oil-laplace", "ambulance")  # one of each kind


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", quick_first(PROBLEMS, SHORT))
def test_every_learner_on_every_problem(name, learner):
    horizon = CATALOG[name].horizon
    agents = both(name, learner, iterations=3 if horizon > 50 else 20)
    assert_same(*agents, episodes=2)
    if learner in TRAINED:  # what is kept is not always what was learned last
        np.testing.assert_array_equal(*(leaf_table(agent.state.trainee, agent.state.space) for agent in agents))


@pytest.mark.parametrize("options", OPTIONS[1:], ids=["terminate", "paper"])
@pytest.mark.parametrize("learner", TRAINED)
def test_every_rule(learner, options):
    if learner in PER_STEP and "temperature_rule" in options:
        options = {"xi": 3.0}  # they have no temperature
    assert_same(*both("cartpole", learner, iterations=25, **options), episodes=5)


def test_terminal_values_matter_where_episodes_terminate():
    paper, terminate = (both("cartpole", "SPAQL", 10, bootstrap=rule)[0] for rule in ("paper", "terminate"))
    assert not np.array_equal(paper.leaves()["q"], terminate.leaves()["q"])


def test_distance_of_spaql_ts():
    euclidean, sup = (both("cartpole", "SPAQL-TS", 10, distance=distance) for distance in ("euclidean", "sup"))
    assert_same(*euclidean, episodes=5)
    assert_same(*sup, episodes=5)
    assert not np.array_equal(euclidean[0].leaves(), sup[0].leaves())


def test_long_training_with_resets():
    agents = both("cartpole", "SPAQL-TS", iterations=100)
    assert_same(*agents)
    assert len(np.unique(agents[0].history.temperature)) > 3


@pytest.mark.parametrize("learner", LEARNERS)
def test_noise_of_a_plant(learner):
    problem = linear_plant(2, noise=True)
    agents = [LEARNERS[learner](p, seed=6) for p in (problem, wrapped(problem))]
    for agent in agents:
        agent.learn(3, rollouts=2)
    assert_same(*agents, episodes=2)


def test_deterministic_evaluation():
    compiled, gym = both("pendulum", "SPAQL")
    np.testing.assert_array_equal(compiled.evaluate(5, deterministic=True).returns, gym.evaluate(5, deterministic=True).returns)


def test_random_over_part_of_the_actions():
    assert_same(*both("pendulum", "Random", low=0.0), episodes=5)


@pytest.mark.parametrize("learner", ["SPAQL", *PER_STEP])
def test_wrappers_and_an_environment_object(learner):
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("spaql/CartPole-v0"))
    agent, other = LEARNERS[learner](spaql.from_gym(env), seed=6), both("cartpole", learner)[0]
    agent.learn(3, rollouts=2)
    assert_same(agent, other, episodes=5)


def test_our_own_environments_keep_their_map():
    problem = spaql.from_gym("spaql/CartPole-v0", horizon=30, rollouts=7, reference=[0.1, 0.0, 0.0, 0.0])
    assert (problem.horizon, problem.rollouts, problem.reference) == (30, 7, (0.1, 0.0, 0.0, 0.0))
    assert problem.state == spaql.make("cartpole").state
    for option in ("state_low", "state_high", "slopes"):
        with pytest.raises(spaql.SpaqlError, match="its own map"):
            spaql.from_gym("spaql/CartPole-v0", **{option: [1.0] * 4})


class Recorder(gymnasium.Wrapper):
    """Keeps (obs, action, reward, next obs, terminated, step) of every episode."""

    def __init__(self, env):
        super().__init__(env)
        self.episodes = []

    def reset(self, **options):
        self.last, info = self.env.reset(**options)
        self.episodes.append([])
        return self.last, info

    def step(self, action):
        after, reward, terminated, truncated, info = self.env.step(action)
        self.episodes[-1].append((self.last, action, reward, after, terminated, len(self.episodes[-1])))
        self.last = after
        return after, reward, terminated, truncated, info


@pytest.mark.parametrize("learner", PER_STEP)
@pytest.mark.parametrize("name", ["cartpole", "pendulum"])
def test_learning_from_outside_data_is_what_they_do_in_their_own_loop(name, learner):
    recorder = Recorder(gymnasium.make(PROBLEMS[name]))
    agent, pupil = LEARNERS[learner](spaql.from_gym(recorder), seed=1), LEARNERS[learner](spaql.make(name), seed=1)
    agent.learn(12, rollouts=1)
    for episode in recorder.episodes[0::2]:  # training episode, evaluation, training episode, ...
        for transition in episode:
            pupil.update(*transition)
    np.testing.assert_array_equal(agent.leaves(), pupil.leaves())


@pytest.mark.parametrize("learner", ["SPAQL", "SPAQL-TS"])
@pytest.mark.parametrize("name", ["cartpole", "pendulum"])
def test_learning_from_outside_data_is_what_spaql_does_in_its_own_loop(name, learner):
    recorder = Recorder(gymnasium.make(PROBLEMS[name]))
    agent, pupil = LEARNERS[learner](spaql.from_gym(recorder), seed=1), LEARNERS[learner](spaql.make(name), seed=1)
    agent.learn(1, rollouts=1)
    _, training, _ = recorder.episodes  # the untrained agent is evaluated first
    for transition in training:
        pupil.update(*transition)
    np.testing.assert_array_equal(leaf_table(agent.state.trainee, agent.state.space), pupil.leaves())
