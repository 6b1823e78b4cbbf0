"""Why a law applies this action: every share, margin and distance in the answer can be checked on the policy."""

import numpy as np
import pytest

import spaql
from exported_policies import plane
from law_examples import NAMES, grown, law, law_actions, law_policies, law_states, when
from spaql.plants.problem import Finite
from spaql.policy.outputs import make_laws
from spaql.trees.laws import CLIP, SCORES, THRESHOLD
from spaql.trees.tree import NODE, leaf_of, make_tree

SOME = [name for name in NAMES if name != "deep laws"]


def asked(name, n=25, seed=3):
    policy = law_policies()[name]
    return policy, law_states(policy, n, seed)


@pytest.mark.parametrize("name", SOME)
def test_the_shares_of_all_variables_and_the_constant_are_the_action(name):
    policy, states = asked(name)
    laws = policy.rules.laws
    for x in states:
        why = policy.why(x)
        np.testing.assert_array_equal(why.action, law_actions(policy, x[None])[0])
        assert why.law == tuple(policy.words.laws(why.leaf))
        assert why.leaf == leaf_of(policy.rules, x[None])[0]
        for score in why.scores:
            assert score.shares.sum() + score.offset == pytest.approx(score.total)
        if laws.kind == CLIP:
            for score in why.scores:
                k = policy.words.action_names.index(score.name)
                np.testing.assert_allclose(score.shares, laws.gains[why.leaf, k] * x)
                held = score.total if score.bound is None else score.bound
                assert why.action[k] == pytest.approx(held)
                assert score.excess == pytest.approx(abs(score.total - held))
                assert score.unit == policy.words.action_units[k]


def test_saturation_tells_the_bound_and_what_is_cut_off():
    why = law_policies()["P2"].why([0.5, 0.5, 1.0])
    (score,) = why.scores
    assert (score.bound, score.excess) == (-2.0, 8.0)
    assert "saturated: held at -2 N m, 8 N m are cut off" in str(why)
    calm = law_policies()["P2"].why([1.0, 0.05, 0.1])
    assert calm.scores[0].bound is None
    assert "saturated" not in str(calm)


def beyond_the_same(of, x, j, place, side, count):
    """`of` states is the same from `x` to where variable j has reached `place`. Returns what it is just beyond."""
    step = 1e-7 * max(1.0, abs(place))
    at = np.tile(x, (count, 1))
    at[:, j] = np.linspace(x[j], place - side * step, count)
    if abs(place - x[j]) > 2 * step:
        assert (of(at) == of(x[None])[0]).all()
    at[0, j] = place + side * step
    return of(at[:1])[0]


@pytest.mark.parametrize("name", SOME)
def test_another_law_takes_over_exactly_where_it_says(name):
    policy, states = asked(name)
    checked = 0
    for x in states:
        why = policy.why(x)
        assert leaf_of(policy.rules, x[None])[0] == why.leaf
        for j, one in enumerate(why.takeovers):
            for place, leaf, side in ((one.below, one.leaf_below, -1), (one.above, one.leaf_above, 1)):
                if place is None:
                    continue
                assert (place - x[j]) * side >= 0
                assert beyond_the_same(lambda at: leaf_of(policy.rules, at), x, j, place, side, 60) == leaf
                checked += 1
    assert checked > 0 or policy.n_leaves == 1


@pytest.mark.parametrize("name", [name for name in SOME if name not in ("P2", "M3", "L1c", "constants", "odd laws")])
def test_a_finite_action_changes_exactly_where_it_says(name):
    policy, states = asked(name)
    checked = 0
    for x in states:
        why = policy.why(x)
        assert law_actions(policy, x[None])[0] == why.action
        for j, change in enumerate(why.changes):
            for place, action, side in ((change.below, change.action_below, -1), (change.above, change.action_above, 1)):
                if place is None:
                    continue
                beyond = beyond_the_same(lambda at: law_actions(policy, at), x, j, place, side, 200)
                assert beyond == action != why.action
                checked += 1
    assert checked > 0


@pytest.mark.parametrize("name", SOME)
def test_no_change_is_left_out_within_the_bounds(name):
    policy, states = asked(name, 10)
    finite = policy.rules.laws.kind != CLIP
    for x in states:
        why = policy.why(x)
        for j, (change, one) in enumerate(zip(why.changes, why.takeovers, strict=True)):
            axis = policy.problem.state[j]
            low, high = (axis.low, axis.high) if axis.slope is None else (x[j] - 9.0, x[j] + 9.0)
            for at in np.linspace(low, high, 301)[1:-1]:
                beyond = x.copy()
                beyond[j] = at
                other = leaf_of(policy.rules, beyond[None])[0] != why.leaf
                below, above = one.below, one.above
                if finite:
                    other = (law_actions(policy, beyond[None])[0] != why.action).any()
                    below, above = change.below, change.above
                if other:
                    assert (below is not None and at <= below + 1e-9) or (above is not None and at >= above - 1e-9)


