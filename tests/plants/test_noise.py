"""Noise of the plants: as large as told, where told, and the same for the same seed in every loop."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import LEARNERS, QUICK, assert_both_loops_agree, quick_first, run_batch, step_plant
from spaql.plants.assemble import gaussians
from spaql.plants.catalog import CATALOG
from spaql.plants.plant import LANES

COUNT = 40_000
NOISY = {
    "pendulum": {"process_noise": {"angle": 0.05, "velocity": 0.1}, "observation_noise": 0.02},
    "pendulum-5": {"process_noise": {"velocity": 0.1}},
    "pendulum-scaled": {"observation_noise": {"velocity": 0.1}},
    "cartpole": {"process_noise": {"angular velocity": 0.1, "position": 0.01}, "observation_noise": {"velocity": 0.1, "angle": 0.02}},
    "mountain-car": {"process_noise": {"velocity": 0.001}, "observation_noise": 0.01},
    "mountain-car-continuous": {"observation_noise": 0.05, "horizon": 60},
    "acrobot": {"process_noise": {"angle1": 0.1, "velocity2": 1.0}, "observation_noise": {"cos1": 0.1}, "horizon": 60},
    "oil-laplace": {"process_noise": {"location": 0.05}, "observation_noise": 0.1},
    "ambulance": {"process_noise": {"call": 0.1}, "observation_noise": 0.05},
}


def uniforms(plant, count=COUNT):
    return np.random.default_rng(5).random((count, plant.rows.reward - plant.rows.noise))


def repeated(problem, state, action, count=COUNT):
    """One step from the same state again and again, with different noise: states, observations, rewards, terminations."""
    plant = problem.plant
    full = np.zeros(plant.state_dim)
    full[: len(state)] = state
    return step_plant(plant, np.tile(full, (count, 1)), np.full((count, 1), action), noise=uniforms(plant, count))


def test_normal_numbers_are_normal():
    z = np.array([gaussians(u1, u2) for u1, u2 in np.random.default_rng(0).random((COUNT, 2))])
    assert np.abs(z.mean(axis=0)).max() < 0.02
    assert np.abs(z.std(axis=0) - 1.0).max() < 0.02
    assert abs(np.corrcoef(z.T)[0, 1]) < 0.02
    assert np.mean(np.abs(z) < 1.959964) == pytest.approx(0.95, abs=0.003)
    assert all(np.isfinite(gaussians(u1, u2)).all() for u1 in (0.0, 1.0 - 2.0**-53) for u2 in (0.0, 0.5))


def test_process_noise_has_the_size_told_around_the_step_without_it():
    states, _, _, _ = repeated(spaql.make("pendulum", process_noise={"velocity": 0.1}), (1.0, 2.0), 1.0)
    exact, _, _, _ = repeated(spaql.make("pendulum"), (1.0, 2.0), 1.0, 1)
    assert np.all(states[:, 0] == exact[0, 0])
    assert states[:, 1].mean() == pytest.approx(exact[0, 1], abs=0.002)
    assert states[:, 1].std() == pytest.approx(0.1, rel=0.02)


def test_noises_of_different_variables_are_independent():
    spread = {"position": 0.1, "velocity": 0.2, "angle": 0.01, "angular velocity": 0.3}
    states, _, _, _ = repeated(spaql.make("cartpole", process_noise=spread), (0.0, 0.0, 0.0, 0.0), 1.0)
    assert states.std(axis=0).tolist() == pytest.approx(list(spread.values()), rel=0.02)
    assert np.abs(np.corrcoef(states.T) - np.eye(4)).max() < 0.02


def test_noisy_velocity_is_clipped_and_noisy_angle_wrapped():
    states, seen, _, _ = repeated(spaql.make("pendulum", process_noise={"angle": 20.0, "velocity": 50.0}), (0.0, 0.0), 0.0)
    assert np.abs(states[:, 0]).max() <= np.pi
    assert np.unique(np.round(states[:, 0], 1)).size > 60
    assert np.abs(states[:, 1]).max() == 8.0
    assert np.abs(seen).max(axis=0).tolist() == pytest.approx([1.0, 1.0, 8.0])


def test_termination_is_judged_after_the_noise():
    states, _, _, done = repeated(spaql.make("cartpole", process_noise={"position": 1.5}), (0.0, 0.0, 0.0, 0.0), 1.0)
    np.testing.assert_array_equal(done, np.abs(states[:, 0]) > 2.4)
    assert 0 < done.sum() < COUNT
    assert np.abs(states[:, 0]).max() == 4.8  # where the map ends


def test_the_goal_is_judged_after_the_noise():
    problem = spaql.make("mountain-car", process_noise={"position": 0.1})
    states, _, _, done = repeated(problem, (0.45, 0.01), 2.0)
    np.testing.assert_array_equal(done, states[:, 0] >= 0.5)
    assert 0 < done.sum() < COUNT


def test_observation_noise_leaves_the_state_alone():
    states, seen, rewards, _ = repeated(spaql.make("pendulum", observation_noise={"velocity": 0.2}), (1.0, 2.0), 1.0)
    exact, clear, reward, _ = repeated(spaql.make("pendulum"), (1.0, 2.0), 1.0, 1)
    assert np.all(states[:, :2] == exact[0])
    assert np.all(rewards == reward[0])
    assert np.all(seen[:, :2] == clear[0, :2])
    assert seen[:, 2].mean() == pytest.approx(clear[0, 2], abs=0.005)
    assert seen[:, 2].std() == pytest.approx(0.2, rel=0.02)


def test_observation_noise_as_a_number_is_a_fraction_of_every_range():
    problem = spaql.make("pendulum", observation_noise=0.01)
    assert problem.parameters == {"observation_noise": {"cos": 0.02, "sin": 0.02, "velocity": 0.16}}
    _, seen, _, _ = repeated(problem, (1.0, 2.0), 1.0)
    assert seen.std(axis=0).tolist() == pytest.approx([0.02, 0.02, 0.16], rel=0.02)
    assert np.abs(np.corrcoef(seen.T) - np.eye(3)).max() < 0.02


def test_observations_stay_on_their_axes():
    _, seen, _, _ = repeated(spaql.make("pendulum", observation_noise=0.9), (1.0, 2.0), 1.0)
    assert seen.min(axis=0).tolist() == [-1.0, -1.0, -8.0]
    assert seen.max(axis=0).tolist() == [1.0, 1.0, 8.0]


def test_unbounded_observations_are_not_clipped():
    _, seen, _, _ = repeated(spaql.make("cartpole", observation_noise={"velocity": 1000.0}), (0.0, 0.0, 0.0, 0.0), 1.0)
    assert seen[:, 1].std() == pytest.approx(1000.0, rel=0.02)


def test_the_first_observation_is_noisy_too():
    plant = spaql.make("mountain-car", observation_noise={"velocity": 0.01}).plant
    table = np.zeros((plant.rows.end, LANES))
    table[plant.rows.noise : plant.rows.reward] = np.random.default_rng(1).random((plant.rows.reward - plant.rows.noise, LANES))
    run_batch(plant.batch[0], table.reshape(-1), LANES)
    seen = table[plant.rows.observation : plant.rows.action]
    assert np.all(table[1] == 0.0)  # the car is at rest
    assert seen[1].std() == pytest.approx(0.01, rel=0.2)
    np.testing.assert_array_equal(seen[0], table[0])


def test_noise_comes_anew_at_every_step_and_with_every_seed():
    env = gymnasium.make("spaql/MountainCar-v0", observation_noise={"velocity": 0.01})
    errors = []
    for seed in (0, 1):
        observation, _ = env.reset(seed=seed)
        for _ in range(50):
            errors.append(observation[1] - env.unwrapped.table[1, 0])
            observation, *_ = env.step(1)
    assert len(set(errors)) == 100
    assert abs(np.corrcoef(errors[:-1], errors[1:])[0, 1]) < 0.4


@pytest.mark.parametrize("learner", quick_first(LEARNERS, QUICK))
@pytest.mark.parametrize("name", quick_first(NOISY, ["pendulum", "cartpole"]))
def test_same_seed_same_bits_in_the_compiled_loop_and_in_gymnasiums(name, learner):
    assert_both_loops_agree(name, learner, NOISY[name])


def test_a_lane_does_not_depend_on_its_neighbours():
    problem = spaql.make("pendulum", **NOISY["pendulum"])
    plant, rng = problem.plant, np.random.default_rng(0)
    states, torques, noise = rng.uniform(-1, 1, (101, plant.state_dim)), rng.uniform(-2, 2, (101, 1)), uniforms(problem.plant, 101)
    one_by_one, together = (step_plant(plant, states, torques, lanes, noise) for lanes in (1, LANES))
    for one, other in zip(one_by_one, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_compiled_noise_is_that_of_the_plain_python():
    problem = spaql.make("pendulum", **NOISY["pendulum"])
    plant, rng = problem.plant, np.random.default_rng(0)
    states, torques, noise = rng.uniform(-1, 1, (50, plant.state_dim)), rng.uniform(-2, 2, (50, 1)), uniforms(plant, 50)
    after, seen, rewards, _ = step_plant(plant, states, torques, noise=noise)
    for i in range(50):
        state, reward, _ = plant.step(*states[i], *torques[i], *noise[i])
        np.testing.assert_allclose(after[i], state, rtol=0, atol=1e-13)
        np.testing.assert_allclose(seen[i], plant.observe(*state), rtol=0, atol=1e-13)
        assert rewards[i] == pytest.approx(reward)


def test_plants_without_noise_draw_none():
    for name in spaql.problems():
        plant = spaql.make(name).plant
        own = CATALOG[name].equations.chances  # of the plant itself: where the ambulance's next call comes from
        assert own == {"ambulance": 6, "ambulance-uniform": 1}.get(name, 0)
        assert (plant.step_noise, plant.state_dim) == (own, len(CATALOG[name].equations.variables))
        assert spaql.make(name, process_noise={spaql.make(name).state[-1].name: 0.0}).plant.step_noise == own


def test_noise_makes_it_harder():
    """The same agent, trained without noise, earns less with it."""
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
    agent.learn(200)
    noisy = spaql.SPAQLTS(spaql.make("cartpole", process_noise={"angular velocity": 0.3}), seed=0)
    noisy.state = agent.state
    assert noisy.evaluate(200).mean < agent.evaluate(200).mean - 20
