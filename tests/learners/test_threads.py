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
