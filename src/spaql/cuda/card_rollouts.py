"""Episodes of trees and laws on the card, one thread each, with the bits of the CPU."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from spaql.cuda.card import kernel_options, launched, opened
from spaql.cuda.card_text import Leaves, columns_of, kernel_of, leaves_of
from spaql.gp.model_plant import ModelPlant
from spaql.gp.scalar_form import card_form
from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import EPISODES, at_work, working
from spaql.plants.chart import HUGE
from spaql.plants.compile import function_of
from spaql.plants.plant import Plant
from spaql.plants.problem import Problem
from spaql.policy.evaluation import Evaluation
from spaql.training.lanes import bad_reward
from spaql.training.tally import ENDED, FIRST_LIMIT, counted, new_tally, no_tally
from spaql.trees.laws import NO_LAWS
from spaql.trees.tree import LEAF, Tree

AT_ONCE = 2**22  # episodes between two checks for Ctrl-C: several times what a card holds


def _table(forest: Tree, leaves: Leaves) -> Array:
    """A row per node, as the kernel takes it: one array, because every copy to the card takes its time.

    A test of one variable is one of a sum with a single weight 1: every thread does the same.
    """
    d, feature, laws = forest.variables, forest.nodes["feature"], forest.laws
    at, n = columns_of(d, leaves), len(forest.nodes)
    table = np.empty((n, at.end))
    table[:, :d], table[:, at.cut] = forest.weights, forest.nodes["cut"]
    plain = np.flatnonzero((feature != LEAF) & (feature < d))
    table[plain, :d] = np.eye(d)[feature[plain]]
    for side in ("low", "high"):
        table[:, getattr(at, side)] = np.where(feature == LEAF, -1.0, forest.nodes[side])
    table[:, at.gains : at.offsets] = 0.0 if laws is None else laws.gains.reshape(n, -1)
    table[:, at.offsets :] = forest.actions if laws is None else laws.offsets
    return table


def plant_for(problem: Problem) -> Plant:
    """The plant of a problem, if the card can run it."""
    if problem.plant is None:
        raise SpaqlError(
            f'{problem.name} is an environment in Python, which runs on the CPU only: leave out device="cuda"'
        )
    return card_form(problem.plant) if isinstance(problem.plant, ModelPlant) else problem.plant


@functools.cache
def _failing() -> Any:
    """The kernel that counts failed episodes, as `Evaluation.failed` does, and returns that are not finite.

    `fails`: 1 where an end is a failure, 0 where it is the goal, else -1.
    """
    lines = [
        "i = cuda.grid(1)",
        "if i >= len(rows):",
        "    return",
        f"if not abs(outcome[0, i]) <= {HUGE!r}:",
        "    cuda.atomic.add(failed, 1, 1)",
        f"bad = fails >= 0 and (rows[i, {ENDED}] != 0.0) == (fails == 1)",
        "for j in range(limits):",
        f"    bad = bad or rows[i, {FIRST_LIMIT} + 2 * j] > 0.0",
        "if bad:",
        "    cuda.atomic.add(failed, 0, 1)",
    ]
    cuda, head = opened(), "fail(outcome, rows, limits, fails, failed)"
    return cuda.jit(function_of({"cuda": cuda}, head, lines), **kernel_options())


class Batch(NamedTuple):
    """Episodes on the card, side by side."""

    first: int  # number of the first one
    outcome: Any  # (2, episodes) returns and lengths
    rows: Any  # of the tally


class CardRollouts:
    """Episodes on the plant of a problem, of trees of a kind.

    `watched`: a tally is kept; else returns are enough. `given`: the start and the streams of each episode are.
    """

    def __init__(self, problem: Problem, like: Tree, watched: bool, given: bool = False) -> None:
        if like.variables != len(problem.state):
            raise SpaqlError(f"the tree tests {like.variables} variables, {problem.name} has {len(problem.state)}")
        cuda, tally = opened(), new_tally(problem, 1) if watched else no_tally()
        self.problem, self.leaves = problem, leaves_of(like)
        self.blank = tuple(tally.rows.ravel().tolist())
        model = problem.plant.memory if isinstance(problem.plant, ModelPlant) else ()
        self.kernel = kernel_of(plant_for(problem), bool(model), self.leaves, self.blank, given)
        self.model = [cuda.to_device(array) for array in model]
        laws = NO_LAWS if like.laws is None else like.laws
        fixed = laws.low, laws.high, laws.values, tally.limits, tally.ranges
        self.fixed = [cuda.to_device(array) for array in fixed]
        self.outcome = cuda.device_array((2, 0))

    def run(
        self, forest: Tree, trees: int, episodes: int, keys: Array, plant_seed: int = 0, first: int = 0,
        starts: Array | None = None,
    ) -> Batch:  # fmt: skip
        """So many episodes of each tree: those of the keys, or, without keys, number `first` and on of a seed.

        `keys`: of the episodes, the same for all trees, or those of one tree behind those of the other.
        `forest`: trees with as many nodes each, one behind the other; children are counted from each tree's root.
        """
        cuda, count, size = opened(), trees * episodes, len(forest.nodes) // trees
        if self.outcome.shape[1] != count:
            self.outcome = cuda.device_array((2, count))
        rows = cuda.device_array((count, len(self.blank))) if self.blank else self.outcome
        nodes, at = cuda.to_device(_table(forest, self.leaves)), cuda.to_device(keys)
        launched(
            self.problem.name, self.kernel, count,
            nodes, *self.fixed, size, episodes, at, np.uint64(plant_seed), first, count, self.problem.horizon,
            self.outcome, rows, *([] if starts is None else [cuda.to_device(starts)]), *self.model,
        )  # fmt: skip
        return Batch(first, self.outcome, rows)


def returns_on_card(
    rollouts: CardRollouts, forest: Tree, trees: int, episodes: int, keys: Array
) -> tuple[Array, Array]:
    """(trees, episodes) the return of each episode of each tree, and its steps. `forest`, `keys`: see `run`."""
    returns, lengths = rollouts.run(forest, trees, episodes, keys).outcome.copy_to_host()
    return returns.reshape(trees, -1), lengths.reshape(trees, -1)


def given_on_card(rollouts: CardRollouts, tree: Tree, starts: Array, blocks: Array) -> tuple[Array, Array]:
    """The return and the tally of episodes with these starts and streams: see `training.lanes.Episodes`."""
    batch = rollouts.run(tree, 1, len(starts), blocks, starts=starts)
    return batch.outcome.copy_to_host()[0], batch.rows.copy_to_host()


def _fresh(problem: Problem, tree: Tree, episodes: int, seed: int) -> Iterator[Batch]:
    """The episodes of `Policy.evaluate`, `AT_ONCE` at a time."""
    rollouts, no_keys = CardRollouts(problem, tree, watched=True), np.zeros(0, np.uint64)
    plant_seed = int(streams.plant_seed(seed, streams.FRESH_PLANT, 0))
    for first in range(0, episodes, AT_ONCE):
        at_work(EPISODES, first, episodes)
        yield rollouts.run(tree, 1, min(AT_ONCE, episodes - first), no_keys, plant_seed, first)


@working(EPISODES)
def evaluated_on_card(problem: Problem, tree: Tree, episodes: int, seed: int) -> Evaluation:
    """`training.closed_loop.evaluated` with the card: the same episodes."""
    tally, returns, steps = new_tally(problem, episodes), np.empty(episodes), 0
    for batch in _fresh(problem, tree, episodes, seed):
        some, lengths = batch.outcome.copy_to_host()
        here = slice(batch.first, batch.first + len(some))
        returns[here], tally.rows[here] = some, batch.rows.copy_to_host()
        steps += int(lengths.sum())
    bad = np.flatnonzero(~(np.abs(returns) <= HUGE))
    if len(bad):
        raise bad_reward(problem, f"rollout {int(bad[0])}")
    return counted(problem, returns, steps, tally, seed)


@working(EPISODES)
def failures_on_card(problem: Problem, tree: Tree, episodes: int, seed: int) -> int:
    """How many episodes of `Policy.evaluate` fail: all that a certificate needs, of as many as time allows."""
    failed = opened().to_device(np.zeros(2, np.int64))
    fails = {"failure": 1, "success": 0}.get(problem.ends, -1)
    for batch in _fresh(problem, tree, episodes, seed):
        watched = batch.outcome, batch.rows, len(problem.limits), fails, failed
        launched(problem.name, _failing(), len(batch.rows), *watched)
    count, bad = failed.copy_to_host().tolist()
    if bad:
        raise bad_reward(problem, f"in {bad:,} of {episodes:,} episodes")
    return int(count)
