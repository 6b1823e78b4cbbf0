"""ARCH-COMP's control loops (AINNCS 2024 and 2025): laws are learned, and their specifications proven from the whole start box for the
differential equation, between samples too. A row each: share proven, CPU seconds of learning, proving and checking. For docs/proofs.md.

python benchmarks/arch.py [names] [seeds, such as 1000 1001 1002]

Differences to the competition: it gives the network, here the controller is learned. Disturbances are constant in an episode.
"""

import math

from proven import main

import spaql

# -- adaptive cruise control -------------------------------------------------------------------------------------------


def acc(xl, vl, gl, xe, ve, ge, a):
    return vl, gl, -2 * gl - 4 - 1e-4 * vl * vl, ve, ge, -2 * ge + 2 * a - 1e-4 * ve * ve


def too_close(xl, vl, gl, xe, ve, ge):
    return xl - xe < 10 + 1.4 * ve


def cruising(xl, vl, gl, xe, ve, ge, a):
    return 1.0 - 0.02 * abs(ve - 30.0) - max(0.0, 14.0 + 1.4 * ve - (xl - xe))


@spaql.observe
def seen_from_car(xl, vl, gl, xe, ve, ge):
    return ve, xl - xe, vl - ve


ACC = spaql.from_ode(
    acc, start={"x lead": (90, 110), "v lead": (32, 32.2), "a lead": 0, "x ego": (10, 11), "v ego": (30, 30.2), "a ego": 0},
    actions=spaql.Continuous((-3.0,), (2.0,), ("a",)), dt=0.1, horizon=50, reward=cruising, over=too_close, ends="failure", observe=seen_from_car,
    state=[spaql.Axis("v", 0, 60), spaql.Axis("distance", 0, 300), spaql.Axis("closing", -40, 40)], name="acc",
)  # fmt: skip

# -- a translational oscillator ----------------------------------------------------------------------------------------


def tora(x1, x2, x3, x4, u):
    return x2, -x1 + 0.1 * math.sin(x3), x4, u


def far_out(x1, x2, x3, x4):
    return max(abs(x1), abs(x2), abs(x3), abs(x4)) > 2.0


def quiet(x1, x2, x3, x4, u):
    return 1.0 - 0.3 * (x1 * x1 + x2 * x2 + x3 * x3 + x4 * x4)


TORA_REMAIN = spaql.from_ode(
    tora, start={"x1": (0.6, 0.7), "x2": (-0.7, -0.6), "x3": (-0.4, -0.3), "x4": (0.5, 0.6)}, name="tora remain",
    actions=spaql.Continuous((-2.0,), (2.0,), ("u",)), dt=1.0, substeps=8, horizon=20, reward=quiet, over=far_out, ends="failure",
)  # fmt: skip


def tora_with_clock(x1, x2, x3, x4, t, u):
    return x2, -x1 + 0.1 * math.sin(x3), x4, u, 1.0


def near_the_target(x1, x2, x3, x4, t, u):
    late = 10.0 if t > 4.9 else 0.1
    return -late * ((x1 - 0.05) ** 2 + (x2 + 0.75) ** 2)


@spaql.observe
def without_clock(x1, x2, x3, x4, t):
    return x1, x2, x3, x4


TORA_REACH = spaql.from_ode(
    tora_with_clock, start={"x1": (-0.77, -0.75), "x2": (-0.45, -0.43), "x3": (0.51, 0.54), "x4": (-0.3, -0.28), "t": 0.0},
    actions=spaql.Continuous((-11.0,), (11.0,), ("u",)), dt=0.5, substeps=4, horizon=10, reward=near_the_target, observe=without_clock,
    state=[spaql.Axis(name, slope=0.5) for name in ("x1", "x2", "x3", "x4")], name="tora reach",
)  # fmt: skip

# -- a unicycle --------------------------------------------------------------------------------------------------------


def unicycle(x, y, heading, v, t, a, turn, w):
    return v * math.cos(heading), v * math.sin(heading), turn + w, a + w, 1.0


def at_home(x, y, heading, v, t, a, turn):
    late = 1.0 if t > 9.9 else 0.03 if t > 7.0 else 0.002
    return -late * max(abs(x) / 0.6, abs(y) / 0.2, abs(heading) / 0.06, abs(v) / 0.3)


@spaql.observe
def pose(x, y, heading, v, t):
    return x, y, heading, v


UNICYCLE = spaql.from_ode(
    unicycle, start={"x": (9.5, 9.55), "y": (-4.5, -4.45), "heading": (2.1, 2.11), "v": (1.5, 1.51), "t": 0.0}, reward=at_home, dt=0.2, horizon=50,
    actions=spaql.Continuous((-5.0, -5.0), (5.0, 5.0), ("a", "turn")), parameters={"w": spaql.Between(-1e-4, 1e-4)}, name="unicycle",
    observe=pose, state=[spaql.Axis(name, slope=0.2) for name in ("x", "y", "heading", "v")],
)  # fmt: skip

