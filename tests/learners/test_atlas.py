"""Atlas as a learner: what it has beyond the promises of every learner (test_every_learner.py)."""


import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Line
from helpers import assert_same
from interrupted import ctrl_c, under_way

SMALL = {"controller": "table", "cells": 300, "seed": 0}


def atlas(problem="pendulum", samples=600, **options):
    agent = spaql.Atlas(spaql.make(problem) if isinstance(problem, str) else problem, **(SMALL | options))
    if samples:
        agent.learn(samples=samples)
    return agent


@pytest.fixture(scope="module")
def pendulum():
    """Nobody learns on with it."""
    return atlas()


@pytest.fixture(scope="module")
def cartpole():
    return atlas("cartpole")


def transitions(agent):
    """What it has seen, as `update` takes it."""
    memory, step = agent.state.memory, 0
    for i in range(memory.n):
        ended, began = memory.flags[i] & 1, memory.flags[i] & 2
        step = 0 if began else step + 1
        yield memory.states[i], memory.actions[i], memory.rewards[i], memory.nexts[i], bool(ended), step


# -- how long it learns --------------------------------------------------------------------------------------------------------------


def test_iterations_are_episodes():
    agent = atlas(samples=None)
    history = agent.learn(iterations=3)
    assert len(history) == 3
    assert history.train_samples.tolist() == [200, 400, 600]


@pytest.mark.parametrize("options", [{}, {"iterations": 2, "samples": 100}])
def test_either_samples_or_iterations(options):
    with pytest.raises(spaql.SpaqlError, match="say how long to learn"):
        atlas(samples=None).learn(**options)
    with pytest.raises(spaql.SpaqlError, match="say how long to learn"):
        spaql.learn_all([atlas(samples=None)], **options)


@pytest.mark.parametrize("count", [0, -1, 2.5, "3", True, 10**10])
def test_samples_are_a_whole_number_from_one(count):
    with pytest.raises(spaql.SpaqlError, match="samples must be a whole number from 1"):
        atlas(samples=None).learn(samples=count)


def test_the_others_do_not_learn_by_samples():
    with pytest.raises(spaql.SpaqlError, match="does not learn by samples, only Atlas"):
        spaql.learn_all([spaql.SPAQL(spaql.make("cartpole")), atlas(samples=None)], samples=100)


def test_rollouts_are_counted_and_are_what_the_table_earns():
    agent = atlas("cartpole", None)
    history = agent.learn(iterations=6, rollouts=4)
    assert (np.diff(history.eval_samples) > 0).all()
    assert history.eval_samples[-1] == pytest.approx(4 * history.evaluation.sum())  # a reward of one per step
    assert history.train_samples[-1] == agent.state.memory.n


def test_rollouts_do_not_change_what_is_learned():
    judged, plain = atlas("cartpole", None), atlas("cartpole", None)
    judged.learn(iterations=5, rollouts=2)
    plain.learn(iterations=5)
    np.testing.assert_array_equal(judged.leaves(), plain.leaves())


def test_without_rollouts_the_history_tells_the_return_of_the_training_episodes(cartpole):
    lengths = np.diff(cartpole.history.train_samples, prepend=0)
    np.testing.assert_array_equal(cartpole.history.evaluation, lengths)
    np.testing.assert_array_equal(cartpole.history.best_seen, lengths)


# -- the same bits -------------------------------------------------------------------------------------------------------------------


def test_threads_give_the_same_bits_as_one_after_the_other():
    together = [atlas("cartpole", None, seed=seed) for seed in range(3)]
    spaql.learn_all(together, samples=200, jobs=3)
    for seed, agent in enumerate(together):
        alone = atlas("cartpole", None, seed=seed)
        alone.learn(samples=200)
        assert_same(alone, agent, episodes=0)


# -- environments --------------------------------------------------------------------------------------------------------------------


def test_gymnasiums_own_cartpole_is_learned():
    problem = spaql.from_gym(gymnasium.make("CartPole-v1"), horizon=200)
    agent = atlas(problem, 1000)
    assert agent.state.memory.n == 1000
    assert agent.history.train_samples[-1] == 1000 + problem.map_samples
    assert agent.evaluate(5).mean > 100  # random pushes: 22


