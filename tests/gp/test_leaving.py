"""States beyond all data: what is believed of them, and what becomes of an agent whose episodes lead there."""

import math

import numpy as np
import pytest

import spaql
from spaql.gp.learned_problem import imagined, model_of
from spaql.gp.python_form import in_python
from spaql.gp.reward import reward_bounds
from spaql.gp.transitions import Data
from spaql.laws.atlas_trials import LONG, TrialsLoop
from spaql.laws.forecast import leaving, returns_in
from spaql.learners.atlas.experience import BEGAN
from spaql.plants.plant import advance
from spaql.trees.edits import constant

FINE, END = -10.0, 6  # places in `Numbers.reward`: see its comment
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


@pytest.mark.parametrize(("data", "falls"), [
    (walked(), 1.0),
    (walked(ends=False), 0.0),
    (walked(fine=100.0), 0.0),  # a prize
    (walked(fine=-1.0, earned=-1.0), 0.0),  # who ends saves costs, as a car on its hill
    (walked(fine=-100.0, earned=-1.0), 1.0),
])  # fmt: skip
def test_to_leave_the_data_is_to_fall_where_ends_are_losses(data, falls):
    assert reward_bounds(None, data, 30, judged=True)[END] == falls
    assert reward_bounds(None, data, 30, judged=False)[END] == 0.0  # who plans may hope


def test_who_leaves_the_data_is_fined_once_half_as_much_as_for_a_fall_and_earns_no_more():
    found = returns_in(learned(walked()), PUSH, 0)
    assert (found > 0.5 * FINE).all()  # it has earned something on its way
    assert (found < 0.0).all()  # and was fined; the other thirty steps cost nothing
    assert returns_in(learned(walked()), REST, 0).max() == pytest.approx(30.0, abs=0.1)


def test_where_steps_cost_something_it_is_fined_once_too_half_way_between_a_fall_and_going_on():
    dear = walked(fine=-100.0, earned=-1.0)
    found = returns_in(learned(dear), PUSH, 0)  # -65, and -1 for each step on the way; no step costs 100 again and again
    assert (found < -65.0).all()
    assert (found > -75.0).all()
    assert returns_in(learned(dear), REST, 0).max() == pytest.approx(-30.0, abs=0.1)
    cheap = walked(fine=-10.0, earned=-1.0)  # to fall costs less than to go on
    assert returns_in(learned(cheap), PUSH, 0) == pytest.approx(-12.5, abs=3.0)


def test_without_ends_every_step_out_there_pays_the_worst():
    data = walked(ends=False)._replace(rewards=np.linspace(-1.0, 1.0, 120))
    assert returns_in(learned(data), PUSH, 0).max() < -15.0


def test_the_share_of_episodes_that_leave_the_data_is_told():
    for one in (learned(walked()), learned(walked(ends=False)), learned(walked(), functions=1)):
        assert leaving(one, PUSH, 0) == 1.0
        assert leaving(one, REST, 0) == 0.0


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


@spaql.reset
def charged(u):
    return 0.2 * u - 0.1, 0.0, 1.0


@spaql.step
def drained(angle, rate, charge, torque):
    rate = rate + 0.05 * (6.0 * math.sin(angle) + 4.0 * torque)
    angle = angle + 0.05 * rate
    fallen = abs(angle) > 0.8
    return (angle, rate, charge - 0.003), -10.0 if fallen else 1.0 - angle * angle, fallen


def rod():
    """An inverted rod whose battery runs low; nothing else depends on it."""
    state = [spaql.Axis("angle", slope=1.0), spaql.Axis("rate", slope=0.3), spaql.Axis("charge", 0, 1)]
    torque = spaql.Continuous((-2.0,), (2.0,), ("torque",))
    return spaql.from_plant(charged, drained, name="rod", horizon=300, reference=(0, 0, 1), state=state, actions=torque)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_search")
def test_laws_that_leave_the_data_get_a_long_trial_and_are_doubted():
    agent = spaql.Atlas(rod(), seed=1, controller="laws")
    agent.learn(samples=300)
    begins = np.flatnonzero(agent.state.memory.flags[:300] & BEGAN)
    assert np.diff([*begins, 300]).max() > LONG
    trust = agent.trust()
    assert trust.leaving > 0.9
    assert any("it leaves the data" in line for line in trust.doubts)
    assert agent.evaluate(200).mean > trust.mean - 10.0  # no law that falls rather than to leave the data


def test_laws_that_stay_where_data_is_get_a_trial_as_long_as_others():
    agent = spaql.Atlas(spaql.cube(1, 1, 30), seed=0, controller="laws")
    data = walked()
    loop, model = TrialsLoop.__new__(TrialsLoop), model_of(agent.problem, data)
    loop.agent = agent
    assert loop._leaves(model, data, PUSH)
    assert not loop._leaves(model, data, REST)
