"""Sampled look-ahead on compiled plants, and the trees that follow it."""

import numpy as np
import pytest

import spaql
from spaql.ground.streams import LAWS_CONFIRMED
from spaql.laws.blocks import refine
from spaql.laws.lessons import Lessons, fitted_partitions
from spaql.laws.planner import BUDGET, planned
from spaql.laws.search import Search
from spaql.laws.stages import _take_units, state_units
from spaql.laws.trials import Trials, affordable, seeds_of
from spaql.laws.vector import measured_units
from spaql.trees.tree import decide, leaf_of


@pytest.fixture(scope="module")
def swinging():
    """A few planned episodes of the swing-up."""
    problem = spaql.make("cartpole-swing-up")
    plan = planned(problem, 5, 1_500_000)
    return problem, plan.states, plan.actions, plan.steps


def test_look_ahead_swings_the_pole_up_and_holds_it(swinging):
    _, states, _, _ = swinging
    episodes = states.reshape(-1, 40, 5)
    assert len(episodes) >= 8
    upright = episodes[:, 25:, 3] < -0.9  # cos = -1 is upright
    assert upright.mean() > 0.9


def test_actions_are_within_their_range_and_every_step_is_counted(swinging):
    _, states, actions, used = swinging
    assert np.abs(actions).max() <= 10.0
    assert 64 * 15 * 4 * len(states) * 0.7 < used <= 1_500_000


def test_the_same_seed_plans_the_same_and_another_seed_does_not(swinging):
    problem, states, actions, _ = swinging
    again = planned(problem, 5, 1_500_000)
    assert (again[0] == states).all()
    assert (again[1] == actions).all()
    assert not np.array_equal(planned(problem, 6, 1_500_000)[0], states)


def test_without_room_for_an_episode_nothing_is_planned():
    plan = planned(spaql.make("pendulum"), 0, 1000)
    assert (plan.states.shape, plan.actions.shape, plan.returns.shape, plan.steps) == ((0, 3), (0, 1), (0,), 0)


def test_finite_actions_are_planned_as_they_are():
    problem = spaql.make("cartpole")
    plan = planned(problem, 0, 7_000_000)
    assert set(np.unique(plan.actions)) <= {0.0, 1.0}
    assert len(plan.states) >= 200  # an episode that does not fall
    assert plan.returns[0] == 200.0
    assert np.abs(plan.states[:, 2]).max() < 0.2


def searching(problem, states, effort):
    units = measured_units(problem, states)
    return Search(Trials(problem), units, 0, 3, effort)


def test_partitions_have_laws_that_do_what_the_lessons_say(swinging):
    problem, states, actions, _ = swinging
    search = searching(problem, states, 0.1)
    trees = fitted_partitions(search, Lessons(states, actions), 3, 4)
    assert [tree.n_leaves for tree in trees] == [3] * 4
    wrong = [np.abs(decide(search.units.physical(tree), states) - actions).mean() for tree in trees]
    assert max(wrong) < 0.7 * np.abs(actions - actions.mean()).mean()  # what one constant would leave
    assert all(len(np.unique(leaf_of(tree, search.units.of(states)))) == 3 for tree in trees)


def test_one_law_has_no_partitions(swinging):
    problem, states, actions, _ = swinging
    assert fitted_partitions(searching(problem, states, 0.1), Lessons(states, actions), 1, 4) == []


def test_refining_in_blocks_makes_a_tree_better(swinging):
    problem, states, actions, _ = swinging
    search = searching(problem, states, 0.3)
    begin = fitted_partitions(search, Lessons(states, actions), 3, 1)[0]
    refine(search, begin, 1)
    seeds = seeds_of(9, LAWS_CONFIRMED, 0, 200)
    before, after = (search.trials.returns(search.units.physical(tree), seeds).mean() for tree in (begin, search.best.tree))
    assert after > before


def test_other_units_leave_the_controllers_as_they_are():
    agent = spaql.Laws(spaql.make("pendulum"), max_leaves=2, effort=0.05, seed=1)
    agent.learn(iterations=2)
    state, states = agent.state, np.random.default_rng(0).uniform(-1, 1, (500, 3)) * [1, 1, 8]
    before = {size: state_units(agent).physical(entry.tree) for size, entry in state.frontier.raw.items()}
    assert len(before) == 2
    visited = state.states / state.inverse + state.middle
    _take_units(agent, measured_units(agent.problem, states + 0.3))
    for size, tree in before.items():
        now = state_units(agent).physical(state.frontier.raw[size].tree)
        same = leaf_of(tree, states) == leaf_of(now, states)
        assert same.mean() > 0.99
        np.testing.assert_allclose(decide(now, states)[same], decide(tree, states)[same], atol=1e-9)
    np.testing.assert_allclose(state.states / state.inverse + state.middle, visited, atol=1e-9)


def test_the_effort_follows_from_the_samples():
    problem = spaql.make("pendulum")
    assert affordable(problem, None, 1) == affordable(problem, 10**10, 1) == 1.0
    assert 0.1 < affordable(problem, 1_000_000, 2) < affordable(problem, 1_000_000, 1) < affordable(problem, 10_000_000, 1) < 1.0
    assert BUDGET > 0


def test_two_million_samples_are_enough_to_balance():
    agent = spaql.Laws(spaql.make("cartpole-500"), max_leaves=1, seed=2)
    agent.learn(samples=2_000_000)
    assert agent.history.train_samples[-1] == 2_000_000
    assert agent.evaluate(100).mean > 490
