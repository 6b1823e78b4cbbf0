"""Where episodes end: beyond a border that many have crossed, or only near the few places where one has ended."""

import numpy as np
import pytest

import spaql
from spaql.gp.gaussian_process import mean_at
from spaql.gp.learned_problem import imagined, model_of, one_function
from spaql.gp.reward import border, border_gap, end_values, fit_end
from spaql.gp.transitions import Data, inputs_of, units_of
from spaql.laws.trials import Trials
from spaql.trees.edits import constant


@spaql.reset
def anywhere(u):
    return (u,)


@spaql.step
def moved(x, push):
    x = x + 0.05 * push
    return (x,), 1.0, x > 0.8


LOW, HIGH = np.array([-1.0]), np.array([1.0])


def seen(ends, n=500, seed=0):
    """Steps from anywhere to somewhere near; `ends(next states)` tells which end an episode."""
    rng = np.random.default_rng(seed)
    states, actions = rng.uniform(-3, 3, (n, 2)), rng.uniform(-1, 1, (n, 1))
    nexts = states + 0.1 * np.column_stack([states[:, 1], actions[:, 0]])
    return Data(states, actions, np.full(n, -1.0), nexts, ends(nexts))


def told(data, places):
    """Which of these next states end an episode."""
    units = units_of(data, LOW, HIGH)
    ending, values = fit_end(units, data, 300), end_values(units, data)
    at = border(mean_at(values.x, values.x, values.y, ending.scales), data.ended)
    x = inputs_of(units, np.asarray(places, float), np.zeros((len(places), 1)))
    return ending, mean_at(x, values.x, values.y, ending.scales) > at


def test_a_fall_is_believed_beyond_its_border_also_where_none_was_seen():
    ending, ends = told(seen(lambda nexts: np.abs(nexts[:, 0]) > 2.5), [[2.8, 0.0], [-2.9, 2.0], [0.0, 0.0], [2.0, -1.0]])
    assert not ending.rare
    assert ends.tolist() == [True, True, False, False]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_goal_that_was_reached_a_few_times_is_believed_near_these_places_only(count):
    """A smooth function of so few ends is mostly noise, and its border lies anywhere."""

    def nearest(nexts):
        return np.argsort((nexts**2).sum(axis=1))[:count]

    data = seen(lambda nexts: np.isin(np.arange(len(nexts)), nearest(nexts)))
    grid = np.random.default_rng(1).uniform(-3, 3, (400, 2))
    ending, ends = told(data, np.concatenate([data.nexts[data.ended], grid]))
    assert ending.rare or count > 1  # some that lie close together may show a width of their own
    assert ends[:count].all()
    assert (np.abs(grid[ends[count:]]) < 0.6).all()
    assert ends[count:].mean() < 0.01


def test_the_border_is_half_way_between_the_nearest_two():
    values, ended = np.array([0.1, 0.5, 0.9, 0.3]), np.array([False, False, True, False])
    assert border_gap(values, ended) == (0.5, 0.9)
    assert border(values, ended) == pytest.approx(0.7)


def test_functions_differ_in_where_ends_begin_from_what_was_survived_to_what_was_not():
    """Whoever settles half-way between them may lose everything, and has to lose it in some of the functions."""
    n, rng = 200, np.random.default_rng(0)
    states, actions = np.sort(rng.uniform(0.0, 1.0, (n, 1)), axis=0), rng.uniform(-1.0, 1.0, (n, 1))
    data = Data(states, actions, np.ones(n), states + 0.05 * actions, (states + 0.05 * actions)[:, 0] > 0.8)
    low, high = data.nexts[~data.ended].max(), data.nexts[data.ended].min()
    problem = spaql.from_plant(anywhere, moved, state=[spaql.Axis("x", -1, 2)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=2)
    told = imagined(problem, model_of(problem, data), data, np.full((1, 1), 0.5), rng, 6)

    def ends(f, x):
        """In two steps that lead nowhere else."""
        return Trials(one_function(told, f, np.array([x]))).returns(constant(1, np.zeros(1)), np.arange(1))[0] < 1.5

    assert [ends(f, low - 0.01) for f in range(1, 6)] == [False] * 5
    assert [ends(f, high + 0.01) for f in range(1, 6)] == [True] * 5
    assert [ends(f, 0.5 * (low + high)) for f in (1, 2, 4, 5)] == [True, True, False, False]
