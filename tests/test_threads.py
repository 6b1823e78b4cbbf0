"""One agent, several threads: any number may look at it, or one may train it; the rest is refused, never corrupted."""

import threading

import numpy as np
import pytest

import spaql
from helpers import assert_same


def in_another_thread(function):
    """The result or the error of `function`, called in another thread."""
    outcome = []

    def call():
        try:
            outcome.append(function())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return outcome[0]


ACTS = {
    "learn": lambda agent: agent.learn(1, rollouts=1),
    "update": lambda agent: agent.update([0.0] * 4, 0, 0.0, [0.0] * 4),
    "predict": lambda agent: agent.predict([0.0] * 4),
    "evaluate": lambda agent: agent.evaluate(1),
    "leaves": lambda agent: agent.leaves(),
    "learn_all": lambda agent: spaql.learn_all([agent], 1, 1),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_another_thread_does_during_training_is_refused(act):
    agent, outcomes = spaql.SPAQL(spaql.make("cartpole"), seed=1), []

    def interfere(agent):
        outcomes.append(in_another_thread(lambda: ACTS[act](agent)))

    agent.learn(3, rollouts=2, callback=interfere)
    assert [type(outcome) for outcome in outcomes] == [spaql.SpaqlError] * 3
    assert all("thread" in str(outcome) for outcome in outcomes)
    straight = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    straight.learn(3, rollouts=2)
    assert_same(agent, straight)


def test_saving_from_another_thread_during_training_is_refused(tmp_path):
    agent, outcomes = spaql.SPAQL(spaql.make("cartpole"), seed=1), []
    save = lambda agent: outcomes.append(in_another_thread(lambda: agent.save(tmp_path / "a.spaql")))  # noqa: E731
    agent.learn(1, rollouts=2, callback=save)
    assert isinstance(outcomes[0], spaql.SpaqlError)


def test_after_training_another_thread_may_do_anything():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    agent.learn(3, rollouts=2)
    for act in ACTS.values():
        assert not isinstance(in_another_thread(lambda act=act: act(agent)), Exception)


def test_many_threads_may_evaluate_one_agent():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    agent.learn(3, rollouts=2)
    expected, found = agent.evaluate(200, seed=3).returns, []
    threads = [threading.Thread(target=lambda: found.append(agent.evaluate(200, seed=3).returns)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for returns in found:
        np.testing.assert_array_equal(returns, expected)


def test_a_failed_training_lets_go_of_the_agent():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)

    def fail(agent):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        agent.learn(3, rollouts=2, callback=fail)
    assert not isinstance(in_another_thread(lambda: agent.learn(1, rollouts=2)), Exception)


@pytest.mark.parametrize("agents", [[3], ["SPAQL"], [None]])
def test_learn_all_takes_agents(agents):
    with pytest.raises(spaql.SpaqlError, match="learn_all takes a list of different agents"):
        spaql.learn_all(agents, 1)


def test_learn_all_takes_every_agent_once():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    with pytest.raises(spaql.SpaqlError, match="different agents"):
        spaql.learn_all([agent, agent], 1)
    assert len(agent.history) == 0
