"""C of integers alone does what the policy does within a bound that is proven, over random integers and whole episodes."""

import ctypes
import subprocess
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import spaql
from exported_programs import COMPILERS, STRICT, needs_compiler
from law_examples import law_policies
from loop_controllers import LOOPS, controller
from spaql.export.fixed_point import fixed_point
from spaql.plants.environment import PlantEnv
from spaql.policy.policy import Policy
from spaql.trees.edits import constant, split

FITTING = ("P2", "C2", "A2", "M3", "L1c", "L2d", "ordered", "odd laws")


def tree_of_constants():
    """Without laws: which way a car moves, it is pushed."""
    policy = law_policies()["M3"]
    low, high = (np.array(end) for end in policy.problem.actions.bounds)
    tree = split(constant(2, low), 0, np.array([0.3, 1.0]), 0.001, low, high)
    return Policy(policy.problem, tree, "decision tree", "by hand")


def policy_of(name):
    if name == "two outputs":  # one of them nearly constant: the other one must not lose its digits for it
        axes = tuple(spaql.Axis(word, -3.0, 300.0) for word in ("x", "y"))
        problem = replace(spaql.cube(2, 2, 10), state=axes, actions=spaql.Continuous((0.0, -1e4), (100.0, 1e4), ("u", "v")))
        return spaql.law(problem, {"u": {"x": -2000.0, "y": 1e-6}, "v": {"x": 0.001}}, {"u": 50.0})
    return tree_of_constants() if name == "constants" else law_policies()[name]


def compiled(policy, tmp_path):
    """The controller, from rows of integers to rows of integers."""
    source = policy.to_c(precision="fixed")
    assert "double" not in source.partition("#include")[2]
    assert "float" not in source.partition("#include")[2]
    (tmp_path / "c.c").write_text(source)
    flags = ["-O2", "-fPIC", "-shared", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run([COMPILERS[0], *STRICT, *flags, tmp_path / "c.c", "-o", tmp_path / "c.so"], check=True)
    library, axes = ctypes.CDLL(str(tmp_path / "c.so")), policy.rules.actions.shape[1]
    output = np.zeros(axes, np.int16)

    def act(row):
        row = np.ascontiguousarray(row, np.int16)
        library.controller(row.ctypes.data_as(ctypes.c_void_p), output.ctypes.data_as(ctypes.c_void_p))
        return output.copy()

    return act


def near_a_border(policy, seen, doubt):
    """Whether a sum that decides is within the doubt: another action may be right then."""
    tree, laws = policy.rules, policy.rules.laws
    node = 0
    while tree.nodes["feature"][node] >= 0:
        feature, cut = int(tree.nodes["feature"][node]), tree.nodes["cut"][node]
        oblique = feature == tree.variables
        value = tree.weights[node] @ seen if oblique else seen[feature]
        if oblique and abs(value - cut) <= doubt:
            return True
        node = tree.nodes["high" if value >= cut else "low"][node]
    scores = np.sort(laws.gains[node] @ seen + laws.offsets[node])
    borders = [0.0, *(k - 0.5 for k in range(1, len(laws.values)))]
    return any(abs(scores[0] - border) <= doubt for border in borders) or bool((np.diff(scores) <= doubt).any())


@needs_compiler
@pytest.mark.parametrize("name", [*FITTING, "two outputs", "constants"])
def test_actions_differ_by_no_more_than_is_proven(name, tmp_path):
    policy = policy_of(name)
    fixed, act, rng = fixed_point(policy), compiled(policy, tmp_path), np.random.default_rng(0)
    units = 2.0 ** -np.array(fixed.observed, float)
    ends = np.array([[axis.low, axis.high] for axis in policy.problem.measured]).T / units
    rows = rng.integers(np.ceil(ends[0]), np.floor(ends[1]), (2000, len(units)), endpoint=True)
    wanted = policy.predict(rows * units)[0].reshape(len(rows), -1)
    given = np.array([act(row) for row in rows]) * 2.0 ** -np.array(fixed.applied, float)
    low, high = policy.problem.actions.bounds
    assert ((given >= low) & (given <= high)).all()
    off = np.abs(given - wanted)
    beyond = np.flatnonzero((off > np.array(fixed.error, float)).any(axis=1))
    assert all(near_a_border(policy, rows[k] * units, float(fixed.doubt)) for k in beyond)
    assert len(beyond) < 0.01 * len(rows)
    if name in ("M3", "L1c"):
        assert (off.max(axis=0) > 0.1 * np.array(fixed.error, float)).all()  # the bound is not ten times too wide
    for row in (np.full(len(units), -(2**15)), np.full(len(units), 2**15 - 1)):
        act(row)  # the sanitiser ends the program where something overflows


@needs_compiler
@pytest.mark.parametrize("name", ["P2", "M3"])
def test_whole_episodes_go_as_with_the_policy(name, tmp_path):
    """With measurements in integers for both: the action is within the bound in every step, and the returns are alike."""
    policy = policy_of(name)
    fixed, act, env = fixed_point(policy), compiled(policy, tmp_path), PlantEnv(policy.problem)
    units, total = 2.0 ** -np.array(fixed.observed, float), [0.0, 0.0]
    for kind in (0, 1):
        for seed in range(5):
            seen, _ = env.reset(seed=seed)
            for _ in range(policy.problem.horizon):
                row = np.round(seen / units)
                wanted = np.atleast_1d(policy.predict(row * units)[0])
                given = act(row) * 2.0 ** -np.array(fixed.applied, float)
                assert (np.abs(given - wanted) <= np.array(fixed.error, float)).all()
                seen, reward, ended, _, _ = env.step(given if kind else wanted)
                total[kind] += reward
                if ended:
                    break
    assert total[1] == pytest.approx(total[0], rel=0.01)


def test_the_bound_holds_what_rounded_gains_can_do():
    """By hand: one gain of a third, 16 bits, a range of 1."""
    problem = replace(spaql.cube(1, 1, 10), state=(spaql.Axis("x", -1.0, 1.0),), actions=spaql.Continuous((-1.0,), (1.0,), ("u",)))
    fixed = fixed_point(spaql.law(problem, {"x": 1 / 3}))
    ((sum_, applied),) = [(each, fixed.applied[0]) for each in fixed.laws.values()]
    worst = abs(Fraction(sum_.gains[0]) * 2 ** fixed.observed[0] / Fraction(2) ** sum_.digits - Fraction(1 / 3))
    assert worst <= fixed.error[0] - Fraction(1, 2) / 2**applied <= worst + Fraction(1, 10**12)


REFUSED = {
    "no range": (lambda: spaql.law(spaql.make("cartpole"), {"angle": 10.0}), {}, r"needs a range of velocity: state spaql.Axis\(name, low, high\)"),
    "a loop": (lambda: controller(LOOPS["rate limit and interlock"]), {}, "for laws and trees alone"),
    "features": (lambda: spaql.law(spaql.make("pendulum", features={"energy": lambda velocity: velocity**2}), {"energy": 1.0}), {}, "has features"),
    "a table": (tree_of_constants, {"form": "table"}, "goes with neither main nor form='table'"),
    "a monitor": (tree_of_constants, {"monitor": spaql.Monitor({"velocity": (-0.01, 0.01)}, 0.0)}, "precision"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_one_line(name):
    make, options, words = REFUSED[name]
    with pytest.raises(spaql.SpaqlError, match=words) as error:
        make().to_c(precision="fixed", **options)
    assert "\n" not in str(error.value)
