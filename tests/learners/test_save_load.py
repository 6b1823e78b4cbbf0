"""Training that is saved and loaded in the middle is the same training (what a file may hold: test_files.py)."""

import numpy as np
import pytest

import spaql
from helpers import LEARNERS, assert_same, linear_plant
from spaql.learners.outer import BEST_ARMS, BEST_RETURN, MARK


def trained(problem, learner, iterations=7, **options):
    agent = LEARNERS[learner](spaql.make(problem), seed=4, **options)
    agent.learn(iterations, rollouts=4)
    return agent


@pytest.fixture
def file(tmp_path):
    return tmp_path / "agent.spaql"


@pytest.mark.parametrize("options", [{"temperature_rule": "paper"}, {"bootstrap": "terminate"}, {"reference": [0.1, 0.0, 0.0, 0.0]}])
def test_options_go_on_too(options, file):
    straight, agent = trained("cartpole", "SPAQL-TS", 30, **options), trained("cartpole", "SPAQL-TS", 17, **options)
    agent.save(str(file))
    back = spaql.load(str(file))
    back.learn(13, rollouts=4)
    assert_same(straight, back)


def test_outside_data_is_kept(file):
    agent = spaql.SPAQL(spaql.cube(2, [0, 1, 2], horizon=10))
    rng = np.random.default_rng(0)
    for _ in range(2000):
        agent.update(rng.uniform(-1, 1, 2), int(rng.integers(3)), rng.random(), rng.uniform(-1, 1, 2))
    agent.save(file)
    back = spaql.load(file)
    np.testing.assert_array_equal(agent.leaves(), back.leaves())
    for _ in range(2000):
        obs, action, reward, after = rng.uniform(-1, 1, 2), int(rng.integers(3)), rng.random(), rng.uniform(-1, 1, 2)
        for one in (agent, back):
            one.update(obs, action, reward, after)
    np.testing.assert_array_equal(agent.leaves(), back.leaves())


def test_a_plant_of_your_own_is_given_again_at_load(file):
    problem = linear_plant(2)
    agent, straight = spaql.SPAQL(problem, seed=1), spaql.SPAQL(problem, seed=1)
    straight.learn(12, rollouts=3)
    agent.learn(6, rollouts=3)
    agent.save(file)
    alone = spaql.load(file)
    assert alone.predict(np.zeros(2))[0] == agent.predict(np.zeros(2))[0]
    with pytest.raises(spaql.SpaqlError, match="problem="):
        alone.learn(1)
    with pytest.raises(spaql.SpaqlError, match="problem="):
        alone.evaluate(1)
    back = spaql.load(file, problem=problem)
    back.learn(6, rollouts=3)
    assert_same(back, straight)


def test_learning_in_an_environment_goes_on_after_load(file):
    agent, straight = (spaql.SPAQL(spaql.from_gym("MountainCar-v0", horizon=40), seed=1) for _ in range(2))
    straight.learn(4, rollouts=2)
    agent.learn(2, rollouts=2)
    agent.save(file)
    back = spaql.load(file, problem=spaql.from_gym("MountainCar-v0", horizon=40))
    back.learn(2, rollouts=2)
    assert_same(straight, back, episodes=2)


def test_saving_replaces_the_file_and_leaves_nothing_else(file):
    agent = trained("cartpole", "SPAQL")
    for _ in range(2):
        agent.save(file)
    assert [path.name for path in file.parent.iterdir()] == ["agent.spaql"]


def test_a_file_whose_trainee_is_smaller_than_its_agent_does_no_harm(file):
    """No training writes one, but a hostile hand could: going back to the best agent needs room in the trainee."""
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(5000):
        agent.update(rng.uniform([-4, -99, -0.4, -20], [4, 99, 0.4, 20]), int(rng.integers(2)), 1.0, np.zeros(4))
    agent.state.outer[[BEST_RETURN, BEST_ARMS, MARK]] = 1e6, agent.arms, 5
    agent.save(file)
    back = spaql.load(file)
    back.learn(20, rollouts=1)
    assert back.arms == agent.arms
