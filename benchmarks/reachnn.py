"""Benchmarks B1 to B5 of ReachNN, and the mountain car of POLAR: laws are learned, and their specifications proven from the whole start box; of B1 to
B5 for the differential equation. A row each: share proven, CPU seconds of learning, proving and checking. For docs/proofs.md.

python benchmarks/reachnn.py [names] [seeds, such as 1000 1001 1002]

Targets are asked at the time that POLAR asks. B6 is `tora reach` of arch.py. There networks are given, here laws are learned; a clock is a variable of
the plant that only rewards see.
"""

import math

from proven import main

import spaql


@spaql.observe
def two(x1, x2, t):
    return x1, x2


@spaql.observe
def three(x1, x2, x3, t):
    return x1, x2, x3


def far(x1, x2, t):
    return max(abs(x1), abs(x2)) > 1.5  # else some laws would let it grow without bound


def far_off(x1, x2, x3, t):
    return max(abs(x1), abs(x2), abs(x3)) > 3.0


def plant(derivative, reward, start, seen, dt, horizon, most, name):
    starts = dict(zip(("x1", "x2", "x3"), start, strict=False)) | {"t": 0.0}
    return spaql.from_ode(
        derivative, start=starts, actions=spaql.Continuous((-most,), (most,), ("u",)), dt=dt, horizon=horizon, reward=reward, observe=seen,
        state=[spaql.Axis(f"x{j + 1}", slope=0.5) for j in range(len(start))], name=name, substeps=4, ends="failure",
        over=far if len(start) == 2 else far_off,
    )  # fmt: skip


def b1(x1, x2, t, u):
    return x2, u * x2 * x2 - x1, 1.0


def near_b1(x1, x2, t, u):
    late = 1.0 if t > 6.9 else 0.003
    return 5.0 - late * max(abs(x1 - 0.1) / 0.1, abs(x2 - 0.175) / 0.125)


def b2(x1, x2, t, u):
    return x2 - x1 * x1 * x1, u, 1.0


def near_b2(x1, x2, t, u):
    late = 1.0 if t > 1.9 else 0.003
    return 5.0 - late * max(abs(x1 + 0.1) / 0.2, abs(x2 - 0.075) / 0.425)


def b3(x1, x2, t, u):
    s = 0.1 + (x1 + x2) * (x1 + x2)
    return -x1 * s, (u + x1) * s, 1.0


def near_b3(x1, x2, t, u):
    late = 1.0 if t > 5.9 else 0.003
    return 5.0 - late * max(abs(x1 - 0.25) / 0.05, abs(x2 + 0.175) / 0.125)


def b4(x1, x2, x3, t, u):
    return -x1 + x2 - x3, -x1 * (x3 + 1.0) - x2, -x1 + u, 1.0


def near_b4(x1, x2, x3, t, u):
    late = 1.0 if t > 0.95 else 0.003
    return 5.0 - late * max(abs(x1 + 0.15) / 0.05, abs(x2 - 0.025) / 0.025)


def b5(x1, x2, x3, t, u):
    return x3 * x3 * x3 - x2, x3, u, 1.0


def near_b5(x1, x2, x3, t, u):
    late = 1.0 if t > 1.9 else 0.003
    return 5.0 - late * max(abs(x1 + 0.29) / 0.14, abs(x2 - 0.135) / 0.085)


B1 = plant(b1, near_b1, [(0.8, 0.9), (0.5, 0.6)], two, 0.2, 35, 2.0, "b1")
B2 = plant(b2, near_b2, [(0.7, 0.9), (0.7, 0.9)], two, 0.2, 10, 2.0, "b2")
B3 = plant(b3, near_b3, [(0.8, 0.9), (0.4, 0.5)], two, 0.1, 60, 2.0, "b3")
B4 = plant(b4, near_b4, [(0.25, 0.27), (0.08, 0.1), (0.25, 0.27)], three, 0.1, 10, 2.0, "b4")
B5 = plant(b5, near_b5, [(0.38, 0.4), (0.45, 0.47), (0.25, 0.27)], three, 0.2, 10, 2.0, "b5")


# -- the mountain car, in discrete time --------------------------------------------------------------------------------


@spaql.reset
def in_the_valley(a):
    return -0.53 + 0.03 * a, 0.0


@spaql.step
def drive(x, v, u):
    after = v + 0.0015 * u - 0.0025 * math.cos(3.0 * x)
    there = (x + v >= 0.45) & (after >= 0.0)
    return (x + v, after), -1.0, there


CAR = spaql.from_plant(
    in_the_valley, drive, state=[spaql.Axis("x", slope=1.0), spaql.Axis("v", slope=20.0)], actions=spaql.Continuous((-1.0,), (1.0,), ("u",)),
    horizon=150, name="car", ends="success",
)  # fmt: skip
ASKED = {  # leaves, samples, and what is asked
    "b1": (B1, 1, 4_000_000, {"at": {7.0: {"x1": (0.0, 0.2), "x2": (0.05, 0.3)}}}),
    "b2": (B2, 1, 500_000, {"at": {2.0: {"x1": (-0.3, 0.1), "x2": (-0.35, 0.5)}}}),
    "b3": (B3, 1, 2_000_000, {"at": {6.0: {"x1": (0.2, 0.3), "x2": (-0.3, -0.05)}}}),
    "b4": (B4, 1, 500_000, {"at": {1.0: {"x1": (-0.2, -0.1), "x2": (0.0, 0.05)}}}),
    "b5": (B5, 1, 500_000, {"at": {2.0: {"x1": (-0.43, -0.15), "x2": (0.05, 0.22)}}}),
    "car": (CAR, 1, 1_000_000, {"reach": "end"}),
}  # fmt: skip

if __name__ == "__main__":
    main(ASKED)
