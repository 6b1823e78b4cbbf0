"""What a card is worth: steps per second of laws, beside the same on one core of the CPU, and the same bits."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from spaql.cuda.card import card_name
from spaql.cuda.card_rollouts import AT_ONCE, CardRollouts, evaluated_on_card
from spaql.ground.streams import LAWS_REST
from spaql.plants.make import make_from_catalog
from spaql.plants.problem import Problem
from spaql.policy.outputs import kinds_of, leaf
from spaql.training.closed_loop import evaluated
from spaql.trees.edits import split_law
from spaql.trees.tree import Tree

# Two laws each, gains first and the offset last, and the test between them: such as a search finds.
LAWS: dict[str, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]] = {
    "pendulum": ((13.0, -7.0, -3.0, -12.0), (-24.0, -13.0, -5.0, 22.0), (0.0, 1.5, 1.0, 0.0)),
    "cartpole-500": ((0.1, 0.3, 3.0, 0.6, 0.0), (0.1, 0.3, 3.0, 0.5, 0.0), (0.0, 0.0, 1.0, 0.0, 0.0)),
    "mountain-car": ((-20.0, 1000.0, -8.0), (20.0, 100.0, 7.0), (1.0, 0.0, -0.43)),
    "mountain-car-continuous": ((0.0, 50.0, 0.0), (0.0, 40.0, 0.0), (1.0, 0.0, -0.5)),
    "acrobot": ((0.0, 0.0, 0.0, 0.5, 0.1, 1.0, 0.0), (0.0, 0.0, 0.0, 0.5, 0.2, 1.0, 0.0), (0.0,) * 5 + (1.0, 0.0)),
    "cartpole-swing-up": ((-3.0, -2.0, 4.0, 5.0, 2.0, 0.0), (2.0, 3.0, -9.0, 30.0, 6.0, 0.0), (0.0,) * 4 + (1.0, 0.5)),
}  # fmt: skip
ROUNDS = 3  # the best counts
COMPARED_EPISODES = 20_000


def tree_of(problem: Problem) -> Tree:
    """The laws of LAWS."""
    low, high, (*weights, cut) = LAWS[problem.name]
    sides = [(np.array([law[:-1]]), np.array([law[-1]])) for law in (low, high)]
    law = leaf(problem.actions, *sides[0], kinds_of(problem.actions)[0])
    return split_law(law, 0, np.array(weights), cut, *sides)


def measured(name: str) -> dict[str, Any]:
    """Of one plant: billions of steps per second on the card, millions on one core, whether the bits are the same."""
    problem = make_from_catalog(name, {})
    tree, no_keys = tree_of(problem), np.zeros(0, np.uint64)
    begin = time.perf_counter()
    rollouts = CardRollouts(problem, tree, watched=False)
    rollouts.run(tree, 1, 1, no_keys, LAWS_REST)
    compiled, card = time.perf_counter() - begin, 0.0
    for turn in range(ROUNDS):
        begin = time.perf_counter()
        batch = rollouts.run(tree, 1, AT_ONCE, no_keys, LAWS_REST, turn * AT_ONCE)
        wall = time.perf_counter() - begin
        card = max(card, float(batch.outcome.copy_to_host()[1].sum()) / wall)
    evaluated(problem, tree, 1, 0)  # compiles
    begin = time.process_time()
    ours = evaluated(problem, tree, COMPARED_EPISODES, 0)
    core = ours.samples / (time.process_time() - begin)
    theirs = evaluated_on_card(problem, tree, COMPARED_EPISODES, 0)
    same = np.array_equal(ours.returns, theirs.returns) and np.array_equal(ours.effort, theirs.effort)
    return {"card": card, "core": core, "compiled": compiled, "same": bool(same)}


def measure_card(say: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Of all plants of LAWS."""
    figures: dict[str, Any] = {"device": card_name(), "problems": {}}
    for name in LAWS:
        if say is not None:
            say(f"{name} on {figures['device']}")
        figures["problems"][name] = measured(name)
    return figures
