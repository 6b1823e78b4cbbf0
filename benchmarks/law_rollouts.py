"""Rollouts of law trees against the bare plant, and the CPU seconds of a search: ratios taken in one run.

    python benchmarks/law_rollouts.py

Bare plant: the compiled equations in lock-step with a constant action, 128 episodes side by side, no controller. Both
run the same number of steps in turn, five times; the best of each counts.

Second table: a population of 26 trees side by side, against one tree after the other, in a model learned from 160 samples
of the swing-up (`Trials.returns_of`).
"""

import time
import warnings

import numpy as np

import spaql
from spaql.gp.learned_problem import imagined, model_of, starts_of
from spaql.ground.compiling import kernel
from spaql.ground.streams import LAWS_REST
from spaql.laws.proposals import Proposals
from spaql.laws.trials import Trials, seeds_of
from spaql.laws.vector import declared_units
from spaql.plants.plant import LANES
from spaql.training.lanes import new_lanes, stage_of

PROBLEMS = ("pendulum", "cartpole-swing-up", "mountain-car-continuous", "acrobot")
LEAVES = (1, 2, 4, 8)
EPISODES = 8 * LANES
ROUNDS = 5
POPULATION = 26
FEW = (6, 12, 24, 64)  # episodes of a tree
FUNCTIONS = 6


@kernel
def bare(reset, step, lanes, steps, width):
    """The plant alone."""
    reset(lanes.flat, width)
    for _ in range(steps):
        step(lanes.flat, width)


def rate(function, steps):
    """Steps per second, the best of a few."""
    best = 0.0
    for _ in range(ROUNDS):
        begin = time.process_time()
        done = function()
        best = max(best, (steps if done is None else done) / (time.process_time() - begin))
    return best


def measure(name):
    problem = spaql.make(name)
    trials, lanes = Trials(problem), new_lanes(problem.plant)
    stage, seeds = stage_of(problem.plant, problem.horizon), seeds_of(0, LAWS_REST, 0, EPISODES)
    (reset, step), count = problem.plant.batch, EPISODES // LANES * problem.horizon
    lanes.table[stage.rows.noise :] = 0.5
    bare(reset, step, lanes, 1, LANES)
    alone = rate(lambda: bare(reset, step, lanes, count, LANES), count * LANES)
    shares = []
    for leaves in LEAVES:
        units = declared_units(problem)
        proposals = Proposals(problem, units.live, np.random.default_rng(1))
        states = units.of(trials.watched(units.physical(proposals.leaf(1.0)), seeds[:16], 500)[1])
        tree = units.physical(proposals.tree(leaves, states))

        def run(tree=tree):
            before = trials.samples
            trials.returns(tree, seeds)
            return trials.samples - before

        run()
        shares.append(rate(run, 0) / alone)
    print(f"| {name} | {alone / 1e6:.1f} M | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)


def population():
    """Rates of a population side by side over those of its trees in turn."""
    warnings.simplefilter("ignore")
    agent = spaql.Atlas(spaql.make("cartpole-swing-up"), controller="laws")
    agent.learn(samples=160)
    problem, data, rng = agent.problem_told, agent.state.memory.data(160), np.random.default_rng(1)
    starts = starts_of(problem, data, rng)
    at = rng.normal(size=(60, data.states.shape[1] + data.actions.shape[1]))
    learned = imagined(problem, model_of(problem, data), data, starts, rng, FUNCTIONS, at)
    trees, trials, ratios = [agent.policy().rules] * POPULATION, Trials(learned), []
    for episodes in FEW:
        seeds, rates = seeds_of(0, LAWS_REST, 0, episodes), []
        for together in (True, False):
            trials.together = together
            trials.returns_of(trees, seeds)
            rates.append(rate(lambda seeds=seeds: trials.returns_of(trees, seeds).size, 0))  # episodes per second
        ratios.append(rates[0] / rates[1])
    print("| " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")


if __name__ == "__main__":
    print("| problem | bare plant, steps/s | " + " | ".join(f"{leaves} laws" for leaves in LEAVES) + " |")
    print("|---|---|" + "---|" * len(LEAVES))
    for problem in PROBLEMS:
        measure(problem)
    print("\n| " + " | ".join(f"{episodes} episodes per tree" for episodes in FEW) + " |\n|" + "---|" * len(FEW))
    population()
