"""Where episodes end: beyond a border that many have crossed, or only near the few places where one has ended."""

import numpy as np
import pytest

from spaql.gp.data import Data
from spaql.gp.ends import border, ending_of, ends_of, is_loss
from spaql.gp.fit import mean_at
from spaql.gp.units import inputs_of, units_of

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
    ending, values = ending_of(units, data, 300), ends_of(units, data)
    at = border(mean_at(values.x, values.x, values.y, ending.widths), data.ended)
    x = inputs_of(units, np.asarray(places, float), np.zeros((len(places), 1)))
    return ending, mean_at(x, values.x, values.y, ending.widths) > at


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
    assert ending.rare == (count < 5)  # five that lie close together show a width of their own
    assert ends[:count].all()
    assert (np.abs(grid[ends[count:]]) < 0.6).all()
    assert ends[count:].mean() < 0.01


def test_where_an_end_is_a_loss_the_border_is_the_last_value_that_was_survived():
    values, ended = np.array([0.1, 0.5, 0.9, 0.3]), np.array([False, False, True, False])
    assert border(values, ended) == pytest.approx(0.7)
    assert border(values, ended, loss=True) == 0.5


@pytest.mark.parametrize(
    ("others", "end", "loss"),
    [
        (1.0, 1.0, True),  # a pole that falls earns no more
        (-1.0, -1.0, False),  # a car that arrives costs no more
        (-1.0, -100.0, True),  # a fine
        (-1.0, 100.0, False),  # a prize
        (0.5, -1.0, True),
    ],
)
def test_an_end_is_a_loss_if_it_pays_less_or_takes_what_others_earn(others, end, loss):
    data = seen(lambda nexts: nexts[:, 0] > 2.5)
    assert is_loss(data._replace(rewards=np.where(data.ended, end, others))) == loss


def test_without_an_end_there_is_no_loss():
    assert not is_loss(seen(lambda nexts: np.zeros(len(nexts), bool)))
