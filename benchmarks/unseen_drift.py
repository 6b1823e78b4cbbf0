"""Atlas on plants in which something changes slowly, and matters late in an episode; no setting was chosen on the truck.

    python benchmarks/unseen_drift.py                            # all plants, seeds 1000 ... 1002
    python benchmarks/unseen_drift.py truck --seeds 1

Lines as those of unseen_atlas.py. Rod and winch are by somebody who tried the package as a user; what laws may expect
beyond all data, and how long their trials are, was changed after they had failed there.
"""

import math

from unseen_atlas import main

import spaql

# -- an inverted rod whose battery runs low, the sooner the harder its motor works; gusts --------------------------------


@spaql.reset
def charged(u1, u2):
    return 0.3 * (2.0 * u1 - 1.0), 0.3 * (2.0 * u2 - 1.0), 1.0


@spaql.step
def drained(angle, rate, charge, torque, gust):
    charge = max(charge - 0.0025 - 0.004 * abs(torque), 0.0)
    gain = 1.0 if charge > 0.5 else (charge / 0.5 if charge > 0.1 else 0.2)
    rate = rate + 0.05 * (6.0 * math.sin(angle) + 4.0 * gain * torque + 2.0 * (2.0 * gust - 1.0))
    angle = angle + 0.05 * rate
    fallen = abs(angle) > 0.8
    return (angle, rate, charge), -10.0 if fallen else 1.0 - angle * angle - 0.01 * torque * torque, fallen


def rod():
    state = [spaql.Axis("angle", slope=1.0, unit="rad"), spaql.Axis("rate", slope=0.3, unit="rad/s"), spaql.Axis("charge", 0, 1)]
    actions = spaql.Continuous((-2.0,), (2.0,), ("torque",))
    problem = spaql.from_plant(charged, drained, state=state, actions=actions, horizon=300, name="rod")
    return problem, spaql.law(problem, {"angle": -4.0, "rate": -1.4}), (300, 600)


# -- a winch that is paid for its speed; its winding heats slowly, and above 110 degrees a breaker trips -----------------


@spaql.reset
def cold(u1):
    return 25.0 + 10.0 * u1, 0.0


@spaql.step
def wound(heat, speed, current):
    speed = speed + 0.2 * (current - 0.5 * speed)
    heat = heat + 0.1 * (0.6 * current * current - 0.05 * (heat - 25.0))
    tripped = heat > 110.0
    return (heat, speed), -300.0 if tripped else 0.1 * speed, tripped


def winch():
    state = [spaql.Axis("heat", 0, 300, unit="C"), spaql.Axis("speed", -10, 12, unit="m/s")]
    actions = spaql.Continuous((-4.0,), (4.0,), ("current",), ("A",))
    problem = spaql.from_plant(cold, wound, state=state, actions=actions, horizon=300, name="winch")
    return problem, spaql.law(problem, {}, offset=2.7), (300, 600)


# -- a truck on a long slope, paid for its speed: hot brakes fade, and a truck that is too fast is lost ------------------


@spaql.reset
def at_the_top(u1, u2):
    return 4.0 + 2.0 * u1, 20.0 + 30.0 * u2


@spaql.step
def rolled(speed, heat, brake):
    grip = 1.0 if heat < 250.0 else max(0.2, 1.0 - (heat - 250.0) / 200.0)
    speed = max(speed + 0.2 * (1.2 - 3.0 * grip * brake - 0.02 * speed), 0.0)
    heat = heat + 0.2 * (8.0 * brake * speed - 0.04 * (heat - 20.0))
    lost = speed > 15.0
    return (speed, heat), -20.0 if lost else 0.1 * speed, lost


def truck():
    state = [spaql.Axis("speed", 0, 20, unit="m/s"), spaql.Axis("heat", 0, 3100, unit="C")]
    actions = spaql.Continuous((0.0,), (1.0,), ("brake",))
    problem = spaql.from_plant(at_the_top, rolled, state=state, actions=actions, horizon=300, name="truck")
    return problem, spaql.law(problem, {"speed": 0.5}, offset=-2.2), (300, 600)  # the best of its kind


PLANTS = {"rod": rod, "winch": winch, "truck": truck}


if __name__ == "__main__":
    main(__doc__, PLANTS)
