"""Where two trees of laws differ is decided: no sample finds a difference where there is none, and all are in the boxes."""

import numpy as np
import pytest

import spaql
from exported_policies import plane
from law_examples import grown, law, law_policies, when
from spaql.plants.problem import Continuous, Finite
from spaql.trees.edits import constant
from spaql.trees.edits import split as split_tree
from spaql.trees.equality import differences, gaps
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD
from spaql.trees.tree import Tree, decide

LOW, HIGH = np.array([-1.0, -2.0]), np.array([1.0, 2.0])
ALL = 10_000


def states(seed=0, n=40_000):
    return np.random.default_rng(seed).uniform(LOW, HIGH, (n, 2))


def chance(rng, kind, actions, leaves=3):
    """A tree with random tests, plain and oblique, and random laws, some of them constant."""
    outputs = {CLIP: len(getattr(actions, "low", [0])), SCORES: len(getattr(actions, "values", []))}.get(kind, 1)

    def grow(n):
        if n == 1:
            sums = rng.normal(scale=2.0, size=(outputs, 3)).round(2) * (rng.random((outputs, 3)) < 0.7)
            return law(*sums.tolist())
        left = int(rng.integers(1, n))
        weights = {"x": 1} if rng.random() < 0.4 else {"x": float(rng.normal()), "y": float(rng.normal())}
        return when(weights, float(rng.normal(scale=0.5)), grow(n - left), grow(left))

    return grown(plane(actions=actions), grow(leaves), kind).rules


KINDS = [
    (CLIP, Continuous((-1.0,), (1.5,))),
    (CLIP, Continuous((-1.0, 0.0), (1.0, 3.0))),
    (THRESHOLD, Finite((0, 1, 2))),
    (ORDERED, Finite((0, 1, 2, 3))),
    (SCORES, Finite((3, 1, 2))),
]


def apart(a, b, points):
    return np.abs(decide(a, points) - decide(b, points)).max(axis=1)


def in_boxes(points, boxes, slack=1e-6):
    inside = np.zeros(len(points), bool)
    for low, high in boxes:
        inside |= ((points >= low - slack) & (points <= high + slack)).all(axis=1)
    return inside


def largest_difference(a, b, low=None, high=None):
    """How far the actions of two trees are apart at most, and where; None: they do the same everywhere."""
    ends = [np.full(a.variables, bound) for bound in (-np.inf, np.inf)]
    low, high = (end if given is None else given for given, end in zip((low, high), ends, strict=True))
    gap = max(gaps(a, b, 0.0, low, high), key=lambda gap: gap.by, default=None)
    return (0.0, None) if gap is None else (gap.by, gap.state)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
@pytest.mark.parametrize(("kind", "actions"), KINDS)
def test_boxes_hold_every_difference_that_dense_sampling_finds(kind, actions, seed):
    rng = np.random.default_rng([seed, kind])
    a, b = (chance(rng, kind, actions, int(rng.integers(1, 4))) for _ in range(2))
    points = states(seed)
    tolerance = 0.5 if seed % 2 and kind == CLIP else 0.0
    boxes = differences(a, b, ALL, tolerance, LOW, HIGH)
    assert in_boxes(points[apart(a, b, points) > tolerance], boxes).all()
    by, where = largest_difference(a, b, LOW, HIGH)
    assert apart(a, b, points).max() <= by + 1e-6
    if where is not None:  # it is reached, or come near to, around the state
        around = np.clip(where + rng.normal(scale=1e-7, size=(500, 2)), LOW, HIGH)
        assert apart(a, b, around).max() == pytest.approx(by, abs=1e-4)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
@pytest.mark.parametrize(("kind", "actions"), KINDS)
def test_every_box_has_a_difference_in_it(kind, actions, seed):
    rng = np.random.default_rng([seed, kind])
    a, b = (chance(rng, kind, actions, 2) for _ in range(2))
    for low, high in differences(a, b, ALL, 0.0, LOW, HIGH):
        assert (low >= LOW - 1e-9).all()
        assert (high <= HIGH + 1e-9).all()
        if (high - low > 1e-3).all():
            assert apart(a, b, rng.uniform(low, high, (20_000, 2))).max() > 0.0


@pytest.mark.parametrize("name", ["P2", "C2", "A2", "M3", "L1c", "L2d", "ordered", "scores", "constants", "odd laws"])
def test_a_tree_does_what_it_does(name):
    rules = law_policies()[name].rules
    assert differences(rules, rules) == []
    assert largest_difference(rules, rules) == (0.0, None)


def bounds_of(policy):
    return tuple(np.array([getattr(axis, end) for axis in policy.problem.state]) for end in ("low", "high"))


def turned(rules, change):
    """The same tree with its gains changed."""
    return Tree(rules.nodes, rules.actions, rules.weights, rules.laws._replace(gains=change(rules.laws.gains)))


def test_a_test_put_the_other_way_round_differs_on_its_plane_alone_which_does_not_count():
    policy = law_policies()["C2"]
    test = when({"position": -1}, 0.43, law([-1, 50, -0.46]), law([1, 5, 0.3]))
    other = grown(policy.problem, test, THRESHOLD)
    assert differences(policy.rules, other.rules, ALL, 0.0, *bounds_of(policy)) == []


