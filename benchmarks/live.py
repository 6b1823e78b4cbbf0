"""Deadlines of the live loop at 100 Hz, with a machine in another process, over UDP.

    python benchmarks/live.py --steps 6000                      # a minute
    chrt -f 50 python benchmarks/live.py --steps 6000           # where the machine is busy with other things
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas

import spaql
from spaql.rig.description import EXAMPLE

TESTS = Path(__file__).parents[1] / "tests"


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--steps", type=int, default=6000)
    words.add_argument("--period", type=float, default=0.01)
    given = words.parse_args()
    about = EXAMPLE.replace("period = 0.02", f"period = {given.period}").replace("steps = 100", f"steps = {given.steps}")
    command = [sys.executable, TESTS / "machine_process.py", "udp", "0", "--period", str(given.period)]
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as machine:
        port = int(machine.stdout.readline())
        drain = subprocess.Popen(["cat"], stdin=machine.stdout, stdout=subprocess.DEVNULL)
        line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        line.settimeout(given.period / 2)
        line.connect(("127.0.0.1", port))

        def read():
            line.send(b"?")
            try:
                return float(line.recv(100))
            except TimeoutError:
                return None

        rig = spaql.Rig.new(Path(folder) / "cart", about)
        rig.next()
        live = rig.run(read, lambda voltage: line.send(f"{voltage}".encode()))
        machine.kill()
        drain.wait()
        times = pandas.read_csv(live.log).time.to_numpy()
    print(live)
    off = 1e3 * np.abs(np.diff(times) - given.period)
    print(f"from step to step off by {np.median(off):.3f} ms (median), {np.quantile(off, 0.99):.3f} ms (99 %), {off.max():.3f} ms (worst)")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
