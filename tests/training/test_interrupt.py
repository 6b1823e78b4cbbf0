"""Ctrl-C ends training after the current stretch and loses nothing."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import spaql
from interrupted import ctrl_c, under_way

LONG = 200_000  # iterations: longer than anybody waits, and not for ever
AGENTS = {
    "SPAQL": lambda: spaql.SPAQL(spaql.make("cartpole"), seed=1),
    "AQL": lambda: spaql.AQL(spaql.make("cartpole"), seed=1),
    "ZoomRL": lambda: spaql.ZoomRL(spaql.make("cartpole"), seed=1),
    "Random": lambda: spaql.Random(spaql.make("cartpole"), seed=1),
    "Gymnasium": lambda: spaql.SPAQL(spaql.from_gym("spaql/CartPole-v0"), seed=1),
}


def check(agent, history, tmp_path):
    """It was interrupted, nothing is lost, and what is there is what uninterrupted learning would have made."""
    assert history.interrupted
    assert LONG > len(history) == len(agent.history) >= 10
    assert np.isfinite(history.table).all()
    agent.evaluate(3)
    agent.save(tmp_path / "agent.spaql")
    done = min(len(history), 50)
    again = type(agent)(agent.problem, seed=1).learn(done, rollouts=3)
    np.testing.assert_array_equal(again.table, history.table[:done])


@pytest.mark.parametrize("callback", [None, lambda agent: None], ids=["alone", "with a callback"])
@pytest.mark.parametrize("name", AGENTS)
def test_ctrl_c_ends_learning_and_keeps_what_was_learned(name, callback, tmp_path):
    agent = AGENTS[name]()
    with ctrl_c(under_way(agent)):
        history = agent.learn(LONG, rollouts=3, callback=callback)
    check(agent, history, tmp_path)
    assert (tmp_path / "agent.spaql").stat().st_size > 0


def test_ctrl_c_ends_all_agents_of_learn_all(tmp_path):
    agents = [spaql.SPAQL(spaql.make("cartpole"), seed=seed) for seed in (1, 2)]
    with ctrl_c(under_way(*agents)):
        histories = spaql.learn_all(agents, LONG, 3, jobs=2)
    assert all(history.interrupted for history in histories)
    check(agents[0], histories[0], tmp_path)


def test_learning_can_go_on_after_ctrl_c():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    with ctrl_c(under_way(agent)):
        before = len(agent.learn(LONG, rollouts=3))
    history = agent.learn(5, rollouts=3)
    assert len(history) == before + 5 < LONG
    assert not history.interrupted


def test_ctrl_c_outside_of_learning_is_an_ordinary_interrupt():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    agent.learn(10, rollouts=3)
    asleep = threading.Event()

    def sleep():
        asleep.set()
        time.sleep(100)

    with ctrl_c(asleep.is_set), pytest.raises(KeyboardInterrupt):
        sleep()


def test_ctrl_c_ends_an_evaluation_at_once():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=1)
    agent.learn(10, rollouts=3)
    agent.evaluate(3)
    began = time.monotonic()
    with ctrl_c(lambda: time.monotonic() > began + 0.3), pytest.raises(KeyboardInterrupt):
        agent.evaluate(2 * 10**6)  # a minute or more
    agent.evaluate(3)
    agent.learn(1, rollouts=3)


def test_the_callers_own_handler_is_back_after_learning():
    before, mine = signal.getsignal(signal.SIGINT), lambda number, frame: None
    signal.signal(signal.SIGINT, mine)
    try:
        spaql.SPAQL(spaql.make("cartpole")).learn(2, rollouts=2)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


def test_learning_in_another_thread_is_possible():
    agent = spaql.SPAQL(spaql.make("cartpole"))
    worker = threading.Thread(target=agent.learn, args=(5, 2))
    worker.start()
    worker.join()
    assert len(agent.history) == 5


def test_spaql_evaluate_ends_with_one_line_and_exit_code_130(tmp_path):
    agent = spaql.Random(spaql.make("cartpole"))
    agent.evaluate(2)  # compiled and on disk: what is pressed while numba compiles may be lost
    agent.save(tmp_path / "agent.spaql")
    evaluate = """
    import sys, threading, time, os, signal
    from spaql.cli import main
    sys.argv = ["spaql", "evaluate", "agent.spaql", "--episodes", "100000000"]

    def press():
        while "spaql.training.forest_loop" not in sys.modules:
            time.sleep(0.01)
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    main()
    """
    program = [sys.executable, "-c", textwrap.dedent(evaluate)]
    told = subprocess.run(program, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (130, "", "interrupted\n")
