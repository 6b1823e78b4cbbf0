"""Arenas: the same start states every time, moments that can be gone on from, every step counted."""

import numpy as np
import pytest

import spaql
from hand_made_trees import cartpole_tree, pendulum_tree
from spaql.compress.arena import EnvironmentArena, Moments, PlantArena, arena_of
from spaql.trees.tree import Builder, leaf_of

TORQUES = np.array([[-2.0], [0.0], [2.0]])


@pytest.fixture(scope="module")
def pendulum():
    return spaql.make("pendulum"), pendulum_tree()


def test_a_start_state_is_the_same_whatever_is_asked_before_or_with_it(pendulum):
    problem, tree = pendulum
    arena, other = arena_of(problem, 300), arena_of(problem, 20)
    all_of_them = arena.returns(tree, 0, 300)
    np.testing.assert_array_equal(arena.returns(tree, 130, 170), all_of_them[130:170])
    np.testing.assert_array_equal(other.returns(tree, 3, 20), all_of_them[3:20])


def test_another_seed_means_other_start_states(pendulum):
    problem, tree = pendulum
    assert not np.array_equal(arena_of(problem, 10, seed=1).returns(tree, 0, 10), arena_of(problem, 10).returns(tree, 0, 10))


def test_every_step_is_counted(pendulum):
    problem, tree = pendulum
    arena = arena_of(problem, 64)
    arena.returns(tree, 10, 20)
    assert arena.steps == arena.samples == 10 * problem.horizon
    moments = arena.moments(tree, 100, seed=0)
    before = arena.samples
    arena.futures(tree, moments, TORQUES, 2)
    left = problem.horizon - moments.memory[2]
    assert arena.samples - before == (len(TORQUES) + 1) * left.sum()


def test_moments_are_about_as_many_as_wanted_and_where_the_tree_goes(pendulum):
    problem, tree = pendulum
    arena = arena_of(problem, 64)
    moments = arena.moments(tree, 1000, seed=3)
    assert 800 < len(moments.states) < 1200
    assert (moments.states[:, 0] > 0.99).mean() > 0.5  # it stands most of the time
    np.testing.assert_array_equal(arena.moments(tree, 1000, seed=3).states, moments.states)
    assert not np.array_equal(arena.moments(tree, 1000, seed=4).states[:10], moments.states[:10])


def test_going_on_from_a_moment_is_the_rest_of_its_episode(pendulum):
    problem, tree = pendulum
    arena = PlantArena(problem, 64)
    places, keys, times = arena.moments(tree, 2000, seed=0).memory
    begin = np.flatnonzero(times == 0)
    assert len(begin) > 3
    futures = arena.futures(tree, Moments(places[begin, 2:5], (places[begin], keys[begin], times[begin])), TORQUES, 1)
    returns = arena.returns(tree, 0, 64)
    assert set(futures[:, -1]) <= set(returns)


def test_holding_what_the_tree_applies_for_one_step_changes_nothing_and_another_action_does(pendulum):
    problem, tree = pendulum
    arena = arena_of(problem, 64)
    moments = arena.moments(tree, 300, seed=0)
    futures = arena.futures(tree, moments, TORQUES, 1)
    applied = tree.actions[leaf_of(tree, moments.states)][:, 0]
    for column, torque in enumerate(TORQUES[:, 0]):
        same = applied == torque
        np.testing.assert_array_equal(futures[same, column], futures[same, -1])
    assert (futures[:, 0] != futures[:, 2]).mean() > 0.9


def test_noise_of_the_plant_is_that_of_the_episode():
    @spaql.reset
    def start(u):
        return (u,)

    @spaql.step
    def drift(x, push, u):
        return (0.9 * x + push + u - 0.5,), -x * x, False

    problem = spaql.from_plant(start, drift, state=[spaql.Axis("x", slope=1.0)], actions=spaql.Finite((0, 1)), horizon=30)
    builder = Builder(1, 1)
    node = builder.test(0, 0.0)
    low = builder.leaf(1)
    builder.join(node, low, builder.leaf(0))
    arena, tree = arena_of(problem, 64), builder.tree()
    places, keys, times = arena.moments(tree, 1000, seed=0).memory
    begin = times == 0
    futures = arena.futures(tree, Moments(places[begin, 1:2], (places[begin], keys[begin], times[begin])), np.empty((0, 1)), 0)
    assert begin.sum() > 5
    assert set(futures[:, 0]) <= set(arena.returns(tree, 0, 64))


def test_a_tree_that_drives_the_plant_out_of_all_numbers_has_lost():
    @spaql.reset
    def start(u):
        return (1.0 + u,)

    @spaql.step
    def explode(x, push):
        return (x * x * push,), x, False

    problem = spaql.from_plant(start, explode, state=[spaql.Axis("x", slope=1.0)], actions=spaql.Finite((0, 9)), horizon=50)
    builder = Builder(1, 1)
    builder.leaf(9)
    returns = arena_of(problem, 8).returns(builder.tree(), 0, 8)
    assert np.isfinite(returns).all()
    assert (returns < -1e50).all()


def test_an_environment_answers_the_same_questions_but_cannot_branch():
    problem = spaql.from_gym("CartPole-v1", horizon=50)
    arena, tree = arena_of(problem, 5), cartpole_tree()
    assert isinstance(arena, EnvironmentArena)
    returns = arena.returns(tree, 0, 5)
    assert arena.samples == returns.sum()  # a reward of one per step
    np.testing.assert_array_equal(arena.returns(tree, 2, 4), returns[2:4])
    moments = arena.moments(tree, 30, seed=0)
    assert moments.states.shape == (30, 4)
    assert not arena.branches
    with pytest.raises(spaql.SpaqlError, match="cannot be set to a state"):
        arena.futures(tree, moments, np.array([[0.0]]), 1)
