"""Ctrl-C ends training after the current stretch and loses nothing."""

import signal
import threading

import pytest

import spaql
from interrupted import BEGIN, run

CHECK = """
assert history.interrupted
assert len(history) == len(agent.history) >= 10
assert numpy.isfinite(history.table).all()
agent.evaluate(3)
agent.save("agent.spaql")
done = min(len(history), 50)
again = type(agent)(agent.problem, seed=1).learn(done, rollouts=3)
assert numpy.array_equal(again.table, history.table[:done])
print("done")
"""
AGENTS = {
    "SPAQL": 'spaql.SPAQL(spaql.make("cartpole"), seed=1)',
    "AQL": 'spaql.AQL(spaql.make("cartpole"), seed=1)',
    "ZoomRL": 'spaql.ZoomRL(spaql.make("cartpole"), seed=1)',
    "Random": 'spaql.Random(spaql.make("cartpole"), seed=1)',
    "Gymnasium": 'spaql.SPAQL(spaql.from_gym("spaql/CartPole-v0"), seed=1)',
}


@pytest.mark.parametrize("name", AGENTS)
def test_ctrl_c_ends_learning_and_keeps_what_was_learned(name, tmp_path):
    """Without a callback and with one: two agents, one after the other, because a process takes longer to start than to learn."""
    parts = []
    for callback in ("None", "lambda agent: None"):
        learn = f"agent = {AGENTS[name]}\npress_soon(agent)\nhistory = agent.learn(10**8, rollouts=3, callback={callback})"
        parts += [learn, CHECK]
    told = run(tmp_path, BEGIN, *parts)
    assert (told.stdout, told.returncode) == ("done\ndone\n", 0), told.stderr
    assert (tmp_path / "agent.spaql").stat().st_size > 0


def test_ctrl_c_ends_all_agents_of_learn_all(tmp_path):
    learn = """
    agents = [spaql.SPAQL(spaql.make("cartpole"), seed=seed) for seed in (1, 2)]
    press_soon(*agents)
    histories = spaql.learn_all(agents, 10**8, 3, jobs=2)
    assert all(history.interrupted for history in histories)
    agent, history = agents[0], histories[0]
    """
    told = run(tmp_path, BEGIN, learn, CHECK)
    assert (told.stdout, told.returncode) == ("done\n", 0), told.stderr


def test_learning_can_go_on_after_ctrl_c(tmp_path):
    learn = """
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    press_soon(agent)
    before = len(agent.learn(10**8, rollouts=3))
    history = agent.learn(5, rollouts=3)
    assert len(history) == before + 5
    assert not history.interrupted
    print("done")
    """
    told = run(tmp_path, BEGIN, learn)
    assert (told.stdout, told.returncode) == ("done\n", 0), told.stderr


def test_ctrl_c_outside_of_learning_is_an_ordinary_interrupt(tmp_path):
    sleep = """
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    agent.learn(10, rollouts=3)
    try:
        press_soon(agent)
        time.sleep(100)
    except KeyboardInterrupt:
        print("interrupted")
    """
    told = run(tmp_path, BEGIN, sleep)
    assert (told.stdout, told.returncode) == ("interrupted\n", 0), told.stderr


def test_ctrl_c_ends_an_evaluation_at_once(tmp_path):
    evaluate = """
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=1)
    agent.learn(10, rollouts=3)
    agent.evaluate(3)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        agent.evaluate(10**8)  # many minutes
    except KeyboardInterrupt:
        print("interrupted")
    agent.evaluate(3)
    agent.learn(1, rollouts=3)
    """
    told = run(tmp_path, BEGIN, evaluate)
    assert (told.stdout, told.returncode) == ("interrupted\n", 0), told.stderr


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
    spaql.Random(spaql.make("cartpole")).save(tmp_path / "agent.spaql")
    evaluate = """
    import sys, threading, time, os, signal
    from spaql.cli import main
    sys.argv = ["spaql", "evaluate", "agent.spaql", "--episodes", "100000000"]

    def press():
        while "spaql.training.evaluation" not in sys.modules:
            time.sleep(0.01)
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    main()
    """
    told = run(tmp_path, evaluate)
    assert (told.returncode, told.stdout, told.stderr) == (130, "", "interrupted\n")
