"""RealAIGym's double pendulum with one motor: the acrobot (at the elbow) and the pendubot (at the shoulder).

Two links hang and are to stand upright, 0.45 m above the hinge at least, to the end of ten seconds. Equations, numbers
and scores are those of the simulation boards, version 2 (dfki-ric-underactuated-lab/double_pendulum, leaderboard/;
design C.1, model 1.0, without friction and motor inertia).

    score = 1 - 1/5 Σ tanh(π cost / usual)        0 if it does not stand at the end

`board_problem` is a plant to learn on: an episode earns its score, and less than nothing if it fails, the less the
deeper the tip hung. Samples are 10 ms long there, and 2 ms on the boards (boards.py).
"""

import math

from spaql.plants.axes import Axis, Continuous
from spaql.plants.make import from_plant
from spaql.plants.plant import observe, reset, step
from spaql.plants.problem import Problem

Pair = tuple[float, float]
State = tuple[float, float, float, float]
Seen = tuple[float, float, float, float, float, float]
Hidden = tuple[float, ...]  # the state, and what the score needs
GRAVITY, LENGTH1, LENGTH2 = 9.81, 0.2, 0.3
MASS_CENTER1, INERTIA1 = 0.5234602302310271 * 0.2, 0.031887199591513114  # kg m, kg m2 about the joint
MASS2, INERTIA2 = 0.6255677234174437, 0.05086984812807257
MASS_CENTER2 = MASS2 * 0.25569305436052964
COUPLING = LENGTH1 * MASS_CENTER2
MOST_TORQUE, SECONDS, GEAR = 6.0, 10.0, 6.0
HEIGHT = 0.45  # m of the tip above the hinge, from which on it stands
USUAL = (20.0, 60.0, 20.0, 0.1, 400.0)  # time, energy, torque, smoothness, velocity: costs that are divided by
DT, STEPS = 0.01, 1000
BOARD_DT = 0.002


# -- equations: angles from hanging, the second one from the first link ------------------------------------------------


def acceleration(
    q1: float, q2: float, w1: float, w2: float, torque1: float, torque2: float, center1: float, inertia1: float,
    center2: float, mass2: float, inertia2: float, motor: float,
) -> Pair:  # fmt: skip
    """Of both angles. `center1`, `center2`: mass times distance of its centre; `motor`: inertia of each rotor."""
    coupling = LENGTH1 * center2
    cos, sin, far = math.cos(q2), math.sin(q2), math.sin(q1 + q2)
    a = inertia1 + inertia2 + LENGTH1 * LENGTH1 * mass2 + 2.0 * coupling * cos + (GEAR * GEAR + 1.0) * motor
    b = inertia2 + coupling * cos - GEAR * motor
    d = inertia2 + GEAR * GEAR * motor
    pull2 = GRAVITY * center2 * far
    pull1 = GRAVITY * (center1 + mass2 * LENGTH1) * math.sin(q1) + pull2
    force1 = torque1 + coupling * sin * w2 * (2.0 * w1 + w2) - pull1
    force2 = torque2 - coupling * sin * w1 * w1 - pull2
    determinant = a * d - b * b
    return (d * force1 - b * force2) / determinant, (a * force2 - b * force1) / determinant


def moved(
    q1: float, q2: float, w1: float, w2: float, torque1: float, torque2: float, h: float, center1: float,
    inertia1: float, center2: float, mass2: float, inertia2: float, motor: float,
) -> State:  # fmt: skip
    """One Runge-Kutta step of fourth order."""
    k = 0.5 * h
    a1, a2 = acceleration(q1, q2, w1, w2, torque1, torque2, center1, inertia1, center2, mass2, inertia2, motor)
    v1, v2 = w1 + k * a1, w2 + k * a2
    b1, b2 = acceleration(
        q1 + k * w1, q2 + k * w2, v1, v2, torque1, torque2, center1, inertia1, center2, mass2, inertia2, motor
    )
    x1, x2 = w1 + k * b1, w2 + k * b2
    c1, c2 = acceleration(
        q1 + k * v1, q2 + k * v2, x1, x2, torque1, torque2, center1, inertia1, center2, mass2, inertia2, motor
    )
    y1, y2 = w1 + h * c1, w2 + h * c2
    d1, d2 = acceleration(
        q1 + h * x1, q2 + h * x2, y1, y2, torque1, torque2, center1, inertia1, center2, mass2, inertia2, motor
    )
    return (
        q1 + h / 6.0 * (w1 + 2.0 * v1 + 2.0 * x1 + y1), q2 + h / 6.0 * (w2 + 2.0 * v2 + 2.0 * x2 + y2),
        w1 + h / 6.0 * (a1 + 2.0 * b1 + 2.0 * c1 + d1), w2 + h / 6.0 * (a2 + 2.0 * b2 + 2.0 * c2 + d2),
    )  # fmt: skip


def height(q1: float, q2: float) -> float:
    """Of the tip above the hinge, m."""
    return -LENGTH1 * math.cos(q1) - LENGTH2 * math.cos(q1 + q2)


