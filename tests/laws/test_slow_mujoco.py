"""Laws on MuJoCo and Box2D, where they are installed; long."""

import pytest

import spaql

pytestmark = pytest.mark.slow


def learned(name, samples, seed=0):
    agent = spaql.Laws(spaql.from_gym(name), max_leaves=1, seed=seed)
    agent.learn(samples=samples)
    return agent.policy()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "least"), [("InvertedPendulum-v5", 1000.0), ("InvertedDoublePendulum-v5", 9350.0)])
def test_one_law_holds_a_pendulum_within_20_thousand_samples(name, least, seed):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (pip install 'spaql[mujoco]')")
    pytest.importorskip("imageio", reason="Gymnasium's MuJoCo needs imageio (pip install 'spaql[mujoco]')")
    policy = learned(name, 20_000, seed)
    assert policy.evaluate(40).mean >= least
    assert policy.n_leaves == 1
    assert policy.numbers <= 7


@pytest.mark.parametrize("name", ["LunarLanderContinuous-v3", "LunarLander-v3"])
def test_the_lander_comes_down_with_one_law_per_engine(name):
    pytest.importorskip("Box2D", reason="Box2D is not installed (pip install 'spaql[box2d]')")
    policy = learned(name, 400_000)
    assert policy.evaluate(40).mean > 0.0  # the best constant action has -100; four times as many samples give 250 and more
