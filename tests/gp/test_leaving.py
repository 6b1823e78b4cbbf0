"""States beyond all data: what is believed of them, and what becomes of an agent whose episodes lead there."""

import numpy as np
import pytest

import spaql
from spaql.gp.learned_problem import imagined, model_of
from spaql.gp.scalar_form import in_python
from spaql.gp.transitions import Data
from spaql.laws.forecast import leaving, returns_in
from spaql.plants.plant import advance
from spaql.trees.edits import constant

FINE = -10.0
PUSH, REST = constant(1, [1.0]), constant(1, [0.0])


def walked(ends=True, fine=FINE, earned=1.0, steps=120):
    """A cart that goes where it is pushed, earns something at every step, and falls beyond -0.6."""
    rng, rows, x = np.random.default_rng(0), [], 0.0
    for _ in range(steps):
        u = rng.uniform(-1.0, 1.0)
        after = x + 0.3 * u
        ended = ends and after < -0.6
        rows.append(([x], [u], fine if ended else earned, [after], ended))
        x = 0.0 if ended or abs(after) > 0.8 else after
    return Data(*(np.array([row[i] for row in rows]) for i in range(5)))


def learned(data, functions=3, horizon=30):
    problem, rng = spaql.cube(1, 1, horizon), np.random.default_rng(0)
    model = model_of(problem, data)
    return imagined(problem, model, data, np.zeros((1, 1)), rng, functions, np.zeros((1, 2)))


def test_who_leaves_the_data_earns_no_more():
    assert returns_in(learned(walked()), PUSH, 0).max() < 10.0  # something on its way
    assert returns_in(learned(walked()), REST, 0).max() == pytest.approx(30.0, abs=0.1)


def test_without_ends_every_step_out_there_pays_the_worst():
    data = walked(ends=False)._replace(rewards=np.linspace(-1.0, 1.0, 120))
    assert returns_in(learned(data), PUSH, 0).max() < -15.0


def test_the_share_of_episodes_that_leave_the_data_is_told():
    for problem in (learned(walked()), learned(walked(ends=False)), learned(walked(), functions=1)):
        assert leaving(problem, PUSH, 0) == 1.0
        assert leaving(problem, REST, 0) == 0.0


def test_the_plain_model_falls_where_the_compiled_one_does():
    plant = learned(walked()).plant
    plain, rows = in_python(plant), plant.rows
    table = plant.table()
    places = np.linspace(-1.5, 1.5, 31)
    table[rows.state, :31], table[rows.action, :31], table[rows.noise : rows.reward] = places, 1.0, 0.5
    advance(plant.batch[1], table.reshape(-1), 0, 0, np.zeros(31, np.uint64), 0)
    ended = table[rows.done, :31] != 0.0
    assert ended.any()
    assert not ended.all()
    for i, x in enumerate(places.tolist()):
        _, reward, done = plain.step.python(x, 0.0, 0.0, 1.0, *[0.5] * plain.step_noise)
        assert done == ended[i]
        assert reward == pytest.approx(table[rows.reward, i], abs=1e-5)