# -- pendulums ---------------------------------------------------------------------------------------------------------


def pendulum(angle, rate, torque):
    return rate, 2.0 * math.sin(angle) + 8.0 * torque


def upright(angle, rate, torque):
    return 1.0 - (angle - 0.5) ** 2 - 0.1 * rate * rate


SINGLE_PENDULUM = spaql.from_ode(
    pendulum, start={"angle": (1.0, 1.175), "rate": (0.0, 0.2)}, actions=spaql.Continuous((-1.0,), (1.0,), ("torque",)), dt=0.05, horizon=20,
    reward=upright, name="single pendulum",
)  # fmt: skip


def double_pendulum(t1, t2, w1, w2, T1, T2):
    s, c = math.sin(t1 - t2), math.cos(t1 - t2)
    n = 0.5 * c * c - 1.0
    b = w1 * w1 * s + 8.0 * T2 + 2.0 * math.sin(t2) - c * (-0.5 * w2 * w2 * s + 4.0 * T1 + 2.0 * math.sin(t1))
    return w1, w2, 4.0 * T1 + 2.0 * math.sin(t1) - 0.5 * w2 * w2 * s + c * b / (2.0 * n), -b / n


def out_of_less(t1, t2, w1, w2):
    return (max(t1, t2, w1, w2) > 2.0) | (min(t1, t2, w1, w2) < -1.7)


def out_of_more(t1, t2, w1, w2):
    return (max(t1, t2, w1, w2) > 1.5) | (min(t1, t2, w1, w2) < -1.5)


def well_inside(t1, t2, w1, w2, T1, T2):
    high, low = max(t1, t2, w1, w2), min(t1, t2, w1, w2)
    return 1.0 - max(0.0, high - 1.0) - max(0.0, -0.5 - low)


DOUBLE = {
    "start": dict.fromkeys(("t1", "t2", "w1", "w2"), (0.95, 1.35)), "reward": well_inside, "horizon": 20,  # a little more than the box
    "actions": spaql.Continuous((-5.0, -5.0), (5.0, 5.0), ("T1", "T2")), "ends": "failure",
}  # fmt: skip
DOUBLE_LESS = spaql.from_ode(double_pendulum, dt=0.05, over=out_of_less, name="double pendulum less", **DOUBLE)
DOUBLE_MORE = spaql.from_ode(double_pendulum, dt=0.02, over=out_of_more, name="double pendulum more", **DOUBLE)

# -- a pole on a cart --------------------------------------------------------------------------------------------------


def cart(x, v, angle, rate, f):
    return v, 2.0 * f, rate, (0.08 * 0.41 * (9.8 * math.sin(angle) - 2.0 * f * math.cos(angle)) - 0.0021 * rate) / 0.0105


def settled(x, v, angle, rate, f):
    worst = max(abs(x), abs(angle), abs(rate), abs(v))
    return 1.0 - worst**0.25 if worst < 1.0 else -worst  # steep near zero: what is asked is within 0.001


CARTPOLE = spaql.from_ode(
    cart, start={"x": (-0.1, 0.1), "v": (-0.05, 0.05), "angle": (-0.1, 0.1), "rate": (-0.05, 0.05)}, reward=settled, dt=0.02, horizon=500,
    actions=spaql.Continuous((-10.0,), (10.0,), ("f",)), substeps=1, name="cartpole",
)  # fmt: skip
SMALL = {"x": (-0.001, 0.001), "angle": (-0.001, 0.001), "rate": (-0.001, 0.001)}

# -- a robot around a square -------------------------------------------------------------------------------------------


def robot(x, y, v, heading, t, a, turn):
    return v * math.cos(heading), v * math.sin(heading), a, turn, 1.0


def in_the_square(x, y, v, heading, t):
    return (x >= 1.0) & (x <= 2.0) & (y >= 1.0) & (y <= 2.0)


def around(x, y, v, heading, t, a, turn):
    near = max(0.0, 0.8 - max(abs(x - 1.5), abs(y - 1.5)))
    late = 10.0 if t > 5.9 else 0.3 if t > 4.0 else 0.03
    return 10.0 - late * max(abs(x), abs(y)) / 0.5 - 10.0 * near


@spaql.observe
def pose_of_robot(x, y, v, heading, t):
    return x, y, v, heading


NAV = spaql.from_ode(
    robot, start={"x": (2.9, 3.1), "y": (2.9, 3.1), "v": 0.0, "heading": 0.0, "t": 0.0}, reward=around, over=in_the_square, ends="failure", dt=0.2,
    actions=spaql.Continuous((-1.0, -1.0), (1.0, 1.0), ("a", "turn")), observe=pose_of_robot, horizon=30, name="nav",
    state=[spaql.Axis(name, slope=0.2) for name in ("x", "y", "v", "heading")],
)  # fmt: skip

