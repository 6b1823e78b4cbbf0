"""Regions of attraction of differential equations under learned laws, sampled and held: the volume from which it is proven that the state comes to
rest, with no hole around where that is. A row each: volume, CPU seconds of learning, proving and checking. For docs/proofs.md.

python benchmarks/attraction.py [names] [seeds, such as 1000 1001 1002]

Plants and bounds of inputs are those of Two-Stage (NeurIPS 2025), whose networks act in continuous time; here laws act every 50 ms.
"""

import math

from proven import main

import spaql


def oscillator(x, v, u):
    return v, -x + (1.0 - x * x) * v + u


def at_zero(x, v, u):
    return 1.0 - 0.2 * (abs(x) + abs(v))


VAN_DER_POL = spaql.from_ode(
    oscillator, start={"x": (-4.0, 4.0), "v": (-6.0, 6.0)}, reward=at_zero, dt=0.05, horizon=300, name="van der pol",
    actions=spaql.Continuous((-1.0,), (1.0,), ("u",)),
)  # fmt: skip


def pendulum(angle, rate, torque):  # m = 0.15, l = 0.5, friction 0.1, g = 9.81
    return rate, 19.62 * math.sin(angle) + (torque - 0.1 * rate) / 0.0375


def upright(angle, rate, torque):
    return 1.0 - 0.2 * abs(angle) - 0.02 * abs(rate)


PENDULUM = spaql.from_ode(
    pendulum, start={"angle": (-20.0, 20.0), "rate": (-100.0, 100.0)}, reward=upright, dt=0.05, horizon=200, name="pendulum, 6 N m",
    actions=spaql.Continuous((-6.0,), (6.0,), ("torque",)),
)  # fmt: skip


def path(off, heading, u):  # a circle of radius 10, at speed 2
    return 2.0 * math.sin(heading), 2.0 * u - math.cos(heading) / (5.0 - math.sin(heading))


def on_the_path(off, heading, u):
    return 1.0 - 0.2 * (abs(off) + abs(heading))


PATH = spaql.from_ode(
    path, start={"off": (-10.0, 10.0), "heading": (-10.0, 10.0)}, reward=on_the_path, dt=0.05, horizon=600, name="path tracking",
    actions=spaql.Continuous((-0.84,), (0.84,), ("u",)),
)  # fmt: skip

ASKED = {  # leaves, samples, and what is asked; Two-Stage has volumes of 23.3, 1169.2 and 122
    "van der pol": (VAN_DER_POL, 1, 10_000_000, {"reach": {"x": (-1.0, 1.0)}, "seconds": 300}),
    "pendulum": (PENDULUM, 1, 10_000_000, {"reach": {"angle": (-3.0, 3.0)}, "seconds": 300}),
    "path tracking": (PATH, 1, 40_000_000, {"reach": {"off": (-2.0, 2.0), "heading": (-1.5, 1.5)}, "seconds": 300}),
}  # fmt: skip


if __name__ == "__main__":
    main(ASKED)
