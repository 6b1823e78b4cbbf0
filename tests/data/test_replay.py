"""Learning from logs: the same as learning by `update`, whatever form the log has."""

import functools
import os
import signal
import threading

import numpy as np
import pandas
import pytest

import spaql
from helpers import LEARNERS, TRAINED, assert_same

Q_LEARNERS = [LEARNERS[name] for name in TRAINED]


def learned(learner, problem, frame):
    """By hand, one update per row."""
    agent, names = learner(problem, seed=0), [axis.name for axis in problem.state]
    nexts = [f"next_{name}" for name in names]
    for _, row in frame.iterrows():
        agent.update(
            row[names].to_numpy(float), row["action"], row["reward"], row[nexts].to_numpy(float), bool(row["terminated"]), int(row["step"])
        )
    return agent


@pytest.fixture(scope="module")
def cartpole():
    problem = spaql.make("cartpole")
    return problem, spaql.record(problem, episodes=8, seed=1).rename(columns={"push": "action"})


@pytest.fixture(scope="module")
def taught(cartpole):
    """By learner: what the log teaches, row by row. Only to compare with."""
    problem, frame = cartpole
    return functools.cache(lambda learner: learned(learner, problem, frame))


def without_next(frame):
    """As a logger writes that knows the present only: the last observation of an episode in a row of its own."""
    parts = []
    for _, part in frame.groupby("episode"):
        last = part.iloc[[-1]].copy()
        for name in ("position", "velocity", "angle", "angular velocity"):
            last[name] = last[f"next_{name}"]
        last["step"] += 1
        last[["action", "reward"]] = np.nan
        last[["terminated", "truncated"]] = False
        parts += [part.astype({"action": float}), last.astype({"action": float})]
    log = pandas.concat(parts, ignore_index=True)
    return log[[name for name in log if not name.startswith("next_")]]


@pytest.mark.parametrize("learner", Q_LEARNERS)
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_file_teaches_what_updates_teach(learner, ending, cartpole, taught, tmp_path):
    problem, frame = cartpole
    spaql.record(problem, tmp_path / f"log.{ending}", episodes=8, seed=1)
    agent = learner(problem, seed=0)
    told = agent.replay(tmp_path / f"log.{ending}")
    assert (told.samples, told.rows, told.episodes, told.left_out) == (len(frame), len(frame), 8, 0)
    assert_same(agent, taught(learner))


@pytest.mark.parametrize("learner", Q_LEARNERS)
@pytest.mark.parametrize("columns", [("episode", "step"), ("episode",), ("step",), ()])
def test_without_next_columns_the_next_row_serves(learner, columns, cartpole, taught):
    problem, frame = cartpole
    log = without_next(frame)
    agent = learner(problem, seed=0)
    told = agent.replay(log.drop(columns=[name for name in ("episode", "step") if name not in columns]))
    assert (told.samples, told.left_out) == (len(frame), 8)
    assert_same(agent, taught(learner))


def test_a_last_row_that_terminates_is_left_out_with_a_warning(cartpole):
    problem, frame = cartpole
    log = frame[[name for name in frame if not name.startswith("next_")]]
    with pytest.warns(UserWarning, match="8 episodes terminate in their last row"):
        told = spaql.SPAQL(problem).replay(log)
    assert told.samples == len(frame) - 8


def test_episodes_may_alternate(cartpole):
    problem, frame = cartpole
    log = without_next(frame).sort_values(["step", "episode"], kind="stable")
    mixed, sorted_by_step = spaql.SPAQL(problem), frame.sort_values(["step", "episode"], kind="stable")
    assert mixed.replay(log).samples == len(frame)
    assert_same(mixed, learned(spaql.SPAQL, problem, sorted_by_step))


def test_steps_may_be_counted_from_one(cartpole):
    problem, frame = cartpole
    agent = spaql.AQL(problem, seed=0)
    agent.replay(frame.assign(step=frame["step"] + 1))
    assert_same(agent, learned(spaql.AQL, problem, frame))


