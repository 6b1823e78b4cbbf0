"""The kernel of a plant and a kind of trees, put together as text.

A local variable for every number, so that they stay in registers. What it does is what `training.lanes` and
`training.tree_rollouts` do: the same streams, functions and order of sums, hence the same bits.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spaql.cuda.card import kernel_options, opened, translated
from spaql.ground import streams
from spaql.plants.compile import function_of, listed, names, scalar
from spaql.plants.plant import Plant
from spaql.training.tally import Tally, count_step
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD
from spaql.trees.tree import Tree

CONSTANT = -1  # kind of leaves that are no laws
MODEL = ("M", "S")  # numbers of a learned model, of double and of single precision
HEAD = (
    "roll(nodes, low, high, values, limits, ranges, size, each, keys, plant_seed, first, count, horizon, "
    "outcome, rows{})"
)


class Leaves(NamedTuple):
    """What a kernel must know of the trees: their numbers come with each call."""

    kind: int  # of laws, or CONSTANT
    outputs: int  # scores of a law, or axes of a constant action


def leaves_of(tree: Tree) -> Leaves:
    return Leaves(CONSTANT, tree.actions.shape[1]) if tree.laws is None else Leaves(tree.laws.kind, tree.laws.outputs)


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


def _text(plant: Plant, learned: bool, leaves: Leaves, blank: Sequence[float], given: bool) -> list[str]:
    """`blank`: a row of the tally before an episode; empty where only returns are kept.

    `learned`: the functions of the plant take the numbers of a model first.
    `given`: each episode has the numbers of its start, and `keys` a stream for each of its equal parts.
    """
    model, noise = listed(MODEL) if learned else "", _uniforms(plant.step_noise, "drawn")
    state, seen = names("s", plant.state_dim), names("x", plant.observation_dim)
    actions = names("a", plant.action_dim)
    look = f"look({listed(state)})" if plant.observe else listed(state)
    value, at = _sum(0, seen), columns_of(len(seen), leaves)
    table = [f"table[{j}, 0] = {name}" for j, name in enumerate([*seen, *actions])]
    start = "".join(f"starts[i, {c}], " for c in range(plant.reset_noise))
    start = start if given else _uniforms(plant.reset_noise, "0")
    counting = [
        *(f"    {line}" for line in table),
        f"    count_step(tally, 0, table, 0, 0, {len(seen)}, reward, done)",
    ]
    return [
        "i = cuda.grid(1)",
        "if i >= count:",
        "    return",
        *(["root = 0", "part = (horizon + keys.shape[1] - 1) // keys.shape[1]"] if given else [
            "if len(keys) > 0:",
            "    key = keys[i % len(keys)]",
            "    root = size * (i // each)",
            "else:",
            "    key = derive(plant_seed, first + i)",
            "    root = 0",
        ]),
        *([
            f"row = cuda.local.array((1, {len(blank)}), float64)",
            f"table = cuda.local.array(({len(seen) + len(actions)}, 1), float64)",
            *(f"row[0, {c}] = {number}" for c, number in enumerate(blank)),
            "tally = Tally(row, limits, ranges)",
        ] if blank else []),
        f"{listed(state)} = reset({model}{start})",
        "total, length = 0.0, 0",
        "for h in range(horizon):",
        f"    {listed(seen)} = {look}",  # beside the step: what both compute of the state is computed once
        *(["    key = keys[i, h // part]"] if given else []),
        "    here = root",
        f"    while nodes[here, {at.low}] >= 0.0:",
        f"        side = {at.high} if {value} >= nodes[here, {at.cut}] else {at.low}",
        "        here = root + int(nodes[here, side])",
        *(f"    {line}" for line in _acting(leaves, seen, actions)),
        f"    drawn = {plant.reset_noise} + h * {plant.step_noise}",
        f"    ({listed(state)}), reward, done = step({model}{listed(state, actions)}{noise})",
        *([f"    {listed(seen)} = {look}", *counting] if blank else []),
        "    total += reward",
        "    length += 1",
        "    if done:",
        "        break",
        "outcome[0, i], outcome[1, i] = total, length",
        *(f"rows[i, {c}] = row[0, {c}]" for c in range(len(blank))),
    ]  # fmt: skip


_kernels: dict[Any, Any] = {}


def kernel_of(plant: Plant, learned: bool, leaves: Leaves, blank: tuple[float, ...], given: bool) -> Any:
    """The kernel of a plant for trees of a kind. `learned`, `blank`, `given`: see `_text`."""
    key = plant.reset.python, plant.step.python, plant.observe and plant.observe.python, leaves, blank, given
    if key not in _kernels:
        cuda = opened()
        parts = {"reset": plant.reset, "step": plant.step} | ({"look": plant.observe} if plant.observe else {})
        scope: dict[str, Any] = {name: translated(scalar(part.python)) for name, part in parts.items()}
        ours = {"uniform": streams.uniform, "derive": streams.derive, "count_step": count_step}
        scope |= {name: translated(function) for name, function in ours.items()}
        scope |= {"cuda": cuda, "float64": np.float64, "inf": np.inf, "Tally": Tally}
        more = [*(["starts"] if given else []), *(MODEL if learned else [])]
        head = HEAD.format("".join(f", {name}" for name in more))
        text = _text(plant, learned, leaves, blank, given)
        _kernels[key] = cuda.jit(function_of(scope, head, text), **kernel_options())
    return _kernels[key]
