"""What several test files need."""

from functools import partial

import numba
import numpy as np
import pytest

import spaql
from spaql.learners.forest_agent import ForestAgent
from spaql.learners.options import options_of
from spaql.learners.registry import CARDS, learner_class, learners
from spaql.plants.catalog import CATALOG
from spaql.plants.chart import SIGMOID
from spaql.plants.environment import PlantEnv
from spaql.plants.plant import LANES

SMALL = {"controller": "table", "cells": 150, "model_cells": 100, "effort": 0.002, "max_leaves": 2}  # planning and searching would take seconds


def quick_first(names, quick=("pendulum", "cartpole", "mountain-car")):
    """All of them as parameters of a test, of which only the quick ones are tested every time: the others by `make test-all`."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]


def small(cls):
    """Options that keep a learner quick."""
    names = {one.name for one in options_of(cls)}
    return {name: value for name, value in SMALL.items() if name in names}


def _quick(card):
    cls = learner_class(card)
    return partial(cls, **small(cls)) if small(cls) else cls


# By name: called with a problem they make an agent. Those that search on a simulator for millions of samples go through the
# common checks (every_learner.py) and have tests of their own.
LEARNERS = {card.name: _quick(card) for card in learners() if not card.simulator}
QUICK = [name for name in LEARNERS if name != "Atlas"]
FORESTS = [card.name for card in learners() if issubclass(learner_class(card), ForestAgent)]  # with a partition of the cube
TRAINED = [name for name in FORESTS if CARDS[name].learns]
PER_STEP = [name for name in FORESTS if CARDS[name].per_step]


@numba.njit
def run_batch(function, table, n):
    function(table, n)


def step_plant(plant, states, actions, lanes=LANES, noise=None):
    """One step from every state, `lanes` at a time: next states, observations, rewards, terminations."""
    rows, count = plant.rows, len(states)
    result = np.empty((rows.end, count))
    for begin in range(0, count, lanes):
        table, part = np.zeros((rows.end, LANES)), slice(begin, min(begin + lanes, count))
        n = part.stop - part.start
        table[rows.state : rows.observation, :n] = states[part].T
        table[rows.action : rows.noise, :n] = actions[part].T
        if noise is not None:
            table[rows.noise : rows.reward, :n] = noise[part].T
        run_batch(plant.batch[1], table.reshape(-1), n)
        result[:, part] = table[:, :n]
    seen = result[rows.observation : rows.action].T
    return result[rows.state : rows.observation].T, seen, result[rows.reward], result[rows.done] != 0.0


def random_actions(problem, count, rng):
    """(count, axes) actions of the problem, each as likely as the others."""
    if isinstance(problem.actions, spaql.Finite):
        return rng.choice(np.array(problem.actions.values, float), (count, 1))
    return rng.uniform(*problem.actions.bounds, (count, problem.actions.axes))


def visited_states(problem, count):
    """(count, variables) states, hidden ones included, of random episodes with actions that are held for some steps."""
    env, rng, rows = PlantEnv(problem), np.random.default_rng(7), problem.plant.rows
    states, ended, action = [], True, None
    while len(states) < count:
        if ended:
            env.reset(seed=len(states))
        if ended or rng.random() < 0.2:
            action = problem.native(random_actions(problem, 1, rng)[0])
        states.append(env.table[rows.state : rows.observation, 0].copy())
        _, _, terminated, truncated, _ = env.step(action)
        ended = terminated or truncated
    return np.array(states)


def other_values(name):
    """The parameters of a problem, each a little larger than published where it may be."""
    entry = CATALOG[name]
    changed = {key: 1.1 * value + (value == 0.0) * 0.01 for key, value in entry.parameters._asdict().items()}
    return {key: min(value, entry.ranges.get(key, (0.0, np.inf))[1]) for key, value in changed.items()}


def ranges_around(name):
    """The first parameter of a problem, drawn from its published value to a little more; in short episodes."""
    entry = CATALOG[name]
    first = next(key for key in entry.parameters._fields if key not in entry.fixed)
    return {first: spaql.Between(*sorted((getattr(entry.parameters, first), other_values(name)[first]))), "horizon": 30}


def fields(agent):
    """Everything an agent has learned, as bytes: equal means equal to the bit."""
    leaves = agent.leaves()
    return agent.history.table.tobytes(), leaves.dtype.descr, leaves.tobytes(), agent.state.outer.tobytes()


def assert_same(one, other, episodes=20):
    """Two agents learned the same, to the bit, and do the same."""
    np.testing.assert_array_equal(one.history.table, other.history.table)
    np.testing.assert_array_equal(one.leaves(), other.leaves())
    if episodes:
        np.testing.assert_array_equal(one.evaluate(episodes, seed=3).returns, other.evaluate(episodes, seed=3).returns)


def assert_both_loops_agree(name, learner, parameters):
    """The compiled loop, again, and Gymnasium's, on a problem with other parameters: the same bits."""
    made = [spaql.make(name, **parameters), spaql.make(name, **parameters), spaql.from_gym(PlantEnv(name, **parameters))]
    agents = [LEARNERS[learner](problem, seed=4) for problem in made]
    for agent in agents:
        agent.learn(3, rollouts=2)
    assert_same(agents[0], agents[1], episodes=2)
    assert_same(agents[0], agents[2], episodes=2)


def linear_plant(d, k=1, actions=None, horizon=30, noise=False):
    """d leaky integrators that k actions in [-1, 1], or one of a finite set, push around; to be held at zero."""
    states, pushes = [f"x{j}" for j in range(d)], [f"a{j}" for j in range(k)]
    extra = ["w"] if noise else []
    after = ", ".join(f"0.8 * {x} + 0.2 * {pushes[j % k]}{' * (0.5 + 0.5 * w)' if noise else ''}" for j, x in enumerate(states))
    cost = " + ".join(f"{x} * {x}" for x in states)
    starts = ", ".join(f"2.0 * u{j} - 1.0" for j in range(d))
    source = f"""
def start({", ".join(f"u{j}" for j in range(d))}):
    return ({starts},)
def leak({", ".join(states + pushes + extra)}):
    return ({after},), -({cost}), False
"""
    scope = {}
    exec(source, scope)
    return spaql.from_plant(
        spaql.reset(scope["start"]), spaql.step(scope["leak"]), name=f"leaky {d}",
        state=[spaql.Axis(x, -1.0, 1.0) for x in states], horizon=horizon, reference=(0.0,) * d,
        actions=spaql.Finite(tuple(actions)) if actions else spaql.Continuous((-1.0,) * k, (1.0,) * k),
    )  # fmt: skip


def wrapped(problem):
    """The same problem, run through Gymnasium's interface."""
    return spaql.from_gym(PlantEnv(problem))


def from_cube(chart, x):
    """Physical observations of cube coordinates (..., d); the ends of a sigmoid axis are infinite."""
    scale = np.where(chart.axes["scale"] == 0, np.inf, chart.axes["scale"])
    with np.errstate(divide="ignore"):
        return np.where(chart.axes["kind"] == SIGMOID, np.arctanh(x), x) / scale + chart.axes["centre"]
