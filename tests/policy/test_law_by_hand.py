"""spaql.law: one affine law with gains by name."""

import numpy as np
import pytest

import spaql
from exported_programs import compiled, needs_compiler
from helpers import linear_plant


def test_gains_by_name_and_by_position_make_the_same_law():
    problem = spaql.make("pendulum")
    named, placed = spaql.law(problem, {"sin": -14, "velocity": -3.0}), spaql.law(problem, [0, -14, -3])
    states = np.random.default_rng(0).normal(size=(50, 3))
    assert np.array_equal(named.decide(states), placed.decide(states))
    assert np.allclose(named.decide(states)[:, 0], np.clip(-14 * states[:, 1] - 3 * states[:, 2], -2, 2))


def test_a_law_prints_and_evaluates_like_every_policy():
    policy = spaql.law(spaql.make("cartpole"), {"angle": 10.0, "angular velocity": 1.0}, name="PD")
    assert "push = 1 if 10·angle + angular velocity ≥ 0 else 0" in policy.to_text(share=False)
    assert repr(policy) == "<PD of cartpole: 1 law, 1 number, depth 0>"
    assert policy.evaluate(50).mean == 200.0
    assert spaql.Policy.from_json(policy.to_json()).to_text(share=False) == policy.to_text(share=False)


@pytest.mark.parametrize(
    "gains", [[{"x0": -2.0}, {"x1": 0.5, "x2": 1.0}], {"action 1": {"x0": -2.0}, "action 2": [0.0, 0.5, 1.0]}]
)
def test_several_action_axes_have_a_law_each(gains):
    policy = spaql.law(linear_plant(3, k=2), gains, offset=[0.1, 0.0])
    assert np.allclose(policy.decide([[0.2, 0.4, 0.1]]), [[-0.3, 0.3]])


def test_more_than_two_actions_are_counted_by_the_rounded_sum():
    policy = spaql.law(linear_plant(1, actions=[-1, 0, 1]), {"x0": -2.0}, offset=1.0)
    assert policy.decide([[-0.6], [0.0], [0.2], [0.9]])[:, 0].tolist() == [1, 0, 0, -1]


def test_one_law_per_action_lets_the_highest_sum_choose():
    policy = spaql.law(linear_plant(1, actions=[-1, 0, 1]), [{"x0": 1.0}, {}, {"x0": -1.0}])
    assert policy.decide([[-0.6], [0.0], [0.9]])[:, 0].tolist() == [1, -1, -1]  # the first of equal ones


@needs_compiler
def test_a_law_by_hand_is_exported_as_c(tmp_path):
    policy = spaql.law(linear_plant(3, k=2), [{"x0": -2.0}, {"x1": 0.5, "x2": 1.0}], offset=0.25)
    states = np.random.default_rng(0).normal(size=(1000, 3))
    assert np.array_equal(compiled(tmp_path, policy.to_c())(states, 2), policy.decide(states))


@pytest.mark.parametrize(
    ("gains", "offset", "message"),
    [
        ({"angel": 1.0}, 0.0, "there is no 'angel', only position"),
        ([1.0, 2.0], 0.0, "gains of push must have shape 4, not 2"),
        ([{"angle": 1.0}, {"angle": 2.0}], 0.0, "gains must be one law"),
        ({"angle": "much"}, 0.0, "angle must be a finite number"),
        ({"angle": float("nan")}, 0.0, "angle must be a finite number"),
        ({"angle": 1.0}, [1.0, 2.0], "offset must have shape 1, not 2"),
        ({"angle": 1.0}, float("inf"), "offset must be finite"),
        ({"angle": 1.0}, "none", "offset must be an array of numbers"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(gains, offset, message):
    with pytest.raises(spaql.SpaqlError, match=message) as error:
        spaql.law(spaql.make("cartpole"), gains, offset)
    assert "\n" not in str(error.value)


def test_two_axes_ask_for_two_laws():
    with pytest.raises(spaql.SpaqlError, match="2 laws, one for each of action 1, action 2"):
        spaql.law(linear_plant(2, k=2), [1.0, 2.0])
    with pytest.raises(spaql.SpaqlError, match="there is no 'x0', only action 1, action 2"):
        spaql.law(linear_plant(2, k=2), {"x0": 1.0})
