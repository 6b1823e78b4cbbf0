"""What learned models say about a controller."""

import numpy as np

import spaql
from spaql.gp.learned_problem import model_of
from spaql.gp.transitions import Data, parts_of
from spaql.laws.forecast import PARTS, functions_for, lacking_some, returns_in, within_twice
from spaql.trees.edits import constant

PUSH, PULL = constant(1, [1.0]), constant(1, [-1.0])


def slope(episodes, length=10, seed=0, begin=0.0):
    """A cart that goes where it is pushed; it is paid for its place, of which 0.5 was the highest."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(episodes):
        x = rng.uniform(-begin, begin, 1)
        for _ in range(length):
            u = rng.uniform(-1.0, 1.0)
            rows.append((x, [u], x[0] + 0.1 * u, x + 0.1 * u, False))
            x = x + 0.1 * u
    return Data(*(np.array([row[i] for row in rows]) for i in range(5)))


def drawn_for(data):
    problem = spaql.cube(1, 1, 10)
    model = model_of(problem, data)
    return problem, model, functions_for(problem, model, 10, data, PUSH, 0)[0]


def test_a_step_that_pays_or_costs_more_than_any_seen_is_believed_only_where_it_is_asked_for():
    _, _, drawn = drawn_for(slope(12))
    for tree, side, plant in ((PUSH, 1, 5.5), (PULL, 0, -5.5)):
        usual, beyond = (returns_in(problem, tree, 0).mean() for problem in (drawn, within_twice(drawn)[side]))
        assert abs(usual) < 4.0
        assert abs(usual - plant) > abs(beyond - plant) + 1.0


def test_functions_that_lack_a_part_begin_where_those_of_the_model_of_all_data_do():
    data = slope(12, begin=0.5)
    problem, model, drawn = drawn_for(data)
    lacking = lacking_some(drawn, problem, model, data, 0)
    assert np.ptp(drawn.plant.numbers.starts) > 0.5
    np.testing.assert_array_equal(lacking.plant.numbers.starts, drawn.plant.numbers.starts)
    assert returns_in(lacking, PUSH, 0).shape == (1 + PARTS, 50)


def test_parts_have_as_many_steps_each_of_episodes_in_a_random_order():
    data, rng = slope(7), np.random.default_rng(0)
    part = parts_of(data, PARTS, rng)
    assert np.bincount(part).tolist() == [14] * PARTS
    assert np.count_nonzero(np.diff(part)) <= 7 + PARTS
    assert (parts_of(data, PARTS, rng) != part).any()
    assert np.bincount(parts_of(slope(1, 50), PARTS, rng)).tolist() == [10] * PARTS
