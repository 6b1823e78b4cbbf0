"""Laws in words: a controller that fits on a slide, and can be typed in as it is read."""

import numpy as np
import pytest
from rich.console import Console

import spaql
from exported_policies import built, leaf, plane, split
from law_examples import NAMES, grown, law, law_policies, when
from spaql.plants.problem import Continuous, Finite
from spaql.policy.knowledge import rich_table
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD


def laws_of(policy):
    """From the last test to the first, as in an indented text."""
    return [policy.words.leaf_action(leaf) for leaf in policy.rules.leaves()[::-1]]


# -- each kind ---------------------------------------------------------------------------------------------------------


def test_a_continuous_law_is_clipped_to_the_range_of_its_action_and_has_its_unit():
    assert laws_of(law_policies()["P2"]) == [
        "torque = clip(-14·sin - 3·velocity, -2, 2) N m",
        "torque = clip(8·sin + 4·velocity, -2, 2) N m",
    ]


def test_a_threshold_compares_the_weighted_sum_with_a_cut():
    assert laws_of(law_policies()["C2"]) == [
        "pedal = 2 if position + 5·velocity ≥ -0.3 else 0",
        "pedal = 2 if -position + 50·velocity ≥ 0.46 else 0",
    ]
    assert laws_of(law_policies()["cartpole"]) == ["push = 1 if 3.5·angle + angular velocity ≥ 0 else 0"]


def test_ordered_actions_have_their_cuts_told_one_by_one():
    assert laws_of(law_policies()["ordered"])[0] == "pedal = 2 if 30·velocity ≥ 0.5, 1 if ≥ -0.5, else 0"


def test_many_ordered_actions_are_told_by_their_number():
    (said,) = laws_of(law_policies()["ordered many"])
    assert said.startswith("torque = number floor(clip(30·x - 2.5·y + 20, 0, 40) + 0.5) of -2, -1.9, ")
    assert said.endswith("1.9, 2 N m, counted from 0")


def test_the_best_of_scores_lists_them_by_their_action():
    assert laws_of(law_policies()["scores"])[0] == "force = highest of (5 N: x; -1.5 N: y + 0.5; 2.25 N: -x - y)"


def test_several_outputs_have_a_law_each():
    policy = law_policies()["L1c"]
    main, side = policy.words.laws(0)
    assert main == "main = clip(-5.5·y - 2.1·vx - 7.8·vy + 2.7·angle + 3.8·spin - 2.1·leg1 - 0.82, -1, 1)"
    assert side == "side = clip(-3.9·x + 0.57·y - 3.8·vx + 0.83·vy + 5.1·angle + 2.7·spin, -1, 1)"
    assert policy.words.leaf_action(0) == f"{main}; {side}"


def test_a_law_without_gains_reads_as_a_constant_action_does():
    assert laws_of(law_policies()["constants"]) == ["force = clip(x - y + 0.25, -3, 3) N", "force = 3 N", "force = -1.5 N"]
    assert laws_of(law_policies()["scores"])[1] == "force = -1.5 N"
    for kind, offset, said in ((THRESHOLD, 0.0, 7), (THRESHOLD, -1.0, 3), (ORDERED, 0.6, 5), (ORDERED, 99.0, 7), (ORDERED, -9, 3)):
        policy = grown(plane(actions=Finite((3, 5, 7))), law([0, 0, offset]), kind)
        assert laws_of(policy) == [f"action = {said}"]
        assert policy.decide([[0.5, 0.5]])[0, 0] == said


def test_an_oblique_test_of_a_law_tree_leaves_out_its_ones():
    assert law_policies()["A2"].words.test(0) == "-cos1 - 0.6·sin1 + 0.2·cos2 + 0.4·sin2 ≥ 0.4"


@pytest.mark.parametrize("name", ["C2", "A2", "cartpole", "ordered", "ordered many"])
def test_a_threshold_in_words_is_where_the_action_changes(name):
    """The cuts that are told are those of the policy: the action on both sides of each."""
    policy = law_policies()[name]
    laws = policy.rules.laws
    for node in policy.rules.leaves().tolist():
        gains = laws.gains[node, 0]
        for cut, action in policy.words.law_words.steps(node)[:6]:
            for side in (1e-6, -1e-6):
                x = gains * (float(cut) + side) / (gains @ gains)
                alone = policy.rules.laws._replace(gains=laws.gains[[node]], offsets=laws.offsets[[node]])
                tree = spaql.trees.tree.make_tree([(0.0, -1, 0, 0)], np.zeros((1, 1)), len(x), None, alone)
                got = spaql.trees.tree.decide(tree, x[None])[0, 0]
                assert (got == action) == (side > 0)


