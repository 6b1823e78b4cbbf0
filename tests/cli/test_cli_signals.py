"""SIGTERM keeps what Ctrl-C keeps; either ends a command with one line, also while the library is being loaded."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress

import pytest

import spaql
from command_line import run
from pages import ROOT
from spaql.ground.interrupts import keep_from_now_on, signals_of_command, stop_on_interrupt
from spaql.ground.writing import write_whole

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def sent(number, begun):
    """A thread that sends a signal to this process as soon as `begun()`."""

    def send():
        end = time.monotonic() + 60
        while not begun() and time.monotonic() < end:
            time.sleep(0.005)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("number", CODES)
def test_train_keeps_what_was_learned(number, tmp_path):
    out, log = tmp_path / "out", tmp_path / "log.csv"
    thread = sent(number, lambda: log.exists() and log.read_text().count("\n") > 10)
    told = run("train", "cartpole", "spaql", "--iterations", 200_000, "--rollouts", 3, "--fresh", 2, "--out", out, "--log", log)
    thread.join()
    assert told.returncode == CODES[number]
    assert told.stderr.splitlines()[-1].startswith("interrupted: what was learned until then is reported above; they are kept in")
    assert 10 <= len(spaql.load(out / "agent.spaql").history) < 200_000
    assert [path.name for path in (*out.iterdir(), *tmp_path.iterdir()) if path.name.startswith(".")] == []


def test_an_agent_that_has_seen_nothing_yet_is_not_evaluated(tmp_path):
    """The signal comes before the first step of the plant."""
    thread = sent(signal.SIGTERM, lambda: getattr(signal.getsignal(signal.SIGINT), "__name__", "") == "pressed")
    told = run("train", "pendulum", "atlas", "--samples", 10**6, "--fresh", 2, "--out", tmp_path / "out", "--quiet")
    thread.join()
    assert told.returncode == 143
    assert told.stderr.splitlines()[-1].startswith("interrupted: ")


@pytest.mark.parametrize("number", CODES)
def test_replay_keeps_what_was_learned(number, tmp_path):
    spaql.record(spaql.make("pendulum"), tmp_path / "log.csv", episodes=2)
    spaql.SPAQL(spaql.make("pendulum"), seed=0).replay(tmp_path / "log.csv")  # compiled
    thread = sent(number, lambda: getattr(signal.getsignal(signal.SIGINT), "__name__", "") == "pressed")  # it replays
    told = run("replay", "pendulum", "spaql", tmp_path / "log.csv", "--passes", 1_000_000, "--out", tmp_path / "out")
    thread.join()
    assert told.returncode == CODES[number]
    assert told.stderr.endswith("\ninterrupted: what was learned until then is kept\n")  # behind what is wrong with it
    assert spaql.load(tmp_path / "out" / "agent.spaql").arms > 1


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("module", ["gymnasium", "typer", "numba", "llvmlite"])
def test_a_signal_while_modules_are_loaded_is_one_line(module, number, tmp_path):
    program = f"""
    import os, sys

    class Press:
        def find_spec(name, path=None, target=None):
            if name == {module!r}:
                os.kill(os.getpid(), {int(number)})

    sys.meta_path.insert(0, Press)
    import spaql_command
    sys.argv = ["spaql", "train", "cartpole", "spaql", "--iterations", "1000000", "--out", "out", "--quiet"]
    spaql_command.main()
    """
    call = [sys.executable, "-c", textwrap.dedent(program)]
    told = subprocess.run(call, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (CODES[number], "", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


class Deaf:
    """Its end cannot be interrupted, as LLVM cannot while it calls Python."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def test_an_interrupt_that_nobody_could_hear_comes_again(capfd):
    with signals_of_command():
        keep_from_now_on()
        Deaf()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(30)
    assert capfd.readouterr().err == ""  # no "Exception ignored in"


