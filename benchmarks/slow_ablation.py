"""What each rule of Laws is worth in slow simulators: one rule taken away at a time.

    python benchmarks/slow_ablation.py                   # eleven plants, 20,000 samples, seeds 1000 and 1001: minutes

Plants: those of slow_grid.py, fresh_plants.py and fresh_plants2.py, as environments that nothing is known of. A
difference is that of the mean return over 100 fresh episodes, in percent of what Laws as it is gains over the best
constant action.
"""

import argparse
import contextlib
import warnings
from unittest.mock import patch

import fresh_plants
import fresh_plants2
import gymnasium
import numpy as np
import slow_grid

import spaql
from spaql.ground.streams import LAWS_CHOSEN
from spaql.laws import classical, slow
from spaql.laws.race import raced
from spaql.laws.trials import seeds_of
from spaql.plants.environment import PlantEnv

FIRST_SEED, FRESH, SAMPLES = 1000, 100, 20_000


class Foreign(gymnasium.Env):
    """A plant of which only the environment is known."""

    def __init__(self, problem):
        self.inner = PlantEnv(problem)
        self.observation_space, self.action_space = self.inner.observation_space, self.inner.action_space

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed)

    def step(self, action):
        return self.inner.step(action)


def problems():
    for name, plant in slow_grid.PLANTS.items():
        yield name, spaql.from_gym(plant(), horizon=slow_grid.HORIZON)
    for name, plant in (fresh_plants.PLANTS | fresh_plants2.PLANTS).items():
        if name not in ("dock", "tanks"):  # a constant action is about as good as what is found with so few samples
            yield name, spaql.from_gym(Foreign(plant()), horizon=plant().horizon)


def regulator_by_race(trials, seed, rng, floor, room):
    """The best of the regulators in a race of whole episodes."""
    laws, limit = classical.local_laws(trials, seed, rng), trials.limit
    ranked = raced(trials, laws, lambda at, count: seeds_of(seed, LAWS_CHOSEN, at, count), room) if laws else []
    trials.limit = limit
    return ranked[0].tree if ranked else None


def grid_by_race(trials, seed, grid, room):
    """The best laws of the grid in a race, without a look at the beginnings of episodes."""
    return raced(trials, grid, lambda at, count: seeds_of(seed, LAWS_CHOSEN, at, count), room)


RULES = {
    "laws near the best of the grid": ("neighbours", lambda *_: []),
    "looks at the grid": ("best_of_grid", grid_by_race),
    "gentle regulators first": ("best_regulator", regulator_by_race),
}


def earned(problem, seed, rule=None):
    with patch.object(slow, *RULES[rule]) if rule else contextlib.nullcontext():
        agent = spaql.Laws(problem, max_leaves=1, seed=seed)
        agent.learn(samples=SAMPLES, progress=False)
    return agent.evaluate(FRESH, seed=1).mean, agent.state.floor


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    seeds = range(FIRST_SEED, FIRST_SEED + parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    changes = {rule: [] for rule in RULES}
    for name, problem in problems():
        whole = [earned(problem, seed) for seed in seeds]
        gain = np.mean([mean - floor for mean, floor in whole])
        for rule, lost in changes.items():
            own = [100 * (earned(problem, seed, rule)[0] - mean) / gain for seed, (mean, _) in zip(seeds, whole, strict=True)]
            lost.append(np.mean(own))
            print(f"{name}, without {rule}: {lost[-1]:+.1f} %", flush=True)
    for rule, lost in changes.items():
        print(f"without {rule}: {np.mean(lost):+.1f} %, worst plant {min(lost):+.1f} %")


if __name__ == "__main__":
    main()
