"""Limits: stated with the problem, checked at once, kept in files; and what print(problem) shows."""

import json
import math
import re

import numpy as np
import pytest

import spaql
from spaql import Limit
from spaql.policy.policy import Policy

LIMITS = (Limit("angle", -0.1, 0.1), Limit("position", high=1.5), Limit("push", low=0.5))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("angle",), "the limit on angle has no bound: give low, high or both"),
        (("angle", -math.inf, math.inf), "the limit on angle has no bound"),
        (("angle", 0.1, 0.1), "low = 0.1 must be below high = 0.1"),
        (("angle", 0.2, 0.1), "low = 0.2 must be below high = 0.1"),
        (("angle", math.nan, 0.1), "the limit on angle: low must be a finite number, not nan"),
        (("angle", None, 0.1), "low must be a finite number, not None"),
        (("angle", 0, True), "high must be a finite number, not True"),
        ((3, 0.0, 1.0), "a limit names an observed variable or an action axis, which must be a text, not 3"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(given, message):
    with pytest.raises(spaql.SpaqlError, match=message):
        Limit(*given)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ([Limit("speed", high=1)], "a limit on 'speed': there is no such variable or action; choose among position, "),
        ([Limit("angle", high=1), Limit("angle", low=-1)], "two limits on 'angle': give one, with low and high"),
        ([("angle", 0, 1)], r"limits are a list of spaql.Limit\(variable, low, high\), not \('angle', 0, 1\)"),
        ("angle", "limits are a list of spaql.Limit"),
        (3, "limits are a list of spaql.Limit"),
    ],
)
def test_limits_that_do_not_fit_the_problem_are_refused(limits, message):
    with pytest.raises(spaql.SpaqlError, match=message):
        spaql.make("cartpole", limits=limits)


def test_a_name_that_is_there_twice_is_refused():
    state, push = [spaql.Axis("x", -1, 1), spaql.Axis("x", -1, 1)], spaql.Continuous(-1, 1)
    with pytest.raises(spaql.SpaqlError, match="several variables or actions have this name"):
        spaql.Problem("twice", "two of one name", tuple(state), push, 10, limits=[Limit("x", high=0.5)])


def test_underscores_stand_for_spaces_and_actions_without_names_have_usual_ones():
    assert spaql.make("cartpole", limits=[Limit("angular_velocity", -1, 1)]).limits == (Limit("angular velocity", -1, 1),)
    assert spaql.from_gym("CartPole-v1", limits=[Limit("action", high=0.5), Limit("x2", -0.1, 0.1)]).limits[0].variable == "action"


def test_all_makers_take_limits():
    @spaql.reset
    def start(u):
        return (u,)

    @spaql.step
    def stay(x, push):
        return (x,), x, False

    own = spaql.from_plant(
        start, stay, state=[spaql.Axis("x", -1, 1)], actions=spaql.Continuous(-1, 1), horizon=3, limits=[Limit("x", high=0.5)]
    )
    assert own.limits == (Limit("x", high=0.5),)
    assert spaql.make("cartpole", limits=LIMITS).limits == LIMITS
    assert spaql.from_gym("spaql/CartPole-v0", limits=LIMITS).limits == LIMITS
    assert spaql.make("cartpole").limits == ()


@pytest.mark.parametrize("made", [lambda: spaql.make("cartpole", limits=LIMITS), lambda: spaql.from_gym("spaql/CartPole-v0", limits=LIMITS)])
def test_limits_travel_in_agent_files(made, tmp_path):
    agent = spaql.SPAQL(made(), seed=1)
    agent.learn(2, rollouts=1)
    agent.save(tmp_path / "a.spaql")
    again = spaql.load(tmp_path / "a.spaql")
    assert again.problem.limits == LIMITS
    np.testing.assert_array_equal(again.evaluate(5).excess, agent.evaluate(5).excess)


def test_a_given_problem_keeps_its_own_limits_and_takes_over_those_of_the_file_if_it_has_none(tmp_path):
    spaql.SPAQL(spaql.make("cartpole", limits=LIMITS)).save(tmp_path / "a.spaql")
    other = (Limit("angle", high=0.05),)
    assert spaql.load(tmp_path / "a.spaql", spaql.make("cartpole", limits=other)).problem.limits == other
    assert spaql.load(tmp_path / "a.spaql", spaql.make("cartpole")).problem.limits == LIMITS


def test_limits_travel_in_policies_as_json():
    policy = spaql.SPAQL(spaql.make("cartpole", limits=LIMITS)).policy()
    assert Policy.from_json(policy.to_json()).problem.limits == LIMITS
    assert "limits" not in json.loads(spaql.SPAQL(spaql.make("cartpole")).policy().to_json())["problem"]


@pytest.mark.parametrize(
    "limits",
    [
        None, {}, [3], [{}], [{"variable": "angle"}], [{"variable": "angle", "low": None, "high": None}],
        [{"variable": "angle", "low": 1, "high": 0}], [{"variable": "angle", "low": "0", "high": 1}],
        [{"variable": "speed", "low": 0, "high": 1}], [{"variable": "angle", "low": 0, "high": 1, "more": 2}],
        [{"variable": "angle", "low": 0, "high": 1}] * 2,
    ],
)  # fmt: skip
def test_limits_in_files_are_not_trusted(limits):
    told = json.loads(spaql.SPAQL(spaql.make("cartpole", limits=LIMITS)).policy().to_json())
    told["problem"]["limits"] = limits
    with pytest.raises(spaql.SpaqlError, match="not a spaql policy, or it is damaged"):
        Policy.from_json(json.dumps(told))


def test_a_printed_problem_shows_what_is_seen_what_is_done_and_for_how_long():
    text = str(spaql.make("cartpole", limits=LIMITS))
    for part in ("position", "-4.8 … 4.8 m", "any number, rad/s", "one of 0, 1", "200 steps", "angular velocity = 0 rad/s"):
        assert part in text
    assert text.splitlines()[-3:] == ["  limits      |angle| ≤ 0.1 rad", "              position ≤ 1.5 m", "              push ≥ 0.5"]


@pytest.mark.parametrize("name", spaql.problems())
def test_a_printed_problem_fits_the_terminal_and_its_repr_is_one_line(name):
    problem = spaql.make(name)
    assert max(map(len, str(problem).splitlines())) <= 80
    assert repr(problem) == f"<Problem {name}: {problem.summary}>"


def test_every_line_of_a_problem_begins_its_text_in_the_same_column():
    loop = spaql.loop(
        spaql.make("pendulum"), memory=["difference(velocity_error)", "integral(velocity_error, 1234.56)"], dt=0.05,
        references=[spaql.Reference("target", -1, 1, of="velocity")],
    )  # fmt: skip
    for problem in (spaql.make("pendulum"), loop):
        lines = [line for line in str(problem).splitlines() if line.startswith("  ")]
        assert {re.match(r"  (\w+( \w+)?)? {2,}", line).end() for line in lines} <= {14, 16}  # 16: it goes on there
        ranges = [line.index("any number" if "any number" in line else next(re.finditer(r"-?[\d.]+ …", line))[0])
                  for line in lines if "…" in line or "any number" in line]  # fmt: skip
        assert len(set(ranges)) == 1