def test_gymnasiums_own_pendulum_is_learned():
    agent = atlas(spaql.from_gym(gymnasium.make("Pendulum-v1")), 1000)
    assert agent.evaluate(5).mean > -700  # random torques: -1200


def test_a_failing_environment_costs_no_episode_that_was_run():
    class Broken(Line):
        def step(self, action):
            if len(self.received) == 57:
                raise ZeroDivisionError
            return super().step(action)

    agent = atlas(spaql.from_gym(Broken(), horizon=10), None)
    with pytest.raises(ZeroDivisionError):
        agent.learn(samples=1000)
    assert agent.state.memory.n == 57
    assert agent.history.train_samples.tolist() == [10, 20, 30, 40, 50]


# -- Ctrl-C --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [spaql.make, spaql.from_gym], ids=["plant", "environment"])
def test_ctrl_c_keeps_what_was_learned(make, tmp_path):
    agent = spaql.Atlas(make("cartpole" if make is spaql.make else "spaql/CartPole-v0"), controller="table", cells=100, seed=1)
    with ctrl_c(under_way(agent)):
        history = agent.learn(samples=10**6)
    assert history.interrupted
    assert len(history) == len(agent.history) >= 10
    before = agent.state.memory.n
    assert history.train_samples[-1] == before < 10**6
    agent.evaluate(3)
    agent.save(tmp_path / "agent.spaql")
    assert agent.learn(samples=50).train_samples[-1] == before + 50
    again = spaql.Atlas(agent.problem, controller="table", cells=100, seed=1).learn(iterations=10)
    np.testing.assert_array_equal(again.table, history.table[:10])


# -- acting --------------------------------------------------------------------------------------------------------------------------


def test_an_untrained_agent_applies_the_middle_of_its_actions():
    assert atlas(samples=None).predict([1.0, 0.0, 0.0])[0] == 0.0
    np.testing.assert_array_equal(atlas("mountain-car", None).predict(np.zeros((3, 2)))[0], [1, 1, 1])


def test_an_untrained_agent_has_no_policy_and_says_so():
    for use in (lambda agent: agent.policy(), lambda agent: agent.leaves(), lambda agent: agent.evaluate(2)):
        with pytest.raises(spaql.SpaqlError, match="there are no data yet"):
            use(atlas(samples=None))


def test_predictions_are_those_of_its_policy(pendulum, cartpole):
    rng = np.random.default_rng(0)
    for agent, d in ((pendulum, 3), (cartpole, 4)):
        states = rng.normal(size=(1000, d))
        np.testing.assert_array_equal(agent.predict(states)[0], agent.policy().predict(states)[0])


def test_evaluation_uses_streams_of_its_own(cartpole):
    starts = {tuple(cartpole.episode(seed=0, rollout=i).observations[0]) for i in range(20)}
    trained = {tuple(row) for row in cartpole.state.memory.states[: cartpole.state.memory.n]}
    assert len(starts) == 20
    assert not starts & trained
    np.testing.assert_array_equal(cartpole.evaluate(10).returns, cartpole.evaluate(10).returns)
    assert not np.array_equal(cartpole.evaluate(10, seed=1).returns, cartpole.evaluate(10).returns)


# -- outside data --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pendulum", "cartpole"])
def test_from_the_same_data_it_makes_the_same_plan(name, pendulum, cartpole):
    teacher, pupil = {"pendulum": pendulum, "cartpole": cartpole}[name], atlas(name, None)
    for transition in transitions(teacher):
        pupil.update(*transition)
    np.testing.assert_array_equal(pupil.leaves(), teacher.leaves())
    np.testing.assert_array_equal(pupil.state.memory.flags[:600] & 3, teacher.state.memory.flags[:600] & 3)
    assert len(pupil.history) == 0


