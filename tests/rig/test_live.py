"""The live loop keeps its clock, and ends with the safe action whatever happens; its log is there to the last step."""

import contextlib
import math
import os
import pty
import signal
import socket
import subprocess
import sys
import textwrap
import time
import tty
from pathlib import Path

import pandas
import pytest

import spaql
from machines import Cart
from spaql.rig.description import EXAMPLE

TESTS = Path(__file__).parents[1]
FAST = EXAMPLE.replace("period = 0.02", "period = 0.03").replace("rate = 3.0", "rate = 3.0\n").replace("safe = 0.0", "safe = 0.25").replace("[measured", "watchdog = 0.4\n[measured", 1)
TIMES = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path[1:]]), "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture
def rig(tmp_path):
    rig = spaql.Rig.new(tmp_path / "cart", FAST.replace("steps = 100", "steps = 30").replace("hold = [40, 60]", "hold = 10"))
    rig.next()
    return rig


class Machine(Cart):
    """In this process; something happens at a step."""

    def __init__(self, what=None, at=12):
        super().__init__(0.01)
        self.what, self.at, self.written, self.count = what, at, [], 0

    def read(self):
        self.count += 1
        if self.what is not None and self.count == self.at:
            return self.what()
        return self.measure()

    def write(self, voltage):
        self.written.append(voltage)
        self.apply([voltage])


def rows(live):
    return pandas.read_csv(live.log)


def raises(error):
    def fail():
        raise error

    return fail


def test_a_trial_runs_to_its_end_and_its_log_is_added(rig):
    machine = Machine()
    live = rig.run(machine.read, machine.write)
    assert (live.steps, live.stopped, live.safe, live.lost) == (30, "", True, 0)
    assert machine.written[-1] == 0.25
    assert len(machine.written) == 31
    log = rows(live)
    assert len(log) == 31
    assert log.voltage[:30].tolist() == machine.written[:30]
    assert math.isnan(log.voltage[30])
    assert log.time[30] > 0.29
    log.assign(time=0.03 * log.index).to_csv(live.log, index=False)  # a busy machine may be late: that is another test
    assert "trial 1: return" in str(rig.add(live.log))
    with pytest.raises(spaql.SpaqlError, match="trial 1 has a log already: run the one that next has written"):
        rig.run(machine.read, machine.write)


ENDS = {
    "an exception": (raises(OSError("the cable is out")), "OSError: the cable is out"),
    "Ctrl-C": (raises(KeyboardInterrupt()), "Ctrl-C"),
    "a violated limit": (lambda: [0.9], "the limit |position| ≤ 0.8 is violated: position is 0.9"),
    "other numbers": (lambda: [0.1, 0.2], "read gave 2 numbers for position"),
    "no number": (lambda: "high", "ValueError"),
    "a hanging read": (lambda: time.sleep(1.2), "the watchdog: read or write took longer than 0.4 s"),
}


@pytest.mark.parametrize("name", ENDS)
def test_whatever_ends_it_the_safe_action_is_written_and_the_log_is_kept(name, rig):
    what, words = ENDS[name]
    machine = Machine(what)
    live = rig.run(machine.read, machine.write)
    assert words in live.stopped
    assert live.safe
    assert machine.written[-1] == 0.25
    assert live.steps == 11
    assert rows(live).voltage.dropna().tolist() == machine.written[:11]


def test_while_read_hangs_the_safe_action_is_written(rig):
    seen = []
    machine = Machine(lambda: (time.sleep(1.2), seen.extend(machine.written))[0])
    rig.run(machine.read, machine.write)
    assert len(seen) == 12
    assert seen[-1] == 0.25


def test_a_lost_measurement_holds_the_last_action(rig):
    for what in (lambda: None, lambda: [math.nan], lambda: {}):
        machine = Machine(what)
        live = rig.run(machine.read, machine.write)
        assert (live.steps, live.stopped, live.lost) == (30, "", 1)
        assert machine.written[11] == machine.written[10]
        assert math.isnan(rows(live).position[11])


def test_a_late_answer_is_counted_and_said(rig):
    machine = Machine(lambda: time.sleep(0.06) or machine.measure())
    live = rig.run(machine.read, machine.write)
    assert live.missed >= 1
    assert live.latest > 0.015
    assert f"deadlines missed: {live.missed}, latest by" in str(live)