# -- a spacecraft that docks -------------------------------------------------------------------------------------------

N = 0.001027


def spacecraft(x, y, vx, vy, fx, fy):
    return vx, vy, 2 * N * vy + 3 * N * N * x + fx / 12.0, -2 * N * vx + fy / 12.0


def too_fast(x, y, vx, vy):
    return vx * vx + vy * vy > (0.2 + 2 * N * math.sqrt(x * x + y * y)) ** 2


def slow(x, y, vx, vy, fx, fy):
    return 1.0 - 10.0 * (vx * vx + vy * vy)


DOCKING = spaql.from_ode(
    spacecraft, start={"x": (70, 106), "y": (70, 106), "vx": (-0.28, 0.28), "vy": (-0.28, 0.28)}, reward=slow, over=too_fast, ends="failure",
    actions=spaql.Continuous((-1.0, -1.0), (1.0, 1.0), ("fx", "fy")), dt=1.0, horizon=40, name="docking",
    state=[spaql.Axis("x", -200, 200), spaql.Axis("y", -200, 200), spaql.Axis("vx", -2, 2), spaql.Axis("vy", -2, 2)],
)  # fmt: skip

# -- the attitude of a rigid body --------------------------------------------------------------------------------------


def body(x1, x2, x3, x4, x5, x6, u1, u2, u3):
    s = x4 * x4 + x5 * x5 + x6 * x6
    return (
        0.25 * (u1 + x2 * x3), 0.5 * (u2 - 3.0 * x1 * x3), u3 + 2.0 * x1 * x2,
        0.5 * (x2 * (s - x6) + x3 * (s + x5) + x1 * (s + 1.0)), 0.5 * (x1 * (s + x6) + x3 * (s - x4) + x2 * (s + 1.0)),
        0.5 * (x1 * (s - x5) + x2 * (s + x4) + x3 * (s + 1.0)),
    )  # fmt: skip


def forbidden(x1, x2, x3, x4, x5, x6):
    far = max(abs(x1), abs(x2), abs(x3), abs(x4), abs(x5), abs(x6)) > 2.0  # else it may grow without bound
    slow = (x1 >= -0.2) & (x1 <= 0.0) & (x2 >= -0.5) & (x2 <= -0.4) & (x3 >= 0.0) & (x3 <= 0.2)
    return far | slow & (x4 >= -0.7) & (x4 <= -0.6) & (x5 >= 0.7) & (x5 <= 0.8) & (x6 >= -0.4) & (x6 <= -0.2)


def at_rest(x1, x2, x3, x4, x5, x6, u1, u2, u3):
    return 1.0 - 0.1 * (x1 * x1 + x2 * x2 + x3 * x3 + x4 * x4 + x5 * x5 + x6 * x6)


ATTITUDE = spaql.from_ode(
    body, start={"x1": (-0.45, -0.44), "x2": (-0.55, -0.54), "x3": (0.65, 0.66), "x4": (-0.75, -0.74), "x5": (0.85, 0.86), "x6": (-0.65, -0.64)},
    actions=spaql.Continuous((-2.0,) * 3, (2.0,) * 3, ("u1", "u2", "u3")), reward=at_rest, over=forbidden, ends="failure", dt=0.1, horizon=30,
    name="attitude",
)  # fmt: skip

# -- a quadrotor, and an airplane --------------------------------------------------------------------------------------


def quadrotor(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, u1):
    s7, c7, s8, c8, s9, c9 = math.sin(x7), math.cos(x7), math.sin(x8), math.cos(x8), math.sin(x9), math.cos(x9)
    turn = (s7 * x11 + c7 * x12) / c8
    return (
        c8 * c9 * x4 + (s7 * s8 * c9 - c7 * s9) * x5 + (c7 * s8 * c9 + s7 * s9) * x6,
        c8 * s9 * x4 + (s7 * s8 * s9 + c7 * c9) * x5 + (c7 * s8 * s9 - s7 * c9) * x6,
        s8 * x4 - s7 * c8 * x5 - c7 * c8 * x6,
        x12 * x5 - x11 * x6 - 9.81 * s8, x10 * x6 - x12 * x4 + 9.81 * c8 * s7, x11 * x4 - x10 * x5 + 9.81 * c7 * c8 - 9.81 - u1 / 1.4,
        x10 + s8 * turn, c7 * x11 - s7 * x12, turn,
        (0.054 - 0.104) / 0.054 * x11 * x12, (0.104 - 0.054) / 0.054 * x10 * x12, 0.0 * x12,  # no torques: only the height is asked for
    )  # fmt: skip


def at_height(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, u1):
    return 1.0 - abs(x3 - 1.0)


