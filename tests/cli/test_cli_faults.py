"""Full disks, folders that cannot be written to, and folders that vanish, under every long command: one line, nothing lost."""

import json
import subprocess
import sys
import tempfile
import threading
import time

import pytest

import spaql
from command_line import refused, run
from disks import no_room, resized, small_disk
from spaql.ground.errors import LONGEST
from spaql.ground.writing import kept, write_whole
from spaql_studies.runs.rows import read_rows

NEVER = 10**8  # iterations, passes and episodes: whoever does not look first is still at it tomorrow
# What every command writes, and a length of its work that nobody waits for. `{to}` is where it is told to write.
LONG = {
    "train": ("train", "cartpole", "spaql", "--iterations", NEVER, "--out", "{to}/out"),
    "train with checkpoints": ("train", "cartpole", "spaql", "--iterations", NEVER, "--checkpoint", "{to}/kept"),
    "train with a log": ("train", "cartpole", "spaql", "--iterations", NEVER, "--log", "{to}/log.csv"),
    "replay": ("replay", "pendulum", "spaql", "{log}", "--passes", NEVER, "--out", "{to}/out"),
    "record": ("record", "pendulum", "--episodes", 10**6, "--out", "{to}/log.csv"),
    "coverage": ("coverage", "pendulum", "{log}", "--reach", 10**6, "--figure", "{to}/seen.png"),
    "explain": ("explain", "{agent}", "--max-leaves", 64, "--html", "{to}/page.html"),
    "export": ("export", "{agent}", "--max-leaves", 64, "--out", "{to}/controller.c"),
    "sweep": ("sweep", "cartpole", "spaql", "--option", "xi=1..9", "--trials", 10**5, "--store", "{to}/store"),
    "reproduce": ("reproduce", "--store", "{to}/store"),
    "reproduce few": ("reproduce", "--quick", "--only", "few", "--store", "{to}/store"),
    "reproduce foreign": ("reproduce", "--quick", "--only", "foreign", "--store", "{to}/store"),
    "report": ("report", "{to}/store"),
}
# The same, done in seconds
SHORT = {
    "train": ("train", "cartpole", "spaql", "--iterations", 20, "--rollouts", 2, "--fresh", 5, "--quiet", "--out", "{to}/out"),
    "train with checkpoints": ("train", "cartpole", "spaql", "--iterations", 20, "--rollouts", 2, "--every", 10, "--checkpoint", "{to}/kept"),
    "replay": ("replay", "pendulum", "spaql", "{log}", "--fresh", 5, "--out", "{to}/out"),
    "record": ("record", "pendulum", "--episodes", 2, "--out", "{to}/log.csv"),
    "coverage": ("coverage", "pendulum", "{log}", "--reach", 0, "--figure", "{to}/seen.png"),
    "explain": ("explain", "{agent}", "--html", "{to}/page.html"),
    "export": ("export", "{agent}", "--out", "{to}/controller.c"),
}
RESULT = {  # what is told in spite of the fault
    "train": "SPAQL on cartpole", "replay": "return on the plant:", "coverage": "never seen", "explain": "fresh episodes on pendulum",
}  # fmt: skip


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=0)
    agent.learn(20, rollouts=2)
    agent.save(folder / "agent.spaql")
    spaql.record(spaql.make("pendulum"), folder / "log.csv", episodes=2)
    return {"agent": folder / "agent.spaql", "log": folder / "log.csv"}


def filled(words, given, to):
    return [str(word).format(to=to, **given) for word in words]


def one_line(complaint, of):
    assert complaint.startswith("spaql: "), complaint
    assert len(complaint.splitlines()) == 1, complaint
    assert len(complaint) <= LONGEST + len("spaql: \n")
    assert str(of) in complaint


def left_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# -- a folder that cannot be written to is known before the work -------------------------------------------------------


@pytest.mark.parametrize("name", LONG)
def test_a_place_that_is_no_folder_is_refused_before_the_work(name, given, tmp_path):
    (tmp_path / "file").write_text("mine")
    one_line(refused(*filled(LONG[name], given, tmp_path / "file")), tmp_path / "file")
    assert left_in(tmp_path) == {"file"}
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_file_system_that_is_read_only_is_refused_before_the_work(name, given, tmp_path):
    with small_disk(tmp_path / "disk", "ro") as to:
        complaint = refused(*filled(LONG[name], given, to))
        one_line(complaint, to)
        assert name == "report" or "Read-only file system; choose a place that can be written to" in complaint


