"""A regulator where the plant does not react: the cause is named."""

import pytest

import spaql


@spaql.reset
def anywhere(u):
    return 2.0 * u - 1.0, 0.0


@spaql.step
def valve(position, speed, opening):
    """Openings below 0.2 let nothing through."""
    flow = opening - 0.2 if opening > 0.2 else opening + 0.2 if opening < -0.2 else 0.0
    speed = 0.9 * speed + 0.1 * flow
    position = min(max(position + 0.1 * speed, -5.0), 5.0)
    return (position, speed), -abs(position), False


def test_a_dead_band_is_named_as_the_cause():
    axes = [spaql.Axis("position", -5.0, 5.0), spaql.Axis("speed", -5.0, 5.0)]
    problem = spaql.from_plant(anywhere, valve, state=axes, actions=spaql.Continuous((-1.0,), (1.0,), ("opening",)), horizon=50, reference=(0.0, 0.0))
    with pytest.raises(spaql.SpaqlError, match=r"around opening = 0 nothing reacts to the action: its gain is zero there \(a dead band.*action=\.\.\."):
        spaql.lqr(problem, Q={"position": 1.0}, R=1.0)
    with pytest.warns(spaql.SpaqlWarning, match="not an equilibrium"):
        assert spaql.lqr(problem, Q={"position": 1.0}, R=1.0, action=0.5).evaluate(20).mean > -40.0
    loop = spaql.loop(problem, references=[spaql.Reference("target", -1.0, 1.0, of="position")])
    with pytest.raises(spaql.SpaqlError, match="nothing reacts to the action"):
        spaql.lqr(loop, Q={"position_error": 1.0}, R=1.0)
