"""What Atlas earns after a few hundred samples, so that no change makes it worse unnoticed: three agents of each plant.

Agents differ much from seed to seed; the least is what is published less about three standard errors.
"""

import numpy as np
import pytest

import spaql
from spaql import Atlas

SEEDS = range(1020, 1023)


def unseen_rates(seed):
    """A cart-pole without sensors of rates, after `with_memory`."""
    problem = spaql.loop(spaql.make("cartpole-500"), observe=["position", "angle"])
    agent = Atlas(problem, seed=seed, controller="laws")
    agent.learn(samples=150)
    return agent.with_memory()


def learned(name, samples, **options):
    def agent(seed):
        agent = Atlas(spaql.make(name), seed=seed, controller="laws", **options)
        agent.learn(samples=samples)
        return agent

    return agent


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spaql.SpaqlWarning")
@pytest.mark.parametrize(
    ("agent", "least"),
    [
        pytest.param(learned("cartpole-swing-up", 320), 28.0, id="swing-up"),
        pytest.param(learned("cartpole-swing-up", 400, use_known=False), 26.0, id="swing-up, reward learned"),
        pytest.param(learned("pendulum", 300), -175.0, id="pendulum"),
        pytest.param(learned("pendulum", 300, use_known=False), -200.0, id="pendulum, reward learned"),
        pytest.param(learned("cartpole-500", 200), 495.0, id="cart-pole"),
        pytest.param(unseen_rates, 400.0, id="cart-pole without rates"),
    ],
)
def test_laws_earn_what_is_published(agent, least):
    assert np.mean([agent(seed).evaluate(500, seed=1).mean for seed in SEEDS]) >= least
