"""Policies whose leaves are laws, for the tests of words, exports and proofs: those of the prototype, and odd ones."""

import numpy as np

import spaql
from exported_policies import ODD_NAMES, plane
from exported_programs import controller_of
from spaql.plants.problem import Axis, Continuous, Finite, Problem
from spaql.policy.outputs import make_laws
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD
from spaql.trees.tree import LEAF, NODE, decide, make_tree

NAMES = (
    "P2", "C2", "A2", "M3", "L1c", "L2d", "cartpole", "ordered", "ordered many", "scores", "constants", "odd laws", "deep laws",
)  # fmt: skip


def law(*sums):
    """A leaf: for every output its gains and, last, its offset."""
    return [np.array(one[:-1], float) for one in sums], [float(one[-1]) for one in sums]


def when(weights, cut, high, low):
    """A test with its two sides. `weights`: a dictionary by variable; one of weight 1 alone is a plain test."""
    return weights, cut, high, low


def grown(problem, grow, kind, origin="hand", name="law tree"):
    """A policy from nested `when` and `law`."""
    names, d, axes = [axis.name for axis in problem.state], len(problem.state), problem.actions.axes
    nodes, weights, gains, offsets = [], [], [], []
    outputs = len(problem.actions.values) if kind == SCORES else axes

    def add(part):
        me = len(nodes)
        nodes.append((0.0, LEAF, 0, 0))
        weights.append(np.zeros(d))
        gains.append(np.zeros((outputs, d)))
        offsets.append(np.zeros(outputs))
        if len(part) == 2:
            gains[me], offsets[me] = np.array(part[0]), np.array(part[1])
            return me
        tested, cut, high, low = part
        row = np.zeros(d)
        for variable, weight in tested.items():
            row[names.index(variable)] = weight
        plain = list(tested.values()) == [1]
        if not plain:
            weights[me] = row
        below = add(low)
        nodes[me] = (cut, int(row.argmax()) if plain else d, below, add(high))
        return me

    add(grow)
    laws = make_laws(np.array(gains), np.array(offsets), problem.actions, kind)
    tree = make_tree(np.array(nodes, NODE), np.zeros((len(nodes), axes)), d, np.array(weights), laws)
    return spaql.Policy(problem, tree, name, origin)


def pendulum():
    """P2: if cos >= -0.08: clip(-14 sin - 3 velocity), else clip(8 sin + 4 velocity)."""
    return grown(spaql.make("pendulum"), when({"cos": 1}, -0.08, law([0, -14, -3, 0]), law([0, 8, 4, 0])), CLIP, "P2")


def mountain_car():
    """C2: two thresholds behind a test of one variable."""
    grow = when({"position": 1}, -0.43, law([1, 5, 0.3]), law([-1, 50, -0.46]))
    return grown(spaql.make("mountain-car"), grow, THRESHOLD, "C2")


def acrobot():
    """A2: two thresholds behind an oblique test."""
    test = {"cos1": -1, "sin1": -0.6, "cos2": 0.2, "sin2": 0.4}
    grow = when(test, 0.4, law([0, 34, 0, 1, -2, 9, -0.1]), law([-1, 15, 0, 0, -1, 7, 1]))
    return grown(spaql.make("acrobot"), grow, THRESHOLD, "A2")


def mountain_car_continuous():
    """M3: three laws."""
    second = when({"position": -1, "velocity": 9}, 0.51, law([0.3, 3, 0.27]), law([0.2, 0, 0]))
    grow = when({"position": -1, "velocity": 50}, 0.7, law([0, 5, 0]), second)
    return grown(spaql.make("mountain-car-continuous"), grow, CLIP, "M3")


def lander(actions):
    """LunarLander as a description, without its simulator."""
    bounds = {"x": 2.5, "y": 2.5, "vx": 10.0, "vy": 10.0, "angle": 2 * np.pi, "spin": 10.0}
    state = [Axis(name, -reach, reach) for name, reach in bounds.items()]
    state += [Axis(name, 0.0, 1.0) for name in ("leg1", "leg2")]
    return Problem("lander", "land between the flags", tuple(state), actions, 1000)


def lander_continuous():
    """L1c: one law for each engine."""
    main = [0, -5.5, -2.1, -7.8, 2.7, 3.8, -2.1, 0, -0.82]
    side = [-3.9, 0.57, -3.8, 0.83, 5.1, 2.7, 0, 0, 0]
    return grown(lander(Continuous((-1.0, -1.0), (1.0, 1.0), ("main", "side"))), law(main, side), CLIP, "L1c")