def test_a_gain_that_only_matters_where_the_law_is_saturated_changes_nothing():
    far = plane(actions=Continuous((-1.0,), (1.0,)))
    a = grown(far, when({"x": 1}, 0.5, law([10, 0, 0]), law([0, 1, 0])), CLIP).rules
    b = grown(far, when({"x": 1}, 0.5, law([20, 0, 0]), law([0, 1, 0])), CLIP).rules
    assert differences(a, b, low=LOW, high=HIGH) == []
    c = grown(far, when({"x": 1}, 0.04, law([20, 0, 0]), law([0, 1, 0])), CLIP).rules
    assert differences(a, c, low=LOW, high=HIGH) != []


def test_the_tolerance_is_exact():
    policy = law_policies()["P2"]
    low, high = bounds_of(policy)
    other = turned(policy.rules, lambda gains: gains * np.array([1.0, 1.0, 1.1]))
    by, state = largest_difference(policy.rules, other, low, high)
    sample = np.random.default_rng(0).uniform(low, high, (400_000, 3))
    assert by - 0.2 < apart(policy.rules, other, sample).max() <= by
    assert differences(policy.rules, other, tolerance=by * 1.001, low=low, high=high) == []
    assert differences(policy.rules, other, tolerance=by * 0.999, low=low, high=high) != []
    assert ((low <= state) & (state <= high)).all()


def test_without_bounds_a_part_may_have_no_end():
    a = grown(plane(), law([1, 0, 0]), CLIP).rules
    b = grown(plane(), law([1, 0, 0.5]), CLIP).rules
    ((low, high),) = differences(a, b)
    np.testing.assert_allclose([low[0], high[0]], [-3.5, 3.0], atol=1e-5)
    assert (low[1], high[1]) == (-np.inf, np.inf)
    assert largest_difference(a, b)[0] == pytest.approx(0.5)


def test_laws_and_constant_actions_can_be_compared():
    steps = split_tree(constant(2, [0.0]), 0, np.array([1.0, 0.0]), 0.0, np.array([-3.0]), np.array([3.0]))
    steep = grown(plane(), law([3000, 0, 0]), CLIP).rules
    boxes = differences(steps, steep, ALL, 0.5, LOW, HIGH)
    assert len(boxes) == 2
    assert max(np.abs(box[0][0]) for box in boxes) < 1e-3
    same = grown(plane(), when({"x": 1}, 0.0, law([0, 0, 99]), law([0, 0, -3])), CLIP).rules
    assert differences(steps, same) == []
    pedals = grown(plane(actions=Finite((-3, 3))), law([1, 0, 0]), THRESHOLD).rules
    assert differences(steps, pedals) == []


def test_trees_with_oblique_tests_and_constant_actions_can_be_compared_too():
    one = split_tree(constant(2, [0.0]), 0, np.array([1.0, 1.0]), 0.0, np.array([1.0]), np.array([2.0]))
    two = split_tree(constant(2, [0.0]), 0, np.array([-2.0, -2.0]), 0.0, np.array([2.0]), np.array([1.0]))
    assert differences(one, two) == []
    three = split_tree(constant(2, [0.0]), 0, np.array([1.0, 1.0]), 0.5, np.array([1.0]), np.array([2.0]))
    assert differences(one, three, low=LOW, high=HIGH) != []
    assert differences(one, three, tolerance=1.0, low=LOW, high=HIGH) == []
    assert len(differences(one, three, most=0)) == 0


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(spaql.SpaqlError, match="cannot be compared"):
        differences(law_policies()["P2"].rules, law_policies()["C2"].rules)
    clip = grown(plane(), law([1, 0, 0]), CLIP).rules
    for other in (
        grown(plane(actions=Finite((0, 1))), law([1, 0, 0]), THRESHOLD).rules,
        grown(plane(actions=Continuous((-1.0,), (1.0,))), law([1, 0, 0]), CLIP).rules,
    ):
        with pytest.raises(spaql.SpaqlError, match="cannot be compared"):
            differences(clip, other)
    for bad in ({"low": [1.0, 1.0], "high": [0.0, 2.0]}, {"low": [1.0]}, {"tolerance": -1.0}, {"high": [np.nan, 1.0]}):
        with pytest.raises(spaql.SpaqlError):
            differences(clip, clip, **bad)


def test_a_variable_that_is_constant_is_no_plane():
    """All states lie on the cut, and that is where the trees differ."""
    one = grown(plane(), when({"x": 1}, 0.5, law([0, 1, 0]), law([0, 0, 0])), CLIP).rules
    two = grown(plane(), when({"x": 1}, 0.5, law([0, 2, 0]), law([0, 0, 0])), CLIP).rules
    assert differences(one, two, low=[0.5, -1.0], high=[0.5, 1.0]) != []
    assert differences(one, two, low=[0.25, -1.0], high=[0.25, 1.0]) == []


def test_axis_aligned_trees_take_bounds_and_a_tolerance_as_well():
    one = split_tree(constant(2, [0.0]), 0, np.array([1.0, 0.0]), 0.0, np.array([1.0]), np.array([2.0]))
    two = split_tree(constant(2, [0.0]), 0, np.array([1.0, 0.0]), 0.5, np.array([1.0]), np.array([2.0]))
    ((low, high),) = differences(one, two)
    assert (low.tolist(), high.tolist()) == ([0.0, -np.inf], [0.5, np.inf])
    assert differences(one, two, tolerance=1.0) == []
    assert differences(one, two, low=[0.5, 0.0], high=[1.0, 1.0]) == []
    assert differences(one, two, low=[0.25, 0.0], high=[0.25, 1.0]) != []
