"""What learned models say about a controller."""

import numpy as np

import spaql
from spaql.gp.data import Data, parts_of
from spaql.gp.problem import model_of
from spaql.laws.forecast import PARTS, functions_for, lacking_some, returns_in, within_twice
from spaql.trees.edits import constant

PUSH = constant(1, [1.0])


def slope(episodes, length=10, seed=0):
    """A cart that goes where it is pushed; it is paid for its place, of which 0.5 was the highest."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(episodes):
        x = np.zeros(1)
        for _ in range(length):
            u = rng.uniform(-1.0, 1.0)
            rows.append((x, [u], x[0] + 0.1 * u, x + 0.1 * u, False))
            x = x + 0.1 * u
    return Data(*(np.array([row[i] for row in rows]) for i in range(5)))


def drawn_for(data):
    problem = spaql.cube(1, 1, 10)
    model = model_of(problem, data)
    return problem, model, functions_for(problem, model, 10, data, PUSH, 0)[0]


def test_a_step_that_pays_more_than_any_seen_is_believed_only_where_it_is_asked_for():
    data = slope(12)
    _, _, drawn = drawn_for(data)
    told = returns_in(drawn, PUSH, 0).mean()
    worse, better = (returns_in(one, PUSH, 0).mean() for one in within_twice(drawn))
    assert told < 3.8
    assert 4.5 < better < 5.5  # that is what the plant pays
    assert worse <= told


def test_models_that_lack_a_part_begin_where_the_model_of_all_data_does():
    data = slope(12)
    problem, model, drawn = drawn_for(data)
    returns = returns_in(lacking_some(drawn, problem, model, data, 0), PUSH, 0)
    assert returns.shape == (1 + PARTS, 50)
    assert np.abs(returns[1:].mean(axis=1) - returns[0].mean()).max() < 0.1  # the plant is linear: every part tells all


def test_parts_are_whole_episodes_or_stretches_of_time_where_episodes_are_few():
    rng = np.random.default_rng(0)
    part = parts_of(slope(7), PARTS, rng).reshape(7, 10)
    assert (part == part[:, :1]).all()
    assert sorted(np.bincount(part[:, 0]).tolist()) == [1, 1, 1, 2, 2]
    part = parts_of(slope(2, 25), PARTS, rng)
    assert np.bincount(part).tolist() == [10] * PARTS
    assert np.count_nonzero(np.diff(part)) <= PARTS
