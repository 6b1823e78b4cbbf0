"""A search respects limits: a controller that violates one is ranked below one that does not."""

import pickle

import numpy as np
import pytest

import spaql
from loops import motor, steps
from spaql.plants.strict import strict

TARGET = spaql.Reference("target", 50.0, 150.0, of="speed")


def stated(**more):
    return spaql.loop(motor(), references=[TARGET], dt=0.01, **more)


@pytest.fixture(scope="module")
def pair():
    """Laws of the same motor, without and with a limit on the current."""
    found = []
    for limits in ((), [spaql.Limit("current", high=5.0)]):
        agent = spaql.Laws(stated(limits=limits), max_leaves=1)
        agent.learn(samples=1_500_000)
        found.append(agent)
    return found


def test_laws_keep_a_limit_that_they_would_violate_without_it(pair):
    free, limited = pair
    assert free.episode(seed=1).observations[:, 1].max() > 8.0
    assert limited.evaluate(200).violations["current"].steps == 0.0


def test_what_is_evaluated_is_the_reward_as_it_was_stated(pair):
    _, limited = pair
    plain = spaql.law(stated(), limited.policy().rules.laws.gains[0, 0], limited.policy().rules.laws.offsets[0, 0])
    assert limited.evaluate(50).mean == pytest.approx(plain.evaluate(50).mean, abs=1e-12)


def test_a_violated_step_costs_a_tenth_of_an_episode():
    problem = stated(limits=[spaql.Limit("current", high=5.0)])
    volts = [24.0] * 10
    rows, stern, _ = steps(strict(problem)[0], volts)
    _, usual, _ = steps(problem, volts)
    for row, cost, reward in zip(rows[1:], stern, usual, strict=True):
        if row["current"] > 5.0 * 0.97:  # the search keeps a margin
            assert cost < reward - 6 * max(np.abs(usual))
        else:
            assert cost == reward


def test_an_environment_has_the_same_cost():
    limits = [spaql.Limit("velocity", -1.0, 1.0), spaql.Limit("torque", -1.5, 1.5)]
    ours = spaql.make("pendulum", limits=limits)
    theirs = spaql.from_gym("spaql/Pendulum-v0", limits=limits)
    torques = [2.0, -1.0, 0.5, 2.0, 0.0, -2.0]
    assert steps(strict(ours)[0], torques, 3)[1] == steps(strict(theirs)[0], torques, 3)[1]


def test_a_strict_problem_is_pickled():
    problem = strict(stated(limits=[spaql.Limit("current", high=5.0)]))[0]
    assert steps(pickle.loads(pickle.dumps(problem)), [24.0] * 5) == steps(problem, [24.0] * 5)


@pytest.mark.slow
def test_atlas_knows_what_a_violation_costs():
    agent = spaql.Atlas(stated(limits=[spaql.Limit("current", high=5.0)]), controller="laws")
    agent.learn(samples=60)
    observation, after = np.array([[0.0, 0.0, 100.0, 100.0]]), np.array([[20.0, 9.0, 100.0, 80.0]])
    usual, _ = agent.problem.known.outcomes(observation, [[24.0]], after)
    assert agent.problem_told.known.cost(24.0, *after[0]) > 6 * abs(usual[0])


@spaql.reset
def start(u):
    return (u - 1.0,)


@spaql.step
def roll(place, push):
    return (place + 0.2 * push,), -abs(place - 1.0), False


@pytest.mark.slow
@pytest.mark.usefixtures("quick_search")
def test_atlas_keeps_limits_also_where_the_reward_is_learned():
    """Nobody told it what is paid, and more is paid beyond the limit."""
    furthest = []
    for limits in ((), [spaql.Limit("place", high=0.5)]):
        problem = spaql.from_plant(
            start, roll, state=[spaql.Axis("place", -3, 3)], actions=spaql.Continuous((-1.0,), (1.0,), names=("push",)), horizon=20, limits=limits
        )
        agent = spaql.Atlas(problem, controller="laws", use_known=False)
        agent.learn(samples=80)
        furthest.append(max(agent.episode(seed=seed).observations[:, 0].max() for seed in range(20)))
    free, limited = furthest
    assert limited <= 0.5
    assert free > 0.8
