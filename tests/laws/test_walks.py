"""Walks through slow simulators: what they are paid, and how they race."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Line
from spaql.laws.slow import First
from spaql.laws.trials import Trials
from spaql.laws.walks import Walks, survivors


class Standing(gymnasium.Env):
    """Pays 1 for every step until it falls, which it does soon if nothing is done; and what `bonus` says of an action."""

    observation_space = gymnasium.spaces.Box(-9.0, 9.0, (1,))
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, bonus=1.0, falls=True):
        self.bonus, self.falls = bonus, falls

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(0.1, 0.3)
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x = 1.2 * self.x + 0.05 * float(action[0])
        fallen = bool(abs(self.x) > 1.0) and self.falls
        return np.array([np.clip(self.x, -9, 9)], np.float32), 1.0 + self.bonus * float(action[0]), fallen, False, {}


def standing(env):
    agent = spaql.Laws(spaql.from_gym(env, horizon=30), max_leaves=1, seed=0)
    first = First(agent, Trials(agent.searched, 3000), 0)
    first.look_around()
    return first.standing


@pytest.mark.parametrize(
    ("env", "pay"),
    [(Standing(), 1.0), (Standing(bonus=0.0), 0.0), (Standing(falls=False), 0.0), (Standing(bonus=-4.0), 1.0)],
    ids=["falls", "nothing else is paid", "never falls", "doing nothing is best"],
)
def test_what_standing_earns_is_known_where_it_ends_early_and_something_else_is_paid(env, pay):
    assert standing(env) == pytest.approx(pay)


def walk(mean, unpaid=0.0):
    return SimpleNamespace(best=mean, begin=SimpleNamespace(unpaid=unpaid))


def test_the_best_of_each_pay_goes_on_until_two_are_left():
    standing, lying, walking, falling = walk(1000.0), walk(900.0), walk(400.0, 1.0), walk(100.0, 1.0)
    every = [falling, lying, standing, walking]
    assert survivors(every, 2) == [standing, walking]
    assert survivors(every, 3) == [standing, walking, lying]
    assert survivors([walking, standing], 1) == [standing]
    walking.best = 2000.0
    assert survivors([walking, standing], 1) == [walking]


def test_in_a_race_rounds_are_of_equal_length_and_half_as_many_go_on(monkeypatch):
    trials, legs = SimpleNamespace(samples=0, problem=SimpleNamespace(horizon=10)), []
    race, several = Walks(trials, None, 0.0, 12_000), [walk(mean) for mean in (3.0, 2.0, 1.0, 0.0)]

    def go_on(walked, end):
        legs.append((several.index(walked), round(end - trials.samples)))
        trials.samples = end

    monkeypatch.setattr(race, "go_on", go_on)
    race.race(several)
    assert legs == [(0, 1000), (1, 1000), (2, 1000), (3, 1000), (0, 2000), (1, 2000), (0, 4000)]


def test_a_walk_that_ends_early_leaves_its_samples_to_the_others(monkeypatch):
    trials, legs = SimpleNamespace(samples=0, problem=SimpleNamespace(horizon=10)), []
    race = Walks(trials, None, 0.0, 1000)

    def go_on(walked, end):
        legs.append(end - trials.samples)
        trials.samples = trials.samples + 50 if len(legs) == 1 else end

    monkeypatch.setattr(race, "go_on", go_on)
    race.race([walk(1.0), walk(0.0)])
    assert legs == [250, 450, 500]


def test_several_walks_find_a_law(monkeypatch):
    monkeypatch.setattr("spaql.laws.slow.GENERATIONS", 2)
    env = Line(d=2, actions=gymnasium.spaces.Box(-1.0, 1.0, (2,)))
    agent = spaql.Laws(spaql.from_gym(env, horizon=20), max_leaves=1, seed=0)
    agent.learn(samples=4000)
    assert agent.evaluate(10).mean > agent.state.floor
