"""Callbacks of `learn`: several at once, called when due, told of the end, losing nothing."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas
import pytest

import spaql
from helpers import LEARNERS, assert_same
from spaql.callbacks import Callback, Checkpoint, CsvLog, EarlyStop, Progress, TensorBoard
from spaql.learners.history import COLUMNS


def agent_of(name="SPAQL", seed=0):
    return LEARNERS[name](spaql.make("cartpole"), seed=seed)


class Diary(Callback):
    """Notes what it is told."""

    def __init__(self, every=1, answer=None):
        self.every, self.answer, self.notes = every, answer, []

    def begin(self, agent, goal):
        self.notes.append(goal)

    def __call__(self, agent):
        self.notes.append(len(agent.history))
        return self.answer

    def end(self, agent):
        self.notes.append("end")


def test_several_are_called_when_they_are_due_and_told_of_beginning_and_end():
    often, seldom, seen = Diary(), Diary(every=4), []
    agent_of().learn(9, rollouts=2, callback=[often, seldom, lambda agent: seen.append(agent.arms)])
    assert often.notes == ["9 iterations", *range(1, 10), "end"]
    assert seldom.notes == ["9 iterations", 4, 8, "end"]
    assert len(seen) == 9


def test_they_change_nothing_in_what_is_learned():
    watched, alone = agent_of(), agent_of()
    watched.learn(30, rollouts=2, callback=[Diary(every=7), Diary()])
    alone.learn(30, rollouts=2)
    assert_same(watched, alone)


def test_iterations_are_counted_over_all_calls_of_learn():
    diary, agent = Diary(every=5), agent_of()
    agent.learn(3, rollouts=2)
    agent.learn(9, rollouts=2, callback=diary)
    assert diary.notes == ["9 iterations", 5, 10, "end"]


def test_one_that_says_stop_stops_but_the_others_are_still_called():
    first, second = Diary(answer=False), Diary()
    history = agent_of().learn(9, rollouts=2, callback=(first, second))
    assert history.interrupted
    assert first.notes == second.notes == ["9 iterations", 1, "end"]


def test_the_end_comes_also_after_an_error():
    diary = Diary()

    def fail(agent):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        agent_of().learn(9, rollouts=2, callback=[diary, fail])
    assert diary.notes[-1] == "end"


@pytest.mark.parametrize("given", [5, "text", [None], Checkpoint])
def test_what_cannot_be_called_is_refused(given):
    with pytest.raises(spaql.SpaqlError, match="callback must be a function of the agent"):
        agent_of().learn(2, callback=given)


def test_several_agents_have_callbacks_of_their_own(tmp_path):
    agents = [agent_of(seed=seed) for seed in (1, 2)]
    def own(agent):
        return [Checkpoint(tmp_path / str(agent.seed), every=4), CsvLog(tmp_path / f"{agent.seed}.csv")]

    spaql.learn_all(agents, 6, 2, callbacks=own)
    for agent in agents:
        assert_same(agent, spaql.load(tmp_path / str(agent.seed) / "agent.spaql"))
        assert (tmp_path / str(agent.seed) / "agent-000004.spaql").exists()
        np.testing.assert_array_equal(pandas.read_csv(tmp_path / f"{agent.seed}.csv", index_col=0).to_numpy(float), agent.history.table)


def test_agents_cannot_share_a_callback(tmp_path):
    for given in (Checkpoint(tmp_path), [Checkpoint(tmp_path)]):
        with pytest.raises(spaql.SpaqlError, match="callbacks must be a function that makes those of one agent"):
            spaql.learn_all([agent_of()], 3, 2, callbacks=given)
    assert list(tmp_path.iterdir()) == []


# -- Checkpoint ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SPAQL", "AQL"])
def test_learning_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(name, tmp_path):
    whole = agent_of(name)
    whole.learn(20, rollouts=2, callback=Checkpoint(tmp_path / "run", every=8))
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["agent-000008.spaql", "agent-000016.spaql", "agent.spaql"]
    resumed = spaql.load(tmp_path / "run" / "agent-000008.spaql")
    resumed.learn(12, rollouts=2)
    assert_same(whole, resumed)
    assert_same(whole, spaql.load(tmp_path / "run" / "agent.spaql"))


def test_only_the_newest_are_kept(tmp_path):
    agent_of().learn(20, rollouts=2, callback=Checkpoint(tmp_path, every=4, keep=2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent-000016.spaql", "agent-000020.spaql", "agent.spaql"]


def test_atlas_has_checkpoints_too(tmp_path):
    agent = agent_of("Atlas")
    agent.learn(samples=300, callback=Checkpoint(tmp_path, every=3))
    assert spaql.load(tmp_path / "agent.spaql").state.memory.n == 300


def test_a_folder_that_cannot_be_written_is_known_before_training():
    agent = agent_of()
    with pytest.raises(spaql.SpaqlError, match="cannot write to /proc/nowhere"):
        agent.learn(5, rollouts=2, callback=Checkpoint("/proc/nowhere"))
    assert len(agent.history) == 0


# -- EarlyStop -----------------------------------------------------------------------------------------------------------------------


def test_it_stops_when_the_target_is_reached():
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
    history = agent.learn(2000, rollouts=20, callback=EarlyStop(target=60.0))
    assert history.best_seen[-1] >= 60.0 > history.best_seen[-2]


def test_it_stops_when_nothing_gets_better():
    history = agent_of().learn(2000, rollouts=20, callback=EarlyStop(patience=25))
    last = history.best_seen[-26:]
    assert len(history) < 2000
    assert last[0] == last[-1]
    assert (np.diff(history.best_seen[:-25])[-1:] > 0).all()


def test_patience_begins_anew_with_every_call():
    agent = agent_of()
    agent.learn(2000, rollouts=5, callback=EarlyStop(patience=5))
    before = len(agent.history)
    agent.learn(2000, rollouts=5, callback=EarlyStop(patience=5))
    assert len(agent.history) >= before + 5


def test_for_atlas_the_mean_of_ten_episodes_counts_not_a_lucky_one():
    history = agent_of("Atlas").learn(60, callback=EarlyStop(target=30.0))
    means = np.convolve(history.best_seen, np.full(10, 0.1), "valid")
    assert history.interrupted
    assert means[-1] >= 30.0 > means[:-1].max(initial=-np.inf)
    assert history.best_seen[:-1].max() >= 30.0  # one episode would have been enough before


def test_the_window_can_be_chosen():
    history = agent_of("Atlas").learn(60, callback=EarlyStop(target=30.0, window=1))
    assert history.best_seen[-1] >= 30.0 > history.best_seen[:-1].max(initial=-np.inf)
    with pytest.raises(spaql.SpaqlError, match="window must be"):
        EarlyStop(target=1.0, window=0)


def test_it_must_be_told_when_to_stop():
    with pytest.raises(spaql.SpaqlError, match="say when to stop"):
        EarlyStop()


# -- Progress and logs ---------------------------------------------------------------------------------------------------------------


def test_progress_is_a_line_now_and_then(capsys):
    agent_of(seed=3).learn(10, rollouts=2, callback=Progress(every=5))
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("SPAQL on cartpole, seed 3: 5 of 10 iterations: best seen ")
    assert "10 of 10 iterations" in second
    agent_of("Atlas").learn(samples=120, callback=Progress(every=1))
    assert "120 of 120 samples" in capsys.readouterr().err.splitlines()[-1]


def test_the_csv_log_is_the_history(tmp_path):
    agent = agent_of()
    history = agent.learn(25, rollouts=2, callback=CsvLog(tmp_path / "log.csv", every=10))
    log = pandas.read_csv(tmp_path / "log.csv", index_col="iteration")
    np.testing.assert_array_equal(log.to_numpy(float), history.table)
    assert tuple(log.columns) == COLUMNS
    agent.learn(5, rollouts=2, callback=CsvLog(tmp_path / "log.csv"))
    np.testing.assert_array_equal(pandas.read_csv(tmp_path / "log.csv", index_col=0).to_numpy(float), agent.history.table)


def test_the_csv_log_of_a_killed_run_is_repaired_and_continued(tmp_path):
    whole, path = agent_of(), tmp_path / "log.csv"
    whole.learn(20, rollouts=2, callback=[CsvLog(path), Checkpoint(tmp_path, every=10)])
    complete = path.read_text()
    path.write_text(complete[: len(complete) * 3 // 4])  # torn in the middle of a line, behind the checkpoint
    resumed = spaql.load(tmp_path / "agent-000010.spaql")
    resumed.learn(10, rollouts=2, callback=CsvLog(path))
    assert path.read_text() == complete


def test_the_log_of_another_run_is_refused(tmp_path):
    agent_of(seed=1).learn(3, rollouts=2, callback=CsvLog(tmp_path / "log.csv"))
    before = (tmp_path / "log.csv").read_text()
    other = agent_of(seed=2)
    with pytest.raises(spaql.SpaqlError, match="the log of another run"):
        other.learn(3, rollouts=2, callback=CsvLog(tmp_path / "log.csv"))
    other.learn(3, rollouts=2)
    with pytest.raises(spaql.SpaqlError, match="the log of another run"):
        other.learn(3, rollouts=2, callback=CsvLog(tmp_path / "log.csv"))
    assert (tmp_path / "log.csv").read_text() == before


def test_tensorboard_has_every_column(tmp_path):
    pytest.importorskip("tensorboardX", reason="needs the extra `tensorboard`")
    from tensorboardX.proto.event_pb2 import Event

    agent = agent_of()
    history = agent.learn(6, rollouts=2, callback=TensorBoard(tmp_path, every=4))
    (file,) = tmp_path.iterdir()
    data, found = file.read_bytes(), {}
    while data:  # length (8 bytes), its checksum (4), the event, its checksum (4)
        length = int.from_bytes(data[:8], "little")
        event = Event.FromString(data[12 : 12 + length])
        for value in event.summary.value:
            found[value.tag, event.step] = value.simple_value
        data = data[16 + length :]
    assert len(found) == 6 * len(COLUMNS)
    assert [found["SPAQL/best_seen", i + 1] for i in range(6)] == pytest.approx(history.best_seen.tolist())


def test_without_tensorboard_there_is_one_clear_line(monkeypatch):
    for name in ("tensorboardX", "tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(spaql.SpaqlError, match=r"^TensorBoard logs need the extra: pip install 'spaql\[tensorboard\]'$"):
        spaql.callbacks.TensorBoard("logs")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_neither_ctrl_c_nor_kill_loses_what_was_computed(number, tmp_path):
    program = """
    import spaql
    from spaql.callbacks import Checkpoint, CsvLog
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1)
    # the log first: who sees the fifteenth checkpoint sees the fifteenth row
    agent.learn(10**7, rollouts=3, callback=[CsvLog("log.csv"), Checkpoint("run", every=5, keep=3)])
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path)
    deadline = time.monotonic() + 120
    try:
        # the number only grows: a checkpoint of one name may have come and gone between two looks
        while not any(path.name >= "agent-000015" for path in (tmp_path / "run").glob("agent-*.spaql")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, number)
        process.wait(60)
    finally:
        process.kill()
    logged = len(pandas.read_csv(tmp_path / "log.csv", index_col=0))
    kept = max(len(spaql.load(path).history) for path in (tmp_path / "run").glob("agent*.spaql"))
    assert logged >= 15
    assert logged - kept <= (0 if number == signal.SIGINT else 5)
