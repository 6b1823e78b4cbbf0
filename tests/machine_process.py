"""A machine in a process of its own, reached by UDP or a serial line: it answers late, or not, and stops when nobody speaks.

    python tests/machine_process.py udp 0 --late 0.003 --lose 0.05

A request is a line: `?` asks for a measurement, a number is an action, which is applied for one period. What was applied
is printed, one number per line, and `stopped` when the machine's own watchdog has stopped it.
"""

import argparse
import os
import random
import select
import socket
import sys
import time

from machines import Cart


def main():
    words = argparse.ArgumentParser()
    words.add_argument("kind", choices=["udp", "serial"])
    words.add_argument("place")
    words.add_argument("--late", type=float, default=0.0)
    words.add_argument("--lose", type=float, default=0.0)
    words.add_argument("--period", type=float, default=0.01)
    words.add_argument("--patience", type=float, default=0.3)
    given = words.parse_args()
    machine, rng, answer = Cart(given.period), random.Random(0), None
    if given.kind == "udp":
        line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        line.bind(("127.0.0.1", int(given.place)))
        print(line.getsockname()[1], flush=True)
    else:
        line = os.open(given.place, os.O_RDWR | os.O_NOCTTY)
        print("ready", flush=True)
    begun = stopped = False
    while True:
        ready = select.select([line], [], [], given.patience)[0]
        if not ready:
            if begun and not stopped:
                print("stopped", flush=True)
                stopped = True
            continue
        data, answer = line.recvfrom(100) if given.kind == "udp" else (os.read(line, 1000), None)
        for request in data.decode().split():
            begun, stopped = True, False
            if given.late:
                time.sleep(rng.uniform(0, given.late))
            if rng.random() < given.lose:
                continue
            if request == "?":
                told = f"{machine.measure()[0]}\n".encode()
                _ = line.sendto(told, answer) if given.kind == "udp" else os.write(line, told)
            else:
                machine.apply([float(request)])
                print(request, flush=True)


if __name__ == "__main__":
    sys.exit(main())
