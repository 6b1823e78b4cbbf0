"""What `learn` reports: one entry per iteration, samples counted exactly."""

import numpy as np
import pytest

import spaql
from helpers import FORESTS, LEARNERS, PER_STEP
from spaql.learners.history import COLUMN, COLUMNS, COUNTS, History, write_row

ROLLOUTS, STEPS = 5, 200  # an episode of the pendulum never ends early


def learned(learner, iterations=30, problem="pendulum", **options):
    agent = LEARNERS[learner](spaql.make(problem), seed=2, **options)
    return agent, agent.learn(iterations, rollouts=ROLLOUTS)


@pytest.mark.parametrize("learner", FORESTS)
def test_one_entry_per_iteration(learner):
    agent, history = learned(learner)
    assert len(history) == 30
    for name in ("evaluation", "best_seen", "arms", "train_samples", "eval_samples", "temperature"):
        assert getattr(history, name).shape == (30,)
    assert history.arms[-1] == agent.arms
    assert not history.interrupted


def test_spaql_evaluates_the_untrained_agent_too():
    for learner in ("SPAQL", "SPAQL-TS"):
        _, history = learned(learner)
        np.testing.assert_array_equal(history.train_samples, (np.arange(30) + 1) * STEPS)
        np.testing.assert_array_equal(history.eval_samples, (np.arange(30) + 2) * ROLLOUTS * STEPS)


@pytest.mark.parametrize("learner", PER_STEP)
def test_learners_without_a_best_agent_evaluate_once_per_iteration(learner):
    _, history = learned(learner)
    np.testing.assert_array_equal(history.train_samples, (np.arange(30) + 1) * STEPS)
    np.testing.assert_array_equal(history.eval_samples, (np.arange(30) + 1) * ROLLOUTS * STEPS)


def test_random_does_not_train():
    _, history = learned("Random")
    assert set(history.train_samples) == {0}
    np.testing.assert_array_equal(history.eval_samples, (np.arange(30) + 1) * ROLLOUTS * STEPS)


def test_samples_go_on_counting_over_calls():
    agent, _ = learned("SPAQL")
    history = agent.learn(2, rollouts=3)
    assert history.train_samples[-2:].tolist() == [31 * STEPS, 32 * STEPS]
    assert history.eval_samples[-2:].tolist() == [31 * ROLLOUTS * STEPS + n * 3 * STEPS for n in (1, 2)]


def test_episodes_that_end_early_count_what_they_took():
    """On CartPole every step is a reward of one, so the return is the number of steps."""
    _, history = learned("SPAQL", problem="cartpole")
    steps = np.diff(history.eval_samples)
    np.testing.assert_allclose(steps, history.evaluation[1:] * ROLLOUTS, rtol=1e-12)
    assert (np.diff(history.train_samples) >= 1).all()
    assert (np.diff(history.train_samples) <= 200).all()


@pytest.mark.parametrize("rule", ["published", "paper"])
@pytest.mark.parametrize("problem", ["pendulum", "cartpole"])
def test_best_seen_of_spaql_is_the_best_evaluation_so_far(problem, rule):
    _, history = learned("SPAQL", 60, problem, temperature_rule=rule)
    assert (np.diff(history.best_seen) >= 0).all()
    first = history.best_seen[0] if history.best_seen[0] > history.evaluation[0] else -np.inf  # that of the untrained agent
    np.testing.assert_array_equal(history.best_seen, np.maximum(np.maximum.accumulate(history.evaluation), first))


def test_arms_of_spaql_belong_to_the_best_agent():
    _, history = learned("SPAQL", 60, "cartpole")
    changed = np.flatnonzero(np.diff(history.arms))
    improved = np.flatnonzero(history.evaluation[1:] >= history.best_seen[:-1])
    assert set(changed) <= set(improved)


def test_temperature_starts_low_and_is_zero_without_exploration():
    _, history = learned("SPAQL", tau_min=0.02)
    assert history.temperature[0] == 0.02
    assert history.temperature.min() == 0.02
    for learner in (*PER_STEP, "Random"):
        assert set(learned(learner)[1].temperature) == {0.0}


def test_rollouts_default_to_the_problems():
    history = spaql.AQL(spaql.make("pendulum")).learn(1)
    assert history.eval_samples.tolist() == [20 * STEPS]


def test_history_can_be_a_data_frame():
    pandas = pytest.importorskip("pandas")
    _, history = learned("SPAQL")
    frame = history.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.index.tolist() == list(range(1, 31))
    np.testing.assert_array_equal(frame["best_seen"], history.best_seen)


def test_a_history_is_a_picture_that_later_learning_does_not_change():
    agent, history = learned("SPAQL")
    before = history.table.copy()
    agent.learn(3, rollouts=2)
    history.table[:] = 0.0
    np.testing.assert_array_equal(agent.history.table[:30], before)


def test_an_error_in_a_callback_loses_nothing():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=2)

    def fail(agent):
        if len(agent.history) == 5:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        agent.learn(100, rollouts=3, callback=fail)
    assert len(agent.history) == 5
    agent.learn(3, rollouts=3)
    straight = spaql.SPAQL(spaql.make("cartpole"), seed=2)
    np.testing.assert_array_equal(agent.history.table, straight.learn(8, rollouts=3).table)


def test_a_history_is_told_in_one_line():
    agent, history = learned("SPAQL", 4)
    last = f"best_seen={history.best_seen[-1]:.6g}, arms={agent.arms}, train_samples=800, eval_samples=5000"
    assert repr(history) == f"History(iterations=4, {last}, interrupted=False, seconds={history.seconds:.3g})"
    assert repr(spaql.SPAQL(spaql.make("pendulum")).history) == "History(iterations=0, interrupted=False, seconds=0)"


def test_every_figure_of_an_iteration_stands_in_its_column():
    table = np.zeros((1, len(COLUMNS)))
    write_row(table[0], -1.5, 2.5, 3.0, 4.0, 5.0, 0.5)
    figures = dict(zip(COLUMNS, (-1.5, 2.5, 3, 4, 5, 0.5), strict=True))
    assert COLUMNS == ("evaluation", "best_seen", "arms", "train_samples", "eval_samples", "temperature")
    assert {name: getattr(History(table), name)[0] for name in COLUMNS} == figures
    assert {name: table[0, getattr(COLUMN, name)] for name in COLUMNS} == figures
    assert [name for name in COLUMNS if getattr(History(table), name).dtype == np.int64] == list(COUNTS)
