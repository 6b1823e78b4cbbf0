"""How much each number of a controller may be changed before the return falls."""

from dataclasses import replace

import numpy as np
import pytest

import law_examples
import spaql
from spaql.policy.probes import numbers_of


def test_all_numbers_that_a_reader_sees_are_listed():
    table = law_examples.pendulum().tolerance(episodes=8)
    assert table["number"].tolist() == ["cut", "sin", "velocity", "sin", "velocity"]
    assert table["value"].tolist() == [-0.08, 8.0, 4.0, -14.0, -3.0]
    assert table["place"][0] == "test 1: cos ≥ -0.08"
    assert table["place"][1] == "law 1: torque"
    assert ((table["from"] <= table["value"]) & (table["value"] <= table["to"])).all()


def test_within_the_interval_the_return_stays_and_just_outside_it_falls():
    policy = law_examples.pendulum()
    table = policy.tolerance(fall=0.02, episodes=50, seed=4)
    least = table.attrs["least"]
    assert least == pytest.approx(policy.evaluate(50, seed=4).mean * 1.02)
    outside = 0
    for number, (low, high) in zip(numbers_of(policy), table[["from", "to"]].to_numpy(), strict=True):
        for end in (low, high):
            if np.isfinite(end):
                further = number.value + (end - number.value) * 1.1 + 0.01 * np.sign(end - number.value) * abs(number.value)
                assert replace(policy, rules=number.changed(end)).evaluate(50, seed=4).mean >= least
                outside += replace(policy, rules=number.changed(further)).evaluate(50, seed=4).mean < least
    assert outside >= 6


def test_the_cut_of_a_threshold_is_told_as_it_is_printed():
    policy = law_examples.mountain_car()
    table = policy.tolerance(episodes=5)
    assert 0.46 in table["value"].tolist()  # 2 if -position + 50 velocity >= 0.46 else 0
    low, high = table.loc[table["value"] == 0.46, ["from", "to"]].to_numpy()[0]
    assert low < 0.46 < high < 1.0


@pytest.mark.slow
def test_constant_leaves_have_cuts_and_actions():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=0)
    agent.learn(30, rollouts=1)
    table = agent.policy().tree().tolerance(episodes=2)
    assert set(table["number"]) == {"cut", "torque"}
    assert (table["to"] >= table["from"]).all()


def test_steps_are_counted_and_the_answer_is_the_same_twice():
    policy = law_examples.cartpole()
    first, second = policy.tolerance(episodes=4), policy.tolerance(episodes=4)
    assert first.equals(second)
    assert first.attrs["samples"] >= 4 * 2 * len(first)
    assert first.attrs["episodes"] == 4


BAD = [({"fall": 0.0}, "fall must be above 0"), ({"episodes": 0}, "episodes"), ({"fall": "x"}, "fall")]


@pytest.mark.parametrize(("options", "said"), BAD)
def test_bad_input_is_named(options, said):
    with pytest.raises(spaql.SpaqlError, match=said):
        law_examples.cartpole().tolerance(**options)


def test_without_a_plant_it_says_so():
    policy = law_examples.cartpole()
    bare = replace(policy, problem=replace(policy.problem, name="elsewhere", plant=None, env_id=None))
    with pytest.raises(spaql.SpaqlError, match="elsewhere has no plant to try other numbers on"):
        bare.tolerance()