@spaql.observe
def height(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12):
    return x3, x6


QUAD = spaql.from_ode(
    quadrotor, start={f"x{j + 1}": (-0.4, 0.4) if j < 6 else 0.0 for j in range(12)}, reward=at_height, dt=0.1, horizon=50, observe=height,
    actions=spaql.Continuous((-5.0,), (5.0,), ("u1",)), name="quad", state=[spaql.Axis("x3", slope=0.5), spaql.Axis("x6", slope=0.5)],
)  # fmt: skip


def airplane(x, y, z, u, v, w, phi, theta, psi, r, p, q, fx, fy, fz, mx, my, mz):
    s1, c1, s2, c2, s3, c3 = math.sin(phi), math.cos(phi), math.sin(theta), math.cos(theta), math.sin(psi), math.cos(psi)
    return (
        c3 * c2 * u + (c3 * s2 * s1 - s3 * c1) * v + (c3 * s2 * c1 + s3 * s1) * w,
        s3 * c2 * u + (c3 * c1 + s3 * s2 * s1) * v + (s3 * s2 * c1 - c3 * s1) * w,
        -s2 * u + c2 * s1 * v + c2 * c1 * w,
        -s2 + fx - q * w + r * v, c2 * s1 + fy - r * u + p * w, c2 * c1 + fz - p * v + q * u,
        p + s2 / c2 * (s1 * q + c1 * r), c1 * q - s1 * r, (s1 * q + c1 * r) / c2, mz, mx, my,
    )  # fmt: skip


FREE = 1.001  # what is asked is 1, where some starts are: no bound that is rounded outwards holds there


def turned_over(x, y, z, u, v, w, phi, theta, psi, r, p, q):
    return max(abs(y), abs(phi), abs(theta), abs(psi)) > FREE


def level(x, y, z, u, v, w, phi, theta, psi, r, p, q, fx, fy, fz, mx, my, mz):
    return 2.0 - max(abs(y), abs(phi), abs(theta), abs(psi)) - 0.1 * (abs(phi) + abs(theta) + abs(psi) + abs(y))


@spaql.observe
def flown(x, y, z, u, v, w, phi, theta, psi, r, p, q):
    return y, u, v, w, phi, theta, psi, r, p, q


AIRPLANE = spaql.from_ode(
    airplane, start={"x": 0.0, "y": 0.0, "z": 0.0, **dict.fromkeys(("u", "v", "w", "phi", "theta", "psi"), (0.0, 1.0)), "r": 0.0, "p": 0.0, "q": 0.0},
    actions=spaql.Continuous((-10.0,) * 6, (10.0,) * 6, ("fx", "fy", "fz", "mx", "my", "mz")), reward=level, over=turned_over, ends="failure", dt=0.1,
    horizon=20, observe=flown, name="airplane", state=[spaql.Axis(name, slope=0.5) for name in ["y", "u", "v", "w", "phi", "theta", "psi", "r", "p", "q"]],
)  # fmt: skip

DOUBLE_BOX = dict.fromkeys(("t1", "t2", "w1", "w2"), (1.0, 1.3))
HOME = {"x": (-0.6, 0.6), "y": (-0.2, 0.2), "heading": (-0.06, 0.06), "v": (-0.3, 0.3)}
ASKED = {  # leaves, samples, and what is asked
    "single pendulum": (SINGLE_PENDULUM, 1, 20_000_000, {"at": {(0.5, 1.0): {"angle": (0.0, 1.0)}}}),
    "tora remain": (TORA_REMAIN, 1, 20_000_000, {}),
    "acc": (ACC, 1, 20_000_000, {}),
    "unicycle": (UNICYCLE, 1, 20_000_000, {"at": {10.0: HOME}}),
    "double pendulum less": (DOUBLE_LESS, 1, 20_000_000, {"start": DOUBLE_BOX}),
    "double pendulum more": (DOUBLE_MORE, 1, 20_000_000, {"start": DOUBLE_BOX}),
    "tora reach": (TORA_REACH, 1, 20_000_000, {"at": {5.0: {"x1": (-0.1, 0.2), "x2": (-0.9, -0.6)}}}),
    "nav": (NAV, 1, 20_000_000, {"at": {6.0: {"x": (-0.5, 0.5), "y": (-0.5, 0.5)}}}),
    "docking": (DOCKING, 1, 20_000_000, {}),
    "cartpole": (CARTPOLE, 1, 60_000_000, {"at": {(8.0, 10.0): SMALL}}),
    "attitude": (ATTITUDE, 1, 20_000_000, {}),
    "quad": (QUAD, 1, 3_000_000, {"at": {5.0: {"x3": (0.94, 1.06)}}}),
    "airplane": (AIRPLANE, 1, 10_000_000, {}),
}  # fmt: skip


if __name__ == "__main__":
    main(ASKED)
