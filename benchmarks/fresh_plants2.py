"""Five more plants on which nothing of Atlas was tuned, as an engineer would write them.

    oven       heats after a dead time of three steps; only its temperature and the last powers are measured
    crane      a load on a rope, dry friction in the trolley
    tanks      two tanks, the first of which overflows
    joint      an arm behind an elastic joint, with a motor that saturates
    boat       keeps its heading in a side wind that differs from episode to episode and is measured

    python benchmarks/fresh_plants2.py --seeds 2       # Atlas, and an LQR where one makes sense

Written after the last change of Atlas; one that leads to a change is no longer fresh.
"""

import argparse
import math

import spaql


@spaql.reset
def _oven_reset(u1):
    return 60.0 * u1 - 40.0, 0.0, 0.0, 0.0


@spaql.step
def _oven_step(error, last, before, oldest, power):
    error = error + 0.1 * (60.0 * oldest - 0.4 * (error + 20.0))
    return (error, power, last, before), -abs(error) / 20.0, False


def oven():
    state = [spaql.Axis("error", -60.0, 160.0, unit="K")]
    state += [spaql.Axis(name, 0.0, 1.0) for name in ("last", "before", "oldest")]
    actions = spaql.Continuous((0.0,), (1.0,), ("power",))
    return spaql.from_plant(_oven_reset, _oven_step, state=state, actions=actions, horizon=80, name="oven")


@spaql.reset
def _crane_reset(u1, u2):
    return 4.0 * (u1 - 0.5), 0.0, 0.4 * (u2 - 0.5), 0.0


@spaql.step
def _crane_step(place, speed, swing, rate, force):
    for _ in range(5):
        push = 3.0 * force - 0.6 * math.tanh(20.0 * speed) - 0.3 * speed
        rate = rate + 0.02 * (-9.81 * math.sin(swing) - push * math.cos(swing) - 0.05 * rate) / 1.5
        swing = swing + 0.02 * rate
        speed = speed + 0.02 * push
        place = place + 0.02 * speed
    return (place, speed, swing, rate), -place * place - 2.0 * swing * swing - 0.01 * force * force, False


def crane():
    state = [spaql.Axis(name, slope=1.0) for name in ("place", "speed", "swing", "rate")]
    actions = spaql.Continuous((-1.0,), (1.0,), ("force",))
    return spaql.from_plant(
        _crane_reset, _crane_step, state=state, actions=actions, horizon=100, name="crane",
        reference=(0, 0, 0, 0),
    )  # fmt: skip


@spaql.reset
def _tanks_reset(u1, u2):
    return 0.2 + 0.6 * u1, 0.2 + 0.6 * u2


@spaql.step
def _tanks_step(upper, lower, pump):
    spilled = 0.0
    for _ in range(4):
        flow = 0.35 * math.sqrt(max(upper, 0.0))
        upper = upper + 0.25 * (0.4 * pump - flow)
        lower = max(lower + 0.25 * (flow - 0.28 * math.sqrt(max(lower, 0.0))), 0.0)
        spilled = spilled + max(upper - 1.0, 0.0)
        upper = min(max(upper, 0.0), 1.0)
    return (upper, lower), -abs(lower - 1.1) - 5.0 * spilled, False


def tanks():
    state = [spaql.Axis("upper", 0.0, 1.0, unit="m"), spaql.Axis("lower", 0.0, 3.0, unit="m")]
    actions = spaql.Continuous((0.0,), (1.0,), ("pump",))
    return spaql.from_plant(_tanks_reset, _tanks_step, state=state, actions=actions, horizon=60, name="tanks")


@spaql.reset
def _joint_reset(u1, u2):
    return 2.0 * (u1 - 0.5), 0.0, 0.2 * (u2 - 0.5), 0.0


@spaql.step
def _joint_step(arm, arm_rate, twist, twist_rate, torque):
    for _ in range(10):
        spring = 12.0 * twist + 0.2 * twist_rate
        arm_change = spring / 1.5 - 0.1 * arm_rate - 1.5 * math.sin(arm)
        twist_change = 8.0 * torque - spring / 0.4 - arm_change
        arm_rate, twist_rate = arm_rate + 0.005 * arm_change, twist_rate + 0.005 * twist_change
        arm, twist = arm + 0.005 * arm_rate, twist + 0.005 * twist_rate
    return (arm, arm_rate, twist, twist_rate), -arm * arm - 0.5 * twist * twist - 0.01 * torque * torque, False


def joint():
    slopes = {"arm": 1.0, "arm_rate": 0.5, "twist": 3.0, "twist_rate": 0.5}
    state = [spaql.Axis(name, slope=slope) for name, slope in slopes.items()]
    actions = spaql.Continuous((-1.0,), (1.0,), ("torque",))
    return spaql.from_plant(
        _joint_reset, _joint_step, state=state, actions=actions, horizon=100, name="joint",
        reference=(0, 0, 0, 0),
    )  # fmt: skip


@spaql.reset
def _boat_reset(u1, u2, u3):
    return 2.0 * (u1 - 0.5), 0.4 * (u2 - 0.5), 0.0, 2.0 * (u3 - 0.5)


@spaql.step
def _boat_step(heading, rate, rudder, wind, steer):
    for _ in range(4):
        rudder = rudder + 0.1 * (steer - rudder)
        gust = 0.25 * wind * math.cos(heading)
        rate = rate + 0.05 * (1.2 * rudder + gust - 0.8 * rate - 0.6 * rate * abs(rate))
        heading = heading + 0.05 * rate
    return (heading, rate, rudder, wind), -heading * heading - 0.05 * steer * steer, False


def boat():
    slopes = {"heading": 1.0, "rate": 1.0, "rudder": 1.0, "wind": 1.0}
    state = [spaql.Axis(name, slope=slope) for name, slope in slopes.items()]
    actions = spaql.Continuous((-1.0,), (1.0,), ("steer",))
    return spaql.from_plant(
        _boat_reset, _boat_step, state=state, actions=actions, horizon=80, name="boat",
        reference=(0, 0, 0, 0),
    )  # fmt: skip


PLANTS = {"oven": oven, "crane": crane, "tanks": tanks, "joint": joint, "boat": boat}
SAMPLES = {"oven": 300, "crane": 400, "tanks": 300, "joint": 400, "boat": 300}
COSTS = {"crane": ((1, 0, 2, 0), (0.01,)), "joint": ((1, 0, 0.5, 0), (0.01,)), "boat": ((1, 0, 0, 0), (0.05,))}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plant", choices=PLANTS, action="append")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    for name in given.plant or PLANTS:
        problem = PLANTS[name]()
        for seed in range(1000, 1000 + given.seeds):
            agent = spaql.Atlas(problem, seed=seed)
            agent.learn(samples=SAMPLES[name], progress=False)
            evaluation = agent.evaluate(1000, seed=1)
            doubts = len(agent.trust().doubts)
            print(f"{name} {seed}: {evaluation.mean:.4g}, {agent.policy().n_leaves} laws, {doubts} doubts")
        if name in COSTS:
            regulator = spaql.lqr(problem, *COSTS[name])
            print(f"{name} LQR: {regulator.evaluate(1000, seed=1).mean:.4g}")


if __name__ == "__main__":
    main()
