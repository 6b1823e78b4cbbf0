"""Laws on plants on which no setting was chosen, beside the linear-quadratic regulator where it is known.

    python benchmarks/unseen_laws.py              # three plants, seeds 1000 ... 1004
    python benchmarks/unseen_laws.py servo --seeds 2

Returns are means over 1000 fresh episodes, the same for all controllers of a plant.
"""

import argparse
import math
import time

import numpy as np
from scipy.linalg import solve_discrete_are

import spaql
from spaql.policy.outputs import make_laws
from spaql.trees.laws import CLIP
from spaql.trees.tree import NODE, make_tree

FIRST_SEED = 1000
FRESH = 1000


# -- a servo: mass with friction, disturbed, force limited, quadratic cost ---------------------------------------------


@spaql.reset
def away(u1, u2):
    return 4 * u1 - 2, 2 * u2 - 1


@spaql.step
def push(place, speed, force, noise):
    after = speed + 0.05 * (force - 0.3 * speed) + 0.02 * (noise - 0.5)
    cost = place * place + 0.1 * speed * speed + 0.05 * force * force
    return (place + 0.05 * after, after), -cost, False


def servo():
    state = [spaql.Axis("place", slope=0.5), spaql.Axis("speed", slope=0.5)]
    actions = spaql.Continuous((-3.0,), (3.0,), ("force",))
    problem = spaql.from_plant(away, push, state=state, actions=actions, horizon=200, name="servo")
    a, b = np.array([[1, 0.05 * 0.985], [0, 0.985]]), np.array([[0.0025], [0.05]])
    return problem, regulator(problem, a, b, np.diag([1, 0.1]), np.array([[0.05]])), 2, 100


# -- a relay: three states, unstable, on or off ------------------------------------------------------------------------


@spaql.reset
def tilted(u1, u2, u3):
    return 0.4 * u1 - 0.2, 0.4 * u2 - 0.2, 0.4 * u3 - 0.2


@spaql.step
def switch(tilt, rate, drive, on):
    force = 2.0 * on - 1.0
    after = tilt + 0.05 * rate, rate + 0.05 * (1.5 * tilt + drive), drive + 0.05 * (4 * force - 2 * drive)
    return after, 1.0 - after[0] * after[0], abs(after[0]) > 1.0


def relay():
    state = [spaql.Axis(name, slope=1.0) for name in ("tilt", "rate", "drive")]
    problem = spaql.from_plant(
        tilted, switch, state=state, actions=spaql.Finite((0, 1)), horizon=300, name="relay"
    )
    return problem, None, 2, 100


# -- a planar quadrotor: six states, two thrusts, quadratic cost -------------------------------------------------------


@spaql.reset
def hovering(u1, u2, u3, u4, u5, u6):
    return 2 * u1 - 1, 2 * u2 - 1, 0.6 * u3 - 0.3, u4 - 0.5, u5 - 0.5, u6 - 0.5


@spaql.step
def fly(x, y, angle, vx, vy, spin, left, right):
    thrust, turn = 9.81 + left + right, 0.25 * (right - left) / 0.05
    vx, vy, spin = vx - 0.05 * thrust * math.sin(angle), vy + 0.05 * (thrust * math.cos(angle) - 9.81), spin + 0.05 * turn
    x, y, angle = x + 0.05 * vx, y + 0.05 * vy, angle + 0.05 * spin
    cost = x * x + y * y + 0.1 * (angle * angle + vx * vx + vy * vy + spin * spin) + 0.05 * (left * left + right * right)
    lost = (abs(angle) > 1.5) | (abs(x) > 5.0) | (abs(y) > 5.0)
    return (x, y, angle, vx, vy, spin), -0.05 * cost - (50.0 if lost else 0.0), lost


def quadrotor():
    names = ("x", "y", "angle", "vx", "vy", "spin")
    state = [spaql.Axis(name, slope=0.5) for name in names]
    actions = spaql.Continuous((-3.0, -3.0), (3.0, 3.0), ("left", "right"))
    problem = spaql.from_plant(hovering, fly, state=state, actions=actions, horizon=200, name="quadrotor")
    h = 0.05
    a, b = np.eye(6), np.zeros((6, 2))
    a[3, 2] = -h * 9.81
    b[4], b[5] = h, [-5 * h, 5 * h]
    a[:3] += h * a[3:]
    a[:3, :3] = np.eye(3)
    a[0, 2] = h * a[3, 2]
    b[:3] = h * b[3:]
    q = np.diag([1, 1, 0.1, 0.1, 0.1, 0.1])
    return problem, regulator(problem, a, b, q, 0.05 * np.eye(2)), 1, 100


# -- measuring ---------------------------------------------------------------------------------------------------------


def regulator(problem, a, b, q, r):
    """The clipped linear-quadratic regulator as a policy of one law."""
    p = solve_discrete_are(a, b, q, r)
    gains = np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
    nodes = np.zeros(1, NODE)
    nodes["feature"] = -1
    laws = make_laws(-gains[None], np.zeros((1, len(gains))), problem.actions, CLIP)
    tree = make_tree(nodes, np.zeros((1, len(gains))), len(problem.state), None, laws)
    return spaql.Policy(problem, tree, "law tree", "LQR")


def measure(make, seeds):
    problem, rival, leaves, millions = make()
    if rival is not None:
        print(f"{problem.name}: LQR {rival.evaluate(FRESH, seed=FIRST_SEED).mean:.3f}")
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        agent = spaql.Laws(problem, max_leaves=leaves, seed=seed)
        begin = time.process_time()
        agent.learn(samples=millions * 10**6)
        used, policy = time.process_time() - begin, agent.policy()
        found = policy.evaluate(FRESH, seed=FIRST_SEED)
        print(f"{problem.name}, seed {seed}: {found.mean:.3f}, worst {found.returns.min():.2f}, {policy.numbers} numbers, {used:.0f} s")
        print(policy.to_text(share=False), flush=True)


PLANTS = {"servo": servo, "relay": relay, "quadrotor": quadrotor}
if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plant", nargs="*", choices=[*PLANTS, []], help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    for name in given.plant or PLANTS:
        measure(PLANTS[name], given.seeds)