def test_an_interrupt_that_a_module_prints_before_it_fails_is_not_seen(tmp_path):
    program = """
    import os, signal, sys, time

    class Press:  # as modules in C do when their imports fail
        def find_spec(name, path=None, target=None):
            if name == "numba":
                try:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(1)
                except KeyboardInterrupt:
                    sys.excepthook(*sys.exc_info())
                    raise ImportError("numba failed to import")

    sys.meta_path.insert(0, Press)
    import spaql_command
    sys.argv = ["spaql", "train", "cartpole", "spaql", "--quiet"]
    spaql_command.main()
    """
    call = [sys.executable, "-c", textwrap.dedent(program)]
    told = subprocess.run(call, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False)
    assert (told.returncode, told.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize("words", [("coverage", "pendulum", "log.csv", "--reach", "1000000"), ("record", "pendulum", "--episodes", "100000", "--out", "out.csv")])
def test_an_interrupt_that_a_library_swallowed_ends_the_work_all_the_same(words, tmp_path):
    spaql.record(spaql.make("pendulum"), tmp_path / "log.csv", episodes=2)
    program = f"""
    import os, signal, sys, time

    class Press:  # as pandas does: what fails to load is not needed
        def find_spec(name, path=None, target=None):
            if name == "pandas":
                try:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(1)
                except KeyboardInterrupt:
                    pass

    sys.meta_path.insert(0, Press)
    import spaql_command
    sys.argv = {["spaql", *words]!r}
    spaql_command.main()
    """
    call = [sys.executable, "-c", textwrap.dedent(program)]
    told = subprocess.run(call, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False)
    assert (told.returncode, told.stderr) == (130, "interrupted\n")


def test_an_interrupt_that_somebody_swallowed_ends_the_work_where_it_begins():
    stop = threading.Event()
    with signals_of_command():
        keep_from_now_on()
        with suppress(BaseException):  # as some libraries do
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        with stop_on_interrupt(stop):
            assert stop.is_set()
    with stop_on_interrupt(other := threading.Event()):
        assert not other.is_set()


# -- where somebody wants Ctrl-C ignored, as shells do for jobs in the background of a script ------------------------------------------


def ignoring(*words, **how):
    """A process in which Ctrl-C is ignored."""
    ignore = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    return subprocess.Popen([sys.executable, "-c", ignore, sys.executable, *map(str, words)], text=True, **how)


@pytest.mark.parametrize(("number", "code"), [pytest.param(signal.SIGINT, 0, marks=pytest.mark.slow), (signal.SIGTERM, 143)])
def test_in_the_background_training_goes_on_after_ctrl_c_and_ends_well_after_sigterm(number, code, tmp_path):
    log, iterations = tmp_path / "log.csv", 2000
    words = ("-m", "spaql", "train", "cartpole", "spaql", "--iterations", iterations, "--rollouts", 10, "--fresh", 0, "--quiet")
    child = ignoring(*words, "--log", log, "--out", tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not log.exists() or log.read_text().count("\n") < 10:
        assert time.monotonic() < end
        time.sleep(0.01)
    child.send_signal(number)
    _, complaint = child.communicate(timeout=120)
    assert child.returncode == code, complaint
    assert complaint.startswith("interrupted: training ended") == (number == signal.SIGTERM)
    learned = len(spaql.load(tmp_path / "agent.spaql").history)
    assert 10 <= learned <= iterations
    assert (learned == iterations) == (number == signal.SIGINT)


@pytest.mark.slow
def test_these_tests_press_ctrl_c_also_where_it_is_ignored():
    name = "tests/training/test_interrupt.py::test_spaql_evaluate_ends_with_one_line_and_exit_code_130"
    child = ignoring("-m", "pytest", name, cwd=ROOT, stdout=subprocess.PIPE)
    said, _ = child.communicate(timeout=240)
    assert child.returncode == 0, said


# -- all of it -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("command", ["explain", "falsify", "export", "coverage", "sweep", "few", "report", "laws"])
def test_a_signal_in_the_middle_leaves_nothing_half(command):
    """The sweep of benchmarks/signals.py, at two moments for each of Ctrl-C, SIGTERM and kill -9."""
    sweep = [sys.executable, ROOT / "benchmarks" / "signals.py", "--moments", "2", "--until", "4", "--commands", command]
    told = subprocess.run(sweep, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.endswith("6 signals, 0 faults\n")


def test_handlers_are_those_of_before_when_a_command_is_over():
    before = [signal.getsignal(number) for number in CODES]
    assert run("problems").returncode == 0
    assert [signal.getsignal(number) for number in CODES] == before


def test_a_write_that_is_interrupted_leaves_nothing(tmp_path):
    def write(file):
        file.write(b"half")
        raise KeyboardInterrupt

    (tmp_path / "agent").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "agent", write)
    assert [path.name for path in tmp_path.iterdir()] == ["agent"]
    assert (tmp_path / "agent").read_bytes() == b"old"
