"""Laws and Atlas take up to 16 continuous actions and 64 variables; tables do not."""

import gymnasium
import numpy as np
import pytest

import spaql
from spaql.learners.atlas.plan import one_axis_each
from spaql.plants.problem import constant_actions


class Many(gymnasium.Env):
    """Variables that fade, and actions that push the first of them."""

    def __init__(self, variables, actions):
        self.observation_space = gymnasium.spaces.Box(-3.0, 3.0, (variables,))
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (actions,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1.0, 1.0, self.observation_space.shape)
        return self.x.astype(np.float32), {}

    def step(self, action):
        self.x = 0.95 * self.x
        self.x[: len(action)] += 0.2 * np.asarray(action)
        return np.clip(self.x, -3, 3).astype(np.float32), -float((self.x[: len(action)] ** 2).sum()), False, False, {}


@pytest.mark.parametrize(("variables", "actions"), [(8, 6), pytest.param(64, 16, marks=pytest.mark.slow)])
def test_laws_are_found_for_many_actions(variables, actions):
    problem = spaql.from_gym(Many(variables, actions), horizon=20)
    still = spaql.law(problem, {f"action {j + 1}": {} for j in range(actions)})
    agent = spaql.Laws(problem, max_leaves=1, seed=0)
    agent.learn(samples=20_000)
    assert agent.evaluate(20).mean > still.evaluate(20).mean
    assert "action[5] = " in agent.policy().to_c()


def test_tables_keep_their_limit():
    problem = spaql.from_gym(Many(6, 5), horizon=20)
    with pytest.raises(spaql.SpaqlError, match="5 continuous actions, and tables have at most 4: learn Laws"):
        spaql.SPAQL(problem)
    assert spaql.Atlas(problem, seed=0) is not None
    with pytest.raises(spaql.SpaqlError, match="1 to 16 axes"):
        spaql.from_gym(Many(20, 17), horizon=20)
    with pytest.raises(spaql.SpaqlError, match="65 observed variables are more than 64"):
        spaql.from_gym(Many(65, 1), horizon=20)


def test_a_few_of_many_actions_are_tried():
    space = spaql.Continuous((-1.0,) * 16, (2.0,) * 16)
    problem = spaql.from_gym(Many(6, 16), horizon=20)
    assert len(constant_actions(problem)) == 17
    tried = one_axis_each(space)
    assert tried.shape == (33, 16)
    assert space.contain(tried)
    assert ((tried != 0.5).sum(axis=1) <= 1).all()
