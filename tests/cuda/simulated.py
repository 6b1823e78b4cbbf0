"""Run with NUMBA_ENABLE_CUDASIM=1: prints what Numba's simulator of a card gives beside the CPU, as JSON."""

import json
from dataclasses import fields, replace

import numpy as np

import spaql
from spaql.gp.learned_problem import imagined, starts_of
from spaql.laws.card_trials import CardTrials
from spaql.laws.lock_step import MIN_SPREAD, Course, side_by_side
from spaql.laws.search import Search
from spaql.laws.trials import Trials, seeds_of
from spaql.laws.vector import all_free, declared_units, numbers_of, population, with_numbers
from spaql.learners.atlas.atlas_controller import model_at, told_problem
from spaql.policy.outputs import kinds_of, leaf
from spaql.policy.policy import Policy
from spaql.trees.edits import constant, split, split_law
from spaql.trees.laws import SCORES

rng, told = np.random.default_rng(0), {}


def law_of(problem, kind):
    d, outputs = len(problem.state), len(problem.actions.values) if kind == SCORES else problem.actions.axes
    return rng.normal(size=(outputs, d)), rng.normal(size=outputs)


def two_laws(problem, kind):
    tree = leaf(problem.actions, *law_of(problem, kind), kind)
    return split_law(tree, 0, rng.normal(size=len(problem.state)), 0.1, law_of(problem, kind), law_of(problem, kind))


def two_actions(problem):
    low, high = (np.array(end) for end in problem.actions.bounds)
    weights = np.eye(len(problem.state))[0]
    return split(constant(len(problem.state), low), 0, weights, 0.0, low, high)


def same(problem, tree):
    policy = Policy(problem, tree, "law tree", "")
    card, cpu = policy.evaluate(3, 5, device="cuda"), policy.evaluate(3, 5)
    pairs = [(getattr(card, part.name), getattr(cpu, part.name)) for part in fields(cpu)]
    return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)


for name in ("pendulum", "cartpole", "mountain-car", "acrobot", "cartpole-swing-up"):
    problem = spaql.make(name, horizon=6)
    told[f"{name}: constant actions"] = same(problem, two_actions(problem))
    for kind in kinds_of(problem.actions):
        told[f"{name}: laws of kind {kind}"] = same(problem, two_laws(problem, kind))

noisy = spaql.make(
    "pendulum", horizon=6, m=spaql.Between(0.8, 1.2), process_noise={"velocity": 0.1},
    observation_noise={"velocity": 0.1}, limits=[spaql.Limit("velocity", -1.0, 1.0)],
)  # fmt: skip
told["noise, random parameters, limits"] = same(noisy, two_laws(noisy, 0))
looped = spaql.loop(spaql.make("pendulum", horizon=6), delay={"actuator": 1}, rates=20.0)
told["a loop with a delay and a rate"] = same(looped, two_laws(looped, 0))

policy = Policy(noisy, two_laws(noisy, 0), "law tree", "")
card, cpu = (policy.certify(7, 3, date="2026-01-31", device=device).certificate for device in ("cuda", "cpu"))
told["certificates"] = card == cpu

for by in ("return", "limits"):
    cpu, card = (policy.falsify(60, 2, by=by, fresh=7, device=device) for device in ("cpu", "cuda"))
    told[f"the worst episode by {by}"] = (cpu.total, cpu.start, cpu.excess) == (card.total, card.start, card.excess)

trials, problem = Trials(spaql.make("pendulum", horizon=6)), spaql.make("pendulum", horizon=6)
tree = two_laws(problem, 0)
free = all_free(tree, np.ones(3, bool))
vectors = numbers_of(tree, free) + rng.normal(size=(3, len(numbers_of(tree, free))))
seeds = seeds_of(0, 21, 0, 4)
own = np.array([trials.returns(with_numbers(tree, free, row), seeds) for row in vectors])
on_card = CardTrials(problem)
told["a population at once"] = np.array_equal(own, on_card.returns_in(population(tree, free, vectors), 3, seeds))
told["steps are counted"] = on_card.samples == trials.samples


def searched(advance):
    """Four candidates of two shapes, of which the second has ended; with hard starts."""
    trials = CardTrials(spaql.make("cartpole", horizon=2), left=10**6)
    search = Search(trials, declared_units(trials.problem), 3, 1, 0.01)
    shapes = [search.proposals.tree(leaves, rng_states) for leaves in (1, 2, 1, 1)]
    tasks = [search.task(tree, 0) for tree in shapes]
    tasks[1].optimiser.sigma = 0.1 * MIN_SPREAD / tasks[1].optimiser.spread
    search.hard_of = lambda seeds, returns: seeds[:2]
    tasks = list(advance(search, tasks, Course(2, 1, True)))
    means = [task.optimiser.mean.tolist() for task in tasks]
    return means, search.rng.bit_generator.state["state"], search.clock, trials.samples, [t.optimiser.spread for t in tasks]


def in_turn(search, tasks, course):
    for task in tasks:
        search.advance(task, *course)
        yield task




def learned(name, use_known):
    """A model with three functions, of forty random steps."""
    problem, acting = spaql.make(name), np.random.default_rng(1)
    agent, env = spaql.Atlas(problem, use_known=use_known), problem.open_env()
    before = env.reset(seed=0)[0]
    for _ in range(40):
        action = problem.native_one()(problem.actions.some(5, 5)[acting.integers(2)])
        after, reward, terminated, *_ = env.step(action)
        agent.update(before, action, reward, after, terminated)
        before = env.reset()[0] if terminated else after
    problem, data = told_problem(agent), agent.state.memory.data(40)
    at = rng.normal(size=(9, data.states.shape[1] + 1))
    drawn = imagined(problem, model_at(agent, 40), data, starts_of(problem, data, rng), rng, 3, at)
    return replace(drawn, horizon=4)


for name, use_known in (("pendulum", False), ("cartpole", False), ("cartpole", True)):
    problem = learned(name, use_known)
    told[f"a model of {name}, reward known: {use_known}"] = same(problem, two_laws(problem, kinds_of(problem.actions)[0]))

rng_states = rng.normal(size=(50, 4))
together, alone = searched(lambda search, *rest: side_by_side(search, search.trials, *rest)), searched(in_turn)
told["candidates side by side"] = together == alone
told["although one ends early"] = together[4][1] < MIN_SPREAD

laws = []
for device in ("cpu", "cuda"):
    agent = spaql.Laws(spaql.make("pendulum", horizon=5), max_leaves=1, effort=0.02, seed=3, device=device)
    agent.learn(samples=1200, progress=False)
    laws.append((agent.state.outer.tolist()[:2], agent.policy().evaluate(20, 1).mean))
told["a search"] = laws[0] == laws[1]

print(json.dumps({name: bool(value) for name, value in told.items()}))