def test_without_a_plant_it_learns_from_outside_data_only():
    agent, rng = atlas(spaql.cube(2, [0, 1, 2], 10), None), np.random.default_rng(0)
    for _ in range(300):
        x, action = rng.uniform(-1, 1, 2), int(rng.integers(3))
        agent.update(x, action, -abs(x[0] - 0.6 * (action - 1)), x)
    assert agent.predict([[-0.8, 0.0], [0.0, 0.5], [0.8, 0.0]])[0].tolist() == [0, 1, 2]
    with pytest.raises(spaql.SpaqlError, match="no plant to learn on"):
        agent.learn(samples=10)


def test_learning_goes_on_from_outside_data(cartpole):
    agent = atlas("cartpole", None)
    for transition in transitions(cartpole):
        agent.update(*transition)
    agent.learn(samples=100)
    assert agent.state.memory.n == 700
    assert agent.history.train_samples[-1] == 700
    assert agent.state.planned[0] == 601


# -- files -----------------------------------------------------------------------------------------------------------------------------


def test_options_are_in_the_file(tmp_path):
    given = {"cells": 50, "model_cells": 20, "neighbours": 6, "levels": 3, "hold": 2, "explore": False, "chance": 0.3, "gamma": 0.9}
    agent = atlas(samples=200, **given, seed=8)
    agent.save(tmp_path / "a.spaql")
    back = spaql.load(tmp_path / "a.spaql")
    assert (back.options, back.settings, back.chance, back.seed) == (agent.options, agent.settings, agent.chance, 8)
    np.testing.assert_array_equal(back.actions, [[-2.0], [0.0], [2.0]])


def test_a_gymnasium_agent_finds_its_environment_again(tmp_path):
    agent = atlas(spaql.from_gym("CartPole-v1", horizon=50), 200)
    agent.save(tmp_path / "a.spaql")
    back = spaql.load(tmp_path / "a.spaql")
    np.testing.assert_array_equal(back.evaluate(3).returns, agent.evaluate(3).returns)


# -- looking inside --------------------------------------------------------------------------------------------------------------------


def test_its_name_tells_what_it_has_seen():
    agent = atlas("cartpole", None)
    assert repr(agent) == "<Atlas on cartpole: 0 samples, seed 0>"
    agent.learn(samples=150)
    assert f"{agent.arms} cells after 150 samples" in repr(agent)


def test_leaves_are_the_cells_of_the_table(pendulum):
    leaves, policy = pendulum.leaves(), pendulum.policy()
    assert len(leaves) == policy.n_leaves == pendulum.arms <= 300
    np.testing.assert_array_equal(policy.decide(leaves["state"]), leaves["action"])
    assert leaves["visits"].sum() > 0
    assert np.isfinite(leaves["q"]).all()


def test_more_samples_than_a_plan_looks_at_are_taken_evenly_with_the_beginnings():
    from spaql.learners.atlas.experience import BEGAN, PLAN_TRANSITIONS, new_memory

    memory, n = new_memory(1, 1), 2 * PLAN_TRANSITIONS
    for i in range(n):
        memory.add(np.array([float(i)]), np.zeros(1), 0.0, np.array([float(i + 1)]), BEGAN * (i % 1000 == 0))
    seen = memory.transitions(spaql.Finite((0, 1)), n)
    assert PLAN_TRANSITIONS - n // 1000 <= len(seen.states) <= PLAN_TRANSITIONS
    assert seen.samples == n
    np.testing.assert_array_equal(np.unique(seen.states[seen.starts] % 1000), [0.0])
    assert len(np.unique(seen.states[seen.starts])) == n // 1000
    shares = np.histogram(seen.states, 10, (0, n))[0]
    assert shares.max() - shares.min() <= 10
    assert len(np.unique(seen.states)) == len(seen.states)


# -- what it is worth ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "samples", "least"), [("pendulum", 5000, -160.0), ("cartpole", 5000, 195.0), ("mountain-car", 10_000, -125.0)]
)
def test_returns_at_stated_budgets(name, samples, least):
    agents = [spaql.Atlas(spaql.make(name), controller="table", seed=seed) for seed in range(100, 104)]
    spaql.learn_all(agents, samples=samples)
    assert np.mean([agent.evaluate(300).mean for agent in agents]) > least
