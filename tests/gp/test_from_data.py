"""A plant from recorded steps: Gaussian processes that can be tried like any plant."""

import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import spaql
from spaql.gp.gaussian_process import Scales, fit_scales, kernel
from spaql.laws.trials import Trials, seeds_of
from spaql.plants.environment import PlantEnv
from spaql.plants.plant import advance
from spaql.policy.outputs import make_laws
from spaql.trees.edits import constant
from spaql.trees.laws import THRESHOLD
from spaql.trees.tree import NODE, make_tree


def recorded(name, steps, seed=0, stint=40):
    """Random actions, each held for some steps; a new episode after `stint` steps or an end."""
    problem, rng = spaql.make(name), np.random.default_rng(seed)
    env, native, rows, episode = PlantEnv(problem), problem.native_one(), [], 0
    low, high = problem.actions.bounds
    values = problem.actions.values
    while len(rows) < steps:
        seen, _ = env.reset(seed=1000 * seed + episode)
        episode += 1
        for t in range(min(stint, steps - len(rows))):
            if t % 3 == 0:
                action = rng.uniform(low, high) if not values else np.array([float(rng.choice(values))])
            after, reward, ended, *_ = env.step(native(action))
            rows.append((seen, action, reward, after, ended))
            seen = after
            if ended:
                break
    return problem, tuple(np.array([row[i] for row in rows]) for i in range(5))


def one_step(problem, states, actions, function=0):
    """What the plant of a learned problem says of steps, by its own table."""
    plant = problem.plant
    table, rows, n = plant.table(), plant.rows, len(states)
    table[rows.state : rows.state + states.shape[1], :n] = states.T
    table[rows.state + states.shape[1]] = function
    table[rows.action : rows.action + actions.shape[1], :n] = actions.T
    table[rows.noise : rows.reward] = 0.5  # no noise
    advance(plant.batch[1], table.reshape(-1), 0, 0, np.zeros(n, np.uint64), 0)
    after = table[rows.observation : rows.observation + states.shape[1], :n].T.copy()
    return after, table[rows.reward, :n].copy(), table[rows.done, :n].copy()


def test_what_was_learned_predicts_steps_that_were_not_seen():
    problem, data = recorded("pendulum", 250)
    _, (states, actions, rewards, nexts, _) = recorded("pendulum", 100, seed=5)
    learned = spaql.from_data(replace(problem, known=None), *data)
    after, paid, _ = one_step(learned, states, actions)
    error = np.sqrt(((after - nexts) ** 2).mean(axis=0)) / (nexts - states).std(axis=0)
    assert (error < 0.05).all()
    assert np.corrcoef(paid, rewards)[0, 1] > 0.99


def test_the_compiled_prediction_is_the_sum_of_the_equation():
    problem, data = recorded("mountain-car-continuous", 60)
    learned = spaql.from_data(problem, *data, functions=3)
    numbers = learned.plant.numbers
    for function in range(3):
        after, _, _ = one_step(learned, data[0][:20], data[1][:20], function)
        z = (data[0][:20] - numbers.centre) / numbers.scale
        x = np.column_stack([z, (data[1][:20] - numbers.middle) / numbers.half])
        for j in range(2):
            apart = (x[:, :, None] * numbers.inverse[j][None, :, None]) - numbers.points[j][None]
            bump = np.exp(-0.5 * (apart**2).sum(axis=1)) @ numbers.weights[j][function]
            change = bump + x @ numbers.linear[function, j, :-1] + numbers.linear[function, j, -1]
            held = np.clip(z[:, j] + change, numbers.low[j], numbers.high[j])
            np.testing.assert_allclose(after[:, j], numbers.centre[j] + numbers.scale[j] * held, atol=1e-3)  # single


def test_an_episode_has_the_same_bits_alone_and_beside_others():
    problem, data = recorded("pendulum", 60)
    trials, seeds = Trials(spaql.from_data(problem, *data)), seeds_of(0, 99, 0, 33)
    tree = constant(3, [1.0])
    together = trials.returns(tree, seeds)
    np.testing.assert_array_equal(together, [trials.returns(tree, seeds[i : i + 1])[0] for i in range(33)])


def test_functions_agree_where_there_is_data_and_differ_where_there_is_none():
    problem, data = recorded("pendulum", 400)
    hanging = data[0][:, 0] < 0
    learned = spaql.from_data(problem, *(part[hanging][:120] for part in data), functions=8)

    def spread(which):
        told = [one_step(learned, data[0][which][:100], data[1][which][:100], function)[0] for function in range(8)]
        return np.std(told, axis=0).mean()

    assert spread(~hanging) > 3 * spread(hanging)


def test_what_is_known_is_not_learned():
    problem, data = recorded("pendulum", 60)
    after, paid, ended = one_step(spaql.from_data(problem, *data), data[0][:30], data[1][:30])
    told, _ = problem.known.outcomes(data[0][:30], data[1][:30], after)
    np.testing.assert_allclose(paid, told, rtol=1e-12)
    assert not ended.any()


def test_ends_are_learned_where_they_are_not_known():
    problem, data = recorded("cartpole", 250)
    learned = spaql.from_data(replace(problem, known=None), *data)
    _, (states, actions, _, _, ended) = recorded("cartpole", 250, seed=3)
    told = one_step(learned, states[:120], actions[:120])[2]
    assert (told == ended[:120]).mean() > 0.95
    leaning = np.array([[0.0, 0.0, 0.2, 2.0]])
    assert one_step(learned, leaning, np.array([[1.0]]))[2][0] == 1.0


