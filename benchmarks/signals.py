"""Ctrl-C and SIGTERM at many moments of every long command: one line each, the right exit code, nothing half.

    python benchmarks/signals.py                     # 24 moments of six commands, both signals
    python benchmarks/signals.py --moments 50 --commands train reproduce

A moment is a time after the start of the program, from 0.2 s on: before, Python itself is not up. Files that a command leaves must be whole:
agents load, runs are read, and no hidden file is there.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import spaql

COMMANDS = {
    "train": ["train", "cartpole", "spaql-ts", "--iterations", "1000000", "--out", "out", "--log", "log.csv", "--checkpoint", "kept", "--quiet"],
    "atlas": ["train", "cartpole", "atlas", "--samples", "100000", "--out", "out", "--quiet"],
    "replay": ["replay", "pendulum", "spaql", "input.csv", "--passes", "100000", "--out", "out"],
    "evaluate": ["evaluate", "input.spaql", "--episodes", "10000000"],
    "record": ["record", "pendulum", "--episodes", "100000", "--out", "log.parquet"],
    "reproduce": ["reproduce", "--quick", "--only", "main-cartpole", "--store", "store", "--quiet", "--no-report"],
}
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def prepared(folder):
    problem = spaql.make("pendulum")
    spaql.record(problem, folder / "input.csv", episodes=2)
    spaql.Random(problem).save(folder / "input.spaql")


def fault(folder, number, moment, words):
    """What is wrong after a signal, or None."""
    before = set(folder.rglob("*"))
    call = [sys.executable, "-c", "import spaql_command; spaql_command.main()", *words]
    process = subprocess.Popen(call, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(moment)
    process.send_signal(number)
    try:
        _, said = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        return "it went on, or a process that it had started did"
    left = set(folder.rglob("*")) - before
    if process.returncode not in (CODES[number], 0):
        return f"exit code {process.returncode}: {said[-200:]}"
    if process.returncode and len(said.splitlines()) != 1:
        return f"{len(said.splitlines())} lines: {said[-200:]}"
    hidden = [path.name for path in left if path.name.startswith(".")]
    if hidden:
        return f"left {hidden}"
    for path in left:
        if path.suffix == ".spaql":
            spaql.load(path)
        elif path.suffix == ".parquet":
            import pandas

            pandas.read_parquet(path)
    return None


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--moments", type=int, default=24)
    words.add_argument("--commands", nargs="*", default=list(COMMANDS))
    given = words.parse_args()
    tried, faults = Counter(), []
    for name in given.commands:
        for number in CODES:
            for k in range(given.moments):
                with tempfile.TemporaryDirectory() as folder:
                    prepared(Path(folder))
                    wrong = fault(Path(folder), number, 0.2 + 0.15 * k, COMMANDS[name])
                tried[name] += 1
                faults += [] if wrong is None else [f"{name}, {number.name} after {0.2 + 0.15 * k:.2f} s: {wrong}"]
        print(f"{name:10} {tried[name]} signals", flush=True)
    print(f"{sum(tried.values())} signals, {len(faults)} faults", *faults, sep="\n")
    os._exit(bool(faults))


if __name__ == "__main__":
    main()
