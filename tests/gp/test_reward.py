"""What a model makes of rewards: squares of angles that it sees as sine and cosine."""

from dataclasses import replace

import numpy as np
import pytest

import spaql
from spaql.gp.learned_problem import imagined, model_of, one_function, predicted
from spaql.gp.reward import last_reward, reward_bounds
from spaql.gp.scalar_form import in_python
from spaql.gp.transitions import Data
from spaql.plants.plant import advance


def turning(reward, seed=0, steps=80, far=1.0):
    """Steps of a wheel whose angle is seen as cosine and sine, `far` from the top."""
    rng = np.random.default_rng(seed)
    angle = np.sign(rng.uniform(-1, 1, steps)) * rng.uniform(far, np.pi, steps)
    speed, push = rng.uniform(-2, 2, (2, steps))
    after = angle + 0.1 * speed
    states, nexts = (np.column_stack([np.cos(a), np.sin(a), s]) for a, s in ((angle, speed), (after, speed + 0.1 * push)))
    return Data(states, push[:, None] / 2, reward(angle, speed, push), nexts, np.zeros(steps, bool))


def squared(angle, speed, push):
    return -(angle**2) - 0.1 * speed**2 - 0.001 * push**2


def paid_at(data, angles):
    problem = spaql.cube(3, 1, 20)
    model = model_of(problem, data)
    drawn = one_function(imagined(problem, model, data, data.states[:1], np.random.default_rng(0)), 0)
    plant, n = drawn.plant, len(angles)
    table, rows = plant.table(), plant.rows
    table[rows.state : rows.state + 3, :n] = np.cos(angles), np.sin(angles), np.zeros(n)
    table[rows.state + 3 : rows.action + 1, :n] = 0.0
    table[rows.noise : rows.reward] = 0.5
    advance(plant.batch[1], table.reshape(-1), 0, 0, np.zeros(n, np.uint64), 0)
    return table[rows.reward, :n].copy(), model, plant


def believed(plant, rewards):
    """No more than a little better than the best that was seen, and no worse than the worst."""
    return np.clip(rewards, plant.numbers.reward[2], plant.numbers.reward[3])


ANGLES = np.linspace(-3.1, 3.1, 21)


def test_the_square_of_an_angle_is_known_where_no_step_was():
    data = turning(squared)
    found, model, plant = paid_at(data, ANGLES)
    assert np.count_nonzero(model.reward_model.angle) == 1
    np.testing.assert_allclose(found, believed(plant, -(ANGLES**2)), atol=0.02)


def test_nothing_is_believed_above_the_highest_reward_by_a_judge_and_a_little_by_a_plan():
    data = turning(squared)
    reward_model = model_of(spaql.cube(3, 1, 20), data).reward_model
    assert reward_bounds(reward_model, data, judged=True).most == data.rewards.max()
    assert data.rewards.max() < reward_bounds(reward_model, data, judged=False).most < 0.0


def fallen(fine):
    """A wheel whose episodes end, at a price, in every tenth step."""
    data, ended = turning(squared), np.arange(80) % 10 == 9
    return data._replace(rewards=np.where(ended, data.rewards - fine, data.rewards), ended=ended)


def test_a_fine_far_from_other_rewards_is_no_part_of_their_function():
    data = fallen(1000.0)
    assert last_reward(data) == pytest.approx(-1000.0, rel=0.02)
    assert last_reward(fallen(1.0)) is None


def test_a_fine_is_no_measure_of_what_may_be_earned():
    data = fallen(1000.0)
    reward_model = model_of(spaql.cube(3, 1, 20), data).reward_model
    assert reward_bounds(reward_model, data, judged=True).least > -50.0
    assert reward_bounds(reward_model._replace(last=None), data, judged=True).least < -1000.0


def test_which_way_is_up_is_found():
    for shift in (0.5 * np.pi, np.pi, -0.5 * np.pi):
        data = turning(lambda angle, speed, push, by=shift: squared(np.angle(np.exp(1j * (angle - by))), speed, push), far=0.0)
        found, _, plant = paid_at(data, ANGLES)
        exact = -(np.angle(np.exp(1j * (ANGLES - shift))) ** 2)
        np.testing.assert_allclose(found, believed(plant, exact), atol=0.02)


def test_a_cosine_stays_a_cosine():
    data = turning(lambda angle, speed, push: np.cos(angle) - 0.1 * speed**2)
    found, model, plant = paid_at(data, ANGLES)
    assert not model.reward_model.angle.any()
    np.testing.assert_allclose(found, believed(plant, np.cos(ANGLES)), atol=0.02)


def test_as_plain_functions_angles_are_the_same():
    found, _, plant = paid_at(turning(squared), ANGLES)
    plain = in_python(plant)
    ours = [plain.step(np.cos(a), np.sin(a), 0.0, 0, 0.0, 0.0, 0.5, 0.5, 0.5) for a in ANGLES]
    assert [reward for _, reward, _ in ours] == pytest.approx(found, rel=1e-4, abs=1e-4)
    drawn = replace(spaql.cube(3, 1, 20), plant=plant)
    after = predicted(drawn, np.column_stack([np.cos(ANGLES), np.sin(ANGLES), np.zeros(21)]), np.zeros((21, 1)))
    assert np.array([state[:3] for state, _, _ in ours]) == pytest.approx(after, abs=1e-5)
