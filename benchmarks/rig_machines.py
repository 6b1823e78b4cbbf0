"""Machines for the rig, each in a process of its own, which knows a trial by its files alone.

    python benchmarks/rig_machines.py oven trials/0001 log.csv --seed 1000      # compiles controller.c, and runs it

Seen while the method was made, for tuning: cart, tank, arm. Written before the last changes, and run for the report alone:

    oven    heats through an element that stores heat, a step late; period 5 s
    beam    a ball on a beam whose servo lags, with rolling friction; period 0.04 s
    fan     lifts an arm that swings, thrust with the square of its speed, which lags; period 0.05 s

One that leads to a change of the method is no longer fresh: replace it. The fan, with seeds below 100, led to taking the
noise of sensors out of logs; its seeds from 1000 on are reported until there is another machine. States are columns, so
that many can be moved at once; the last state of each is the action that is on its way.
"""

import argparse
import ctypes
import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas

HEAD = """
[rig]
name = "{name}"
period = {period}
steps = 100
"""
CART = """
[measured.position]
unit = "m"
range = [-1.0, 1.0]
limit = [-0.8, 0.8]
[actions.voltage]
unit = "V"
range = [-6.0, 6.0]
rate = 3.0
[references.target]
of = "position"
range = [-0.5, 0.5]
hold = [40, 60]
[goal]
reward = "-abs(position_error) - 0.01 * abs(voltage - previous_voltage)"
[fallback.voltage]
position_error = 4.0
"integral(position_error)" = 1.0
"""
TANK = """
[measured.level]
unit = "m"
range = [0.0, 2.0]
limit = [0.0, 1.8]
[actions.valve]
unit = "%"
range = [0.0, 100.0]
rate = 20.0
[references.wanted]
of = "level"
range = [0.4, 1.4]
hold = [30, 50]
[goal]
reward = "-abs(level_error) - 0.002 * abs(valve - previous_valve)"
[fallback.valve]
level_error = 20.0
"integral(level_error)" = 0.1
offset = 30.0
"""
ARM = """
[measured.angle]
unit = "rad"
range = [-0.8, 0.8]
limit = [-0.5, 0.5]
start = [-0.2, 0.2]
[actions.torque]
unit = "N m"
range = [-5.0, 5.0]
[goal]
reward = "-10 * angle ** 2 - 0.01 * abs(torque - previous_torque)"
[fallback.torque]
angle = -8.0
"difference(angle)" = -25.0
"""
OVEN = """
[measured.temperature]
unit = "K"
range = [0.0, 300.0]
limit = [0.0, 220.0]
[actions.power]
unit = "%"
range = [0.0, 100.0]
rate = 30.0
[references.wanted]
of = "temperature"
range = [80.0, 180.0]
hold = [40, 60]
[goal]
reward = "-abs(temperature_error) - 0.05 * abs(power - previous_power)"
[fallback.power]
temperature_error = 0.6
"integral(temperature_error)" = 0.002
offset = 35.0
"""
BEAM = """
[measured.position]
unit = "m"
range = [-0.5, 0.5]
limit = [-0.4, 0.4]
[actions.tilt]
unit = "rad"
range = [-0.25, 0.25]
rate = 0.15
[references.target]
of = "position"
range = [-0.2, 0.2]
hold = [40, 60]
[goal]
reward = "-abs(position_error) - 0.02 * abs(tilt - previous_tilt)"
[fallback.tilt]
position_error = 0.6
"difference(position)" = -5.0
"""
FAN = """
[measured.angle]
unit = "rad"
range = [-1.0, 2.0]
limit = [-0.5, 1.4]
[actions.speed]
unit = "%"
range = [0.0, 100.0]
rate = 25.0
[references.height]
of = "angle"
range = [0.3, 0.9]
hold = [40, 60]
[goal]
reward = "-abs(angle_error) - 0.001 * abs(speed - previous_speed)"
[fallback.speed]
angle_error = 10.0
"integral(angle_error)" = 15.0
offset = 60.0
"""


def _sticks(v, drive, friction, h, least=1e-3):
    """The speed after a moment with dry friction, which holds what is slow and hardly driven."""
    slow = np.abs(v) < least
    after = v + h * (drive - friction * np.sign(np.where(slow, drive, v)))
    after = np.where(after * v < 0, 0.0, after)
    return np.where(slow & (np.abs(drive) < friction), 0.0, after)


def cart_start(rng):
    """It sticks, its voltage acts a step late, its position has whole millimetres."""
    return [0.02 * rng.standard_normal(), 0.0, 0.0]


def cart_step(x, u):
    place, v, push = x
    for _ in range(10):
        v = _sticks(v, 1.6 * push - 4.0 * v, 1.0, 0.002)
        place = place + 0.002 * v
    return np.array([place, v, u])


def tank_start(rng):
    """The outflow goes with the root of the level; the valve sticks, and acts a step late; the level in 5 mm."""
    return [0.8 + 0.05 * rng.standard_normal(), 30.0, 30.0]


def tank_step(x, u):
    level, opened, wanted = x
    opened = np.where(np.abs(wanted - opened) > 1.0, wanted, opened)
    for _ in range(10):
        level = np.maximum(level + 0.2 * (0.00145 * opened - 0.05 * np.sqrt(level)), 0.0)
    return np.array([level, opened, u])


