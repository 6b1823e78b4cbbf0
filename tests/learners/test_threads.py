"""One agent and several threads: whoever would disturb training is refused, and looking at an agent is safe."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import spaql


def test_the_same_agent_twice_is_refused():
    agent = spaql.SPAQL(spaql.make("cartpole"))
    with pytest.raises(spaql.SpaqlError, match="different agents"):
        spaql.learn_all([agent, agent], 2)
    with pytest.raises(spaql.SpaqlError, match="list of different agents"):
        spaql.learn_all(["agent"], 2)


def test_many_threads_may_evaluate_one_agent():
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=2)
    agent.learn(30, rollouts=5)
    alone = agent.evaluate(50).returns
    for _ in range(20):
        agent.state.greedy = None  # as after learning: the first to come merges the policy
        barrier = threading.Barrier(4)

        def evaluate(barrier=barrier):
            barrier.wait()
            return agent.evaluate(50).returns

        with ThreadPoolExecutor(4) as pool:
            for future in [pool.submit(evaluate) for _ in range(4)]:
                assert np.array_equal(future.result(), alone)


def test_a_callback_may_look_and_even_update():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)

    def callback(agent):
        agent.leaves()
        agent.predict(np.zeros(4))
        if len(agent.history) == 3:
            agent.update(np.zeros(4), 1, 1.0, np.full(4, 0.01))

    history = agent.learn(8, rollouts=3, callback=callback)
    assert history.arms[-1] == agent.arms


def test_learning_waits_for_threads_that_predict_and_they_for_learning():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    agent.learn(2, rollouts=2)
    over, served = threading.Event(), []

    def predict():
        while not over.is_set():
            agent.predict(np.zeros(4))
            served.append(len(agent.state.history))

    with ThreadPoolExecutor(4) as pool:
        pending = [pool.submit(predict) for _ in range(4)]
        try:
            history = agent.learn(300, rollouts=5)  # refused before: somebody predicts at any time
        finally:
            over.set()
        for future in pending:
            future.result()
    assert len(history) == 302
    assert len(served) > 0
    alone = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    alone.learn(2, rollouts=2)
    np.testing.assert_array_equal(alone.learn(300, rollouts=5).table, history.table)  # who looks changes nothing


def test_who_waits_to_predict_gets_a_turn_before_the_end_of_learning():
    agent, seen = spaql.SPAQL(spaql.make("cartpole"), seed=1), []

    def predict():
        agent.predict(np.zeros(4))
        seen.append(len(agent.state.history))

    def callback(agent):
        if len(agent.history) == 2:
            thread = threading.Thread(target=predict)
            thread.start()
            thread.join(60)  # a thread that waited for the end of learning would never end

    agent.learn(5, rollouts=2, callback=callback)
    assert seen == [2]


def test_threads_that_update_take_turns():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)

    def update():
        for _ in range(200):
            agent.update(np.zeros(4), 1, 1.0, np.full(4, 0.01))

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(update) for _ in range(4)]:
            future.result()
    assert int(agent.state.forest.balls["visits"].sum()) >= 800


def test_what_looks_at_an_agent_cannot_change_it():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    with agent.state.guard.read(), pytest.raises(spaql.SpaqlError, match="while it is being read"):
        agent.learn(1, rollouts=1)
    agent.learn(1, rollouts=1)
