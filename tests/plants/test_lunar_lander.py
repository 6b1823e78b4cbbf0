"""The example of an environment that is not compiled: LunarLander, where Box2D is installed."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import spaql

EXAMPLE = Path(__file__).parents[2] / "examples" / "lunar_lander.py"


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("Box2D", reason="Box2D is not installed (pip install 'gymnasium[box2d]')")
    spec = importlib.util.spec_from_file_location("lunar_lander", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_combined_observations_keep_their_promises(example):
    seen = spaql.check(example.problem(), episodes=3)
    assert len(seen) == 5
    assert all(low < high for low, high in list(seen.values())[:4])


def test_the_example_learns_to_do_better_than_chance(example):
    problem = example.problem()
    agent = spaql.SPAQLTS(problem, xi=1.0, seed=0)
    agent.learn(30)
    chance = spaql.Random(problem).evaluate(20)
    assert agent.evaluate(20).mean > chance.mean + 50


def test_the_example_runs(example, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["lunar_lander.py", "--iterations", "2", "--episodes", "2"])
    example.main()
    told = capsys.readouterr().out
    assert "random:" in told
    assert "SPAQL-TS, fresh:" in told
    assert "training steps" in told


def test_a_lander_of_one_seed_is_the_same_again(example):
    agents = [spaql.SPAQLTS(example.problem(), xi=1.0, seed=3) for _ in range(2)]
    for agent in agents:
        agent.learn(2, rollouts=2)
    np.testing.assert_array_equal(agents[0].history.table, agents[1].history.table)


def test_without_box2d_the_message_says_what_to_install():
    if importlib.util.find_spec("Box2D") is not None:
        pytest.skip("Box2D is installed")
    with pytest.raises(spaql.SpaqlError, match=r"(?i)cannot make 'LunarLander-v3'.*box2d"):
        spaql.from_gym("LunarLander-v3")
