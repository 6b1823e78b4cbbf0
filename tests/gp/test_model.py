"""What a model makes of data: points, noise, ends, and what it believes far from all of it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest

import spaql
from spaql.gp.gaussian_process import Scales, features, inducing_points, kernel, posterior, rbf
from spaql.gp.learned_problem import imagined, model_of, one_function, predicted, starts_of
from spaql.gp.model import learn_model, numbers_of
from spaql.gp.transitions import Data
from spaql.ground import workers
from spaql.laws.planner import planned
from spaql.laws.trials import Trials, seeds_of
from spaql.trees.edits import constant

WIDTHS = Scales(np.log([0.7, 0.5]), 0.0, np.log(0.05))


def walk(steps, after, seed=0, d=1, begin=None, reward=None):
    """Data of one long episode under random actions."""
    rng, states = np.random.default_rng(seed), [np.zeros(d) if begin is None else begin]
    actions = rng.uniform(-1, 1, (steps, 1))
    for u in actions:
        states.append(after(states[-1], float(u[0]), rng))
    x = np.array(states)
    paid = -np.abs(x[1:, 0]) if reward is None else reward(x)
    return Data(x[:-1], actions, paid, x[1:], np.zeros(steps, bool))


def problem(d=1, horizon=20):
    return spaql.cube(d, 1, horizon)


def test_with_all_data_as_points_it_is_the_gaussian_process():
    rng = np.random.default_rng(0)
    x, at = rng.uniform(-1, 1, (30, 2)), rng.uniform(-1, 1, (10, 2))
    y = np.sin(3 * x[:, 0]) + x[:, 1]
    noise = np.exp(2 * WIDTHS.noise) + 1e-8
    exact = kernel(at, x, WIDTHS) @ np.linalg.solve(kernel(x, x, WIDTHS) + noise * np.eye(30), y)
    found = posterior(x, y, x, WIDTHS)
    np.testing.assert_allclose(features(at, x, WIDTHS, False) @ found.mean, exact, atol=1e-4)


def test_few_points_explain_the_kernels_of_all():
    x = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    own = inducing_points(x, x[:0], WIDTHS, 200, 1e-4)
    assert len(own) < 60
    inner = rbf(own, own, WIDTHS) + 1e-9 * np.eye(len(own))
    across = rbf(x, own, WIDTHS)
    left = 1.0 - (across @ np.linalg.inv(inner) * across).sum(axis=1)
    assert left.mean() < 2e-4


def test_doubt_gets_points_only_where_there_is_no_data():
    x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    near, far = x[:20] + 0.01, x[:20] + 5.0
    without = len(inducing_points(x, x[:0], WIDTHS, 200, 1e-3))
    assert len(inducing_points(x, near, WIDTHS, 200, 1e-3)) <= without + 3
    assert len(inducing_points(x, far, WIDTHS, 200, 1e-3)) > without + 10


def test_walls_do_not_spoil_the_model():
    data = walk(200, lambda x, u, _: x + 0.2 * u if abs(x[0] + 0.2 * u) <= 1 else -0.9 * x)
    model = model_of(problem(), data)
    rng = np.random.default_rng(0)
    mean = imagined(problem(), model, data, starts_of(problem(), data, rng), rng)
    told = predicted(mean, np.array([[0.1], [-0.3]]), np.array([[0.5], [-0.5]]))
    np.testing.assert_allclose(told[:, 0], [0.2, -0.4], atol=0.02)


def test_how_many_cores_there_are_changes_no_bit(monkeypatch):
    data = walk(200, lambda x, u, _: 0.9 * x + 0.2 * u)
    model = model_of(problem(), data)
    rng = np.random.default_rng(0)
    drawn = imagined(problem(), model, data, starts_of(problem(), data, rng), rng, 4, np.zeros((5, 2)))
    seeds, law = seeds_of(1, 7, 0, 300), constant(1, np.array([0.3]))
    outcomes = []
    for cores in (1, 3):
        monkeypatch.setattr(workers, "cores", lambda cores=cores: cores)
        plans = planned(drawn, 1, 10**7)
        outcomes.append((Trials(drawn).returns(law, seeds), plans.states, plans.actions, plans.returns, plans.steps))
    for few, many in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(few, many)
    assert len(outcomes[0][1]) > 0


def test_threads_that_ask_at_once_get_the_same_numbers_in_memory():
    """Tables keep addresses. From Python 3.12 on a cached property alone is computed by every thread that comes early."""
    data = walk(60, lambda x, u, _: 0.9 * x + 0.2 * u)
    learned = imagined(problem(), model_of(problem(), data), data, data.states[:1], np.random.default_rng(0))
    for _ in range(20):
        plant, begin = replace(learned.plant), Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            seen = [done.result() for done in [pool.submit(lambda: (begin.wait(), plant.memory)) for _ in range(8)]]  # noqa: B023
        assert len({id(memory[0]) for _, memory in seen}) == 1


@pytest.mark.parametrize("kind", ["seen", "moving"])
def test_noise_of_a_sensor_is_told_from_noise_that_moves_the_plant(kind):
    rng, size = np.random.default_rng(3), 0.1
    x, true, rows = np.zeros(1), 0.0, []
    for _ in range(300):
        u = rng.uniform(-1, 1)
        true = 0.8 * true + 0.3 * u + (size * rng.standard_normal() if kind == "moving" else 0.0)
        after = np.array([true + (size * rng.standard_normal() if kind == "seen" else 0.0)])
        rows.append((x, [u], 0.0, after, False))
        x = after
    data = Data(*(np.array([row[i] for row in rows]) for i in range(5)))
    model = learn_model(data, np.array([-1.0]), np.array([1.0]), True, True)
    numbers = numbers_of(model, data, data.states[:1], 3, np.zeros((1, 2)), rng)
    moving, seen = numbers.noise[0] * numbers.scale[0] / 12**0.5, numbers.blur[0] / 12**0.5
    if kind == "seen":
        assert seen > 0.05
        assert seen > moving * 0.7
    else:
        assert moving == pytest.approx(size, rel=0.25)
        assert seen < 0.04


def test_beginnings_on_a_circle_stay_on_it():
    rng = np.random.default_rng(0)
    angle = rng.uniform(-0.5, 0.5, 60)
    x = np.column_stack([np.cos(angle), np.sin(angle), rng.uniform(-1, 1, 60)])
    data = Data(x, np.zeros((60, 1)), np.zeros(60), x[::-1], np.zeros(60, bool))
    starts = starts_of(problem(3), data, rng)
    np.testing.assert_allclose(np.hypot(starts[:, 0], starts[:, 1]), 1.0, rtol=1e-9)


def test_nothing_good_is_believed_far_from_the_data():
    data = walk(150, lambda x, u, _: 0.5 * x + 0.1 * u, reward=lambda x: np.sign(x[1:, 0]))
    model, rng = model_of(problem(), data), np.random.default_rng(0)
    drawn = one_function(imagined(problem(), model, data, data.states[:1], rng, 2, np.zeros((1, 2))), 0)
    numbers = drawn.plant.numbers
    assert numbers.reward[3] == data.rewards.max()
    assert numbers.reward[4] == data.rewards.min()


def test_a_function_that_lacks_a_part_of_the_data_knows_nothing_of_it():
    """In every episode the first variable is elsewhere, and the action moves the second one another way."""
    rng, gains, rows = np.random.default_rng(0), (1.0, -1.0, 2.0, -2.0, 1.0), []
    for place, gain in enumerate(gains):
        here = np.array([3.0 * place, 0.0])
        for u in rng.uniform(-1, 1, (20, 1)):
            rows.append((here, u, 0.0, np.array([here[0] + 0.02, gain * u[0]]), False))
            here = rows[-1][3]
    data = Data(*(np.array([row[i] for row in rows]) for i in range(5)))
    lacking = imagined(problem(2), model_of(problem(2), data), data, data.states[:1], rng, 6, lacking=True)
    at, push = data.states[10::20], np.ones((5, 1))
    wrong = [np.abs(predicted(one_function(lacking, f), at, push)[:, 1] - gains) for f in range(6)]
    assert wrong[0].max() < 0.1  # it lacks nothing
    assert sorted(one.argmax() for one in wrong[1:]) == [0, 1, 2, 3, 4]
    assert np.median([one.max() for one in wrong[1:]]) > 0.5


def test_ends_that_always_pay_the_same_are_paid_once():
    rng, rows = np.random.default_rng(0), []
    for _ in range(12):
        x = rng.uniform(-0.5, 0.0, 1)
        for _ in range(25):
            u = rng.uniform(-0.5, 1.0)
            after = x + 0.08 * u
            done = bool(after[0] > 0.4)
            rows.append((x, [u], 100.0 if done else -0.1 * u * u, after, done))
            x = after
            if done:
                break
    data = Data(*(np.array([row[i] for row in rows]) for i in range(5)))
    model = model_of(problem(), data)
    assert model.reward_model.last == 100.0
    drawn = imagined(problem(), model, data, data.states[:1], rng)
    returns = Trials(drawn).returns(constant(1, [1.0]), seeds_of(0, 1, 0, 8))
    assert 95.0 < returns.mean() <= 100.0
    lacking = imagined(problem(), model, data, data.states[:1], rng, 6, lacking=True)
    for f in range(6):
        assert 90.0 < Trials(one_function(lacking, f)).returns(constant(1, [1.0]), seeds_of(0, 1, 0, 8)).mean() <= 100.0