def score(time: float, energy: float, torque: float, smoothness: float, velocity: float) -> float:
    """Of an episode that ends upright: seconds, J, N2 m2 s, N m, rad2/s."""
    costs = math.tanh(math.pi * time / 20.0) + math.tanh(math.pi * energy / 60.0) + math.tanh(math.pi * torque / 20.0)
    return 1.0 - 0.2 * (costs + math.tanh(math.pi * smoothness / 0.1) + math.tanh(math.pi * velocity / 400.0))


# -- a plant to learn on -----------------------------------------------------------------------------------------------
#
# Hidden variables sum up what the score needs; the last step pays it. What is paid on the way only leads to the top:
# the last step takes it back.

START = 0.02  # rad, rad/s: within so much of hanging an episode begins
HINT, SLOW = 0.2, 0.02  # of how high and slow the tip was over the episode, in the return of one that fails; s2/rad2
FAST = 60.0  # rad/s: whoever turns so fast has failed


@reset
def hanging(u1: float, u2: float, u3: float, u4: float) -> Hidden:
    q1, q2, w1, w2 = START * (2 * u1 - 1), START * (2 * u2 - 1), START * (2 * u3 - 1), START * (2 * u4 - 1)
    return q1, q2, w1, w2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@step
def swing(
    q1: float, q2: float, w1: float, w2: float, last: float, time: float, risen: float, energy: float,
    effort: float, changes: float, speed: float, paid: float, torque: float, elbow: float,
) -> tuple[Hidden, float, bool]:  # fmt: skip
    """`elbow`: 1 where the motor is there, 0 where it is at the shoulder."""
    before = q2 if elbow > 0.5 else q1
    speed = speed + DT * (w1 * w1 + w2 * w2)
    q1, q2, w1, w2 = moved(
        q1, q2, w1, w2, (1.0 - elbow) * torque, elbow * torque, DT, MASS_CENTER1, INERTIA1, MASS_CENTER2, MASS2,
        INERTIA2, 0.0,
    )  # fmt: skip
    w1, w2 = min(max(w1, -FAST), FAST), min(max(w2, -FAST), FAST)
    time = time + DT
    effort = effort + DT * torque * torque
    energy = energy + abs(((q2 if elbow > 0.5 else q1) - before) * torque)
    changes = changes + (torque - last) * (torque - last)
    stands = height(q1, q2) > HEIGHT
    risen = risen if stands else time
    high = 0.5 + 0.5 * height(q1, q2) / (LENGTH1 + LENGTH2)
    reward = HINT / STEPS * (high / (1.0 + SLOW * (w1 * w1 + w2 * w2)) - 1.0)
    last_step = time > SECONDS - 0.5 * DT
    if last_step:
        fast = max(abs(w1), abs(w2)) >= FAST
        # changes per sample of the board: a smooth torque changes less in a shorter one
        smoothness = math.sqrt(changes / STEPS) * BOARD_DT / DT
        earned = score(risen, energy, effort, smoothness, speed) if stands and not fast else paid + reward
        reward = earned - paid
    return (q1, q2, w1, w2, torque, time, risen, energy, effort, changes, speed, paid + reward), reward, False


@observe
def see(
    q1: float, q2: float, w1: float, w2: float, last: float, time: float, risen: float, energy: float,
    effort: float, changes: float, speed: float, paid: float,
) -> Seen:  # fmt: skip
    return math.cos(q1), math.sin(q1), math.cos(q2), math.sin(q2), w1, w2


def stored(cos1: float, sin1: float, cos2: float, sin2: float, velocity1: float, velocity2: float) -> float:
    """Energy, 0 where it stands at rest; of what it takes to get there from hanging."""
    inertia = INERTIA1 + INERTIA2 + LENGTH1 * LENGTH1 * MASS2 + 2.0 * COUPLING * cos2
    kinetic = 0.5 * inertia * velocity1 * velocity1 + (INERTIA2 + COUPLING * cos2) * velocity1 * velocity2
    kinetic = kinetic + 0.5 * INERTIA2 * velocity2 * velocity2
    shoulder, tip = GRAVITY * (MASS_CENTER1 + MASS2 * LENGTH1), GRAVITY * MASS_CENTER2
    potential = -shoulder * cos1 - tip * (cos1 * cos2 - sin1 * sin2)
    return (kinetic + potential) / (shoulder + tip) - 1.0


FEATURES = {
    "energy": stored,
    "pump1": "energy * velocity1",
    "pump2": "energy * velocity2",
    "lean": "sin1 * cos2 + cos1 * sin2",
}
SEEN = ("cos1", "sin1", "cos2", "sin2", "velocity1", "velocity2")


BOARD, ROBOTS = "realaigym", ("acrobot", "pendubot")


def board_problem(robot: str) -> Problem:
    """One of `ROBOTS`."""
    axes = [Axis(name, -1.0, 1.0) for name in SEEN[:4]] + [Axis(name, -FAST, FAST, unit="rad/s") for name in SEEN[4:]]
    return from_plant(
        hanging, swing, observe=see, state=axes,
        actions=Continuous((-MOST_TORQUE,), (MOST_TORQUE,), ("torque",), ("N m",)),
        horizon=STEPS, name=f"{BOARD}-{robot}", parameters={"elbow": float(robot == ROBOTS[0])}, features=FEATURES,
    )  # fmt: skip
