"""`leaves()`: the partition as a table."""

import numpy as np
import pytest

import spaql
from helpers import FORESTS, LEARNERS, PER_STEP, from_cube

COMMON = ["tree", "state", "radius", "depth", "visits", "q"]


def learned(problem, learner):
    agent = LEARNERS[learner](spaql.make(problem), seed=1)
    agent.learn(30, rollouts=3)
    return agent


@pytest.mark.parametrize(
    ("problem", "more"), [("pendulum", ["action"]), ("cartpole", ["action_mask", "action_first", "action_count"])]
)
@pytest.mark.parametrize("learner", FORESTS)
def test_fields(problem, more, learner):
    agent = learned(problem, learner)
    leaves = agent.leaves()
    assert list(leaves.dtype.names) == COMMON + more
    assert len(leaves) == agent.arms
    assert leaves["state"].shape == (agent.arms, len(agent.problem.state))


@pytest.mark.parametrize("learner", ["SPAQL", *PER_STEP])
@pytest.mark.parametrize("problem", ["pendulum", "cartpole", "pendulum-5"])
def test_radius_depth_and_centres_fit_together(problem, learner):
    leaves = learned(problem, learner).leaves()
    np.testing.assert_array_equal(leaves["radius"], 0.5 ** leaves["depth"].astype(float))
    grid = (leaves["state"] / leaves["radius"][:, None] - 1) / 2  # centres are odd multiples of the radius
    deep = leaves["depth"] > 0
    np.testing.assert_array_equal(grid[deep], np.round(grid[deep]))
    assert np.abs(leaves["state"]).max() < 1


@pytest.mark.parametrize("learner", PER_STEP)
@pytest.mark.parametrize("problem", ["pendulum", "cartpole", "pendulum-5"])
def test_leaves_of_a_trained_agent_fill_the_cube(problem, learner):
    agent = learned(problem, learner)
    leaves, space = agent.leaves(), agent.state.space
    share = leaves["radius"] if space.k else leaves["action_count"] / space.m
    volume = np.bincount(leaves["tree"], leaves["radius"] ** space.d * share)
    np.testing.assert_allclose(volume, np.ones(200), rtol=1e-12)


def test_masks_are_runs_of_actions():
    leaves = learned("pendulum-5", "AQL").leaves()
    masks = [sum(1 << a for a in range(first, first + count)) for first, count in leaves[["action_first", "action_count"]].tolist()]
    assert leaves["action_mask"].tolist() == masks


def test_the_table_is_a_copy():
    agent = learned("pendulum", "SPAQL")
    leaves = agent.leaves()
    leaves["q"] = 0.0
    assert agent.leaves()["q"].max() != 0.0


def test_random_is_one_leaf():
    assert learned("pendulum", "Random").arms == 1


def test_centres_can_be_told_in_physical_units():
    agent = learned("cartpole", "SPAQL-TS")
    physical = from_cube(agent.chart, agent.leaves()["state"])
    assert np.isfinite(physical).all()
    assert np.abs(physical[:, 0]).max() < 4.8
