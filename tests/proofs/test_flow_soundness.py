"""Attacks on proofs about differential equations: each was, or would be, a false claim that is printed as PROVEN."""

import json
import math

import numpy as np
import pytest

import spaql


def no_reward(x, v, u):
    return 0.0


def turning(x, v, u):
    return v, -x + u


def scaled(x, v, u, mass):
    return v, (u - x) / mass


def waves(x, v, u):
    return 0.0, np.sin(np.log(x))


def near_a_pole(x, v, u):
    return 0.0, np.arctan(1.0 / x)


def plant(derivative, start, **options):
    actions = spaql.Continuous((-5.0,), (5.0,), ("u",))
    return spaql.from_ode(
        derivative, start=start, actions=actions, dt=0.1, horizon=6, reward=no_reward, name=derivative.__name__, **options
    )


START = {"x": (0.9, 1.1), "v": (-0.1, 0.1)}
TURNING = spaql.law(plant(turning, START), {"x": -0.2, "v": -0.4})


def refused(proof, policy, folder, match, change):
    proof.save(folder / "x.json")
    content = json.loads((folder / "x.json").read_text())
    change(content["claim"])
    (folder / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError, match=match):
        spaql.check_proof(folder / "x.json", policy)


# -- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("time", [0.0, -0.0, 1e-12, (0.0, 1e-12)])
def test_a_time_that_is_nearly_zero_is_that_of_the_starts(time, tmp_path):
    with pytest.raises(spaql.SpaqlError, match="start states are outside of the bounds of x"):
        TURNING.prove(at={time: {"x": (5.0, 6.0)}})
    proof = TURNING.prove(at={time: {"x": (0.0, 6.0)}})
    assert proof.holds
    proof.save(tmp_path / "x.json")
    assert spaql.check_proof(tmp_path / "x.json", TURNING).holds
    first, last = time if isinstance(time, tuple) else (time, time)
    refused(proof, TURNING, tmp_path, "outside", lambda claim: claim.update(at=[[first, last, {"x": [5.0, 6.0]}]]))


@pytest.mark.parametrize("time", [math.inf, (0.0, math.inf)])
def test_an_infinite_time_is_no_sample(time):
    with pytest.raises(spaql.SpaqlError, match="not the end of a sample"):
        TURNING.prove(at={time: {"x": (0.0, 6.0)}})


def test_starts_wider_than_the_parameters_are_checked_at_time_zero(tmp_path):
    """The question takes a parameter's range in place of the starts that a certificate states."""
    policy = spaql.law(plant(scaled, START, parameters={"mass": spaql.Between(0.9, 1.1)}), {"x": -0.2, "v": -0.4})
    wide = {"x": (0.9, 1.1), "v": (-0.1, 0.1), "mass": (0.8, 1.2)}
    proof = policy.prove(at={0.1: {"x": (0.0, 6.0)}}, start=wide)
    assert proof.holds

    def narrower(claim):
        claim.update(parameters={"mass": [0.9, 1.1]}, at=[[0.0, 0.0, {"mass": [0.9, 1.1]}]])

    refused(proof, policy, tmp_path, "a start is elsewhere at a time", narrower)


def never(x, v):
    return v > 0.5


def test_bounds_at_a_time_are_not_asked_of_episodes_that_have_ended():
    policy = spaql.law(plant(turning, {"x": 0.0, "v": 1.0}, over=never, ends="success"), {"x": 0.0})
    assert policy.prove(reach="end").holds
    with pytest.raises(spaql.SpaqlError, match="two questions"):
        policy.prove(reach="end", at={0.5: {"x": (5.0, 6.0)}})


def test_what_is_printed_promises_no_more_than_what_is_proven():
    start = {"x": (0.90000001, 1.0999999), "v": (-0.1, 0.10000001)}
    proof = TURNING.prove(never={"x": (-2.0000001, 1.99999999), "v": (-5.00000001, 5.00000001)}, start=start)
    assert proof.holds
    text = str(proof)
    assert "with x in [0.90000001, 1.0999999], v in [-0.1, 0.1]:" in text
    assert "x in [-2.0000001, 2], v in [-5.00000001, 5.00000001] for" in text


# -- equations that are not defined everywhere ------------------------------------------------------------------------


@pytest.mark.parametrize("derivative", [waves, near_a_pole])
def test_where_the_equation_is_not_defined_nothing_is_proven(derivative, monkeypatch, tmp_path):
    """sin(log(x)) and atan(1 / x) are bounded, and x is held: only x itself tells."""
    allowed = spaql.law(plant(derivative, {"x": (0.5, 1.0), "v": 0.0}), {"x": 0.0})
    proof = allowed.prove(never={"v": (-2.0, 2.0)})
    assert proof.holds
    policy = spaql.law(plant(derivative, {"x": (-0.5, 1.0), "v": 0.0}), {"x": 0.0})
    assert not policy.prove(never={"v": (-2.0, 2.0)}, seconds=0.3).holds
    proof.save(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text())
    content["claim"]["start"][0] = [-0.5, 1.0]
    content["evidence"][0]["boxes"] = [[[-0.5, 1.0], [0.0, 0.0]]]
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError, match="not defined"):
        spaql.check_proof(tmp_path / "x.json", policy)


@spaql.reset
def anywhere(a):
    return -0.5 + 1.5 * a, 0.0


@spaql.step
def rippling(x, v, u):
    return (0.01 * math.sin(math.log(x)), 0.5 * v), 0.0, False


def test_where_a_step_is_not_defined_nothing_is_proven():
    axes = [spaql.Axis("x", -1, 1), spaql.Axis("v", -1, 1)]
    actions = spaql.Continuous((-5.0,), (5.0,), ("u",))
    policy = spaql.law(spaql.from_plant(anywhere, rippling, state=axes, actions=actions, horizon=6), {"x": 0.0})
    assert policy.prove(never={"x": (-2.0, 2.0)}, steps=1, seconds=0.5, start={"x": (0.5, 1.0), "v": (0.0, 0.0)}).holds
    assert not policy.prove(never={"x": (-2.0, 2.0)}, steps=1, seconds=0.5).holds


# -- the simulated plant ----------------------------------------------------------------------------------------------


def stiff(x, v, u, stiffness):
    return v, u - stiffness * x


def stiff_p0(x, v, u, p0):
    return v, u - p0 * x


@pytest.mark.parametrize("drawn", [False, True])
def test_a_parameter_may_be_called_like_a_slope_of_runge_and_kutta(drawn):
    value = spaql.Between(3.9, 4.1) if drawn else 4.0
    hidden = [4.0] * drawn
    steps = [
        plant(derivative, {"x": 1.0, "v": 0.0}, parameters={name: value}).plant.step.python(1.0, 0.0, *hidden, 0.0)
        for derivative, name in ((stiff, "stiffness"), (stiff_p0, "p0"))
    ]
    assert steps[0] == steps[1]
    assert steps[0][0][0] == pytest.approx(math.cos(0.2), abs=1e-6)


def test_a_simulation_that_fails_is_no_error_of_the_proof():
    """x is infinite after 0.37 s; exp of a large number raises in Python."""

    def bursting(x, v, u):
        return math.exp(x), 0.0

    policy = spaql.law(plant(bursting, {"x": (1.0, 1.1), "v": 0.0}), {"x": 0.0})
    assert not policy.prove(never={"x": (-1.0, 2.0)}, seconds=0.1).holds