def test_recorded_actions_have_the_name_the_problem_gives_them_and_may_also_be_called_action():
    problem = spaql.make("pendulum")
    frame = spaql.record(problem, episodes=1)
    assert "torque" in frame
    assert "action" not in frame
    one, other = spaql.SPAQL(problem), spaql.SPAQL(problem)
    one.replay(frame)
    other.replay(frame.rename(columns={"torque": "action"}))
    assert_same(one, other)


def test_other_columns_are_ignored_and_polars_is_welcome(cartpole):
    polars = pytest.importorskip("polars")
    problem, frame = cartpole
    one, other = spaql.SPAQL(problem), spaql.SPAQL(problem)
    one.replay(frame)
    other.replay(polars.DataFrame({name: frame[name].to_numpy() for name in frame}).with_columns(polars.lit("x").alias("remark")))
    assert_same(one, other)


def test_two_passes_are_two_replays(cartpole):
    problem, frame = cartpole
    one, other = spaql.SPAQL(problem), spaql.SPAQL(problem)
    assert one.replay(frame, passes=2).samples == 2 * len(frame)
    other.replay(frame)
    other.replay(frame)
    assert_same(one, other)


def test_ctrl_c_ends_a_replay_and_keeps_what_was_learned(cartpole):
    problem, frame = cartpole
    agent = spaql.SPAQL(problem)
    agent.replay(frame)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    told = agent.replay(frame, passes=10**6)
    assert told.interrupted
    assert 0 < told.samples < 10**6 * len(frame)
    assert agent.learn(1, rollouts=2).train_samples[0] > len(frame) + told.samples


def test_learning_goes_on_after_a_replay(cartpole):
    problem, frame = cartpole
    agent = spaql.SPAQL(problem)
    agent.replay(frame)
    assert agent.learn(2, rollouts=2).train_samples[0] > len(frame)


def test_a_gymnasium_environment_can_be_recorded_and_replayed(tmp_path):
    problem = spaql.from_gym("MountainCar-v0", horizon=30)
    frame = spaql.record(problem, tmp_path / "log.parquet", episodes=3)
    assert list(frame.columns[2:4]) == ["x0", "x1"]
    assert spaql.SPAQL(problem).replay(tmp_path / "log.parquet").samples == 90


def test_several_action_axes_have_numbers():
    from helpers import linear_plant

    problem = linear_plant(2, k=2)
    frame = spaql.record(problem, episodes=2)
    assert {"action0", "action1"} <= set(frame)
    assert spaql.SPAQL(problem).replay(frame).samples == len(frame)


def test_a_recording_is_a_rollout_of_evaluate():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=0)
    agent.learn(20, rollouts=2)
    frame = spaql.record(agent, episodes=6, seed=3)
    np.testing.assert_allclose(frame.groupby("episode")["reward"].sum(), agent.evaluate(6, seed=3).returns)
    policy = spaql.record(agent.policy(), episodes=6, seed=3)
    np.testing.assert_allclose(policy.groupby("episode")["reward"].sum(), agent.policy().evaluate(6, seed=3).returns)


@pytest.mark.slow
def test_atlas_learns_from_random_samples_about_what_it_learns_by_itself(tmp_path):
    """Measured: -141.9 from 5,000 recorded random samples, -141.8 by its own 5,000 (200 fresh episodes each)."""
    problem = spaql.make("pendulum")
    spaql.record(problem, tmp_path / "log.csv", episodes=25)
    agent = spaql.Atlas(problem, controller="table", seed=0)
    assert agent.replay(tmp_path / "log.csv").samples == 5000
    assert agent.evaluate(200).mean > -165
    assert spaql.load(_saved(agent, tmp_path)).evaluate(20).returns.tolist() == agent.evaluate(20).returns.tolist()


def _saved(agent, folder):
    agent.save(folder / "agent.spaql")
    return folder / "agent.spaql"


def test_episodes_of_which_the_log_lacks_the_beginning_still_begin(cartpole):
    problem, frame = cartpole
    agent = spaql.Atlas(problem, controller="table", seed=0)
    cut = frame[frame["step"] >= 3]
    agent.replay(cut)
    memory = agent.state.memory
    assert int((memory.flags[: memory.n] & 2 != 0).sum()) == cut["episode"].nunique()
