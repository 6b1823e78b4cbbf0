"""Learners as the registry lists them, small enough to be trained in every check.

What a learner can do stands on its card and in its options: nothing here knows a learner by name. A new card is found, and checked.
"""

import functools

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import random_actions, small
from spaql.learners.registry import learner_class, learners
from spaql.plants.environment import PlantEnv

PROBLEMS = ("cartpole", "pendulum", "pendulum-5")  # two actions and terminations; a continuous action; a list of five
TWO_PROBLEMS = PROBLEMS[:2]
HORIZON = 20  # short, because some learners have a partition per step
ITERATIONS = 6  # of a little training
PART = 4  # of them, where it is interrupted
ROLLOUTS = 2

every_learner = pytest.mark.parametrize("card", learners(), ids=lambda card: card.name)
every_learner_of_data = pytest.mark.parametrize("card", [card for card in learners() if card.takes_data], ids=lambda card: card.name)
every_trained_learner = pytest.mark.parametrize("card", [card for card in learners() if card.learns], ids=lambda card: card.name)
each_kind_of_action = pytest.mark.parametrize("problem", [*TWO_PROBLEMS, pytest.param(PROBLEMS[2], marks=pytest.mark.slow)])
finite_and_continuous = pytest.mark.parametrize("problem", TWO_PROBLEMS)


@functools.cache
def short(problem):
    """A problem of the catalog with short episodes."""
    return spaql.make(problem, horizon=HORIZON)


def made(card, problem, seed=3, **options):
    """An agent that has learned nothing."""
    cls = learner_class(card)
    return cls(short(problem) if isinstance(problem, str) else problem, seed=seed, **(small(cls) | options))


def train(agent, iterations=ITERATIONS, **more):
    """Train an agent as its card says."""
    return agent.learn(iterations, **({"rollouts": ROLLOUTS} if agent.card.judged else {}), **more)


def trained(card, problem, seed=3, iterations=ITERATIONS, **options):
    """A little training, new every time."""
    agent = made(card, problem, seed, **options)
    train(agent, iterations)
    return agent


@functools.cache
def example(card, problem):
    """A little training, made once: only to look at, nobody learns on with it."""
    return trained(card, problem)


def step_of(card):
    """What `policy` takes for a learner with one policy per step."""
    return {"step": 0} if card.per_step else {}


@functools.cache
def _recorded(problem):
    frame = spaql.record(short(problem), episodes=5, seed=0)
    return frame[[axis.name for axis in short(problem).state]].to_numpy(float)[:50]


def observations(problem):
    """(50, variables) that occur in episodes of random actions."""
    return _recorded(problem).copy()


def transition(problem):
    """A good one, as `update` takes it."""
    before, after = observations(problem)[:2]
    action = short(problem).native(random_actions(short(problem), 1, np.random.default_rng(0))[0])
    return {"obs": before, "action": action, "reward": 0.5, "next_obs": after}


def complaint(error):
    """The message of an error that pytest caught, which must be one line."""
    text = str(error.value)
    assert text
    assert "\n" not in text
    return text


class Counting(gymnasium.Wrapper):
    """Counts what a plant is asked for."""

    def __init__(self, problem):
        super().__init__(PlantEnv(problem))
        self.steps = 0

    def step(self, action):
        self.steps += 1
        return super().step(action)