@pytest.mark.parametrize("name", ["C2", "A2", "L2d", "ordered", "ordered many", "scores", "cartpole"])
def test_the_margin_is_how_much_the_score_would_have_to_change(name):
    policy, states = asked(name)
    laws = policy.rules.laws
    for x in states:
        why = policy.why(x)
        if why.margin is None:
            assert not why.scores  # a constant leaf
            continue
        for more in (0.999, 1.001):
            results = []
            for sign in (-1, 1):
                offsets = laws.offsets.copy()
                if laws.kind == SCORES:  # the runner-up gains, and one above the best wins
                    offsets[why.leaf, laws.values.tolist().index(why.margin.action)] += more * why.margin.score
                else:
                    offsets[why.leaf, 0] += sign * more * why.margin.score
                moved = spaql_policy(policy, laws._replace(offsets=offsets))
                results.append(law_actions(moved, x[None])[0, 0])
            assert (why.margin.action in results) == (more > 1)


def spaql_policy(policy, laws):
    from dataclasses import replace

    return replace(policy, rules=replace(policy.rules, laws=laws))


def test_the_answer_for_a_law_in_words():
    text = str(law_policies()["P2"].why([1.0, 0.1, -0.25]))
    assert text.startswith(
        "At cos = 1, sin = 0.1, velocity = -0.25 rad/s\n"
        "it applies torque = -0.65 N m,\n"
        "by this one of its 2 laws,\n"
        "  torque = clip(-14·sin - 3·velocity, -2, 2) N m\n"
        "which is in charge because\n"
        "  cos ≥ -0.08\n"
        "Contributions to torque:\n"
        "  -1.4000 N m  from sin = 0.1\n"
        "   0.7500 N m  from velocity = -0.25 rad/s\n"
        "  -0.6500 N m  together\n"
        "Another law would take over, all else equal, at\n"
        "  cos = -0.08 (1.08 away): torque = clip(8·sin + 4·velocity, -2, 2) N m\n"
    )
    assert "Share of time under this rule: " in text


def test_the_answer_for_a_threshold_in_words():
    text = str(law_policies()["cartpole"].why([0.0, 0.0, 0.02, -0.01]))
    assert (
        "it applies push = 1,\n"
        "by its only law\n"
        "  push = 1 if 3.5·angle + angular velocity ≥ 0 else 0\n"
        "Contributions to the score of push:\n"
        "   0.070000  from angle = 0.02 rad\n"
        "  -0.010000  from angular velocity = -0.01 rad/s\n"
        "   0.060000  together\n"
        "The score is 0.06 away from push = 0.\n"
        "The action would change, all else equal, at\n"
        "  angle = 0.002857 rad (0.01714 rad away): push = 0\n"
        "  angular velocity = -0.07 rad/s (0.06 rad/s away): push = 0\n"
    ) in text


def test_a_constant_leaf_among_laws_has_no_shares():
    why = law_policies()["constants"].why([0.0, 1.0])
    assert why.action == 3.0
    assert why.scores == ()
    assert "force = 3 N" in str(why)
    assert "Contributions to" not in str(why)


def test_all_variables_at_zero_make_a_sensible_answer():
    for name in SOME:
        policy = law_policies()[name]
        assert str(policy.why(np.zeros(policy.rules.variables)))


def test_a_law_of_nothing_but_its_constant_side_is_told():
    policy = grown(plane(actions=Finite((0, 1))), when({"x": 1}, 0.0, law([0, 0, 1]), law([1, 1, 0])), THRESHOLD)
    assert policy.why([0.5, 0.0]).scores == ()
    assert policy.why([-0.5, 0.25]).margin.score == pytest.approx(0.25)


def test_constant_actions_have_nothing_of_laws():
    from exported_policies import built, leaf, split

    why = built(plane(), 2, 1, split(0, 0.5, leaf(0.0), leaf(1.0))).why([0.0, 0.0])
    assert (why.law, why.scores, why.margin, why.takeovers) == ((), (), None, ())


def test_on_a_boundary_the_other_side_is_told():
    problem = spaql.make("pendulum")
    nodes = np.array([(0.0, 3, 1, 2), (0.0, -1, 0, 0), (0.0, -1, 0, 0)], NODE)
    weights = np.array([[0.0, -4.0, -1.0], [0.0] * 3, [0.0] * 3])  # -4 sin - velocity >= 0, which the upright state is on
    gains, offsets = np.zeros((3, 1, 3)), np.array([[0.0], [1.0], [-1.0]])
    tree = make_tree(nodes, np.zeros((3, 1)), 3, weights, make_laws(gains, offsets, problem.actions, CLIP))
    why = spaql.Policy(problem, tree, "law tree", "test").why([1.0, 0.0, 0.0])
    sin, velocity = why.takeovers[1:]
    assert (sin.above, velocity.above) == (0.0, 0.0)
    assert (sin.below, velocity.below) == (None, None)
