"""An iteration in which the compiled plant fails leaves no trace: the agent is the one that stopped in time."""

import re

import numpy as np
import pytest

import spaql
from helpers import assert_same
from spaql.partition.forest_tables import leaf_table

HORIZON, ROLLOUTS = 10, 2


@spaql.reset
def anywhere(u):
    return (u,)


@spaql.step
def fragile(x, push, luck):
    return (99.0 if luck > 0.9995 else x,), luck, False


@spaql.step
def sturdy(x, push, luck):
    return (x,), luck, False


def problem(step):
    axis, push = spaql.Axis("place", -1.0, 1.0), spaql.Continuous((-1.0,), (1.0,))
    return spaql.from_plant(anywhere, step, state=[axis], actions=push, horizon=HORIZON, name="vase")


def broken(learner, seed):
    """An agent whose plant broke, the error, and an agent that stopped one iteration earlier."""
    agent, careful = learner(problem(fragile), seed=seed), learner(problem(sturdy), seed=seed)
    with pytest.raises(spaql.SpaqlError, match="vase left its declared bounds") as error:
        agent.learn(10**6, rollouts=ROLLOUTS)
    done = len(agent.history)
    if done:
        careful.learn(done, rollouts=ROLLOUTS)
    return agent, str(error.value), careful


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("learner", [spaql.SPAQL, spaql.AQL, spaql.NBQL, spaql.ZoomRL])
def test_agent_trainee_and_history_are_those_of_the_last_complete_iteration(learner, seed):
    agent, _, careful = broken(learner, seed)
    np.testing.assert_array_equal(agent.history.table, careful.history.table)
    np.testing.assert_array_equal(agent.leaves(), careful.leaves())
    trainees = [leaf_table(one.state.trainee, one.state.space) for one in (agent, careful)]
    np.testing.assert_array_equal(*trainees)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("learner", [spaql.SPAQL, spaql.AQL, spaql.NBQL, spaql.ZoomRL])
def test_the_message_names_the_iteration_that_failed(learner, seed):
    agent, message, _ = broken(learner, seed)
    assert int(re.search(r"iteration (\d+)", message)[1]) == len(agent.history) + 1


@pytest.mark.parametrize("learner", [spaql.SPAQL, spaql.AQL, spaql.NBQL, spaql.ZoomRL])
def test_samples_of_the_failed_iteration_were_used_all_the_same(learner):
    agent, _, careful = broken(learner, 0)
    agent.problem.plant.__dict__["batch"] = careful.problem.plant.batch  # the vase is mended
    history = agent.learn(1, rollouts=ROLLOUTS)
    assert history.train_samples[-1] > careful.history.train_samples[-1] + HORIZON or history.eval_samples[-1] > (
        careful.history.eval_samples[-1] + ROLLOUTS * HORIZON
    )


@pytest.mark.parametrize("learner", [spaql.SPAQL, spaql.AQL, spaql.NBQL, spaql.ZoomRL])
def test_learning_goes_on_with_the_same_bits_when_the_plant_is_mended(learner):
    agent, _, careful = broken(learner, 1)
    agent.problem.plant.__dict__["batch"] = careful.problem.plant.batch
    for one in (agent, careful):
        one.learn(20, rollouts=ROLLOUTS)
    np.testing.assert_array_equal(agent.history.best_seen, careful.history.best_seen)
    np.testing.assert_array_equal(agent.leaves(), careful.leaves())


def test_the_sturdy_plant_is_the_fragile_one_without_the_break():
    agents = [spaql.SPAQL(problem(step), seed=2) for step in (fragile, sturdy)]
    for agent in agents:
        agent.learn(3, rollouts=ROLLOUTS)
    assert_same(*agents, episodes=0)