def test_a_machine_that_takes_no_action_at_all_is_said_loudly(rig):
    live = rig.run(Machine().read, raises(OSError("no")))
    assert not live.safe
    assert "THE SAFE ACTION COULD NOT BE WRITTEN" in str(live)


def test_it_can_be_run_again_until_its_log_is_added(rig):
    logs = {rig.run(Machine(lambda: [0.9], 3).read, Machine().write).log.name for _ in range(2)}
    assert logs == {"running-1.csv", "running-2.csv"}


def test_what_is_no_function_is_refused(rig):
    with pytest.raises(spaql.SpaqlError, match="read must be a function, not 5"):
        rig.run(5, print)


# -- a machine in another process --------------------------------------------------------------------------------------


@contextlib.contextmanager
def machine_process(kind, place, *options):
    process = subprocess.Popen([sys.executable, TESTS / "machine_process.py", kind, str(place), *options], stdout=subprocess.PIPE, text=True, env=TIMES)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def by_udp(port, timeout=0.004):
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.settimeout(timeout)
    line.connect(("127.0.0.1", int(port)))

    def read():
        line.send(b"?")
        try:
            return float(line.recv(100))
        except TimeoutError:
            return None

    return read, lambda voltage: line.send(f"{voltage}".encode())


def test_over_udp_with_jitter_and_lost_packets(rig):
    with machine_process("udp", 0, "--late", "0.003", "--lose", "0.1") as (_, port):
        live = rig.run(*by_udp(port, 0.008))
    assert live.steps == 30 or "no measurement" in live.stopped
    assert live.lost > 0
    assert live.safe


def test_over_udp_a_machine_that_is_killed_is_noticed(rig):
    with machine_process("udp", 0) as (process, port):
        read, write = by_udp(port)
        left = iter(range(10))

        def killing():
            if next(left, None) is None:
                process.kill()
            return read()

        live = rig.run(killing, write)
    assert 10 <= live.steps < 60
    assert "no measurement for" in live.stopped or "ConnectionRefused" in live.stopped


def test_over_a_pseudo_terminal(rig):
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    with machine_process("serial", os.ttyname(theirs)) as (process, _), open(ours, "r+b", buffering=0) as line:

        def read():
            line.write(b"?\n")
            return float(line.readline())

        live = rig.run(read, lambda voltage: line.write(f"{voltage}\n".encode()))
        assert (live.steps, live.stopped) == (30, "")
        told = [float(process.stdout.readline()) for _ in range(31)]
    os.close(theirs)
    assert told == [*rows(live).voltage[:30], 0.25]


PROGRAM = """
import sys
import spaql
from test_live import by_udp
rig = spaql.Rig(sys.argv[1])
print("ready", flush=True)
print(rig.run(*by_udp(sys.argv[2], 0.1)))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_program_has_its_log_to_the_last_step_and_the_machine_stops(number, tmp_path):
    rig = spaql.Rig.new(tmp_path / "cart", FAST.replace("steps = 100", "steps = 1000"))
    rig.next()
    environment = TIMES | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), TIMES["PYTHONPATH"]])}
    with machine_process("udp", 0) as (machine, port):
        arguments = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(rig.folder), port]
        program = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
        applied = [machine.stdout.readline().strip() for _ in range(60)]
        program.send_signal(number)
        program.wait(30)
        program.stdout.close()
        while (told := machine.stdout.readline().strip()) != "stopped":
            applied.append(told)
    log = pandas.read_csv(rig.trials[0].path / "running-1.csv")
    written = [str(value) for value in log.voltage.dropna()]
    if number == signal.SIGTERM:
        assert applied[-1] == "0.25"
        assert program.returncode == 143
        applied.pop()
    assert len(applied) - 1 <= len(written) <= len(applied)  # a kill may come between writing and logging
    assert applied[: len(written)] == written
    log.assign(time=0.03 * log.index).to_csv(rig.trials[0].path / "running-1.csv", index=False)  # whatever the jitter was
    assert "too short to be held" in str(rig.add(rig.trials[0].path / "running-1.csv"))
