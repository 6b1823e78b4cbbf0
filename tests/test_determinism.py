"""The seed decides everything; how the training is cut up, watched or parallelised decides nothing."""

import numpy as np
import pytest

import spaql
from helpers import LEARNERS, TRAINED, assert_same, fields, linear_plant

CASES = [
    ("pendulum", "SPAQL"), ("cartpole", "SPAQL-TS"), ("cartpole", "AQL"), ("pendulum", "NBQL"), ("pendulum", "ZoomRL"),
    ("pendulum-5", "SPAQL-TS"), ("pendulum", "Random"),
]  # fmt: skip


def trained(problem, learner, seed, iterations=20, rollouts=4):
    agent = LEARNERS[learner](spaql.make(problem), seed=seed)
    agent.learn(iterations, rollouts=rollouts)
    return agent


@pytest.mark.parametrize(("problem", "learner"), CASES)
def test_same_seed_same_bits(problem, learner):
    assert_same(trained(problem, learner, 5), trained(problem, learner, 5))


@pytest.mark.parametrize(("problem", "learner"), CASES)
def test_different_seeds_differ(problem, learner):
    tables = [trained(problem, learner, seed).history.table for seed in (0, 1, 2, 2**40, 2**62)]
    assert len({table.tobytes() for table in tables}) == len(tables)


def test_seed_zero_is_a_seed_like_others():
    """The default, repeatable, and unlike its neighbours."""
    default = spaql.SPAQL(spaql.make("cartpole"))
    default.learn(20, rollouts=4)
    assert default.seed == 0
    assert_same(default, trained("cartpole", "SPAQL", 0))
    assert not np.array_equal(default.history.table, trained("cartpole", "SPAQL", 1).history.table)


def test_numpy_integers_are_seeds():
    assert_same(trained("cartpole", "SPAQL", np.int64(3)), trained("cartpole", "SPAQL", 3))


def test_global_random_state_plays_no_role():
    np.random.seed(1)
    first = trained("cartpole", "SPAQL", 0)
    np.random.seed(2)
    before = np.random.get_state()[1].tobytes()
    assert_same(first, trained("cartpole", "SPAQL", 0))
    assert np.random.get_state()[1].tobytes() == before


@pytest.mark.parametrize(("problem", "learner"), CASES)
def test_two_calls_of_learn_are_one_long_call(problem, learner):
    whole, parts = trained(problem, learner, 3), trained(problem, learner, 3, iterations=7)
    parts.learn(13, rollouts=4)
    assert_same(whole, parts)
    assert fields(whole) == fields(parts)


@pytest.mark.parametrize(("problem", "learner"), CASES)
def test_a_callback_that_only_watches_changes_nothing(problem, learner):
    watched, lengths = LEARNERS[learner](spaql.make(problem), seed=3), []
    watched.learn(20, rollouts=4, callback=lambda agent: lengths.append(len(agent.history)))
    assert_same(watched, trained(problem, learner, 3))
    assert lengths == list(range(1, 21))


def test_looking_at_the_agent_while_it_learns_changes_nothing():
    def look(agent):
        agent.evaluate(3)
        agent.predict(np.zeros(4))
        agent.predict(np.zeros(4), deterministic=False)
        agent.leaves()

    watched = spaql.SPAQL(spaql.make("cartpole"), seed=3)
    watched.learn(20, rollouts=4, callback=look)
    assert_same(watched, trained("cartpole", "SPAQL", 3))


def test_progress_bar_changes_nothing(capsys):
    shown = spaql.SPAQL(spaql.make("cartpole"), seed=3)
    shown.learn(20, rollouts=4, progress=True)
    assert_same(shown, trained("cartpole", "SPAQL", 3))
    assert "SPAQL on cartpole" in capsys.readouterr().err


@pytest.mark.parametrize("learner", LEARNERS)
def test_agents_trained_together_are_the_agents_trained_alone(learner):
    def fresh():
        return [LEARNERS[learner](spaql.make("cartpole"), seed=seed) for seed in range(4)]

    alone, one_by_one, together = fresh(), fresh(), fresh()
    for agent in alone:
        agent.learn(15, rollouts=4)
    spaql.learn_all(one_by_one, 15, 4, jobs=1)
    histories = spaql.learn_all(together, 15, 4, jobs=2)
    for a, b, c, history in zip(alone, one_by_one, together, histories, strict=True):
        assert_same(a, b)
        assert_same(a, c)
        np.testing.assert_array_equal(history.table, a.history.table)


def test_agents_of_one_problem_object_can_be_trained_together():
    problem = spaql.make("pendulum")
    agents = [spaql.SPAQL(problem, seed=seed) for seed in range(4)]
    spaql.learn_all(agents, 10, 3, jobs=4)
    assert_same(agents[2], trained("pendulum", "SPAQL", 2, iterations=10, rollouts=3))


def test_mixed_learners_and_gymnasium_environments_can_be_trained_together():
    agents = [spaql.SPAQL(spaql.make("cartpole"), seed=1), spaql.AQL(spaql.from_gym("spaql/CartPole-v0"), seed=1)]
    spaql.learn_all(agents, 5, 3)
    for agent, learner in zip(agents, ("SPAQL", "AQL"), strict=True):
        assert_same(agent, trained("cartpole", learner, 1, iterations=5, rollouts=3))


def test_one_agent_that_fails_stops_the_others_and_is_named():
    @spaql.reset
    def start(u):
        return (u,)

    @spaql.step
    def leave(x, push):
        return (x + 1.0,), 0.0, False

    one = [spaql.Axis("x", -1.0, 1.0)]
    bad = spaql.from_plant(start, leave, state=one, actions=spaql.Finite((0, 1)), horizon=5, name="runaway")
    agents = [spaql.SPAQL(spaql.make("cartpole"), seed=1), spaql.SPAQL(bad, seed=1)]
    with pytest.raises(spaql.SpaqlError, match="runaway left its declared bounds"):
        spaql.learn_all(agents, 10**8, 3, jobs=2)
    done = len(agents[0].history)
    if done:
        assert_same(agents[0], trained("cartpole", "SPAQL", 1, iterations=done, rollouts=3))


def test_evaluation_has_its_own_seed():
    agent = trained("pendulum", "SPAQL", 0)
    first, again, other = agent.evaluate(50, seed=1), agent.evaluate(50, seed=1), agent.evaluate(50, seed=2)
    np.testing.assert_array_equal(first.returns, again.returns)
    assert not np.array_equal(first.returns, other.returns)


def test_evaluation_of_different_agents_starts_from_the_same_states():
    """Common random numbers: two constant policies differ only by what they do."""
    problem = linear_plant(1, actions=[0], horizon=5)
    one, other = (spaql.SPAQL(problem, seed=seed) for seed in (1, 2))
    np.testing.assert_array_equal(one.evaluate(20, seed=4).returns, other.evaluate(20, seed=4).returns)


def test_noise_of_a_plant_belongs_to_the_seed():
    def learned():
        agent = spaql.SPAQL(linear_plant(1, noise=True), seed=1)
        agent.learn(5, rollouts=3)
        return agent

    assert_same(learned(), learned())


@pytest.mark.parametrize("learner", TRAINED)
def test_options_matter(learner):
    default, other = (LEARNERS[learner](spaql.make("cartpole"), xi=xi, seed=1) for xi in (None, 1.0))
    for agent in (default, other):
        agent.learn(5, rollouts=3)
    assert not np.array_equal(default.leaves(), other.leaves())
