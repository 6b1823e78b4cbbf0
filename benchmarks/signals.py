"""Ctrl-C, SIGTERM and kill -9 at many moments of every long command: one line each, the right exit code, nothing half.

    python benchmarks/signals.py                     # 20 moments of all commands, three signals: an hour of one core
    python benchmarks/signals.py --moments 50 --commands train reproduce --signals SIGKILL --until 10

A moment is a time after the start of the program, from 0.2 s on: before, Python itself is not up. On a machine that is busy, let them reach further. Files that a command leaves must be whole:
agents load, runs and logs are read, pages have an end, and no hidden file is there. After kill -9 there may be a hidden one, which nobody reads; every process that
the command had started has ended, and a store is as good as any: the same command goes on.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pandas

import spaql
from spaql_studies.runs.rows import read_rows
from spaql_studies.runs.store import Store

STUDY = ["--quick", "--store", "store", "--quiet", "--no-report"]
COMMANDS = {
    "train": ["train", "cartpole", "spaql-ts", "--iterations", "1000000", "--out", "out", "--log", "log.csv", "--checkpoint", "kept", "--quiet"],
    "atlas": ["train", "cartpole", "atlas", "--samples", "100000", "--out", "out", "--quiet"],
    "laws": ["train", "cartpole-fitted", "laws", "--samples", "10000000000", "--out", "out", "--quiet"],
    "replay": ["replay", "pendulum", "spaql", "input.csv", "--passes", "100000", "--out", "out"],
    "evaluate": ["evaluate", "input.spaql", "--episodes", "10000000"],
    "explain": ["explain", "input.spaql", "--max-leaves", "16", "--html", "page.html"],
    "falsify": ["explain", "input.spaql", "--falsify", "--html", "page.html"],
    "export": ["export", "input.spaql", "--max-leaves", "16", "--to", "json", "--out", "policy.json"],
    "record": ["record", "pendulum", "--episodes", "100000", "--out", "log.parquet"],
    "coverage": ["coverage", "pendulum", "input.csv", "--reach", "1000000", "--figure", "seen.png"],
    "sweep": ["sweep", "cartpole", "spaql", "--option", "xi=1..100", "--trials", "1000", "--store", "store", "--quiet"],
    "reproduce": ["reproduce", *STUDY, "--only", "main-cartpole"],
    "few": ["reproduce", *STUDY, "--only", "few-pendulum"],
    "foreign": ["reproduce", *STUDY, "--only", "foreign-InvertedPendulum-v5"],
    "report": ["report", "finished", "--quiet"],
    "bench": ["bench"],
}
SOURCE = os.environ | {"PYTHONPATH": str(Path(spaql.__file__).parents[1]), "SPAQL_PROGRESS": "0"}  # one line is told
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}


def prepared(folder):
    """What the commands read: an agent, a log, a store with all its runs."""
    problem = spaql.make("pendulum")
    spaql.record(problem, folder / "input.csv", episodes=2)
    agent = spaql.SPAQL(problem, seed=0)
    agent.learn(100)
    agent.save(folder / "input.spaql")
    words = ["reproduce", "--quick", "--only", "main-cartpole", "--store", "finished", "--no-report", "--quiet"]
    subprocess.run([sys.executable, "-m", "spaql.cli", *words], cwd=folder, env=SOURCE, check=True, stdout=subprocess.DEVNULL)


def fault(folder, number, moment, words):
    """What is wrong after a signal, or None."""
    before = set(folder.rglob("*"))
    call = [sys.executable, "-c", "import spaql_command; spaql_command.main()", *words]
    process = subprocess.Popen(call, cwd=folder, env=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(moment)
    process.send_signal(number)
    try:
        try:
            _, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:  # the first signal waits for the run that is under way, the second does not
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        return "it went on, or a process that it had started did"
    left, killed = set(folder.rglob("*")) - before, number == signal.SIGKILL
    if process.returncode not in (CODES[number], 0):
        return f"exit code {process.returncode}: {said[-200:]}"
    if process.returncode and not killed and len(said.splitlines()) != 1 and words[0] != "bench":  # it says what it measures
        return f"{len(said.splitlines())} lines: {said[-200:]}"
    hidden = [path.name for path in left if path.name.startswith(".") and not (killed and path.suffix == ".part")]
    if hidden:
        return f"left {hidden}"
    for path in left:
        if not path.name.startswith("."):
            read(path)
    return None


def read(path):
    """Raises if a file is not whole."""
    if path.suffix == ".spaql":
        spaql.load(path)
    elif path.suffix == ".parquet":
        read_rows(path) if path.parent.name == "runs" else pandas.read_parquet(path)
    elif path.suffix == ".json":
        json.loads(path.read_text())
        if path.name == "store.json":
            Store(path.parent).read_plans()
    elif path.suffix == ".html":
        assert path.read_text().rstrip().endswith("</html>"), path


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--moments", type=int, default=20)
    words.add_argument("--until", type=float, default=3.2, help="seconds")
    words.add_argument("--commands", nargs="*", default=list(COMMANDS), choices=COMMANDS)
    words.add_argument("--signals", nargs="*", default=[number.name for number in CODES], choices=[number.name for number in CODES])
    given = words.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, shells have it ignored, by the commands too
    tried, faults = Counter(), []
    with tempfile.TemporaryDirectory() as ready:
        prepared(Path(ready))
        for name in given.commands:
            for number in map(signal.Signals.__getitem__, given.signals):
                for k in range(given.moments):
                    moment = 0.2 + (given.until - 0.2) * (k + 1) / given.moments
                    with tempfile.TemporaryDirectory() as folder:
                        shutil.copytree(ready, folder, dirs_exist_ok=True)
                        try:
                            wrong = fault(Path(folder), number, moment, COMMANDS[name])
                        except Exception as error:  # a file that cannot be read
                            wrong = f"{type(error).__name__}: {error}"
                    tried[name] += 1
                    faults += [] if wrong is None else [f"{name}, {number.name} after {moment:.2f} s: {wrong}"]
            print(f"{name:10} {tried[name]} signals", flush=True)
    print(f"{sum(tried.values())} signals, {len(faults)} faults", *faults, sep="\n")
    os._exit(bool(faults))


if __name__ == "__main__":
    main()