# -- a disk that is full at the end ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHORT)
def test_a_full_disk_is_one_line_that_says_what_to_do_and_leaves_nothing_half(name, given, tmp_path):
    room, disk = tmp_path / "room", tmp_path / "disk"
    room.mkdir(), disk.mkdir()
    assert run(*filled(SHORT[name], given, room)).returncode == 0  # and its machine code has found room too
    with no_room():
        code, out, complaint = run(*filled(SHORT[name], given, disk))
    assert code == 2
    one_line(complaint.splitlines(keepends=True)[-1], disk)
    assert "; make room there, or choose another place" in complaint
    assert RESULT.get(name, "") in out
    assert left_in(disk) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_what_a_full_disk_does_not_take_is_kept_elsewhere(name, given, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    with small_disk(tmp_path / "disk", "size=64k") as to:
        (to / "filler").write_bytes(bytes(64 * 1024))
        code, out, complaint = run(*filled(SHORT[name], given, to))
        assert left_in(to) == {"filler"}
    assert code == 2
    one_line(complaint.splitlines(keepends=True)[-1], to)
    assert "No space left on device" in complaint
    assert RESULT.get(name, "") in out
    rescued = {path.split("/")[-1] for path in left_in(tmp_path / "elsewhere")}
    if name in ("coverage", "train with checkpoints"):  # a picture of what is printed; the first checkpoint
        assert rescued == set()
    else:
        assert SHORT[name][-1].split("/")[-1].replace("out", "agent.spaql") in rescued


STUDIES = {
    "reproduce": ("reproduce", "--quick", "--only", "main-cartpole", "--no-report", "--quiet"),
    "sweep": ("sweep", "cartpole", "spaql", "--option", "xi=1..100", "--trials", 4, "--seeds", 2, "--iterations", 100, "--quiet"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_disk_that_becomes_full_keeps_the_runs_that_are_finished(name, tmp_path):
    with small_disk(tmp_path / "disk", "size=100k") as to:
        words = [*STUDIES[name], "--store", to / "store", "--jobs", 1]
        code, out, complaint = run(*words)
        assert (code, out) == (2, "")
        one_line(complaint, to)
        assert "No space left on device; make room there, or choose another place" in complaint
        assert "finished runs are kept" in complaint
        there = {path: path.stat().st_mtime_ns for path in (to / "store" / "runs").glob("*.parquet")}
        assert there
        for path in there:
            read_rows(path)
        resized(to, "50m")
        assert run(*words).returncode == 0
        assert {path: path.stat().st_mtime_ns for path in there} == there  # not computed again
        assert list(to.rglob(".*")) == []


@pytest.mark.slow
def test_a_report_that_finds_no_room_says_how_to_make_it_later(tmp_path):
    with small_disk(tmp_path / "disk", "size=600k") as to:
        code, _, complaint = run("reproduce", "--quick", "--only", "main-cartpole", "--store", to / "store", "--quiet")
        assert code == 2
        one_line(complaint, to)
        assert complaint.endswith(f"(the runs are kept; spaql report {to / 'store'} writes the report)\n")
        resized(to, "50m")
        assert run("report", to / "store", "--quiet").returncode == 0
        assert (to / "store" / "report.html").exists()


@pytest.mark.parametrize("words", [("problems",), ("evaluate", "{agent}", "--episodes", "5")])
def test_output_into_a_full_disk_is_one_line(words, given):
    with open("/dev/full", "w") as full:
        call = [sys.executable, "-m", "spaql.cli", *filled(words, given, "")]
        told = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert told.returncode == 2
    assert told.stderr == "spaql: cannot write what was to be printed: No space left on device; make room there, or choose another place\n"


# -- a folder that vanishes while the work is under way ----------------------------------------------------------------


def when(begun, act):
    """A thread that acts as soon as `begun()`."""

    def wait():
        end = time.monotonic() + 60
        while not begun() and time.monotonic() < end:
            time.sleep(0.002)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_training_whose_log_can_no_longer_be_written_keeps_what_was_learned(tmp_path):
    (tmp_path / "logs").mkdir()
    log, out = tmp_path / "logs" / "log.csv", tmp_path / "out"
    thread = when(lambda: log.exists() and log.read_text().count("\n") > 10, lambda: log.parent.rename(tmp_path / "gone"))
    code, told, complaint = run("train", "cartpole", "spaql", "--iterations", 20_000, "--rollouts", 2, "--log", log, "--out", out, "--quiet")
    thread.join()
    assert code == 2
    one_line(complaint, log)
    assert complaint.endswith(f"(training ended, the agents were not evaluated; they are kept in {out}/)\n")
    assert "SPAQL on cartpole" in told
    assert len(spaql.load(out / "agent.spaql").history) >= 10


def test_agents_whose_folder_is_gone_are_kept_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    log, out = tmp_path / "log.csv", tmp_path / "out"
    thread = when(lambda: log.exists() and log.read_text().count("\n") > 3, out.rmdir)
    code, told, complaint = run(
        "train", "cartpole", "spaql", "--iterations", 300, "--rollouts", 2, "--fresh", 5, "--log", log, "--out", out, "--json"
    )
    thread.join()
    assert code == 2
    one_line(complaint, out)
    (rescued,) = (tmp_path / "elsewhere").iterdir()
    assert complaint.endswith(f"; it is kept in {rescued} instead: move it from there\n")
    assert json.loads(told)["out"] is None
    assert len(spaql.load(rescued / "agent.spaql").history) == 300


def test_what_can_be_written_nowhere_is_the_first_error_and_leaves_no_folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    with no_room():
        error = kept(tmp_path, lambda folder: write_whole(folder / "agent", lambda file: file.write(b"much")))
    assert str(tmp_path / "agent") in str(error)
    assert list(tmp_path.rglob("*")) == [tmp_path / "elsewhere"]


def test_a_log_on_a_disk_that_is_nearly_full_has_no_torn_line_that_is_taken_for_written(tmp_path):
    agent, log = spaql.SPAQL(spaql.make("cartpole"), seed=0), spaql.callbacks.CsvLog(tmp_path / "log.csv", every=5)
    with no_room(2000), pytest.raises(spaql.SpaqlError, match="make room there"):
        agent.learn(1000, rollouts=2, callback=log)
    assert (tmp_path / "log.csv").stat().st_size == 2000  # the last line is torn
    done = len(agent.history)
    agent.learn(5, rollouts=2, callback=log)
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == [str(number) for number in range(1, done + 6)]
