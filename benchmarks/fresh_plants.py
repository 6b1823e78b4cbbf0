"""Five plants on which nothing of Atlas was tuned: each has something that a rule of Atlas may be good for.

    carriage   a sloping rail with buffers at both ends: stops, and a speed that is zero there
    furnace    a set point that jumps: references
    robot      on two wheels, falls: ends of episodes that are losses; a sensor with noise
    dock       a goal that is rarely found: rare ends that are prizes
    valve      a dead time of two steps, its actions among the measurements: memory

A plant that leads to a change of Atlas is no longer fresh: replace it. Used by laws_ablation.py.
"""

import math

import spaql


def _axes(**slopes):
    return [spaql.Axis(name, slope=slope) for name, slope in slopes.items()]


@spaql.reset
def _carriage_reset(u1, u2):
    return 1.8 * (u1 - 0.5), 0.5 * (u2 - 0.5), 0.0


@spaql.step
def _carriage_step(place, speed, current, voltage):
    for _ in range(5):
        current = current + 0.1 * (voltage - current)
        speed = speed + 0.02 * (3.0 * current - 1.2 - 0.3 * speed)
        place = place + 0.02 * speed
        if abs(place) > 1.0:
            place, speed = math.copysign(1.0, place), 0.0
    return (place, speed, current), -abs(place - 0.4) - 0.05 * voltage * voltage, False


def carriage():
    state, actions = _axes(place=1.0, speed=0.5, current=1.0), spaql.Continuous((-1.0,), (1.0,), ("voltage",))
    return spaql.from_plant(_carriage_reset, _carriage_step, state=state, actions=actions, horizon=80, name="carriage")


@spaql.reset
def _furnace_reset(u1, u2, u3):
    return 0.2 + 0.6 * u1, 0.2 + 0.6 * u2, 0.2 + 0.6 * u3


@spaql.step
def _furnace_step(air, wall, wanted, power, u1, u2):
    air = air + 0.3 * (power - 0.8 * (air - wall) - 0.5 * air * air)
    wall = wall + 0.1 * (air - wall)
    reward = -abs(air - wanted)
    if u1 < 0.04:
        wanted = 0.2 + 0.6 * u2
    return (air, wall, wanted), reward, False


def furnace():
    state = [spaql.Axis(name, 0.0, 2.0) for name in ("air", "wall", "wanted")]
    actions = spaql.Continuous((0.0,), (1.0,), ("power",))
    return spaql.from_plant(_furnace_reset, _furnace_step, state=state, actions=actions, horizon=100, name="furnace")


@spaql.reset
def _robot_reset(u1, u2, u3):
    return 0.4 * (u1 - 0.5), 0.0, 0.2 * (u2 - 0.5), 0.2 * (u3 - 0.5), 0.0


@spaql.step
def _robot_step(place, speed, tilt, rate, error, torque, u1, u2):
    for _ in range(4):
        push = 4.0 * torque - 0.5 * speed
        turning = 12.0 * math.sin(tilt) - 2.5 * push * math.cos(tilt)
        place, speed = place + 0.01 * speed, speed + 0.01 * push
        tilt, rate = tilt + 0.01 * rate, rate + 0.01 * turning
    fallen = abs(tilt) > 0.6 or abs(place) > 2.0
    error = 0.005 * math.sqrt(-2.0 * math.log(1.0 - u1)) * math.cos(2.0 * math.pi * u2)
    return (place, speed, tilt, rate, error), 1.0 - 0.5 * min(place * place, 1.0) - (20.0 if fallen else 0.0), fallen


@spaql.observe
def _robot_observe(place, speed, tilt, rate, error):
    return place, speed, tilt + error, rate


def robot():
    state, actions = _axes(place=1.0, speed=1.0, tilt=2.0, rate=1.0), spaql.Continuous((-1.0,), (1.0,), ("torque",))
    return spaql.from_plant(
        _robot_reset, _robot_step, observe=_robot_observe, state=state, actions=actions, horizon=150, name="robot"
    )


@spaql.reset
def _dock_reset(u1, u2):
    return 1.0 + u1, 0.6 * (u2 - 0.5)


@spaql.step
def _dock_step(distance, speed, thrust):
    for _ in range(3):
        speed = speed + 0.05 * (0.8 * thrust + 0.25 - 0.4 * speed * abs(speed))
        distance = distance + 0.05 * speed
    docked = abs(distance) < 0.15 and abs(speed) < 0.25
    return (distance, speed), -0.5 - 0.1 * thrust * thrust + (20.0 if docked else 0.0), docked


def dock():
    state, actions = _axes(distance=0.5, speed=1.0), spaql.Continuous((-1.0,), (1.0,), ("thrust",))
    return spaql.from_plant(_dock_reset, _dock_step, state=state, actions=actions, horizon=80, name="dock")


@spaql.reset
def _valve_reset(u1, u2):
    return 2.0 * (u1 - 0.5), 0.4 * (u2 - 0.5), 0.0, 0.0


@spaql.step
def _valve_step(level, rate, last, before, valve):
    rate = rate + 0.2 * (1.5 * before - rate - 0.3 * level)
    level = level + 0.2 * rate
    return (level, rate, valve, last), -level * level - 0.02 * valve * valve, False


def valve():
    state = [*_axes(level=1.0, rate=1.0), spaql.Axis("last", -1.0, 1.0), spaql.Axis("before", -1.0, 1.0)]
    actions = spaql.Continuous((-1.0,), (1.0,), ("valve",))
    return spaql.from_plant(_valve_reset, _valve_step, state=state, actions=actions, horizon=80, name="valve")


PLANTS = {"carriage": carriage, "furnace": furnace, "robot": robot, "dock": dock, "valve": valve}