def lander_discrete():
    """L2d: the best of four scores, in two parts of the state."""
    right = law(
        [0] * 9, [2, 0, 2, 0, -9, 0, 0, 0, -0.2], [5, -5, 0, -10, 0, 0, 0, 0, -1], [-4, 0, -3, 0, 7, 0, 0, 0, -0.3]
    )
    left = law(
        [0] * 9, [0, 0, 1, 0, -2, -3, 0, 0, -0.4], [-4, -10, 0, -30, 0, 0, 0, 0, -3], [0, 0, -3, 0, 4, 2, 0, 0, -0.4]
    )
    return grown(lander(Finite((0, 1, 2, 3), names=("engine",))), when({"x": 1}, -0.048, right, left), SCORES, "L2d")


def cartpole():
    """The law of one number."""
    return grown(spaql.make("cartpole"), law([0, 0, 3.5, 1, 0]), THRESHOLD, "law")


def ordered():
    """Three pedals in their order."""
    return grown(spaql.make("mountain-car"), when({"position": 1}, -0.5, law([0, 30, 1]), law([2, 0, 1.75])), ORDERED)


def ordered_many():
    """More ordered actions than anybody would list."""
    torques = Finite(tuple(np.linspace(-2, 2, 41).tolist()), box=True, names=("torque",), units=("N m",))
    return grown(plane(actions=torques), law([30, -2.5, 20]), ORDERED)


def scores():
    """Forces in no order."""
    forces = Finite((5.0, -1.5, 2.25), names=("force",), units=("N",))
    return grown(plane(actions=forces), when({"x": 0.5, "y": -1}, 0.1, law([1, 0, 0], [0, 1, 0.5], [-1, -1, 0]), law([0, 0, 1], [0, 0, 3], [0, 0, 2])), SCORES)  # fmt: skip


def constants():
    """A law beside constant leaves, of which one lies beyond the range."""
    inner = when({"y": 1}, 0.0, law([0, 0, 9.0]), law([0, 0, -1.5]))
    return grown(plane(), when({"x": 1}, 0.5, law([1, -1, 0.25]), inner), CLIP)


def odd_laws():
    """Names that no language takes, coefficients of many digits."""
    actions = Continuous((-3.0, -1e-3), (3.0, 1e3), ("score", ODD_NAMES[0]), ("N", "N"))
    state = tuple(Axis(name, -1.0, 1.0, unit="m/s²|%") for name in (ODD_NAMES[0], "min", ODD_NAMES[2]))
    problem = Problem('odd */ "', "two\nlines \\", state, actions, 10)
    grow = when(
        {"min": -1 / 3, ODD_NAMES[2]: 1e-7},
        1e-3,
        law([1 / 3, 0, -1e-7, 0], [0, 1e3, 0, 1 / 7]),
        law([0, 1 / 3 + 1e-9, 0, 0], [0, 0, 0, 2.0]),
    )
    return grown(problem, grow, CLIP, "*/ \\")


def deep_laws(leaves=90, seed=0):
    """More laws than nested ifs, one below the other."""
    rng = np.random.default_rng(seed)
    part = law(rng.normal(size=3))
    for i in range(leaves - 1):
        part = when({"x": 1}, i / leaves, part, law(rng.normal(size=3)))
        if i % 3 == 0:
            part = when({"x": rng.normal(), "y": 1.0}, rng.normal(), part, law(rng.normal(size=3)))
    return grown(plane(), part, CLIP)


_MAKERS = (
    pendulum, mountain_car, acrobot, mountain_car_continuous, lander_continuous, lander_discrete, cartpole, ordered, ordered_many,
    scores, constants, odd_laws, deep_laws,
)  # fmt: skip
_MADE = {}


def law_policies():
    """By name."""
    if not _MADE:
        _MADE.update({name: make() for name, make in zip(NAMES, _MAKERS, strict=True)})
    return _MADE


def law_states(policy, n, seed=0):
    """Random states within the bounds of the problem, or around zero; some far outside, some near to cuts of tests."""
    rng = np.random.default_rng(seed)
    states = np.empty((n, len(policy.problem.state)))
    for j, axis in enumerate(policy.problem.state):
        low, high = (axis.low, axis.high) if axis.slope is None else (-3.0, 3.0)
        states[:, j] = rng.uniform(low, high, n)
    small = rng.random(n) < 0.5
    states[small] *= 10.0 ** rng.uniform(-3, 0, (int(small.sum()), 1))  # where laws are not saturated
    return states


def law_actions(policy, states):
    return decide(policy.rules, np.ascontiguousarray(states, float))


def applied_by_python(text, states):
    act = controller_of(text)
    act.__globals__["__builtins__"] |= {"min": min, "max": max, "int": int}
    return np.array([act(state) for state in states.tolist()], float).reshape(len(states), -1)
