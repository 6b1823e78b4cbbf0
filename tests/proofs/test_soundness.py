"""Attacks on proofs: claims that are false, values that are not known, and certificates that say a little too much."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import spaql
from spaql.proofs import checked_sets, checker, one_plant, staying_cells
from spaql.proofs import proven_cells as cells
from spaql.trees.laws import SCORES, LeafLaws
from spaql.trees.tree import Builder, decide

BALANCES = {"position": 1.0, "velocity": 1.95, "angle": 16.1, "angular velocity": 4.25}


@spaql.reset
def near_zero(u):
    return (2e-3 * u - 1e-3,)


@spaql.step
def fades(x, force):
    return (0.5 * x + 0.1 * force,), -0.1, False


@spaql.observe
def inverse(x):
    return x, 1.0 / (x + 1e-7)


def on_inverse(tree, actions, observe=inverse):
    seen = ["x"] if observe is None else ["x", "y"]
    problem = spaql.from_plant(
        near_zero, fades, observe=observe, state=[spaql.Axis(name, -3.0, 3.0) for name in seen], actions=actions,
        horizon=20, name="inverse", ends="failure",
    )  # fmt: skip
    return spaql.Policy(problem, tree, "tree", "hand")


def test_a_test_of_what_is_not_known_goes_both_ways():
    builder = Builder(2, 1)
    root, inner = builder.test(0, 0.0), builder.test(1, -2000.0)
    builder.join(inner, builder.leaf(100.0), builder.leaf(0.0))
    builder.join(root, inner, builder.leaf(0.0))
    policy = on_inverse(builder.tree(), spaql.Continuous((-100.0,), (100.0,)))
    # the episode from -1e-4 sees -1e4 and is pushed out
    action = decide(policy.rules, np.array([inverse(-1e-4)]))[0, 0]
    assert fades(-1e-4, action)[0][0] > 9.0
    proof = policy.prove(never={"x": (-1.0, 1.0)}, seconds=0.2)
    assert not proof.holds


def scores_of(values, gains, offsets):
    builder = Builder(gains.shape[1], 1)
    builder.leaf(0.0)
    empty = np.zeros(0)
    laws = LeafLaws(gains[None], np.array([offsets]), empty, empty, np.array(values), SCORES)
    return replace(builder.tree(), laws=laws)


def test_a_score_without_a_gain_on_what_is_not_known_is_not_forgotten():
    # 100 where x < -5e-4; y = 1 / (x + 1e-7) has no gain and no bounds
    tree = scores_of([0.0, 100.0], np.array([[1.0, 0.0], [0.0, 0.0]]), [5e-4, 0.0])
    policy = on_inverse(tree, spaql.Finite((0.0, 100.0)))
    assert decide(policy.rules, np.array([inverse(-1e-3)]))[0, 0] == 100.0
    assert not policy.prove(never={"x": (-1.0, 1.0)}, seconds=0.2).holds


def test_the_checker_knows_that_scores_with_large_offsets_are_rounded():
    # in single precision both scores are 1e6, and the first of equal ones wins: 100
    tree = scores_of([100.0, 0.0], np.array([[0.0], [1.0]]), [1e6, 1e6 + 0.002])
    policy = on_inverse(tree, spaql.Finite((0.0, 100.0)), observe=None)
    loop = checker.CheckedLoop(policy.problem, policy.rules, np.zeros(1), True)
    sets = checked_sets.many(np.array([[[-1e-3, 1e-3]]]))
    assert {float(act.u[0, 0]) for act in checked_sets.acting(loop, sets)} == {0.0, 100.0}


def test_a_return_that_rounds_is_not_promised():
    proof = on_inverse(constant(), spaql.Continuous((-1.0,), (1.0,)), observe=None).prove(steps=20)
    total = 0.0
    for _ in range(20):
        total += -0.1
    assert proof.holds
    assert -2.0 - 1e-9 < proof.worst_return <= min(total, -2.0)


def constant():
    builder = Builder(1, 1)
    builder.leaf(0.0)
    return builder.tree()


@pytest.mark.parametrize("start", [{"x": (math.nan, math.nan)}, [[math.nan, 1.0]], {"x": (-math.inf, 0.0)}])
def test_starts_are_numbers(start):
    policy = on_inverse(constant(), spaql.Continuous((-1.0,), (1.0,)), observe=None)
    with pytest.raises(spaql.SpaqlError, match="start"):
        policy.prove(start=start)


def test_bounds_are_numbers():
    policy = on_inverse(constant(), spaql.Continuous((-1.0,), (1.0,)), observe=None)
    with pytest.raises(spaql.SpaqlError, match="low must not be above high"):
        policy.prove(never={"x": (math.nan, 1.0)})


# -- an episode that ends on the way does not arrive -------------------------------------------------------------------


@spaql.reset
def aside(u):
    return (0.5 + 0.5 * u,)


@spaql.step
def crosses(x, force):
    x = 0.7 * x + 0.1 * force
    return (x,), 0.0, 0.3 < x < 0.4


@spaql.step
def goes_through(x, force):
    return (0.7 * x + 0.1 * force,), 0.0, False


def test_an_episode_that_ends_on_the_way_does_not_arrive(tmp_path, monkeypatch):
    ending, going = (
        spaql.Policy(
            spaql.from_plant(
                aside, step, state=[spaql.Axis("x", -3.0, 3.0)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=50,
                name="crossing", ends="failure",
            ),
            constant(), "tree", "hand",
        )
        for step in (crosses, goes_through)
    )  # fmt: skip
    monkeypatch.setattr(staying_cells, "FINE", 20)
    monkeypatch.setattr(cells, "COARSE", 20)
    assert not ending.prove(reach={"x": (-0.2, 0.2)}, seconds=2).holds
    proof = going.prove(reach={"x": (-0.2, 0.2)}, seconds=2)
    assert proof.holds
    proof.save(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text())
    content["claim"]["plant"] = one_plant.of_plant(ending.problem)
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError, match="may end on the way"):
        spaql.check_proof(tmp_path / "x.json", ending)


# -- certificates ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def balancing():
    return spaql.law(spaql.make("cartpole-500"), BALANCES)


@pytest.fixture(scope="module")
def certificate(balancing, tmp_path_factory):
    path = tmp_path_factory.mktemp("certificates") / "balanced.json"
    proof = balancing.prove(steps=500)
    assert proof.holds
    proof.save(path)
    return json.loads(path.read_text())


def refused(content, policy, folder):
    (folder / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError):
        spaql.check_proof(folder / "x.json", policy)


def test_the_certificate_itself_is_accepted(certificate, balancing, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps(certificate))
    assert spaql.check_proof(tmp_path / "x.json", balancing).holds


INVERTED = [[0.05, -0.05], *([[-0.05, 0.05]] * 3)]


@pytest.mark.parametrize(
    "change",
    [
        {"claim": {"steps": 500.9}},
        {"claim": {"steps": None}},
        {"claim": {"steps": math.nan}},
        {"claim": {"steps": -math.inf}},
        {"claim": {"sensors": [math.inf] * 4}},
        {"claim": {"sensors": [math.nan] * 4}},
        {"claim": {"start": [[math.nan, math.nan]] * 4}},
        {"open": [INVERTED], "share": 2.0},
        {"open": [[[math.nan, math.nan]] * 4]},
        {"worst_return": 500.0000001},
        {"best_return": 500.0},
        {"share": math.nan},
    ],
)
def test_a_certificate_that_says_a_little_more_is_refused(certificate, balancing, change, tmp_path):
    content = json.loads(json.dumps(certificate))
    content["claim"].update(change.get("claim", {}))
    content |= {key: value for key, value in change.items() if key != "claim"}
    refused(content, balancing, tmp_path)


@pytest.mark.parametrize("key", ["box", "lines", "band", "rest", "start", "centre", "gains", "matrix", "columns"])
def test_no_evidence_may_be_unknown(certificate, balancing, key, tmp_path):
    for wrong in (math.nan, math.inf):
        content = json.loads(json.dumps(certificate))
        values = np.array(content["evidence"][0][key])
        values.flat[0] = wrong
        content["evidence"][0][key] = values.tolist()
        refused(content, balancing, tmp_path)


@pytest.mark.parametrize("name", ["position", "velocity", "angle", "angular velocity"])
def test_variables_and_bounds_may_not_be_changed(certificate, balancing, name, tmp_path):
    j = certificate["claim"]["variables"].index(name)
    for side in (0, 1):
        content = json.loads(json.dumps(certificate))
        content["bound"][name][side] *= 1.0 - 1e-9
        refused(content, balancing, tmp_path)
    content = json.loads(json.dumps(certificate))
    names = content["claim"]["variables"]
    names[j], names[j - 1] = names[j - 1], names[j]
    refused(content, balancing, tmp_path)


# -- many episodes -----------------------------------------------------------------------------------------------------


def orbits_of(policy, states, steps):
    """Least and greatest of every variable over episodes from all these states."""
    plant = policy.problem.plant
    seen = np.array([states.min(axis=0), states.max(axis=0)])
    for _ in range(steps):
        actions = decide(policy.rules, np.ascontiguousarray(states))
        after = [plant.step(*state, *action) for state, action in zip(states.tolist(), actions.tolist(), strict=True)]
        assert not any(over for _, _, over in after)
        states = np.array([state for state, _, _ in after])
        seen = np.array([np.minimum(seen[0], states.min(axis=0)), np.maximum(seen[1], states.max(axis=0))])
    return seen


@pytest.mark.slow
def test_no_episode_of_many_leaves_the_bounds(balancing):
    proof = balancing.prove()
    assert proof.holds
    rng = np.random.default_rng(3)
    states = rng.uniform(-0.05, 0.05, (100, 4))
    states[:50] = rng.choice([-0.05, 0.05], (50, 4))
    seen = orbits_of(balancing, states, 200)
    low, high = np.array([proof.bound[name] for name in proof.claim.variables]).T
    assert (low <= seen[0]).all()
    assert (seen[1] <= high).all()
    # what an episode breaks by 1e-9 is never proven
    for j, name in enumerate(proof.claim.variables):
        never = {name: (-10.0, float(seen[1, j]) - 1e-9)}
        if never[name][1] >= 0.05:
            assert not balancing.prove(never=never, steps=200, seconds=0.1).holds


@spaql.step
def jumps(x, force):
    return (math.floor(0.25 * (x + 5e-18)) + 0.0 * force,), 0.0, False


def test_the_last_box_of_slopes_holds_the_whole_set():
    # from -1e-17 to 1 and back, -1e-17 is rounded to 0, and the jump below it is not seen
    problem = spaql.from_plant(
        near_zero, jumps, state=[spaql.Axis("x", -3.0, 3.0)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=20,
        name="jumping",
    )  # fmt: skip
    policy = spaql.Policy(problem, constant(), "tree", "hand")
    assert jumps(-1e-17, 0.0)[0][0] == -1.0
    proof = policy.prove(never={"x": (-0.5, 3.0)}, start={"x": (-1e-17, 2.0)}, steps=1, seconds=0.3)
    assert not proof.holds
