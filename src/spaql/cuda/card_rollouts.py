"""Episodes of trees and laws on the card, one thread each.

The kernel of a plant is put together as text, with a local variable for every number, so that they stay in registers.
What it does is what `training.lanes` and `training.tree_rollouts` do: the same streams, functions and order of sums,
hence the same bits.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spaql.cuda.card import kernel_options, launched, opened, translated
from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import EPISODES, at_work, working
from spaql.plants.chart import HUGE
from spaql.plants.compile import function_of, listed, names, scalar
from spaql.plants.plant import Plant
from spaql.plants.problem import Problem
from spaql.policy.evaluation import Evaluation
from spaql.training.lanes import bad_reward
from spaql.training.tally import ENDED, FIRST_LIMIT, Tally, count_step, counted, new_tally, no_tally
from spaql.trees.laws import CLIP, NO_LAWS, ORDERED, SCORES, THRESHOLD
from spaql.trees.tree import LEAF, Tree

AT_ONCE = 2**22  # episodes between two checks for Ctrl-C: several times what a card holds
CONSTANT = -1  # kind of leaves that are no laws
HEAD = (
    "roll(nodes, low, high, values, limits, ranges, size, each, keys, plant_seed, first, count, horizon, outcome, rows)"
)


class Leaves(NamedTuple):
    """What a kernel must know of the trees: their numbers come with each call."""

    kind: int  # of laws, or CONSTANT
    outputs: int  # scores of a law, or axes of a constant action


def leaves_of(tree: Tree) -> Leaves:
    return Leaves(CONSTANT, tree.actions.shape[1]) if tree.laws is None else Leaves(tree.laws.kind, tree.laws.outputs)


# -- the text of a kernel ----------------------------------------------------------------------------------------------

class NodeColumns(NamedTuple):
    """Where the numbers of a node stand in its row."""

    cut: int  # behind the weights of its test
    low: int  # its children; -1 in a leaf
    high: int
    gains: int
    offsets: int
    end: int


def columns_of(variables: int, leaves: Leaves) -> NodeColumns:
    gains = 0 if leaves.kind == CONSTANT else leaves.outputs * variables
    first = variables + 3
    return NodeColumns(variables, variables + 1, variables + 2, first, first + gains, first + gains + leaves.outputs)


def _sum(first: int, seen: Sequence[str]) -> str:
    return " + ".join(f"nodes[here, {first + j}] * {name}" for j, name in enumerate(seen))


def _acting(leaves: Leaves, seen: Sequence[str], actions: Sequence[str]) -> list[str]:
    """`trees.laws.apply_law`, line by line."""
    at = columns_of(len(seen), leaves)
    offsets = [f"nodes[here, {at.offsets + k}]" for k in range(leaves.outputs)]
    if leaves.kind == CONSTANT:
        return [f"{name} = {offset}" for name, offset in zip(actions, offsets, strict=True)]
    scores = [f"({_sum(at.gains + k * len(seen), seen)}) + {offset}" for k, offset in enumerate(offsets)]
    if leaves.kind == CLIP:
        return [f"{actions[k]} = min(max({score}, low[{k}]), high[{k}])" for k, score in enumerate(scores)]
    if leaves.kind == THRESHOLD:
        return [f"{actions[0]} = values[len(values) - 1] if {scores[0]} >= 0.0 else values[0]"]
    if leaves.kind == ORDERED:
        return [f"{actions[0]} = values[int(min(max({scores[0]}, low[0]), high[0]) + 0.5)]"]
    assert leaves.kind == SCORES
    lines = [f"best, chosen = {scores[0]}, 0"]
    for k, score in enumerate(scores[1:], 1):
        lines += [f"score = {score}", f"chosen = {k} if score > best else chosen", "best = max(best, score)"]
    return [*lines, f"{actions[0]} = values[chosen]"]


def _uniforms(count: int, first: str) -> str:
    return "".join(f"uniform(key, {first} + {c}), " for c in range(count))


def _text(plant: Plant, leaves: Leaves, blank: Sequence[float]) -> list[str]:
    """`blank`: a row of the tally before an episode; empty where only returns are kept."""
    state, seen = names("s", plant.state_dim), names("x", plant.observation_dim)
    actions = names("a", plant.action_dim)
    look = f"look({listed(state)})" if plant.observe else listed(state)
    value, at = _sum(0, seen), columns_of(len(seen), leaves)
    table = [f"table[{j}, 0] = {name}" for j, name in enumerate([*seen, *actions])]
    counting = [
        *(f"    {line}" for line in table),
        f"    count_step(tally, 0, table, 0, 0, {len(seen)}, reward, done)",
    ]
    return [
        "i = cuda.grid(1)",
        "if i >= count:",
        "    return",
        "if len(keys) > 0:",
        "    key = keys[i % len(keys)]",
        "    root = size * (i // each)",
        "else:",
        "    key = derive(plant_seed, first + i)",
        "    root = 0",
        *([
            f"row = cuda.local.array((1, {len(blank)}), float64)",
            f"table = cuda.local.array(({len(seen) + len(actions)}, 1), float64)",
            *(f"row[0, {c}] = {number}" for c, number in enumerate(blank)),
            "tally = Tally(row, limits, ranges)",
        ] if blank else []),
        f"{listed(state)} = reset({_uniforms(plant.reset_noise, '0')})",
        "total, length = 0.0, 0",
        "for h in range(horizon):",
        f"    {listed(seen)} = {look}",  # beside the step: what both compute of the state is computed once
        "    here = root",
        f"    while nodes[here, {at.low}] >= 0.0:",
        f"        side = {at.high} if {value} >= nodes[here, {at.cut}] else {at.low}",
        "        here = root + int(nodes[here, side])",
        *(f"    {line}" for line in _acting(leaves, seen, actions)),
        f"    drawn = {plant.reset_noise} + h * {plant.step_noise}",
        f"    ({listed(state)}), reward, done = step({listed(state, actions)}{_uniforms(plant.step_noise, 'drawn')})",
        *([f"    {listed(seen)} = {look}", *counting] if blank else []),
        "    total += reward",
        "    length += 1",
        "    if done:",
        "        break",
        "outcome[0, i], outcome[1, i] = total, length",
        *(f"rows[i, {c}] = row[0, {c}]" for c in range(len(blank))),
    ]  # fmt: skip


_kernels: dict[Any, Any] = {}


def kernel_of(plant: Plant, leaves: Leaves, blank: tuple[float, ...]) -> Any:
    """The kernel of a plant for trees of a kind. `blank`: see `_text`."""
    key = plant.reset.python, plant.step.python, plant.observe and plant.observe.python, leaves, blank
    if key not in _kernels:
        cuda = opened()
        parts = {"reset": plant.reset, "step": plant.step} | ({"look": plant.observe} if plant.observe else {})
        scope: dict[str, Any] = {name: translated(scalar(part.python)) for name, part in parts.items()}
        ours = {"uniform": streams.uniform, "derive": streams.derive, "count_step": count_step}
        scope |= {name: translated(function) for name, function in ours.items()}
        scope |= {"cuda": cuda, "float64": np.float64, "inf": np.inf, "Tally": Tally}
        _kernels[key] = cuda.jit(function_of(scope, HEAD, _text(plant, leaves, blank)), **kernel_options())
    return _kernels[key]


# -- the numbers of trees, and calls -----------------------------------------------------------------------------------

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
    if problem.plant is None or problem.plant.costly:
        what = "an environment in Python" if problem.plant is None else "a learned plant"
        raise SpaqlError(f'{problem.name} is {what}, which runs on the CPU only: leave out device="cuda"')
    return problem.plant


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
    """Episodes on the plant of a problem, of trees of a kind. `watched`: a tally is kept; else returns are enough."""

    def __init__(self, problem: Problem, like: Tree, watched: bool) -> None:
        if like.variables != len(problem.state):
            raise SpaqlError(f"the tree tests {like.variables} variables, {problem.name} has {len(problem.state)}")
        cuda, tally = opened(), new_tally(problem, 1) if watched else no_tally()
        self.problem, self.leaves = problem, leaves_of(like)
        self.blank = tuple(tally.rows.ravel().tolist())
        self.kernel = kernel_of(plant_for(problem), self.leaves, self.blank)
        laws = NO_LAWS if like.laws is None else like.laws
        fixed = laws.low, laws.high, laws.values, tally.limits, tally.ranges
        self.fixed = [cuda.to_device(array) for array in fixed]
        self.outcome = cuda.device_array((2, 0))

    def run(
        self, forest: Tree, trees: int, episodes: int, keys: Array, plant_seed: int = 0, first: int = 0
    ) -> Batch:
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
            self.outcome, rows,
        )  # fmt: skip
        return Batch(first, self.outcome, rows)


def returns_on_card(
    rollouts: CardRollouts, forest: Tree, trees: int, episodes: int, keys: Array
) -> tuple[Array, Array]:
    """(trees, episodes) the return of each episode of each tree, and its steps. `forest`, `keys`: see `run`."""
    returns, lengths = rollouts.run(forest, trees, episodes, keys).outcome.copy_to_host()
    return returns.reshape(trees, -1), lengths.reshape(trees, -1)


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
