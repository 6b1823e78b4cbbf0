"""Whatever takes a path says so, and writes through devices, pipes and links instead of replacing them."""

import os
import stat
import threading

import pytest

import spaql

PROBLEM = spaql.cube(1, [0, 1], horizon=5)
NO_PATHS = [5, b"log.csv", ["log.csv"], object(), 1.5]


def trained():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=0)
    agent.learn(3, rollouts=2)
    return agent


@pytest.fixture(scope="module")
def agent():
    return trained()


@pytest.fixture(scope="module")
def tree():
    return trained().policy().compress(max_leaves=2, laws=False, budget=20_000, episodes=16)


@pytest.mark.parametrize("path", [*NO_PATHS, "a\0b.csv"])
def test_what_is_no_path_is_refused(path, agent, tree):
    episode = agent.episode()
    frame = spaql.record(agent, episodes=1)
    calls = [
        agent.save, spaql.load, tree.draw_frontier, episode.plot, spaql.coverage(agent.problem, frame).figure,
        lambda path: spaql.record(agent, path, episodes=1), spaql.callbacks.Checkpoint, spaql.callbacks.CsvLog,
        spaql.callbacks.TensorBoard,
        lambda path: spaql.from_fmu(path, observe=["x"], actions={"u": (0, 1)}, reward=abs, horizon=5),
        lambda path: spaql.sweep("cartpole", "spaql", ["xi=1:2"], path), spaql.Rig, spaql.Rig.new,
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(spaql.SpaqlError, match="path must") as caught:
            call(path)
        assert str(caught.value).isprintable()


def test_agents_and_logs_are_written_into_pipes(agent, tmp_path):
    for name, write in (("agent.spaql", agent.save), ("log.csv", lambda path: spaql.record(agent, path, episodes=1))):
        pipe, kept = tmp_path / name, []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda pipe=pipe, kept=kept: kept.append(pipe.read_bytes()))
        reader.start()
        write(pipe)
        reader.join(60)
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        plain = tmp_path / f"plain-{name}"
        write(plain)
        assert kept == [plain.read_bytes()]


def test_a_link_stays_a_link(agent, tmp_path):
    (tmp_path / "real").mkdir()
    for name, write in (("agent.spaql", agent.save), ("log.csv", lambda path: spaql.record(agent, path, episodes=1))):
        (tmp_path / name).symlink_to(tmp_path / "real" / name)
        write(tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "real" / name).stat().st_size > 0


def test_devices_stay_devices(agent):
    before = os.stat("/dev/null")
    agent.save("/dev/null")
    spaql.SPAQL(spaql.make("cartpole"), seed=0).learn(2, rollouts=2, callback=spaql.callbacks.CsvLog("/dev/null"))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert os.stat("/dev/null").st_ino == before.st_ino


def test_a_growing_log_is_no_pipe(tmp_path):
    os.mkfifo(tmp_path / "log.csv")
    with pytest.raises(spaql.SpaqlError, match="a history is added to, line by line; give a file name"):
        spaql.SPAQL(spaql.make("cartpole"), seed=0).learn(2, rollouts=2, callback=spaql.callbacks.CsvLog(tmp_path / "log.csv"))
    assert stat.S_ISFIFO((tmp_path / "log.csv").stat().st_mode)


def test_a_growing_log_follows_a_link(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "log.csv")
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=0)
    agent.learn(3, rollouts=2, callback=spaql.callbacks.CsvLog(tmp_path / "link.csv"))
    assert (tmp_path / "link.csv").is_symlink()
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 4


def test_non_lists_are_refused():
    from spaql import analysis

    for call in (analysis.holm, analysis.adjusted, analysis.bootstrap_interval, lambda x: analysis.hedges_g(x, [1, 2]), lambda x: spaql.learn_all(x, 2)):
        for given in (5, None, "abc", object()):
            with pytest.raises(spaql.SpaqlError, match="must be a"):
                call(given)
