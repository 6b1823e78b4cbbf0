"""An angle that wraps within one variable: stated, or recognised in the data."""

import math

import numpy as np
import pytest

import spaql


@spaql.reset
def anywhere(u1, u2):
    return math.pi * (2 * u1 - 1), 2 * u2 - 1


@spaql.step
def swing(angle, speed, torque):
    speed = min(max(speed + 0.05 * (15 * math.sin(angle) + 3 * torque), -8.0), 8.0)
    angle = (angle + 0.05 * speed + math.pi) % (2 * math.pi) - math.pi
    return (angle, speed), 1.0 - (angle / math.pi) ** 2, False


def pendulum(**turn):
    state = [spaql.Axis("angle", -math.pi, math.pi, **turn), spaql.Axis("speed", -8, 8)]
    return spaql.from_plant(anywhere, swing, state=state, actions=spaql.Continuous((-2.0,), (2.0,)), horizon=200, reference=(0.0, 0.0))


@pytest.mark.parametrize(
    "turn", [pytest.param({}, id="recognised"), pytest.param({"period": 2 * math.pi}, id="stated", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_the_table_of_atlas_swings_a_pendulum_up_whose_angle_wraps(turn):
    """It was 121 of 200, with a fifth of the episodes lost: the model expected an angle of 3.142 whatever was applied."""
    agent = spaql.Atlas(pendulum(**turn), seed=0, controller="table")
    agent.learn(samples=1000)
    found = agent.evaluate(300)
    assert found.mean > 180.0
    assert np.mean(found.returns < 100.0) < 0.02


@pytest.mark.parametrize("period", [0.0, -1.0, math.nan, math.inf, 1.0])
def test_a_period_is_a_number_at_least_as_long_as_the_range(period):
    with pytest.raises(spaql.SpaqlError, match="period"):
        spaql.Axis("angle", -math.pi, math.pi, period=period)
