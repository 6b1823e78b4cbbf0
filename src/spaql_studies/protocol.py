"""RealAIGym's simulation boards, version 2: what a law tree scores there, and how much it stands.

The nominal score is that of one episode from hanging at rest, with a sample of 2 ms. Robustness is the mean of six
shares of episodes that end within 0.35 rad and 1 rad/s of standing: 21 values of each of ten parameters of the plant,
noise of the velocities, noise of the torque, slow and overshooting motors, delays up to 40 ms, and fifty times three
pushes. Noise counts where more than half of ten episodes end well. Random numbers are our own: the boards do not fix
theirs.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, kernel
from spaql.policy.policy import Policy
from spaql.trees.tree import CompiledTree, decide_row
from spaql_studies.runs import double_pendulum as plant

DT, STEPS = plant.BOARD_DT, 5000
ANGLE, RATE = 0.35, 1.0  # of standing, at the end
FAST = 1e3  # rad/s: whatever turns so fast does not come to rest
VALUES, REPEATED, PUSHED = 21, 10, 50
MOST_DELAY, MOST_NOISE, MOST_SHAKE, RESPONSES = 0.04, 0.5, 1.1, (0.1, 2.0)
PUSHES, APART, WIDTHS, SIZES = 3, 1.0, (0.05, 0.1), (0.5, 5.0)  # of each joint: how many, s, s, N m
NUMBERS = (plant.MASS_CENTER1, plant.INERTIA1, plant.MASS_CENTER2, plant.MASS2, plant.INERTIA2)

Pair = tuple[float, float]
State = tuple[float, float, float, float]
_acceleration, _stored = apart(plant.acceleration), apart(plant.stored)


class BoardScore(NamedTuple):
    """The nominal episode. `value`: 0 if it does not stand at the end."""

    value: float
    time: float  # s until it stands to the end
    energy: float
    torque: float
    smoothness: float
    velocity: float


class Shares(NamedTuple):
    """Of the episodes that end well."""

    model: float
    velocity_noise: float
    torque_noise: float
    motor: float
    delay: float
    pushes: float

    @property
    def mean(self) -> float:
        return sum(self) / len(self)


class Case(NamedTuple):
    """An episode of the boards. `numbers`: the plant's, then damping and friction of both joints, and motor inertia."""

    numbers: Array
    noise: Array  # (steps, 3) of both velocities, and of the torque
    push: Array  # (steps,) on the joint with the motor
    response: float = 1.0
    delay: int = 0  # samples


@apart
def _slope(q1: float, q2: float, w1: float, w2: float, torque1: float, torque2: float, n: Array) -> Pair:
    torque1 = torque1 - n[5] * w1 - n[6] * math.atan(100.0 * w1)
    torque2 = torque2 - n[7] * w2 - n[8] * math.atan(100.0 * w2)
    return _acceleration(q1, q2, w1, w2, torque1, torque2, n[0], n[1], n[2], n[3], n[4], n[9])


@apart
def _moved(q1: float, q2: float, w1: float, w2: float, torque1: float, torque2: float, h: float, n: Array) -> State:
    """One Runge-Kutta step of fourth order."""
    k = 0.5 * h
    a1, a2 = _slope(q1, q2, w1, w2, torque1, torque2, n)
    v1, v2 = w1 + k * a1, w2 + k * a2
    b1, b2 = _slope(q1 + k * w1, q2 + k * w2, v1, v2, torque1, torque2, n)
    x1, x2 = w1 + k * b1, w2 + k * b2
    c1, c2 = _slope(q1 + k * v1, q2 + k * v2, x1, x2, torque1, torque2, n)
    y1, y2 = w1 + h * c1, w2 + h * c2
    d1, d2 = _slope(q1 + h * x1, q2 + h * x2, y1, y2, torque1, torque2, n)
    return (
        q1 + h / 6.0 * (w1 + 2.0 * v1 + 2.0 * x1 + y1), q2 + h / 6.0 * (w2 + 2.0 * v2 + 2.0 * x2 + y2),
        w1 + h / 6.0 * (a1 + 2.0 * b1 + 2.0 * c1 + d1), w2 + h / 6.0 * (a2 + 2.0 * b2 + 2.0 * c2 + d2),
    )  # fmt: skip


@kernel
def _play(
    controller: CompiledTree, elbow: float, condition: Case, before: Array, seen: Array, action: Array,
    costs: Array,
) -> None:  # fmt: skip
    """One episode: `before` its states, `costs` as of `BoardScore`; `seen` and `action` are scratch."""
    n, h = condition.numbers, DT
    q1, q2, w1, w2, last, applied = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    risen, energy, effort, speed, change, squares = STEPS, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(STEPS):
        late = max(t - condition.delay, 0)
        v1, v2 = before[late, 2] + condition.noise[t, 0], before[late, 3] + condition.noise[t, 1]
        c1, s1 = math.cos(before[late, 0]), math.sin(before[late, 0])
        c2, s2 = math.cos(before[late, 1]), math.sin(before[late, 1])
        stored = _stored(c1, s1, c2, s2, v1, v2)
        seen[0, 0], seen[0, 1], seen[0, 2], seen[0, 3], seen[0, 4], seen[0, 5] = c1, s1, c2, s2, v1, v2
        seen[0, 6], seen[0, 7], seen[0, 8], seen[0, 9] = stored, stored * v1, stored * v2, s1 * c2 + c1 * s2
        decide_row(controller, seen, 0, action)
        asked = min(max(action[0], -plant.MOST_TORQUE), plant.MOST_TORQUE)
        applied = applied + condition.response * (asked - applied) + condition.noise[t, 2]
        applied = min(max(applied, -plant.MOST_TORQUE), plant.MOST_TORQUE) + condition.push[t]
        speed += h * (w1 * w1 + w2 * w2)
        effort += h * asked * asked
        if t > 0:
            change, squares = change + asked - last, squares + (asked - last) ** 2
        last = asked
        q1, q2, w1, w2 = _moved(q1, q2, w1, w2, (1.0 - elbow) * applied, elbow * applied, h, n)
        energy += abs((q2 - before[t, 1] if elbow > 0.5 else q1 - before[t, 0]) * asked)
        stands = -plant.LENGTH1 * math.cos(q1) - plant.LENGTH2 * math.cos(q1 + q2) > plant.HEIGHT
        risen = min(risen, t + 1) if stands else STEPS
        before[t + 1, 0], before[t + 1, 1], before[t + 1, 2], before[t + 1, 3] = q1, q2, w1, w2
        if not abs(w1) + abs(w2) < FAST:
            risen, before[STEPS, 2] = STEPS, math.inf
            break
    mean = change / (STEPS - 1)
    smoothness = math.sqrt(max(squares / (STEPS - 1) - mean * mean, 0.0))
    costs[0], costs[1], costs[2], costs[3], costs[4] = h * risen, energy, effort, smoothness, speed


