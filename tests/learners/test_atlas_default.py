"""`spaql.Atlas(problem)` is "best": its controller is found within `learn`, is in the file, and is never searched for behind a reader's back."""

import functools
import json
import os
import signal
import threading

import numpy as np
import pytest

import spaql
from hostile_files import members, packed
from spaql.laws import in_model
from spaql.learners.atlas import plan

pytestmark = pytest.mark.usefixtures("quick_search")


@pytest.fixture
def no_search(monkeypatch):
    """Now that something was learned, a search or a plan would fail."""

    def forbid():
        for module, name in ((in_model, "laws_in"), (plan, "make_plan")):
            monkeypatch.setattr(module, name, None)

    return forbid


def learned(problem="cartpole", samples=120, **options):
    agent = spaql.Atlas(spaql.make(problem), seed=1, **options)
    agent.learn(samples=samples)
    return agent


@functools.cache
def balanced(controller="best"):
    """An agent that several tests look at."""
    return learned(controller=controller, cells=60)


def test_the_default_is_the_best_of_laws_and_a_table():
    assert spaql.Atlas(spaql.make("cartpole")).controller == "best"
    agent = balanced()
    assert agent.policy().kind == "law tree"
    assert agent.evaluate(100).mean > 190


def test_after_learning_nothing_is_searched_for(no_search):
    agent = balanced()
    no_search()
    policy = agent.policy()
    assert policy.n_leaves == agent.arms
    agent.predict([0.0, 0.0, 0.1, 0.0])
    agent.evaluate(3)


@pytest.mark.parametrize("controller", ["best", "table"])
def test_a_file_has_the_controller_so_that_a_reader_searches_for_nothing(controller, no_search, tmp_path):
    agent = balanced(controller)
    agent.save(tmp_path / "agent.spaql")
    no_search()
    again = spaql.load(tmp_path / "agent.spaql")
    assert again.policy().to_json() == agent.policy().to_json()
    np.testing.assert_array_equal(again.evaluate(5).returns, agent.evaluate(5).returns)


def test_a_look_at_an_agent_does_not_change_its_file(tmp_path):
    agent = balanced()
    agent.save(tmp_path / "before.spaql")
    agent.predict([0.0, 0.0, 0.1, 0.0])
    agent.evaluate(3)
    agent.policy()
    agent.save(tmp_path / "after.spaql")
    assert members((tmp_path / "before.spaql").read_bytes()) == members((tmp_path / "after.spaql").read_bytes())


def test_a_file_from_before_there_was_a_choice_loads_as_the_table_that_it_was(tmp_path):
    agent = learned("pendulum", 200, controller="table", cells=60)
    agent.save(tmp_path / "agent.spaql")
    parts = members((tmp_path / "agent.spaql").read_bytes())
    old = {name: content for name, content in parts.items() if not name.startswith("table_")}
    meta = json.loads(old["meta.json"])
    del meta["options"]["controller"]
    old["meta.json"] = json.dumps(meta).encode()
    (tmp_path / "old.spaql").write_bytes(packed(old))
    again = spaql.load(tmp_path / "old.spaql")
    assert again.controller == "table"
    np.testing.assert_array_equal(again.evaluate(5).returns, agent.evaluate(5).returns)


@pytest.mark.slow
def test_while_it_learns_other_threads_get_the_latest_laws_and_never_search(monkeypatch):
    searches, seen, laws_in = [], [], in_model.laws_in

    def counted(*args, **options):
        searches.append(threading.current_thread())
        return laws_in(*args, **options)

    monkeypatch.setattr(in_model, "laws_in", counted)
    agent, done = spaql.Atlas(spaql.make("cartpole"), seed=1, controller="laws"), threading.Event()

    def look():
        while not done.is_set():
            seen.append(agent.predict([0.0, 0.0, 0.1, 0.0])[0])

    reader = threading.Thread(target=look)
    reader.start()
    agent.learn(samples=200)
    done.set()
    reader.join()
    assert seen
    assert reader not in searches


def test_ctrl_c_in_the_last_search_gives_the_best_so_far(monkeypatch):
    """The laws that were found on the way, at 160 samples."""
    laws_in = in_model.laws_in

    def interrupted(*args, stop=None, **options):
        if stop is not None and agent.state.memory.n == 200:
            os.kill(os.getpid(), signal.SIGINT)
        return laws_in(*args, stop=stop, **options)

    agent = spaql.Atlas(spaql.make("cartpole"), seed=1, controller="laws")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(in_model, "laws_in", interrupted)
        with pytest.warns(spaql.SpaqlWarning, match="it was interrupted, and is the best so far"):
            agent.learn(samples=200)
    finally:
        signal.signal(signal.SIGINT, before)
    assert agent.history.interrupted
    assert agent.state.memory.n == 200
    assert agent.evaluate(50).mean > 100