# -- digits ------------------------------------------------------------------------------------------------------------


def test_numbers_have_four_digits_and_more_where_two_laws_would_look_the_same():
    near = when({"x": 1}, 0.0, law([1 / 3, 2.00001, 0.5]), law([1 / 3, 2.00002, 0.5]))
    assert laws_of(grown(plane(), near, CLIP)) == [
        "force = clip(0.3333·x + 2.00001·y + 0.5, -3, 3) N",
        "force = clip(0.3333·x + 2.00002·y + 0.5, -3, 3) N",
    ]
    cuts = when({"x": 1}, 0.0, law([1, 0, 0.123456]), law([1, 0, 0.123457]))
    assert laws_of(grown(plane(actions=Finite((0, 1))), cuts, THRESHOLD)) == [
        "action = 1 if x ≥ -0.123456 else 0",
        "action = 1 if x ≥ -0.123457 else 0",
    ]


def test_a_weight_that_is_almost_one_is_not_taken_for_one():
    assert laws_of(grown(plane(), law([1 + 1e-9, -1, 0]), CLIP)) == ["force = clip(1·x - y, -3, 3) N"]


# -- how many numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count"),
    [("P2", 5), ("C2", 5), ("A2", 11), ("M3", 9), ("L1c", 13), ("L2d", 24), ("cartpole", 1), ("ordered", 7), ("constants", 4)],
)
def test_numbers_are_those_a_reader_sees(name, count):
    """Of the prototype's slides; ones and zeros are free, a constant action counts."""
    assert law_policies()[name].numbers == count


def test_the_numbers_of_constant_actions_are_cuts_and_actions():
    assert built(plane(), 2, 1, split(0, 0.5, leaf(0.0), split(1, 0.25, leaf(1.0), leaf(2.0)))).numbers == 5
    two = plane(actions=Continuous((-1.0, -1.0), (1.0, 1.0)))
    assert built(two, 2, 2, leaf(0.5, 0.0)).numbers == 2
    assert built(plane(), 2, 1, split(2, 0.0, leaf(1.0), leaf(2.0), weights=[1.0, -2.5])).numbers == 3


def test_a_policy_tells_its_laws_and_numbers():
    assert repr(law_policies()["P2"]) == "<law tree of P2: 2 laws, 5 numbers, depth 1>"
    assert repr(law_policies()["cartpole"]) == "<law tree of law: 1 law, 1 number, depth 0>"
    assert law_policies()["P2"].has_laws
    assert not built(plane(), 2, 1, leaf(1.0)).has_laws


@pytest.mark.parametrize("name", NAMES)
def test_in_any_form_it_is_called_by_its_laws(name):
    policy = law_policies()[name]
    assert policy.tree().kind == policy.kind == "law tree"
    assert policy.tree().to_c().splitlines()[0].split(":")[1] == policy.to_c().splitlines()[0].split(":")[1]


# -- the table ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_a_row_per_law_with_its_words_and_its_coefficients(name):
    policy = law_policies()[name]
    table, laws, leaves = policy.table(), policy.rules.laws, policy.rules.leaves()
    assert len(table) == policy.n_leaves
    for axis, action in enumerate(policy.words.action_names):
        assert table[action].tolist() == [policy.words.law(leaf, axis) for leaf in leaves]
    gains = [column for column in table.columns if ": gain of " in column]
    np.testing.assert_array_equal(table[gains].to_numpy(float).reshape(laws.gains[leaves].shape), laws.gains[leaves])
    constants = [column for column in table.columns if column.endswith(": constant")]
    np.testing.assert_array_equal(table[constants].to_numpy(float), laws.offsets[leaves])


def test_the_table_tells_oblique_tests_too():
    assert law_policies()["M3"].table()["tests"].tolist()[-1] == "-position + 50·velocity ≥ 0.7"
    assert "tests" not in law_policies()["P2"].table()


def test_the_table_of_the_terminal_has_the_laws():
    console = Console(width=300, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(rich_table(law_policies()["P2"]))
    text = console.export_text()
    assert "clip(-14·sin - 3·velocity, -2, 2) N m" in text
    scores = law_policies()["scores"]
    console.print(rich_table(scores))
    text = console.export_text()
    assert all(part in text for part in ("highest of (", "5 N: x", "-1.5 N: y + 0.5", "2.25 N: -x - y)", "0.5·x - y ≥ 0.1"))


def test_names_of_scores_are_their_actions():
    table = grown(plane(actions=Finite((4, 2))), law([1, 0, 0], [0, 1, 0]), SCORES).table()
    assert {"action = 4: gain of x", "action = 2: constant"} <= set(table.columns)
