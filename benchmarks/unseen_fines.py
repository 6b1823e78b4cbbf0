"""Atlas on plants in which every step costs something and an end of an episode is fined; nothing was chosen on the beam.

    python benchmarks/unseen_fines.py                            # all plants, seeds 1000 ... 1002
    python benchmarks/unseen_fines.py beam --seeds 1

Lines as those of unseen_atlas.py. Glider and reactor are by somebody who tried the package as a user; what it costs in a
model to leave the data was changed after they had failed there.
"""

import math

from unseen_atlas import main

import spaql

# -- an unstable glider with a weak rudder; gusts last, and are observed --------------------------------------------------


@spaql.reset
def thrown(u1, u2):
    return 0.6 * (2.0 * u1 - 1.0), 0.2 * (2.0 * u2 - 1.0), 0.0


@spaql.step
def blown(bank, rate, gust, rudder, n1, n2):
    gust = 0.95 * gust + 0.12 * math.sqrt(-2.0 * math.log(1.0 - n1)) * math.cos(2.0 * math.pi * n2)
    rate = rate + 0.1 * (1.5 * bank - 0.5 * rate + 3.0 * rudder + gust)
    bank = bank + 0.1 * rate
    lost = abs(bank) > 2.0
    return (bank, rate, gust), -500.0 if lost else -min(bank * bank, 4.0) - 0.05 * rudder * rudder - 0.1, lost


def glider():
    state = [spaql.Axis("bank", slope=1.0), spaql.Axis("rate", slope=0.5), spaql.Axis("gust", slope=0.5)]
    actions = spaql.Continuous((-0.7,), (0.7,), ("rudder",))
    problem = spaql.from_plant(thrown, blown, state=state, actions=actions, horizon=250, name="glider")
    return problem, spaql.law(problem, {"bank": -4.0, "rate": -1.0, "gust": -0.33}), (150, 300)


# -- a reactor that is cooled: the hotter, the faster it turns over what it is fed; above 400 K it runs away ---------------


@spaql.reset
def filled(u1, u2):
    return 330.0 + 10.0 * u1, 0.4 + 0.2 * u2, 300.0


@spaql.step
def reacted(temperature, feed, jacket, cooling, u1):
    for _ in range(4):
        rate = 0.05 * feed * math.exp(6000.0 * (1.0 / 350.0 - 1.0 / temperature))
        feed = feed + 0.25 * (0.04 * (1.0 - feed) - rate)
        temperature = temperature + 0.25 * (250.0 * rate - 0.04 * (temperature - 320.0) - 0.15 * (temperature - jacket))
        jacket = jacket + 0.25 * (0.3 * (temperature - jacket) - 0.4 * cooling * (jacket - 285.0))
    temperature = temperature + 0.5 * (2.0 * u1 - 1.0)
    away = temperature > 400.0
    return (temperature, feed, jacket), -150.0 if away else -0.5 * feed - 0.1 * cooling, away


def reactor():
    state = [spaql.Axis("temperature", 250, 900, unit="K"), spaql.Axis("feed", 0, 1), spaql.Axis("jacket", 250, 700, unit="K")]
    actions = spaql.Continuous((0.0,), (1.0,), ("cooling",))
    problem = spaql.from_plant(filled, reacted, state=state, actions=actions, horizon=200, name="reactor")
    gains = {"temperature": 0.26, "feed": 24.0, "jacket": 0.04}  # the best of 180, around a law of Atlas
    return problem, spaql.law(problem, gains, offset=-0.26 * 380.0 - 24.0 * 0.2 - 0.04 * 310.0), (300, 600)


# -- a ball on a beam that is tilted by a slow motor; who lets it roll off pays ------------------------------------------


@spaql.reset
def placed(u1, u2):
    return 0.5 * (2.0 * u1 - 1.0), 0.3 * (2.0 * u2 - 1.0), 0.0


@spaql.step
def tilted(place, speed, tilt, motor, push):
    tilt = min(max(tilt + 0.05 * 2.0 * motor, -0.4), 0.4)
    speed = speed + 0.05 * (-7.0 * math.sin(tilt) - 0.1 * speed) + 0.02 * (2.0 * push - 1.0)
    place = place + 0.05 * speed
    off = abs(place) > 1.0
    return (place, speed, tilt), -80.0 if off else -place * place - 0.02 * motor * motor - 0.02, off


def beam():
    state = [spaql.Axis("place", slope=2.0, unit="m"), spaql.Axis("speed", slope=1.0, unit="m/s"), spaql.Axis("tilt", -0.4, 0.4, unit="rad")]
    actions = spaql.Continuous((-1.0,), (1.0,), ("motor",))
    problem = spaql.from_plant(placed, tilted, state=state, actions=actions, horizon=200, name="beam")
    return problem, spaql.law(problem, {"place": 6.0, "speed": 3.0, "tilt": -4.0}), (150, 300)


PLANTS = {"glider": glider, "reactor": reactor, "beam": beam}


if __name__ == "__main__":
    main(__doc__, PLANTS)
