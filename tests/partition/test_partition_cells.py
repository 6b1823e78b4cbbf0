"""Cells: who owns a cut, how many children a split has, in which order they come."""

import itertools

import numpy as np
import pytest

import spaql


def visited_once_more(problem, obs, action):
    """The leaf that (obs, action) falls in after the first split."""
    agent = spaql.SPAQL(problem, xi=0.0)
    centre = np.full(len(problem.state), 0.3)
    agent.update(centre, action if isinstance(action, int) else np.full_like(action, 0.3), 0.0, centre)  # splits the root
    before = agent.leaves()["visits"].copy()
    agent.update(obs, action, 0.0, obs)
    leaves = agent.leaves()
    [changed] = np.flatnonzero(leaves["visits"] != before)
    return leaves[changed]


@pytest.mark.parametrize(
    ("x", "centre"), [(0.0, 0.5), (-0.0, 0.5), (1e-300, 0.5), (1.0, 0.5), (-1.0, -0.5), (-5e-324, -0.5)]
)
def test_a_state_on_the_cut_belongs_to_the_upper_cell_and_the_upper_edge_to_the_last(x, centre):
    leaf = visited_once_more(spaql.cube(1, [0], horizon=10), [x], 0)
    assert leaf["state"].tolist() == [centre]


@pytest.mark.parametrize(("a", "centre"), [(0.0, 0.5), (np.nextafter(0, -1), -0.5), (1.0, 0.5), (-1.0, -0.5)])
def test_an_action_on_the_cut_belongs_to_the_upper_cell_and_the_upper_edge_to_the_last(a, centre):
    leaf = visited_once_more(spaql.cube(1, 1, horizon=10), [0.3], np.array([a]))
    assert leaf["action"] == centre


def test_deeper_cuts_belong_to_the_upper_cell_too():
    agent = spaql.SPAQL(spaql.cube(1, [0], horizon=10), xi=0.0)
    for _ in range(4):
        agent.update([0.75], 0, 0.0, [0.75])  # the cell from 0 to 1 is cut at 0.5
    assert visited(agent, [0.5])["state"] == [0.75]
    assert visited(agent, [np.nextafter(0.5, 0)])["state"] == [0.25]


def visited(agent, obs):
    before = agent.leaves()
    agent.update(obs, 0, 0.0, obs)
    after = agent.leaves()
    assert len(before) == len(after)
    [changed] = np.flatnonzero(before["visits"] != after["visits"])
    return after[changed]


def test_an_unvisited_agent_is_one_leaf_over_everything():
    [leaf] = spaql.SPAQL(spaql.cube(3, 1, horizon=200)).leaves()
    assert leaf["state"].tolist() == [0.0, 0.0, 0.0]
    assert (leaf["radius"], leaf["depth"], leaf["visits"], leaf["q"], leaf["action"], leaf["tree"]) == (1.0, 0, 0, 200.0, 0.0, 0)


def test_the_first_visit_splits_the_root_and_children_inherit():
    agent = spaql.SPAQL(spaql.cube(2, 1, horizon=10), xi=2.0)
    agent.update([0.1, 0.1], 0.1, 3.0, [0.2, 0.2])
    leaves = agent.leaves()
    assert set(leaves["q"]) == {3.0 + 10.0 + 2.0}  # rate 1: reward + V + bonus
    assert set(leaves["visits"]) == {1}
    assert set(leaves["depth"]) == {1}
    assert set(leaves["radius"]) == {0.5}


@pytest.mark.parametrize("visits", range(1, 70))
def test_a_ball_splits_at_four_to_the_depth_visits(visits):
    agent = spaql.SPAQL(spaql.cube(1, [7], horizon=10))
    for _ in range(visits):
        agent.update([0.3], 7, 0.0, [0.3])
    splits = sum(visits >= 4**depth for depth in range(5))
    assert agent.arms == 1 + splits
    assert agent.leaves()["depth"].max() == splits


def test_continuous_children_come_upper_half_first_and_actions_inside_states():
    agent = spaql.SPAQL(spaql.cube(2, 1, horizon=10))
    agent.update([0.1, 0.1], 0.1, 0.0, [0.1, 0.1])
    order = [(*leaf["state"], leaf["action"]) for leaf in agent.leaves()]
    assert order == list(itertools.product([0.5, -0.5], repeat=3))


def test_several_action_axes_come_last_axis_fastest():
    agent = spaql.SPAQL(spaql.cube(1, 2, horizon=10))
    agent.update([0.1], [0.1, 0.1], 0.0, [0.1])
    order = [(*leaf["state"], *leaf["action"]) for leaf in agent.leaves()]
    assert order == list(itertools.product([0.5, -0.5], repeat=3))


def test_finite_children_come_first_part_before_second():
    agent = spaql.SPAQL(spaql.cube(1, [0, 1, 2, 3, 4], horizon=10))
    agent.update([0.1], 0, 0.0, [0.1])
    order = [(leaf["state"][0], int(leaf["action_mask"])) for leaf in agent.leaves()]
    assert order == [(0.5, 0b00011), (0.5, 0b11100), (-0.5, 0b00011), (-0.5, 0b11100)]


def test_ties_go_to_the_last_leaf_in_child_order():
    continuous, finite = spaql.SPAQL(spaql.cube(1, 1, horizon=10)), spaql.SPAQL(spaql.cube(1, [0, 1, 2], horizon=10))
    for agent in (continuous, finite):
        agent.update([0.1], 0, 0.0, [0.1])
    assert continuous.predict([0.1])[0] == -0.5
    assert finite.predict([0.1])[0] == 1  # the first action of the last part {1, 2}
