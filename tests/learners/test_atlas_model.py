"""The parts of a plan: systems fitted to data, where episodes end, cells, neighbours, weights, values."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from spaql.ground.compiling import kernel
from spaql.learners.atlas.cell_fit import Examples, design, fit_base
from spaql.learners.atlas.cell_model import (
    cell_of,
    descend_lanes,
    fit_model,
    leaves_of,
    predict,
    predict_lanes,
    width_of,
)
from spaql.learners.atlas.cells import grow
from spaql.learners.atlas.endings import ENDING_LEAVES, ending_tree
from spaql.learners.atlas.support import Support, _neighbour_tree
from spaql.learners.atlas.values import count_near, iterate, link, nearest, new_links, new_work, weigh
from spaql.trees.tree import LEAF

CHOICES = np.array([[-1.0, 1.0], [0.0, 0.0], [1.0, 1.0]])  # u and u^2


@kernel
def predict_all(model, states, features, after, reward):
    for i in range(len(states)):
        reward[i] = predict(model, cell_of(model.nodes, states[i]), states[i], features[i], after[i])


def predicted(model, states, features):
    """Next states and rewards."""
    n, d = states.shape
    after, reward = np.zeros((n, width_of(d))), np.zeros(n)
    predict_all(model, np.ascontiguousarray(states), np.ascontiguousarray(features), after, reward)
    return after[:, :d], reward


@kernel
def predict_side_by_side(model, x, cell, out, p, n):
    descend_lanes(model.nodes, x, cell, n)
    predict_lanes(model, x, cell, out, p, n)


@kernel
def neighbours_of(support, states, found, weights, counts, work):
    """The nearest support points of every state, and their weights."""
    for i in range(len(states)):
        n = nearest(support, states[i], work)
        counts[i] = n
        for j in range(n):
            found[i, j] = work.neighbour[j]
        weigh(support, states[i], n, work)
        for j in range(n):
            weights[i, j] = work.weight[j]


def data(n, change, reward, noise=0.0, seed=0, d=2):
    """Transitions in the metric of the data: states, features, rewards, next states."""
    rng = np.random.default_rng(seed)
    z, u = rng.uniform(-0.4, 0.4, (n, d)), rng.choice([-1.0, 0.0, 1.0], n)
    features = np.column_stack([u, u * u])
    after = z + change(z, u) + noise * rng.normal(size=(n, d))
    return z, features, reward(z, u) + noise * rng.normal(size=n), after


def errors(model, change, reward, noise=0.0, n=2000, d=2):
    """Root mean squared error of next state and reward on new data, away from the edge of what was seen."""
    z, features, r, after = data(n, change, reward, noise, seed=99, d=d)
    inner = np.abs(z).max(axis=1) < 0.33
    guess, paid = predicted(model, z[inner], features[inner])
    return np.sqrt(((guess - after[inner]) ** 2).mean()), np.sqrt(((paid - r[inner]) ** 2).mean())


def affine(z, u):
    return z @ np.array([[-0.1, 0.05], [0.2, -0.15]]) + 0.03 * u[:, None] * [1.0, -0.5] + [0.01, -0.02]


def quadratic(z, u):
    return affine(z, u) + 0.3 * z[:, :1] * z[:, 1:] * [1.0, -1.0] + 0.2 * u[:, None] * z


def curved(z, u):
    return 0.1 * np.sin(6.0 * z[:, ::-1]) + 0.05 * u[:, None] * np.cos(5.0 * z)


def linear_reward(z, u):
    return 1.0 + z @ [2.0, -1.0] + 0.5 * u


def quadratic_reward(z, u):
    return -(z**2).sum(axis=1) - 0.1 * u * u


def fitted(sample, most=200, ended=None):
    z, features, r, after = sample
    ended = np.zeros(len(z), bool) if ended is None else ended
    return fit_model(Examples(z, features, r, after, ended), CHOICES, most)


# -- fitting ---------------------------------------------------------------------------------------------------------------------------


def test_an_affine_system_is_recovered():
    state, reward = errors(fitted(data(400, affine, linear_reward)), affine, linear_reward)
    assert state < 1e-4
    assert reward < 1e-3


def test_a_quadratic_system_is_recovered():
    state, reward = errors(fitted(data(1000, quadratic, quadratic_reward)), quadratic, quadratic_reward)
    assert state < 1e-3
    assert reward < 1e-3


def test_the_base_alone_is_the_quadratic_system():
    z, features, r, after = data(1000, quadratic, quadratic_reward)
    left = np.column_stack([after - z, r])
    wanted = left.copy()
    base = fit_base(Examples(z, features, r, after, np.zeros(len(z), bool)), left)
    np.testing.assert_allclose(design(z, features) @ base + left, wanted, atol=1e-12)
    assert np.abs(left).max() < 0.01


def test_cells_follow_what_no_quadratic_system_can():
    sample = data(3000, curved, quadratic_reward)
    whole, cells = errors(fitted(sample, most=1), curved, quadratic_reward), errors(fitted(sample), curved, quadratic_reward)
    assert cells[0] < 0.3 * whole[0]


@pytest.mark.parametrize("noise", [0.003, 0.02, 0.1])
@pytest.mark.parametrize("system", [affine, quadratic])
def test_cells_do_not_learn_noise(system, noise):
    sample = data(1000, system, quadratic_reward, noise)
    whole, cells = (errors(fitted(sample, most), system, quadratic_reward, noise) for most in (1, 200))
    assert cells[0] < 1.1 * whole[0]
    assert cells[1] < 1.1 * whole[1]


def test_the_reward_of_the_last_step_is_not_that_of_a_step():
    z, features, r, after = data(600, affine, linear_reward)
    ended = after[:, 0] > 0.3
    model = fitted((z, features, np.where(ended, r - 50.0, r), after), ended=ended)
    inside = ~ended
    _, paid = predicted(model, z, features)
    np.testing.assert_allclose(paid[inside], r[inside], atol=0.01)
    at = leaves_of(model.ends, after[ended])
    assert (model.ending[at] == 1).all()
    np.testing.assert_allclose(model.last_reward[at], -50.0, atol=1.0)  # beyond what a step earns there


def test_states_side_by_side_are_predicted_as_one_by_one():
    z, features, r, after = data(1000, curved, quadratic_reward)
    model, n, d, p = fitted((z, features, r, after)), 50, 2, 2
    x = np.ascontiguousarray(np.column_stack([z[:n], features[:n]]).T)
    cell, out = np.zeros(n, np.int64), np.zeros((width_of(d), n))
    predict_side_by_side(model, x, cell, out, p, n)
    expected, reward = predicted(model, z[:n], features[:n])
    np.testing.assert_array_equal(cell, leaves_of(model.nodes, z[:n]))
    np.testing.assert_array_equal(x[:d].T, expected)
    np.testing.assert_array_equal(out[d], reward)


def test_predictions_stay_within_what_was_seen():
    model = fitted(data(300, affine, linear_reward))
    guess, paid = predicted(model, np.full((50, 2), 30.0), CHOICES[np.zeros(50, int)])
    assert (guess <= model.high).all()
    assert (guess >= model.low).all()
    assert (paid <= model.rewards[1]).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 7, 8])
def test_any_number_of_variables(d):
    def forward(z, u):
        return -0.1 * z + 0.05 * u[:, None] * np.arange(1, d + 1) / d

    def paid(z, u):
        return z.sum(axis=1) + 0.3 * u

    model = fitted(data(600, forward, paid, d=d))
    state, reward = errors(model, forward, paid, d=d)
    assert state < 1e-3
    assert reward < 3e-3


@pytest.mark.parametrize("n", [1, 2, 3, 11])
def test_a_handful_of_transitions_is_a_model(n):
    model = fitted(data(n, affine, linear_reward))
    guess, paid = predicted(model, np.zeros((1, 2)), CHOICES[:1])
    assert np.isfinite(guess).all()
    assert np.isfinite(paid).all()


# -- endings ---------------------------------------------------------------------------------------------------------------------------


def test_the_threshold_beyond_which_episodes_end_is_found():
    points = np.random.default_rng(0).uniform(-1, 1, (1000, 3))
    ended = points[:, 1] > 0.7
    nodes, ending, reward = ending_tree(points, ended, np.zeros(ended.sum()))
    assert len(nodes) == 3
    assert nodes["feature"][0] == 1
    assert points[~ended, 1].max() < nodes["cut"][0] <= points[ended, 1].min()
    np.testing.assert_array_equal(ending[leaves_of(nodes, points)], ended)
    assert (reward == 0.0).all()


def test_two_ends_pay_differently():
    points = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    ended = np.abs(points[:, 0]) > 0.8
    extra = np.where(points[ended, 0] > 0, 100.0, -10.0)
    nodes, ending, reward = ending_tree(points, ended, extra)
    at = leaves_of(nodes, points)
    np.testing.assert_array_equal(ending[at], ended)
    np.testing.assert_allclose(reward[at[ended]], extra)


def test_where_nothing_ends_there_is_one_leaf():
    nodes, ending, _ = ending_tree(np.random.default_rng(0).normal(size=(50, 2)), np.zeros(50, bool), np.zeros(0))
    assert len(nodes) == 1
    assert ending.tolist() == [0]


def test_endings_that_depend_on_nothing_seen_make_a_tree_of_bounded_size():
    rng = np.random.default_rng(0)
    ended = rng.random(5000) < 0.5
    nodes, _, _ = ending_tree(rng.normal(size=(5000, 2)), ended, rng.normal(size=ended.sum()))
    assert (nodes["feature"] == LEAF).sum() <= ENDING_LEAVES


# -- cells -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_count", [True, False])
@pytest.mark.parametrize("most", [1, 2, 37, 5000])
def test_there_are_at_most_so_many_cells_and_they_hold_all_points(by_count, most):
    points = np.random.default_rng(0).normal(size=(1000, 3))
    nodes, order, ranges = grow(points, most, 2, by_count=by_count)
    leaves = np.flatnonzero(nodes["feature"] == LEAF)
    assert len(leaves) <= most
    assert sorted(order) == list(range(1000))
    assert (ranges[leaves, 1] - ranges[leaves, 0]).sum() == 1000
    at = leaves_of(nodes, points)
    for leaf in leaves:
        assert (at[order[ranges[leaf, 0] : ranges[leaf, 1]]] == leaf).all()


def test_small_cells_are_not_cut():
    points = np.random.default_rng(0).normal(size=(1000, 2))
    nodes, _, ranges = grow(points, 5000, 12, by_count=True)
    inner = nodes["feature"] != LEAF
    assert (ranges[inner, 1] - ranges[inner, 0]).min() >= 12


def test_thin_cells_are_not_cut():
    points = np.repeat(np.arange(4.0), 50)[:, None] + 1e-5 * np.random.default_rng(0).normal(size=(200, 1))
    nodes, _, _ = grow(points, 5000, 2, by_count=False)
    assert (nodes["feature"] == LEAF).sum() == 4


def test_points_that_coincide_make_one_cell():
    nodes, _, _ = grow(np.zeros((100, 2)), 50, 2, by_count=False, narrow=0.0)
    assert len(nodes) == 1


def test_with_a_crowd_cells_are_where_the_points_are():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(0.0, 0.5, (5000, 2)), rng.uniform(0.5, 1.0, (50, 2))])
    share = []
    for crowd in (0.0, 1.0):
        nodes, _, _ = grow(points, 60, 2, by_count=False, crowd=crowd)
        leaves = np.unique(leaves_of(nodes, points[:5000]))
        share.append(len(leaves) / (nodes["feature"] == LEAF).sum())
    assert share[1] > share[0]


# -- neighbours and weights ------------------------------------------------------------------------------------------------------------


def support_of(points, ended=None):
    m = len(points)
    cells, order, ranges = grow(points, m, 2, by_count=False, narrow=0.0)
    of_cell = np.where(cells["feature"] == LEAF, order[ranges[:, 0]], -1)
    return Support(cells, of_cell, points, np.zeros(m, np.int64) if ended is None else ended, *_neighbour_tree(points))


def looked_up(support, states, k):
    n = len(states)
    found, weights, counts = np.full((n, k), -1), np.zeros((n, k)), np.zeros(n, np.int64)
    neighbours_of(support, states, found, weights, counts, new_work(support, k))
    return found, weights, counts


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_neighbours_are_the_nearest_ones(d):
    rng = np.random.default_rng(d)
    points, states = rng.normal(size=(400, d)), 1.5 * rng.normal(size=(300, d))
    found, _, counts = looked_up(support_of(points), states, 4 * d)
    distance = np.linalg.norm(points[found] - states[:, None], axis=2)
    assert (counts == 4 * d).all()
    np.testing.assert_allclose(distance, cKDTree(points).query(states, 4 * d)[0].reshape(300, -1))


def test_points_that_coincide_are_neighbours_only_once():
    rng = np.random.default_rng(0)
    alone, states = rng.normal(size=(50, 2)), rng.normal(size=(100, 2))
    found, _, _ = looked_up(support_of(np.concatenate([alone, alone[:20], alone[:20]])), states, 8)
    distance = np.linalg.norm(np.concatenate([alone, alone[:20], alone[:20]])[found] - states[:, None], axis=2)
    np.testing.assert_allclose(distance, cKDTree(alone).query(states, 8)[0])


def test_fewer_points_than_neighbours_are_all_found():
    points = np.array([[0.0], [0.0], [1.0]])
    _, weights, counts = looked_up(support_of(points), np.array([[0.25]]), 3)
    assert counts.tolist() == [2]
    assert weights[0].sum() == pytest.approx(1.0)


def test_weights_are_convex_and_put_the_state_where_it_is():
    rng = np.random.default_rng(0)
    points, states = rng.uniform(-1, 1, (2000, 2)), rng.uniform(-0.9, 0.9, (500, 2))
    found, weights, _ = looked_up(support_of(points), states, 8)
    assert (weights >= 0.0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    there = (weights[:, :, None] * points[found]).sum(axis=1)
    reach = np.linalg.norm(points[found[:, -1]] - states, axis=1)
    gap = np.linalg.norm(there - states, axis=1) / reach
    assert np.median(gap) < 0.05
    assert gap.max() < 0.6


def test_at_a_support_point_it_weighs_most():
    points = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    found, weights, _ = looked_up(support_of(points), points[:50].copy(), 8)
    np.testing.assert_array_equal(found[:, 0], np.arange(50))
    assert (weights.argmax(axis=1) == 0).all()
    assert np.median(weights[:, 0]) > 0.9


def test_far_outside_weights_are_still_convex():
    points = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    _, weights, _ = looked_up(support_of(points), np.array([[1e6, -1e6], [50.0, 0.0]]), 8)
    assert (weights >= 0.0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_data_near_support_points_are_counted():
    rng = np.random.default_rng(0)
    points, seen, radius = rng.normal(size=(300, 3)), rng.normal(size=(2000, 3)), 0.3
    counts = np.zeros(300)
    support = support_of(points)
    count_near(support, seen, radius, counts, new_work(support, 1))
    near = cKDTree(seen).query_ball_point(points, radius, return_length=True)
    np.testing.assert_array_equal(counts, near)


# -- values ----------------------------------------------------------------------------------------------------------------------------


def chain(n, gamma, actions=2):
    """Places 0 ... n - 1 in a row, the first is home: one action goes home, the other one away; every step costs 1."""
    links = new_links(n, actions, 1)
    links.reward[:] = -1.0
    links.discount[:] = gamma
    links.arrivals[:] = 1
    links.weight[:] = 1.0
    for i in range(n):
        links.target[i, 0, 0], links.target[i, 1, 0] = max(i - 1, 0), min(i + 1, n - 1)
    return links, (np.arange(n) == 0).astype(np.int64)


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.995])
def test_values_of_a_chain_are_the_analytic_ones(gamma):
    links, ended = chain(40, gamma)
    value, q = np.zeros(40), np.zeros((40, 2))
    value[0] = 10.0  # what home is worth
    iterate(links, ended, np.zeros(0), value, q, np.zeros(40, np.int64), 2000, 1e-12)
    steps = np.arange(40)
    np.testing.assert_allclose(value, -(1 - gamma**steps) / (1 - gamma) + 10.0 * gamma**steps, rtol=1e-6)
    assert (q[1:].argmax(axis=1) == 0).all()


def test_a_worse_guess_to_begin_with_ends_at_the_same_values():
    links, ended = chain(20, 0.9)
    found = []
    for begin in (0.0, -500.0, 500.0):
        value = np.where(ended == 1, 0.0, begin)
        iterate(links, ended, np.zeros(0), value, np.zeros((20, 2)), np.zeros(20, np.int64), 2000, 1e-12)
        found.append(value)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)


def test_a_bonus_counts_on_arrival_and_instead_of_rewards():
    links, ended = chain(10, 0.9)
    bonus, value, q = np.zeros(10), np.zeros(10), np.zeros((10, 2))
    bonus[9] = 1.0
    iterate(links, ended, bonus, value, q, np.zeros(10, np.int64), 2000, 1e-12)
    np.testing.assert_allclose(value[1:9], 10.0 * 0.9 ** np.arange(7, -1, -1), rtol=1e-6)
    assert (q[1:9].argmax(axis=1) == 1).all()


def test_links_hold_an_action_until_its_cell_is_left():
    def right(z, u):
        return np.full_like(z, 0.05)

    def one(z, u):
        return np.ones(len(z))

    model = fitted(data(500, right, one, d=1))
    points = np.array([[-0.3], [-0.1], [0.1], [0.3]])  # cut at -0.2, 0 and 0.2
    support = support_of(points)
    work = new_work(support, 2)
    once, held = new_links(4, 3, 2), new_links(4, 3, 2)
    link(model, support, 0.9, 1, once, work)
    link(model, support, 0.9, 50, held, work)
    np.testing.assert_allclose(once.reward, 1.0, atol=1e-6)
    np.testing.assert_allclose(once.discount, 0.9)
    steps = np.round(np.log(held.discount[:3]) / np.log(0.9)).astype(int)
    assert ((steps == 2) | (steps == 3)).all()  # from the point to the cut: 0.1
    np.testing.assert_allclose(held.reward[:3], (1 - 0.9**steps) / 0.1, rtol=1e-5)