def arm_start(rng):
    """It falls over; the torque acts a step late, with dry friction; the angle in steps of an encoder."""
    return [rng.uniform(-0.2, 0.2), 0.0, 0.0]


def arm_step(x, u):
    q, w, torque = x
    for _ in range(10):
        w = w + 0.002 * (9.0 * np.sin(q) + 3.0 * torque - 0.5 * w - 0.3 * np.tanh(50.0 * w))
        q = q + 0.002 * w
    return np.array([q, w, u])


def oven_start(rng):
    begin = 110.0 + 15.0 * rng.standard_normal()
    return [begin, begin + 10.0, 35.0]


def oven_step(x, u):
    air, element, power = x
    for _ in range(10):
        flow = 0.08 * (element - air)
        element = element + 0.5 * (0.1 * power - 4.0 * flow) / 4.0
        air = air + 0.5 * (flow - 0.010 * (air - 20.0) - 1.2e-5 * (air - 20.0) ** 2)
    return np.array([air, element, u])


def beam_start(rng):
    return [0.02 * rng.standard_normal(), 0.0, 0.0, 0.0]


def beam_step(x, u):
    place, v, tilt, wanted = x
    for _ in range(8):
        tilt = tilt + 0.005 * (wanted - tilt) / 0.06
        v = v + 0.005 * (7.0 * np.sin(tilt) - 0.1 * v - 0.05 * np.tanh(v / 0.005))
        place = place + 0.005 * v
    return np.array([place, v, tilt, u])


def fan_start(rng):
    return [0.28 + 0.03 * rng.standard_normal(), 0.0, 0.2, 45.0]


def fan_step(x, u):
    q, w, thrust, speed = x
    for _ in range(10):
        thrust = thrust + 0.005 * ((speed / 100.0) ** 2 - thrust) / 0.15
        w = w + 0.005 * (16.0 * thrust - 12.0 * np.sin(q) - 0.8 * w)
        q = q + 0.005 * w
    return np.array([q, w, thrust, u])


@dataclass(frozen=True)
class Kind:
    """A machine: equations, what its sensor does, what an engineer writes of it."""

    start: Any
    step: Any
    unit: float  # in which its sensor counts
    noise: float  # before that
    period: float  # s
    about: str  # the rest of rig.toml

    def toml(self, name):
        return HEAD.format(name=name, period=self.period) + self.about


MACHINES = {
    "cart": Kind(cart_start, cart_step, 0.001, 0.0, 0.02, CART),
    "tank": Kind(tank_start, tank_step, 0.005, 0.003, 2.0, TANK),
    "arm": Kind(arm_start, arm_step, 0.002, 0.0, 0.02, ARM),
    "oven": Kind(oven_start, oven_step, 0.1, 0.1, 5.0, OVEN),
    "beam": Kind(beam_start, beam_step, 0.001, 0.0005, 0.04, BEAM),
    "fan": Kind(fan_start, fan_step, 0.002, 0.002, 0.05, FAN),
}
FRESH = ("oven", "beam", "fan")


class Machine:
    """One of them, as whoever stands before it sees it."""

    def __init__(self, kind, rng):
        self.kind, self.rng = kind, rng
        self.x = np.array(kind.start(rng))[:, None]

    def measure(self):
        return self.kind.unit * round((self.x[0, 0] + self.kind.noise * self.rng.standard_normal()) / self.kind.unit)

    def apply(self, u):
        self.x = self.kind.step(self.x, np.array([u]))


def compiled(source, folder):
    """init and step of a controller with one action, as a board has them."""
    more = "\nstatic controller_memory memory;\nvoid begin(void) { controller_init(&memory); }\n"
    more += "void act(const double *input, double *output) { controller_step(&memory, input, output); }\n"
    library = folder / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.so"
    (folder / "board.c").write_text(source + more)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", folder / "board.c", "-o", library, "-lm"], check=True)
    board = ctypes.CDLL(str(library))
    board.begin()
    numbers = ctypes.c_double * 16

    def act(values):
        output = numbers()
        board.act(numbers(*values), output)
        return output[0]

    return act


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("machine", choices=list(MACHINES))
    words.add_argument("trial", type=Path)
    words.add_argument("log", type=Path)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--low", type=float, default=-np.inf, help="where the board stops")
    words.add_argument("--high", type=float, default=np.inf)
    given = words.parse_args()
    kind = MACHINES[given.machine]
    machine = Machine(kind, np.random.default_rng([given.seed, *given.machine.encode()]))
    plan = pandas.read_csv(given.trial / "plan.csv")
    act = compiled((given.trial / "controller.c").read_text(), given.log.parent)
    measured, action = (kind.about.split(f"[{what}.")[1].split("]")[0] for what in ("measured", "actions"))
    rows = []
    for t, row in enumerate(plan.to_numpy()[:, 1:]):
        y = machine.measure()
        if not given.low <= y <= given.high:
            break
        u = act([y, *row])
        rows.append([t * kind.period, y, u])
        machine.apply(u)
    rows.append([len(rows) * kind.period, machine.measure(), np.nan])
    table = pandas.DataFrame(rows, columns=["time", measured, action])
    table.to_csv(given.log, index=False, sep=";", decimal=",")


if __name__ == "__main__":
    main()
