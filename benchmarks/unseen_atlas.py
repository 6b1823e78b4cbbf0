"""Atlas, as it is by default, on plants on which none of its settings was chosen, beside the regulator that knows the equations.

    python benchmarks/unseen_atlas.py                            # all plants, seeds 1000 ... 1002
    python benchmarks/unseen_atlas.py levitation --seeds 5

Every line: what the laws earn in 1,000 fresh episodes (mean, worst twentieth, worst), what the model said of them
(`trust().mean`, 95 %), and what it doubts. The regulator, `spaql.lqr`, and look-ahead (the cross-entropy method) know the
equations; the laws know what they have sampled and, of the swing-up, the reward. `--seeds 0`: without laws.
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import spaql
from spaql.laws.planner import BUDGET, planned
from spaql_studies.runs.compute import worst_part

FIRST_SEED, FRESH = 1000, 1000


# -- magnetic levitation: a steel ball below a coil, unstable and nonlinear; it must not touch either end --------------


@spaql.reset
def below(u1, u2):
    return 0.010 + 0.004 * (u1 - 0.5), 0.02 * (u2 - 0.5)


@spaql.step
def levitate(gap, speed, current):
    lost = False
    for _ in range(5):
        speed = speed + 0.002 * (9.81 - 9.81 * (current / 1.0) ** 2 * (0.010 / gap) ** 2)
        gap = gap + 0.002 * speed
        lost = lost or gap < 0.004 or gap > 0.016
        gap = min(max(gap, 0.004), 0.016)
    error = (gap - 0.010) / 0.003
    return (gap, speed), 1.0 - min(error * error, 4.0) - (50.0 if lost else 0.0), lost


def levitation():
    state = [spaql.Axis("gap", 0.0, 0.02, unit="m"), spaql.Axis("speed", slope=5.0, unit="m/s")]
    actions = spaql.Continuous((0.0,), (2.0,), ("current",), ("A",))
    problem = spaql.from_plant(below, levitate, state=state, actions=actions, horizon=100, name="levitation")
    return problem, spaql.lqr(problem, [1e5, 1.0], 0.1, at=[0.010, 0.0], action=[1.0]), (200, 400)


# -- ball and beam: four variables, a slow double integrator behind another, noise on the ball's place -----------------


@spaql.reset
def placed(u1, u2, u3, u4):
    return 0.6 * (u1 - 0.5), 0.2 * (u2 - 0.5), 0.1 * (u3 - 0.5), 0.2 * (u4 - 0.5), 0.0


@spaql.step
def roll(place, speed, tilt, rate, error, torque, u1, u2):
    for _ in range(5):
        speed = speed + 0.01 * (place * rate * rate - 7.0 * math.sin(tilt))
        place = place + 0.01 * speed
        rate = rate + 0.01 * (8.0 * torque - 1.0 * rate)
        tilt = tilt + 0.01 * rate
    off = abs(place) > 0.5
    cost = place * place / 0.04 + tilt * tilt / 0.04 + 0.02 * torque * torque
    noise = 0.004 * math.sqrt(-2.0 * math.log(1.0 - u1)) * math.cos(2.0 * math.pi * u2)
    return (place, speed, tilt, rate, noise), 1.0 - 0.1 * min(cost, 10.0) - (30.0 if off else 0.0), off


@spaql.observe
def measured(place, speed, tilt, rate, error):
    return place + error, speed, tilt, rate


def beam():
    names = (("place", 1.0, "m"), ("speed", 1.0, "m/s"), ("tilt", 2.0, "rad"), ("rate", 1.0, "rad/s"))
    state = [spaql.Axis(name, slope=slope, unit=unit) for name, slope, unit in names]
    actions = spaql.Continuous((-1.0,), (1.0,), ("torque",))
    problem = spaql.from_plant(placed, roll, observe=measured, state=state, actions=actions, horizon=150, name="ball and beam")
    return problem, spaql.lqr(problem, [25.0, 1.0, 25.0, 0.1], 0.2, at=[0, 0, 0, 0], action=[0.0]), (300, 600)


# -- two tanks: slow, one way only, cold water that nobody measures ----------------------------------------------------


@spaql.reset
def filled(u1, u2, u3):
    return 0.2 + 0.6 * u1, 0.2 + 0.6 * u2, 0.1 * u3


@spaql.step
def flow(first, second, leak, valve):
    between, out = 0.3 * math.sqrt(first), 0.3 * math.sqrt(second)
    first = min(max(first + 0.2 * (0.5 * valve - between - leak), 0.0), 1.5)
    second = min(max(second + 0.2 * (between - out), 0.0), 1.5)
    return (first, second, leak), -10.0 * abs(second - 0.5), False


@spaql.observe
def levels(first, second, leak):
    return first, second


def tanks():
    state = [spaql.Axis("first", 0.0, 1.5, unit="m"), spaql.Axis("second", 0.0, 1.5, unit="m")]
    actions = spaql.Continuous((0.0,), (1.0,), ("valve",))
    problem = spaql.from_plant(filled, flow, observe=levels, state=state, actions=actions, horizon=100, name="two tanks")
    return problem, spaql.lqr(problem, [0.1, 10.0], 0.1, at=[0.5, 0.5]), (300, 600)


# -- the planar quadrotor of unseen_laws.py: six variables, two thrusts ------------------------------------------------


def quadrotor():
    from unseen_laws import quadrotor as made

    problem, regulator, *_ = made()
    return problem, regulator, (500, 2000)


# -- the swing-up with another cart and pole ---------------------------------------------------------------------------


def swing_up():
    problem = spaql.make("cartpole-swing-up", cart_mass=0.8, pole_mass=0.35, length=0.6)
    return problem, None, (320,)


# -- rotary pendulum: swing-up by an arm that turns, voltage of its motor; the angle is seen as cosine and sine ----------

ARM, POLE, LEVER, FALL, MOTOR, RESISTANCE = 4.03e-4, 1.33e-4, 1.316e-4, 1.519e-2, 0.042, 8.4  # of a desktop plant, SI


@spaql.reset
def hanging(u1, u2):
    return 0.2 * (u1 - 0.5), math.pi + 0.2 * (u2 - 0.5), 0.0, 0.0


@spaql.step
def turn(arm, angle, arm_rate, rate, volts):
    for _ in range(10):
        sine, cosine = math.sin(angle), math.cos(angle)
        pushed = MOTOR * (volts - MOTOR * arm_rate) / RESISTANCE - 2.0 * POLE * sine * cosine * arm_rate * rate - LEVER * sine * rate * rate
        pulled = POLE * sine * cosine * arm_rate * arm_rate + FALL * sine
        inertia, coupling = ARM + POLE * sine * sine, LEVER * cosine
        determinant = inertia * POLE - coupling * coupling
        arm_rate = arm_rate + 0.002 * (POLE * pushed + coupling * pulled) / determinant
        rate = rate + 0.002 * (coupling * pushed + inertia * pulled) / determinant
        arm, angle = arm + 0.002 * arm_rate, angle + 0.002 * rate
    angle = angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))
    return (arm, angle, arm_rate, rate), 1.0 - (angle / math.pi) ** 2 - 0.1 * min(arm * arm, 10.0) - 1e-4 * min(rate * rate, 1000.0), False


@spaql.observe
def encoders(arm, angle, arm_rate, rate):
    return arm, math.cos(angle), math.sin(angle), arm_rate, rate


def rotary():
    names = (("arm", 1.0, "rad"), ("cos", None, None), ("sin", None, None), ("arm rate", 0.2, "rad/s"), ("rate", 0.2, "rad/s"))
    state = [spaql.Axis(name, -1.0, 1.0) if slope is None else spaql.Axis(name, slope=slope, unit=unit) for name, slope, unit in names]
    actions = spaql.Continuous((-10.0,), (10.0,), ("voltage",), ("V",))
    return spaql.from_plant(hanging, turn, observe=encoders, state=state, actions=actions, horizon=150, name="rotary pendulum"), None, (400, 800)


# -- pendulum below a cart on a belt: swing-up with a force that lags behind its command, and a rail that ends -----------


@spaql.reset
def below_cart(u1, u2):
    return 0.4 * (u1 - 0.5), 0.0, math.pi + 0.2 * (u2 - 0.5), 0.0, 0.0


@spaql.step
def pull(place, speed, angle, rate, force, command):
    for _ in range(8):
        force = force + 0.1 * (command - force)
        sine, cosine = math.sin(angle), math.cos(angle)
        push = (force - 0.4 * speed + 0.2 * 0.3 * rate * rate * sine) / 0.7
        turning = (9.81 * sine - cosine * push - 0.05 * rate) / (0.3 * (4.0 / 3.0 - 0.2 * cosine * cosine / 0.7))
        speed = speed + 0.005 * (push - 0.2 * 0.3 * turning * cosine / 0.7)
        place, rate = place + 0.005 * speed, rate + 0.005 * turning
        angle = angle + 0.005 * rate
    angle = angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))
    off = abs(place) > 1.5
    return (place, speed, angle, rate, force), math.cos(angle) - 0.2 * place * place - 0.002 * min(rate * rate, 200.0) - (40.0 if off else 0.0), off


@spaql.observe
def on_belt(place, speed, angle, rate, force):
    return place, speed, math.cos(angle), math.sin(angle), rate, force


def belt():
    names = (("place", 1.0, "m"), ("speed", 0.5, "m/s"), ("cos", None, None), ("sin", None, None), ("rate", 0.2, "rad/s"), ("force", 0.2, "N"))
    state = [spaql.Axis(name, -1.0, 1.0) if slope is None else spaql.Axis(name, slope=slope, unit=unit) for name, slope, unit in names]
    actions = spaql.Continuous((-6.0,), (6.0,), ("command",), ("N",))
    return spaql.from_plant(below_cart, pull, observe=on_belt, state=state, actions=actions, horizon=120, name="pendulum on a belt"), None, (400, 800)


# -- pendulum with a weak motor, swing-up: it must be pumped for several swings; angle and rate are seen with noise -------


@spaql.reset
def still_below(u1, u2):
    return math.pi + 0.4 * (u1 - 0.5), 0.4 * (u2 - 0.5), 0.0, 0.0


@spaql.step
def pump(angle, rate, error, other, torque, u1, u2):
    for _ in range(4):
        rate = rate + 0.015 * (9.0 * math.sin(angle) + 2.2 * torque - 0.1 * rate)
        angle = angle + 0.015 * rate
    size = 0.01 * math.sqrt(-2.0 * math.log(1.0 - u1))
    error, other = size * math.cos(2.0 * math.pi * u2), size * math.sin(2.0 * math.pi * u2)
    return (angle, rate, error, other), math.cos(angle) - 0.01 * min(rate * rate, 50.0) - 0.01 * torque * torque, False


@spaql.observe
def noisy(angle, rate, error, other):
    return math.cos(angle + error), math.sin(angle + error), rate + 5.0 * other


def pumped():
    state = [spaql.Axis("cos", -1.0, 1.0), spaql.Axis("sin", -1.0, 1.0), spaql.Axis("rate", slope=0.2, unit="rad/s")]
    actions = spaql.Continuous((-1.0,), (1.0,), ("torque",))
    return spaql.from_plant(still_below, pump, observe=noisy, state=state, actions=actions, horizon=150, name="weak motor"), None, (300, 600)


# -- gantry crane: a load on a rope is brought to its place and must hang still there; costs only ----------------------


@spaql.reset
def elsewhere(u1, u2):
    return -2.0 + 1.0 * (u1 - 0.5), 0.0, 0.3 * (u2 - 0.5), 0.0


@spaql.step
def carry(place, speed, tilt, rate, force):
    for _ in range(5):
        pushed = 1.5 * force - 0.3 * speed
        speed, rate = speed + 0.02 * pushed, rate - 0.02 * (9.81 * math.sin(tilt) + math.cos(tilt) * pushed + 0.02 * rate) / 1.2
        place, tilt = place + 0.02 * speed, tilt + 0.02 * rate
    load = place + 1.2 * math.sin(tilt)
    return (place, speed, tilt, rate), -load * load - 0.5 * tilt * tilt - 0.1 * speed * speed - 0.02 * force * force, False


def gantry():
    names = (("place", 0.5, "m"), ("speed", 0.5, "m/s"), ("tilt", 2.0, "rad"), ("rate", 1.0, "rad/s"))
    state = [spaql.Axis(name, slope=slope, unit=unit) for name, slope, unit in names]
    actions = spaql.Continuous((-1.0,), (1.0,), ("force",))
    problem = spaql.from_plant(elsewhere, carry, state=state, actions=actions, horizon=100, name="gantry crane")
    cost = [[1.0, 0.0, 1.2, 0.0], [0.0, 0.1, 0.0, 0.0], [1.2, 0.0, 1.94, 0.0], [0.0, 0.0, 0.0, 0.0]]  # the square of the load's place
    return problem, spaql.lqr(problem, cost, 0.02, at=[0.0] * 4), (200, 400)


# -- the pendulum of the README, as it stands there --------------------------------------------------------------------


def readme():
    program = (Path(__file__).parent.parent / "README.md").read_text().partition("@spaql.reset")
    names: dict = {"math": math, "spaql": spaql}
    exec("@spaql.reset" + program[2].partition("agent = ")[0], names)
    return names["pendulum"], None, (400,)


PLANTS = {"readme": readme, "levitation": levitation, "beam": beam, "tanks": tanks, "quadrotor": quadrotor, "swing-up": swing_up, "rotary": rotary, "belt": belt, "pumped": pumped, "gantry": gantry}


def measure(name: str, plant: Callable[[], tuple], seeds: range) -> None:
    problem, regulator, counts = plant()
    if regulator is not None:
        found = regulator.evaluate(FRESH, seed=FIRST_SEED).returns
        print(f"{name}: regulator {found.mean():.3f}, worst twentieth {worst_part(found):.3f}", flush=True)
    found = planned(problem, FIRST_SEED, BUDGET).returns
    print(f"{name}: look-ahead that knows the equations {found.mean():.3f}, worst of {len(found)} {found.min():.3f}", flush=True)
    for seed in seeds:
        agent, used, cpu = spaql.Atlas(problem, seed=seed), 0, 0.0
        for samples in counts:
            begin = time.process_time()
            agent.learn(samples=samples - used)
            size, used = f"{agent.arms} {'cells' if agent.tabled else 'laws'}", samples
            cpu += time.process_time() - begin
            found, trust = agent.evaluate(FRESH, seed=FIRST_SEED).returns, agent.trust()
            low, high = trust.mean_interval
            told = f"{found.mean():.3f}, {worst_part(found):.3f}, {found.min():.3f}; model {trust.mean:.3f} ({low:.3f} to {high:.3f})"
            doubts = "; ".join(trust.doubts) or "no doubts"
            print(f"{name}, seed {seed}, {samples}: {told}; {size}, {cpu:.0f} s; {doubts}", flush=True)
        if not agent.tabled:
            print(agent.policy().to_text(share=False), flush=True)


def main(about: str, plants: dict[str, Callable[[], tuple]]) -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plant", nargs="*", choices=[*plants, []], help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for plant in given.plant or plants:
        measure(plant, plants[plant], range(given.first, given.first + given.seeds))


if __name__ == "__main__":
    main(__doc__, PLANTS)
