"""Atlas on plants with walls that throw back what hits them; no setting was chosen on them.

    python benchmarks/unseen_walls.py                            # all plants, seeds 1000 ... 1002
    python benchmarks/unseen_walls.py bumpers --seeds 1

Lines as those of unseen_atlas.py.
"""

import math

from unseen_atlas import main

import spaql

# -- a pole on a cart between stiff springs, which throw the cart back; a pole that leans too far ends the episode -----


@spaql.reset
def upright(u1, u2, u3, u4):
    return 0.8 * (u1 - 0.5), 0.4 * (u2 - 0.5), 0.2 * (u3 - 0.5), 0.4 * (u4 - 0.5)


@spaql.step
def balance(place, speed, tilt, rate, force):
    for _ in range(10):
        pushed = 8.0 * force - 0.2 * speed - 4000.0 * (max(place - 0.6, 0.0) + min(place + 0.6, 0.0))
        faster = pushed
        turned = (9.81 * math.sin(tilt) - math.cos(tilt) * faster) / 0.7
        speed, rate = speed + 0.002 * faster, rate + 0.002 * turned
        place, tilt = place + 0.002 * speed, tilt + 0.002 * rate
    fallen = abs(tilt) > 0.6
    return (place, speed, tilt, rate), 1.0 - 0.5 * place * place - 0.05 * force * force, fallen


def bumpers():
    names = (("place", 2.0, "m"), ("speed", 0.5, "m/s"), ("tilt", 2.0, "rad"), ("rate", 0.5, "rad/s"))
    state = [spaql.Axis(name, slope=slope, unit=unit) for name, slope, unit in names]
    actions = spaql.Continuous((-1.0,), (1.0,), ("force",))
    problem = spaql.from_plant(upright, balance, state=state, actions=actions, horizon=300, name="bumpers")
    return problem, spaql.lqr(problem, [0.5, 0.0, 0.5, 0.0], 0.05, at=[0.0] * 4), (200, 600)


# -- a puck on an inclined air table between two walls: it bounces, and is to come to rest above the middle; noise -----


@spaql.reset
def thrown(u1, u2):
    return u1, 2.0 * (u2 - 0.5), 0.0


@spaql.step
def slide(place, speed, error, thrust, u1):
    for _ in range(5):
        speed = speed + 0.01 * (1.2 * thrust - 0.5 - 0.05 * speed)
        place = place + 0.01 * speed
        if place < 0.0:
            place, speed = -place, -0.8 * speed
        if place > 1.0:
            place, speed = 2.0 - place, -0.8 * speed
    off = place - 0.7
    return (place, speed, 0.002 * (u1 - 0.5) * 3.46), -off * off - 0.01 * speed * speed - 0.002 * thrust * thrust, False


@spaql.observe
def seen(place, speed, error):
    return place + error, speed


def puck():
    state = [spaql.Axis("place", slope=2.0, unit="m"), spaql.Axis("speed", slope=1.0, unit="m/s")]
    actions = spaql.Continuous((-1.0,), (1.0,), ("thrust",))
    return spaql.from_plant(thrown, slide, observe=seen, state=state, actions=actions, horizon=80, name="puck"), None, (200, 600)


PLANTS = {"bumpers": bumpers, "puck": puck}


if __name__ == "__main__":
    main(__doc__, PLANTS)
