"""Four small plants on which nothing was ever tuned: what the intervals of `trust()` are worth is asked of them.

A plant that leads to a change of Atlas is no longer fresh: replace it.
"""

import math

import spaql


def _axes(**slopes):
    return [spaql.Axis(name, slope=slope) for name, slope in slopes.items()]


@spaql.reset
def start_hoist(u1, u2):
    return 4.0 * (u1 - 0.5), 1.0 * (u2 - 0.5)


@spaql.step
def pull(height, speed, force):
    """A load on a hoist, with gravity half balanced and air that slows it; held at zero."""
    for _ in range(4):
        speed = speed + 0.025 * (3.0 * force - 0.6 - 0.4 * speed * abs(speed))
        height = height + 0.025 * speed
    return (height, speed), -height * height - 0.1 * speed * speed - 0.02 * force * force, False


def hoist():
    actions = spaql.Continuous((-1.0,), (1.0,), ("force",))
    return spaql.from_plant(
        start_hoist, pull, state=_axes(height=1.0, speed=1.0), actions=actions, horizon=80, name="hoist"
    )


@spaql.reset
def start_basins(u1, u2):
    return 0.2 + 0.6 * u1, 0.2 + 0.6 * u2


@spaql.step
def fill(upper, lower, pump):
    """Two basins, the upper one drains into the lower one, whose level shall be 0.5."""
    for _ in range(3):
        between, out = 0.12 * math.sqrt(max(upper, 0.0)), 0.12 * math.sqrt(max(lower, 0.0))
        upper = min(upper + 0.5 * (0.2 * pump - between), 1.5)
        lower = min(lower + 0.5 * (between - out), 1.5)
    return (upper, lower), -10.0 * abs(lower - 0.5), False


def basins():
    state = [spaql.Axis("upper", -0.1, 1.5), spaql.Axis("lower", -0.1, 1.5)]
    actions = spaql.Continuous((0.0,), (1.0,), ("pump",))
    return spaql.from_plant(start_basins, fill, state=state, actions=actions, horizon=60, name="basins")


@spaql.reset
def start_broom(u1, u2):
    return 0.3 * (u1 - 0.5), 0.4 * (u2 - 0.5)


@spaql.step
def swing(lean, rate, torque):
    """A broom on a motor with too little torque beyond 0.35 rad; it falls at 0.8 rad."""
    for _ in range(4):
        rate = rate + 0.01 * (9.0 * math.sin(lean) + 3.0 * torque - 0.2 * rate)
        lean = lean + 0.01 * rate
    fallen = abs(lean) > 0.8
    return (lean, rate), 1.0 - 2.0 * lean * lean - 0.05 * torque * torque, fallen


def broom():
    actions = spaql.Continuous((-1.0,), (1.0,), ("torque",))
    return spaql.from_plant(
        start_broom, swing, state=_axes(lean=4.0, rate=1.0), actions=actions, horizon=100, name="broom"
    )


@spaql.reset
def start_kiln(u1, u2, u3):
    return 0.5 * u1, 0.5 * u2, 0.4 * (u3 - 0.5)


@spaql.step
def heat(clay, air, draught, power, u1, u2):
    """Clay in a kiln shall have 0.7; a draught that wanders cools the air."""
    gust = math.sqrt(-2.0 * math.log(1.0 - u1)) * math.cos(2.0 * math.pi * u2)
    draught = 0.9 * draught + 0.05 * gust
    air = air + 0.25 * (1.6 * power - 0.7 * air - 0.5 * draught - 0.4 * (air - clay))
    clay = clay + 0.2 * (air - clay)
    return (clay, air, draught), -abs(clay - 0.7) - 0.1 * power * power, False


def kiln():
    actions = spaql.Continuous((0.0,), (1.0,), ("power",))
    return spaql.from_plant(
        start_kiln, heat, state=_axes(clay=1.0, air=1.0, draught=3.0), actions=actions, horizon=80, name="kiln"
    )


UNTUNED = {plant.__name__: plant for plant in (hoist, basins, broom, kiln)}
