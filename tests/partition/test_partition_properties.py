"""Whatever is learned, the leaves tile the cube, and the merged tree is the greedy policy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spaql

CAREFUL = settings(max_examples=60, deadline=None, database=None, derandomize=True)
coordinate = st.one_of(st.floats(-1, 1), st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.125, 0.5, 0.75, 1.0]))


@st.composite
def lessons(draw):
    """An agent after random transitions, some of them repeated so that the tree gets deep."""
    d, horizon = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    actions = draw(st.sampled_from([1, 2, [0], [0, 1], [0, 1, 2], [0, 1, 2, 3, 4]]))
    learner = draw(st.sampled_from([spaql.AQL, spaql.SPAQL, spaql.NBQL, spaql.ZoomRL]))
    agent = learner(spaql.cube(d, actions, horizon), xi=draw(st.sampled_from([0.0, 1.0])))
    point = st.tuples(*[coordinate] * d)
    action = st.tuples(*[coordinate] * actions) if isinstance(actions, int) else st.sampled_from(actions)
    moves = draw(st.lists(st.tuples(point, action, st.integers(-2, 2), point, st.integers(0, horizon - 1), st.integers(1, 40))))
    for obs, act, reward, after, step, times in moves:
        for _ in range(times):
            agent.update(obs, act, reward, after, step=step)
    return agent, [move[0] for move in moves]


def size_of_actions(agent, leaves):
    """Share of all actions that each leaf holds."""
    if "action" in leaves.dtype.names:
        return leaves["radius"] ** agent.state.space.k
    return leaves["action_count"] / agent.state.space.m


def covers(centre, radius, value):
    """Half-open, except at the upper edge of the cube."""
    low, high = centre - radius, centre + radius
    return (low <= value) & ((value < high) | ((high == 1.0) & (value == 1.0)))


def holding(leaves, tree, state):
    inside = np.all([covers(leaves["state"][:, j], leaves["radius"], x) for j, x in enumerate(state)], axis=0)
    return inside & (leaves["tree"] == tree)


def holding_action(leaves, action):
    if "action" not in leaves.dtype.names:
        return np.array([(int(m) >> action) & 1 == 1 for m in leaves["action_mask"]])
    centres = leaves["action"].reshape(len(leaves), -1)
    return np.all([covers(centres[:, j], leaves["radius"], a) for j, a in enumerate(action)], axis=0)


@CAREFUL
@given(lessons())
def test_leaves_of_every_tree_fill_the_cube_exactly(lesson):
    agent, _ = lesson
    leaves = agent.leaves()
    volume = leaves["radius"] ** agent.state.space.d * size_of_actions(agent, leaves)
    for tree in range(agent.state.space.trees):
        assert volume[leaves["tree"] == tree].sum() == pytest.approx(1.0, rel=1e-12)


@CAREFUL
@given(lessons(), st.data())
def test_every_state_and_action_is_in_exactly_one_leaf(lesson, data):
    agent, _ = lesson
    leaves, space = agent.leaves(), agent.state.space
    state = data.draw(st.tuples(*[coordinate] * space.d))
    action = data.draw(st.tuples(*[coordinate] * space.k) if space.k else st.integers(0, space.m - 1))
    for tree in range(space.trees):
        assert np.count_nonzero(holding(leaves, tree, state) & holding_action(leaves, action)) == 1


@CAREFUL
@given(lessons(), st.data())
def test_prediction_is_the_last_best_leaf_over_the_state(lesson, data):
    agent, visited = lesson
    leaves, space = agent.leaves(), agent.state.space
    state = data.draw(st.tuples(*[coordinate] * space.d) if not visited else st.sampled_from(visited))
    for tree in range(space.trees):
        relevant = leaves[holding(leaves, tree, state)]
        best = relevant[np.flatnonzero(relevant["q"] == relevant["q"].max())[-1]]
        action, _ = agent.predict(state, state=np.array([tree]))
        expected = best["action"] if space.k else agent.problem.actions.values[best["action_first"]]
        np.testing.assert_array_equal(np.ravel(action), np.ravel(expected))


@CAREFUL
@given(lessons(), st.data())
def test_an_update_visits_the_leaf_that_holds_state_and_action(lesson, data):
    agent, _ = lesson
    if agent.algorithm == "AQL":
        return  # it visits its greedy ball
    space, before = agent.state.space, agent.leaves()
    state = data.draw(st.tuples(*[coordinate] * space.d))
    action = data.draw(st.tuples(*[coordinate] * space.k) if space.k else st.integers(0, space.m - 1))
    [held] = np.flatnonzero(holding(before, 0, state) & holding_action(before, action))
    agent.update(state, action, 1.0, state)
    after = agent.leaves()
    if len(after) == len(before):
        np.testing.assert_array_equal(np.flatnonzero(after["visits"] != before["visits"]), [held])
        assert after["visits"][held] == before["visits"][held] + 1
    else:
        children = after[held : held + len(after) - len(before) + 1]
        assert set(children["visits"]) == ({0} if agent.algorithm == "ZoomRL" else {before["visits"][held] + 1})
        assert set(children["depth"]) == {before["depth"][held] + 1}
        assert agent.options["xi"] == 0.0 or before["visits"][held] + 1 >= 4 ** int(before["depth"][held])