def test_a_law_found_in_the_model_of_random_steps_balances_the_true_plant():
    problem, data = recorded("cartpole", 150, seed=1)
    agent = spaql.Laws(spaql.from_data(problem, *data, seed=1), max_leaves=1, seed=1)
    agent.learn(samples=400_000)
    true = spaql.Policy(problem, agent.tree, "law tree", "from the model")
    assert true.evaluate(100).returns.min() > 190


def test_the_same_data_and_seed_give_the_same_plant():
    problem, data = recorded("pendulum", 40)
    one, other, third = (spaql.from_data(problem, *data, seed=seed).plant.numbers for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(one.weights, other.weights, strict=True))
    assert not np.array_equal(one.weights[0], third.weights[0])


def test_a_learned_problem_can_be_pickled():
    problem, data = recorded("pendulum", 40)
    learned = spaql.from_data(problem, *data)
    tree, seeds = constant(3, [1.0]), seeds_of(0, 99, 0, 5)
    copied = pickle.loads(pickle.dumps(learned))
    np.testing.assert_array_equal(Trials(copied).returns(tree, seeds), Trials(learned).returns(tree, seeds))


def test_a_constant_variable_and_one_action_do_no_harm():
    rng = np.random.default_rng(0)
    problem = spaql.cube(2, [0.0], 10)
    x = rng.uniform(-1, 1, (40, 2))
    x[:, 1] = 0.5
    learned = spaql.from_data(problem, x, np.zeros(40), x[:, 0], np.clip(0.9 * x, -1, 1))
    assert np.isfinite(Trials(learned).returns(constant(2, [0.0]), seeds_of(0, 1, 0, 8))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": np.zeros((20, 2))}, r"observations"),
        ({"rewards": np.full(20, np.nan)}, "rewards"),
        ({"actions": np.full((20, 1), np.inf)}, "actions"),
        ({"next_observations": np.zeros((19, 3))}, "next_observations"),
        ({"functions": 0}, "functions"),
        ({"terminated": np.zeros(3)}, "terminated"),
    ],
)
def test_bad_data_is_named(change, message):
    given = {
        "observations": np.zeros((20, 3)), "actions": np.zeros((20, 1)), "rewards": np.zeros(20),
        "next_observations": np.zeros((20, 3)),
    }  # fmt: skip
    with pytest.raises(spaql.SpaqlError, match=message):
        spaql.from_data(spaql.make("pendulum"), **(given | change))


def test_too_few_steps_are_refused():
    with pytest.raises(spaql.SpaqlError, match="3 steps are too few for a model: give at least 10"):
        spaql.from_data(spaql.make("pendulum"), np.zeros((3, 3)), np.zeros(3), np.zeros(3), np.zeros((3, 3)))
    with pytest.raises(spaql.SpaqlError, match="from_data takes a problem"):
        spaql.from_data("pendulum", [], [], [], [])


def test_the_evidence_finds_widths_and_noise():
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (120, 2))
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.standard_normal(120)  # the second input has no part
    y = (y - y.mean()) / y.std()
    scales, _ = fit_scales(x, y)
    assert scales.length[0] < 1.0 < scales.length[1]
    assert 0.05 < math.exp(scales.noise) < 0.3


def test_the_kernel_is_one_equation():
    scales = Scales(np.log([2.0, 0.5]), math.log(3.0), -9.0)
    a, b = np.array([[1.0, 0.2]]), np.array([[0.0, 0.1]])
    bump = 9.0 * math.exp(-0.5 * ((1.0 / 2.0) ** 2 + (0.1 / 0.5) ** 2))
    assert kernel(a, b, scales)[0, 0] == pytest.approx(bump + 0.02 + 1.0)


def law(gains):
    """One threshold on the cart-pole."""
    problem, nodes = spaql.make("cartpole"), np.zeros(1, NODE)
    nodes["feature"] = -1
    laws = make_laws(np.array([[gains]]), np.zeros((1, 1)), problem.actions, THRESHOLD)
    return make_tree(nodes, np.zeros((1, 1)), 4, None, laws)


def test_the_model_says_of_a_law_what_the_plant_says():
    problem, data = recorded("cartpole", 200, seed=2)
    learned, seeds = Trials(spaql.from_data(problem, *data)), seeds_of(0, 99, 0, 64)
    good, poor = law([0.0, 0.0, 5.0, 1.0]), law([0.0, 0.0, -5.0, -1.0])
    assert learned.returns(good, seeds).mean() > 140  # a few drift out of the data, where nothing is promised
    assert learned.returns(poor, seeds).mean() < 30


def test_what_cannot_be_predicted_is_told():
    problem, (states, actions, rewards, nexts, ended) = recorded("pendulum", 120)
    blind = np.random.default_rng(0).uniform(-8, 8, 120)  # a velocity that nobody measures
    states, nexts = states.copy(), nexts.copy()
    states[:, 2], nexts[:, 2] = blind, np.roll(blind, 7)
    with pytest.warns(spaql.SpaqlWarning, match=r"velocity \(\d+ %\).*Do not rely"):
        spaql.from_data(problem, states, actions, rewards, nexts, ended)


def test_a_good_model_brings_no_warning():
    problem, data = recorded("pendulum", 120)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spaql.from_data(replace(problem, known=None), *data)


def test_ranges_are_those_that_were_declared():
    """The model goes a little beyond the data; what is printed and exported are the ranges of the plant all the same."""
    problem = spaql.make("pendulum")
    learned = spaql.from_data(problem, spaql.record(problem, episodes=2))
    assert learned.state == problem.state
    assert "cos       -1 … 1" in str(learned)
    spaql.SPAQL(learned).learn(2, rollouts=2)  # beyond them it is at the edge, which is no error
    loop = spaql.loop(learned, observe=["cos", "velocity"])
    assert loop.state == (problem.state[0], problem.state[2])
    assert "from -1 to 1" in spaql.law(loop, [1.0, 1.0]).to_c()
