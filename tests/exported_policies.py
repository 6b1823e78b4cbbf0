"""The policies that the tests of exports share, and the states on which programs and policies are compared."""

from functools import cache

import numpy as np

import spaql
from spaql.plants.problem import Axis, Continuous, Problem
from spaql.trees.tree import Builder, bounds_of, leaf_of

ODD_NAMES = ('a "b" */ ??/ (* \\', "if", "θ <b>&\u202e\n1")
NAMES = ("cartpole table", "cartpole", "pendulum", "pendulum-5", "one leaf", "oblique", "odd names")


def built(problem, variables, axes, grow, kind="compressed tree", origin="hand"):
    """A policy from a function that grows its tree."""
    builder = Builder(variables, axes)
    grow(builder)
    return spaql.Policy(problem, builder.tree(), kind, origin)


def branch(builder, feature, cut, low, high, weights=None):
    """A test with two sides, each a function that grows it."""
    node = builder.test(feature, cut, weights)
    a = low(builder)
    builder.join(node, a, high(builder))
    return node


def leaf(*action):
    return lambda builder: builder.leaf(action)


def split(*arguments, **options):
    return lambda builder: branch(builder, *arguments, **options)


def plane(names=("x", "y"), units=("m", ""), actions=None):
    state = (Axis(names[0], -1.0, 1.0, unit=units[0]), Axis(names[1], slope=2.0, unit=units[1]))
    return Problem("plane", "two variables", state, actions or Continuous((-3.0,), (3.0,), ("force",), ("N",)), 10)


def random_tree(leaves, seed=0, variables=2):
    """A policy with many leaves and random cuts, of which every one is used."""
    rng = np.random.default_rng(seed)
    builder = Builder(variables, 1)
    stack = [(leaves, [-1.0] * variables, [1.0] * variables, -1, 0)]
    children = {}
    while stack:
        n, low, high, parent, side = stack.pop()
        if n == 1:
            node = builder.leaf(rng.integers(-300, 300) / 100)
        else:
            j = int(rng.integers(variables))
            cut = float(rng.uniform(low[j], high[j]))
            node, first = builder.test(j, cut), n // 2
            children[node] = [0, 0]
            stack.append((n - first, [*low[:j], cut, *low[j + 1 :]], high, node, 1))
            stack.append((first, low, [*high[:j], cut, *high[j + 1 :]], node, 0))
        if parent >= 0:
            children[parent][side] = node
    for node, sides in children.items():
        builder.join(node, *sides)
    return spaql.Policy(plane(), builder.tree(), "compressed tree", "chance")


def deep_chain(depth):
    """Every high side is a test again, so that ifs nest as deep as the tree."""
    builder = Builder(2, 1)
    nodes = []
    for i in range(depth):
        nodes += [builder.test(0, i / depth), builder.leaf(-1.0 + i / depth)]
    nodes.append(builder.leaf(3.0))
    for i in range(depth):
        builder.join(nodes[2 * i], nodes[2 * i + 1], nodes[2 * i + 2])
    return spaql.Policy(plane(), builder.tree(), "exact tree", "a chain")


@cache
def policies():
    """By name. Some learned, some made by hand."""

    def learned(kind, problem, iterations):
        agent = kind(spaql.make(problem), seed=1)
        agent.learn(iterations=iterations)
        return agent.policy()

    cartpole = learned(spaql.SPAQLTS, "cartpole", 60)
    upper = split(2, 1.7, leaf(-3.0), leaf(0.5), weights=[1.1, 0.7])
    sums = split(2, 0.3, split(1, -0.25, leaf(1.0), leaf(2.0)), upper, weights=[0.1, -1.3])
    actions = Continuous((-3.0, -3.0), (3.0, 3.0), ("push", ODD_NAMES[0]), ("N", "N"))
    odd = Problem(
        'odd */ "', "two\nlines \\", tuple(Axis(name, -1.0, 1.0, unit="m/s²|%") for name in ODD_NAMES), actions, 10
    )
    odd_tree = split(
        0, 0.1, split(2, 1e-45, leaf(0.1, -0.2), leaf(0.3, 1e-7)), split(1, -1 / 3, leaf(-0.0, 3.0), leaf(2.0, 1 / 3))
    )
    return {
        "cartpole table": cartpole,
        "cartpole": cartpole.tree(),
        "pendulum": learned(spaql.SPAQL, "pendulum", 60).tree(),
        "pendulum-5": learned(spaql.SPAQL, "pendulum-5", 60).tree(),
        "one leaf": built(spaql.make("cartpole"), 4, 1, leaf(1.0)),
        "oblique": built(plane(), 2, 1, sums),
        "odd names": built(odd, 3, 2, odd_tree, origin="*/ \\"),
    }


def states_of(policy, n, seed=0):
    """Random states around all cuts, many of them on a cut or a few floats beside it."""
    rng, tree = np.random.default_rng(seed), policy.rules
    states = np.empty((n, tree.variables))
    for j in range(tree.variables):
        cuts = tree.nodes["cut"][tree.nodes["feature"] == j]
        reach = 1.5 * max(1.0, np.abs(cuts).max(initial=0.0))
        states[:, j] = rng.uniform(-reach, reach, n)
        if len(cuts):
            near = rng.choice(cuts, n)
            near += rng.integers(-2, 3, n) * np.spacing(near)
            states[:, j] = np.where(rng.random(n) < 0.3, near, states[:, j])
    return states


def corners_of(policy, kind=np.float64):
    """All corners of all regions: every combination of the ends of a box, each end from below and from above.

    In single precision: the float next to the end, and those on both sides of it.
    """
    tree = policy.rules
    low, high = bounds_of(tree)
    found = []
    for leaf in tree.leaves():
        sides = []
        for j in range(tree.variables):
            ends = [kind(end) for end in (low[leaf, j], high[leaf, j]) if np.isfinite(end)] or [kind(0)]
            beside = [
                np.nextafter(end, kind(side))
                for end in ends
                for side in ((-np.inf,) if kind is np.float64 else (-np.inf, np.inf))
            ]
            sides.append(ends + beside)
        found.append(np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, tree.variables))
    return np.concatenate(found)


def expected(policy, states):
    return policy.rules.actions[leaf_of(policy.rules, np.asarray(states, float))]