def undisturbed() -> Case:
    return Case(np.array([*NUMBERS, *[0.0] * 5]), np.zeros((STEPS, 3)), np.zeros(STEPS))


def cases_of(seed: int) -> dict[str, list[list[Case]]]:
    """By share: conditions, each as often as it is repeated."""
    rng, usual = np.random.default_rng(seed), undisturbed()
    relative, part = np.linspace(0.75, 1.25, VALUES), np.linspace(0.0, 1.0, VALUES)

    def changed(*places: int, values: Array) -> list[list[Case]]:
        several = np.tile(usual.numbers, (VALUES, 1))
        for place in places:
            several[:, place] = values * usual.numbers[place] if place < len(NUMBERS) else values
        return [[usual._replace(numbers=numbers)] for numbers in several]

    def noisy(levels: Array) -> list[list[Case]]:
        drawn = rng.normal(size=(len(levels), REPEATED, *usual.noise.shape))
        return [[usual._replace(noise=level * noise) for noise in some] for level, some in zip(levels, drawn)]  # noqa: B905

    model = [case for place in (0, 1, 2, 4) for case in changed(place, values=relative)]
    model += changed(2, 3, values=relative)  # another mass at the same distance
    model += [case for place in (5, 7) for case in changed(place, values=0.2 * part - 0.1)]
    model += [case for place in (6, 8) for case in changed(place, values=0.4 * part - 0.2)]
    model += changed(9, values=1e-4 * part)
    motors = np.linspace(*RESPONSES, VALUES).tolist()
    delays = [int(delay / DT) for delay in (MOST_DELAY * part).tolist()]
    return {
        "model": model,
        "velocity_noise": noisy(np.outer(MOST_NOISE * part, (1.0, 1.0, 0.0))),
        "torque_noise": noisy(np.outer(MOST_SHAKE * part, (0.0, 0.0, 1.0))),
        "motor": [[usual._replace(response=response)] for response in motors],
        "delay": [[usual._replace(delay=delay)] for delay in delays],
        "pushes": [[usual._replace(push=_pushes(rng))] for _ in range(PUSHED)],
    }


def _pushes(rng: np.random.Generator) -> Array:
    """Torque on the joint with the motor. Those on the other one are drawn too, and have no effect on the boards."""
    count, t = 2 * PUSHES, np.arange(STEPS) * DT
    room = (DT * STEPS - (count + 1) * APART) / count
    times = rng.permutation(np.cumsum(APART + room * rng.random(count)))[:PUSHES, None]
    widths, reach = rng.uniform(*WIDTHS, (PUSHES, 1)), SIZES[1] - SIZES[0]
    sizes = rng.uniform(-reach, reach, (PUSHES, 1))
    pushes: Array = ((sizes + SIZES[0] * np.sign(sizes)) * np.exp(-0.5 * ((t - times) / widths) ** 2)).sum(axis=0)
    return pushes


def played(policy: Policy, condition: Case) -> tuple[Array, Array]:
    """The costs, and all states."""
    states, costs, elbow = np.zeros((STEPS + 1, 4)), np.zeros(5), float(policy.problem.name.endswith(plant.ROBOTS[0]))
    _play(policy.rules.controller, elbow, condition, states, np.zeros((1, 10)), np.zeros(1), costs)
    return costs, states


def nominal(policy: Policy) -> BoardScore:
    """The score of a law tree that was learned on `double_pendulum.board_problem`."""
    time, *costs = played(policy, undisturbed())[0].tolist()
    return BoardScore(plant.score(time, *costs) if time < DT * STEPS else 0.0, time, *costs)


def stood(policy: Policy, cases: Sequence[Case]) -> float:
    """The share of the episodes that end near standing."""
    ends = np.array([played(policy, case)[1][-1] for case in cases])
    ends[:, 0] = ends[:, 0] % (2 * math.pi) - math.pi
    ends[:, 1] = (ends[:, 1] + math.pi) % (2 * math.pi) - math.pi
    return float((np.abs(ends) < (ANGLE, ANGLE, RATE, RATE)).all(axis=1).mean())


@functools.lru_cache(64)
def _shares(text: str, seed: int) -> Shares:
    policy = Policy.from_json(text)
    cases = cases_of(seed)
    return Shares(**{name: float(np.mean([stood(policy, case) > 0.5 for case in cases[name]])) for name in cases})


def robustness(policy: Policy, seed: int = 0) -> Shares:
    """The six shares, 681 episodes."""
    return _shares(policy.to_json(), seed)
