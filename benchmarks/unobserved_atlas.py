"""Atlas on plants of which something is not observed, before and after it remembers; no setting was chosen on them.

    python benchmarks/unobserved_atlas.py                        # all plants, seeds 1000 ... 1002
    python benchmarks/unobserved_atlas.py servo --seeds 1

Every plant: laws after so many samples; `agent.with_memory()`, which has the same samples and sees what was measured and
applied some steps before; the same after more samples. Every line: what the laws earn in 1,000 fresh episodes (mean, worst
twentieth), what the model said of them (`trust().mean`, 95 %), and what it doubts. Look-ahead (the cross-entropy method)
knows the equations and the whole state. `--seeds 0`: without laws.
"""

import argparse
import math
import time
import warnings

import numpy as np

import spaql
from spaql.laws.planner import BUDGET, planned
from spaql_studies.runs.compute import worst_part

FIRST_SEED, FRESH = 1000, 1000
TORQUE = spaql.Continuous((-1.0,), (1.0,), ("torque",), ("N m",))


# -- servo: only the angle is measured, and every episode has another load ---------------------------------------------


@spaql.reset
def at_an_angle(u1, u2):
    return 3.0 * (u1 - 0.5), 0.0, 0.6 * (u2 - 0.5)


@spaql.step
def turn(angle, rate, load, torque):
    for _ in range(4):
        rate = rate + 0.0125 * (8.0 * (torque - load) - 1.5 * rate)
        angle = angle + 0.0125 * rate
    return (angle, rate, load), -angle * angle - 0.02 * torque * torque, False


@spaql.observe
def encoder(angle, rate, load):
    return (angle,)


def servo():
    state = [spaql.Axis("angle", slope=0.5, unit="rad")]
    return spaql.from_plant(at_an_angle, turn, observe=encoder, state=state, actions=TORQUE, horizon=120, name="servo"), (200, 100)


# -- extruder: the heater acts three steps later, through a wall whose temperature nobody measures ---------------------


@spaql.reset
def cold(u1):
    return 120.0 + 40.0 * u1, 120.0 + 40.0 * u1, 0.4, 0.4, 0.4


@spaql.step
def melt(melted, wall, first, second, third, power, u1, u2):
    for _ in range(2):
        wall = wall + 0.5 * (9.0 * third - 0.02 * (wall - 25.0) - 0.15 * (wall - melted))
        melted = melted + 0.5 * (0.15 * (wall - melted) - 0.01 * (melted - 25.0))
    melted = melted + 0.1 * math.sqrt(-2.0 * math.log(1.0 - u1)) * math.cos(2.0 * math.pi * u2)
    return (melted, wall, power, first, second), -abs(melted - 200.0) / 10.0, False


@spaql.observe
def melt_only(melted, wall, first, second, third):
    return (melted,)


def extruder():
    state, actions = [spaql.Axis("melt", 0.0, 400.0, unit="°C")], spaql.Continuous((0.0,), (1.0,), ("power",))
    return spaql.from_plant(cold, melt, observe=melt_only, state=state, actions=actions, horizon=120, name="extruder"), (300, 100)


# -- pendulum whose rate is not measured, with a mass and a length of its own: swing-up ------------------------------------


@spaql.reset
def anywhere(u1, u2):
    return 2.0 * math.pi * (u1 - 0.5), 2.0 * (u2 - 0.5)


@spaql.step
def swing(angle, rate, torque):
    for _ in range(3):
        rate = min(max(rate + 0.016 * (14.0 * math.sin(angle) + 6.0 * torque - 0.05 * rate), -10.0), 10.0)
        angle = angle + 0.016 * rate
    angle = angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))
    return (angle, rate), -angle * angle - 0.1 * rate * rate - 0.01 * torque * torque, False


@spaql.observe
def resolver(angle, rate):
    return math.cos(angle), math.sin(angle)


def blind():
    state = [spaql.Axis("cos", -1.0, 1.0), spaql.Axis("sin", -1.0, 1.0)]
    return spaql.from_plant(anywhere, swing, observe=resolver, state=state, actions=TORQUE, horizon=120, name="blind pendulum"), (400, 200)


PLANTS = {"servo": servo, "extruder": extruder, "blind": blind}


def told(agent) -> str:
    """What its laws earn, and what it says of them."""
    found, trust = agent.evaluate(FRESH, seed=FIRST_SEED).returns, agent.trust()
    low, high = trust.mean_interval
    earned = f"{found.mean():.2f}, {worst_part(found):.2f}; model {trust.mean:.2f} ({low:.2f} to {high:.2f})"
    return f"{earned}; {agent.arms} laws; {'; '.join(trust.doubts) or 'no doubts'}"


def measure(name: str, seeds: range) -> None:
    problem, (samples, more) = PLANTS[name]()
    found = planned(problem, FIRST_SEED, BUDGET).returns
    print(f"{name}: look-ahead that knows the whole state {found.mean():.2f}, worst of {len(found)} {found.min():.2f}", flush=True)
    for seed in seeds:
        begin = time.process_time()
        agent = spaql.Atlas(problem, seed=seed, controller="laws")
        agent.learn(samples=samples)
        print(f"{name}, seed {seed}, {samples}: {told(agent)}", flush=True)
        if not agent.trust().advice.memory:
            continue
        agent = agent.with_memory()
        seen = ", ".join(axis.name for axis in agent.problem.state)
        print(f"{name}, seed {seed}, {samples}, sees {seen}: {told(agent)}", flush=True)
        agent.learn(samples=more)
        print(f"{name}, seed {seed}, {samples + more}: {told(agent)}; {time.process_time() - begin:.0f} s", flush=True)
        print(agent.policy().to_text(share=False), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plant", nargs="*", choices=[*PLANTS, []], help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for plant in given.plant or PLANTS:
        measure(plant, range(FIRST_SEED, FIRST_SEED + given.seeds))
