"""Numbers that change nothing are exactly zero: on compiled plants and in environments, printed, applied and exported."""

import re

import numpy as np
import pytest

import spaql
from loops import motor
from spaql.laws.tidy import DearTidying, Tidying
from spaql.laws.trials import Trials
from spaql.laws.vector import DUST_SHARE, Units, declared_units, reach_of, without_dust
from spaql.plants.environment import PlantEnv
from spaql.policy.outputs import make_laws
from spaql.trees.laws import CLIP, SCORES, THRESHOLD
from spaql.trees.tree import NODE, make_tree

AROUND = {
    "references": [spaql.Reference("target", 0.0, 150.0, of="speed", hold=30, unit="rad/s")],
    "memory": ["integral(speed_error)"],
    "observe": ["speed_error", "integral(speed_error)", "current"],
    "dt": 0.01,
}
DUSTY = ([[0.4, 4.77e-10, -0.03]], [1.776e-15])  # gains and offset, as they were found


def compiled():
    return spaql.loop(motor(), **AROUND)


def environment():
    return spaql.loop(spaql.from_gym(PlantEnv(motor())), **AROUND)


def one_law(problem, gains, offsets, kind=CLIP):
    nodes = np.zeros(1, NODE)
    nodes["feature"] = -1
    laws = make_laws(np.array([gains]), np.array([offsets]), problem.actions, kind)
    return make_tree(nodes, np.zeros((1, problem.actions.axes)), len(problem.state), None, laws)


def moves_something(tree, problem):
    """Every number that is left."""
    terms = np.abs(tree.laws.gains) * reach_of(declared_units(problem))
    size = np.ptp(problem.actions.bounds)
    assert ((terms == 0.0) | (terms > DUST_SHARE * size)).all()
    assert ((tree.laws.offsets == 0.0) | (np.abs(tree.laws.offsets) > DUST_SHARE * size)).all()


@pytest.mark.parametrize("problem", [compiled(), environment()], ids=["plant", "environment"])
@pytest.mark.parametrize("budget", [0, 12_000], ids=["cut short", "to the end"])
def test_tidying_leaves_no_dust(problem, budget):
    tree, trials = one_law(problem, *DUSTY), Trials(problem, left=budget)
    if problem.plant is not None:
        tidy, _ = Tidying(trials, tree, 0.5, 0, 0, 0.05, declared_units(problem)).run()
    else:
        tidy, _ = DearTidying(trials, tree, 0.5, 0, 0, budget, 60.0, declared_units(problem)).run()
    assert (tidy.laws.gains[0, 0, 1], tidy.laws.offsets[0, 0]) == (0.0, 0.0)
    moves_something(tidy, problem)


@spaql.reset
def somewhere(u1, u2):
    return u1, u2


@spaql.step
def idle(a, b, push):
    """Nothing that is done pays."""
    return (0.9 * a + 0.01 * push, b), -a * a, False


def idling():
    actions = spaql.Continuous((-1.0,), (1.0,), ("push",))
    axes = [spaql.Axis("a", -2.0, 2.0), spaql.Axis("b", -2.0, 2.0)]
    return spaql.from_plant(somewhere, idle, state=axes, actions=actions, horizon=20, name="idling")


@pytest.mark.parametrize("slow", [False, True], ids=["plant", "environment"])
def test_gains_that_may_be_halved_for_ever_are_none(slow):
    """All that is left of a law of which nothing matters was its last coefficient, halved fourteen times."""
    problem = spaql.from_gym(PlantEnv(idling())) if slow else idling()
    tree, trials, units = one_law(problem, [[0.0, 0.0078125]], [0.0]), Trials(problem), declared_units(problem)
    tidying = DearTidying(trials, tree, 1.0, 0, 0, 1e5, 20.0, units) if slow else Tidying(trials, tree, 1.0, 0, 0, 0.05, units)
    tidying.soften()
    assert (tidying.tree.laws.gains == 0.0).all()
    assert (tidying.tree.laws.offsets == 0.0).all()


def test_what_is_left_of_a_difference_of_equal_numbers_is_zero():
    """The way into units and back: 0.1 + 0.2 - 0.3 is no offset."""
    problem = compiled()
    for seed in range(50):
        rng = np.random.default_rng(seed)
        units = Units(rng.normal(size=3) * 100.0, rng.uniform(0.01, 1.0, 3), problem)
        law = one_law(problem, [rng.normal(size=3).tolist()], [0.0])
        again = units.physical(units.in_units(law))
        np.testing.assert_allclose(again.laws.gains, law.laws.gains)
        assert (again.laws.offsets == 0.0).all()


@pytest.mark.parametrize("kind", [THRESHOLD, SCORES])
def test_where_scores_have_no_range_the_largest_term_tells_what_is_dust(kind):
    problem = spaql.make("acrobot")
    rows = {THRESHOLD: [[0.0, 1e-12, 3.0, 0.0, 2.0, 0.0]], SCORES: [[0.0] * 6, [0.0, 1e-12, 3.0, 0, 2.0, 0.0], [1e-12, 0.0, 0.0, 1.0, 0.0, 0.0]]}[kind]
    offsets = [1e-13] * len(rows)
    found = without_dust(one_law(problem, rows, offsets, kind), declared_units(problem)).laws
    assert (np.array(found.gains[0]) == np.where(np.abs(rows) < 1e-6, 0.0, rows)).all()
    assert (found.offsets == 0.0).all()


def test_tests_have_no_dust_either():
    problem = spaql.make("pendulum")
    nodes = np.array([(3e-17, 3, 1, 2), (0.0, -1, 0, 0), (2e-18, 0, 3, 4), (0.0, -1, 0, 0), (0.0, -1, 0, 0)], NODE)
    weights = np.zeros((5, 3))
    weights[0] = [1.0, 0.0, 1e-12]
    laws = make_laws(np.zeros((5, 1, 3)), np.array([[0.0], [1.0], [0.0], [-1.0], [2.0]]), problem.actions, CLIP)
    found = without_dust(make_tree(nodes, np.zeros((5, 1)), 3, weights, laws), declared_units(problem))
    assert found.weights[0].tolist() == [1.0, 0.0, 0.0]
    assert found.nodes["cut"].tolist() == [0.0] * 5


@pytest.mark.parametrize(("make", "samples"), [(compiled, 200_000), pytest.param(environment, 20_000, marks=pytest.mark.slow)], ids=["plant", "environment"])
def test_what_is_printed_is_what_is_applied_and_exported(make, samples):
    """From what somebody has found to C: the teacher is a law of the same variables, and stays unless a better one is found."""
    problem = make()
    teacher = spaql.law(problem, dict(zip(AROUND["observe"], DUSTY[0][0], strict=True)), DUSTY[1][0])
    assert "4.77e-10·integral" in teacher.to_text(share=False)
    agent = spaql.Laws(problem, max_leaves=1, seed=0, teacher=teacher)
    agent.learn(samples=samples)
    policy = agent.policy()
    assert not any("worse than their teacher" in note for note in agent.notes)  # by a billionth
    moves_something(policy.rules, problem)
    for text in (policy.to_text(share=False), policy.to_c(), policy.to_json()):
        assert not re.search(r"\de-(0[7-9]|[1-9]\d)", text)
