"""How much each number of a controller may be changed before the return falls: which digits matter, and which do not.

One number at a time, all others as they are; on the same fresh episodes, so that the answer has no noise of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.plants.problem import Finite
from spaql.trees.laws import SCORES, THRESHOLD
from spaql.trees.tree import LEAF, Tree

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

EPISODES = 200
IN_PYTHON = 5  # the same, in an environment that is not compiled
FIRST = 0.005  # of a number: the smallest change tried
MOST = 10.0  # times a number: the largest
HALVINGS = 5  # between the last change that was harmless and the first that was not


class Number(NamedTuple):
    """A number that a reader sees."""

    place: str  # "test 1", "law 2, torque"
    name: str  # the variable it weighs, "cut" or "constant"
    value: float
    changed: Callable[[float], Tree]  # the tree with another value


@working("changing one number after the other")
def tolerance_table(policy: "Policy", fall: float, episodes: int | None, seed: int) -> Any:
    """See `Policy.tolerance`."""
    import pandas as pd

    if not policy.problem.can_run:
        raise SpaqlError(f"{policy.problem.name} has no plant to try other numbers on")
    count = (EPISODES if policy.problem.plant is not None else IN_PYTHON) if episodes is None else episodes
    samples = 0

    def mean(tree: Tree) -> float:
        nonlocal samples
        found = replace(policy, rules=tree).evaluate(count, seed)
        samples += found.samples
        return found.mean

    now = mean(policy.rules)
    least = now - fall * abs(now)
    rows = []
    for number in numbers_of(policy):
        down, up = (_reach(number, sign, lambda tree: mean(tree) >= least) for sign in (-1.0, 1.0))
        size = abs(number.value)
        rows.append((number.place, number.name, number.value, number.value - down * size, number.value + up * size))
    columns = ["place", "number", "value", "from", "to"]
    table = pd.DataFrame(rows, columns=columns)
    table.attrs |= {"return": now, "least": least, "episodes": count, "seed": seed, "samples": samples}
    return table


def _reach(number: Number, sign: float, harmless: Callable[[Tree], bool]) -> float:
    """The largest harmless change in one direction, as a part of the number; infinite if none was found to do harm."""
    size, good, change = abs(number.value), 0.0, FIRST
    while harmless(number.changed(number.value + sign * change * size)):
        good, change = change, 2.0 * change
        if change > MOST:
            return float("inf")
    bad = change
    for _ in range(HALVINGS):
        middle = 0.5 * (good + bad)
        if harmless(number.changed(number.value + sign * middle * size)):
            good = middle
        else:
            bad = middle
    return good


def numbers_of(policy: "Policy") -> Iterator[Number]:
    """Tests from the root on, then leaves from left to right."""
    tree, words = policy.rules, policy.words
    tests = [node for node in range(len(tree.nodes)) if tree.nodes["feature"][node] != LEAF]
    for count, node in enumerate(tests, 1):
        place = f"test {count}: {words.test(node)}"
        for j, weight in enumerate(tree.weights[node].tolist()):
            if weight != 0.0 and tree.nodes["feature"][node] == tree.variables:
                yield Number(place, words.names[j], weight, _setter(tree, "weights", (node, j)))
        if tree.nodes["cut"][node] != 0.0:
            yield Number(place, "cut", float(tree.nodes["cut"][node]), _setter(tree, "cut", (node,)))
    for count, node in enumerate(words.regions, 1):
        yield from _numbers_of_leaf(policy, count, node)


def _numbers_of_leaf(policy: "Policy", count: int, leaf: int) -> Iterator[Number]:
    tree, words, laws = policy.rules, policy.words, policy.rules.laws
    actions = policy.problem.actions
    if laws is None and isinstance(actions, Finite):
        return  # between finite actions there is nothing
    if laws is None:
        for axis, name in enumerate(words.action_names):
            value, low, high = float(tree.actions[leaf, axis]), actions.bounds[0][axis], actions.bounds[1][axis]
            moved = _setter(tree, "actions", (leaf, axis))
            if value != 0.0:
                within = partial(_within, moved, float(low), float(high))
                yield Number(f"leaf {count}", name, value, within)
        return
    for output in range(laws.outputs):
        scored = laws.kind == SCORES
        of = f"score of {words.applied_value(0, float(laws.values[output]))}" if scored else words.action_names[output]
        place = f"law {count}: {of}"
        for j, gain in enumerate(laws.gains[leaf, output].tolist()):
            if gain != 0.0:
                yield Number(place, words.names[j], gain, _setter(tree, "gains", (leaf, output, j)))
        offset = float(laws.offsets[leaf, output])
        if offset != 0.0 and laws.kind == THRESHOLD:  # printed as what the sum is compared with
            moved = _setter(tree, "offsets", (leaf, output))
            yield Number(place, "cut", -offset, partial(_negated, moved))
        elif offset != 0.0:
            yield Number(place, "constant", offset, _setter(tree, "offsets", (leaf, output)))


def _within(changed: Callable[[float], Tree], low: float, high: float, value: float) -> Tree:
    return changed(min(max(value, low), high))


def _negated(changed: Callable[[float], Tree], value: float) -> Tree:
    return changed(-value)


def _setter(tree: Tree, part: str, at: tuple[int, ...]) -> Callable[[float], Tree]:
    """The tree with another number at a place in one of its arrays."""

    def changed(value: float) -> Tree:
        nodes, actions, weights, laws = tree.nodes, tree.actions, tree.weights, tree.laws
        if part == "cut":
            nodes = nodes.copy()
            nodes["cut"][at[0]] = value
        elif part == "actions":
            actions = actions.copy()
            actions[at] = value
        elif part == "weights":
            weights = weights.copy()
            weights[at] = value
        else:
            assert laws is not None
            gains, offsets = laws.gains.copy(), laws.offsets.copy()
            (gains if part == "gains" else offsets)[at] = value
            laws = laws._replace(gains=gains, offsets=offsets)
        return Tree(nodes, actions, weights, laws)

    return changed
