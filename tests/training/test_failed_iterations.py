"""A plant that fails in the middle: what was learned before is kept, and the failed iteration leaves no trace."""

import numpy as np
import pytest

import spaql


@spaql.reset
def anywhere(u):
    return (2.0 * u - 1.0,)


@spaql.step
def mostly_sound(x, push):
    x = 0.9 * x + 0.1 * push
    return (5.0 if abs(x + 0.36) < 0.0004 else x,), -abs(x), False  # rarely jumps out of its bounds


def problem():
    axis = spaql.Axis("x", -1.0, 1.0)
    return spaql.from_plant(anywhere, mostly_sound, state=[axis], actions=spaql.Continuous(-1, 1), horizon=20, reference=[0.0])


@pytest.mark.parametrize("learner", [spaql.AQL, spaql.SPAQL, spaql.SPAQLTS, spaql.NBQL, spaql.ZoomRL])
def test_an_agent_is_as_after_its_last_complete_iteration(learner):
    agent = learner(problem(), seed=4)
    with pytest.raises(spaql.SpaqlError, match=r"left its declared bounds: x .*iteration \d+") as error:
        agent.learn(100_000, rollouts=3)
    done = len(agent.history)
    assert f"iteration {done + 1}," in str(error.value)
    assert done > 3
    same = learner(problem(), seed=4)
    same.learn(done, rollouts=3)
    assert np.array_equal(same.leaves(), agent.leaves())
    assert np.array_equal(same.history.table, agent.history.table)
    with pytest.raises(spaql.SpaqlError, match=f"iteration {done + 1},"):
        agent.learn(5, rollouts=3)
    assert np.array_equal(same.leaves(), agent.leaves())


def test_constants_that_look_alike_when_joined_are_told_apart():
    def gain(first, second):
        @spaql.step
        def pay(x, push):
            return (x,), 1000.0 * second + first, False

        own = spaql.from_plant(
            anywhere, pay, state=[spaql.Axis("x", -1.0, 1.0)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=1
        )
        return spaql.Random(own).evaluate(1).mean

    assert gain(1.0, 12.0) == 12001.0
    assert gain(1.01, 2.0) == 2001.01


def test_a_plant_that_raises_is_refused():
    @spaql.step
    def careful(x, push):
        if x > 2.0:
            raise ValueError("too far")
        return (x,), 0.0, False

    own = spaql.from_plant(anywhere, careful, state=[spaql.Axis("x", -1.0, 1.0)], actions=spaql.Continuous(-1, 1), horizon=3)
    with pytest.raises(spaql.SpaqlError, match="raises or asserts"):
        spaql.Random(own).evaluate(1)


def test_a_very_narrow_gaussian_stays_finite():
    agent = spaql.SPAQLTS(spaql.cube(2, [0, 1], 10), lam=1e-200, reference=(0.25, 0.25))
    agent.update([0.25, 0.25], 0, 1.0, [0.1, 0.1])
    assert np.isfinite(agent.leaves()["q"]).all()


def test_a_problem_must_fit_its_plant():
    from dataclasses import replace

    with pytest.raises(spaql.SpaqlError, match="the plant shows"):
        replace(spaql.make("pendulum"), actions=spaql.Continuous([-2] * 4, [2] * 4))
