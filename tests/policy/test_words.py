"""One vocabulary: tests, rules, actions and shares of time are said in the same words and digits everywhere."""

import re
from html import unescape

import numpy as np
import pytest
from rich.console import Console

import spaql.trees.tree
from exported_policies import built, leaf, plane, policies, split
from made_explanations import data_of, text_of, written
from spaql.plants.problem import Axis, Continuous, Finite, Problem
from spaql.policy.knowledge import rich_table
from spaql.policy.words import column, number, one_line, percent, share_of_time, told_apart

CLOSE = 0.100001  # beside 0.1: four digits do not tell them apart


def test_numbers_have_four_digits_and_no_exponent_where_that_is_as_short():
    assert [number(v) for v in (0.123456, -0.0, 1234567.0, 12345.0, 1e-9, 2.0)] == [
        "0.1235",
        "0",
        "1.235e+06",
        "12340",
        "1e-09",
        "2",
    ]
    assert [number(v) for v in (np.inf, -np.inf)] == ["∞", "-∞"]


def test_neighbours_have_as_many_digits_as_tell_them_apart():
    assert told_apart([0.1, 0.1 + 1e-9, 1.0]) == {0.1: "0.1", 0.1 + 1e-9: "0.100000001", 1.0: "1"}
    assert told_apart([-1e-323, 5.0]) == {-1e-323: "0", 5.0: "5"}


def test_a_column_of_values_shows_where_they_differ():
    assert column([1000.0, 1000.001]) == ["1000.000000", "1000.001000"]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (0.0, "0 %"),
        (0.0004, "< 0.1 %"),
        (0.001, "0.1 %"),
        (0.1234, "12.3 %"),
        (0.9994, "99.9 %"),
        (0.9996, "> 99.9 %"),
        (1.0 - 1e-15, "100 %"),
        (1.0, "100 %"),
    ],
)
def test_a_percentage_has_one_decimal_and_is_never_rounded_to_nothing_or_all(part, words):
    assert percent(part) == words


def test_a_share_of_time_may_be_never_or_unknown():
    assert [share_of_time(part) for part in (0.0, np.nan, 0.5)] == ["never", "", "50.0 %"]


def test_names_are_one_line_of_visible_signs():
    assert one_line("a\n\u202eb\x00 c") == "a b c"
    assert one_line("abcdef", 4) == "abc…"


# -- the same everywhere -----------------------------------------------------------------------------------------------


def close_cuts():
    """Cuts and actions that four digits do not tell apart, an oblique test, an action of many digits."""
    sums = split(2, 0.30000001, leaf(1.0), leaf(1.00001), weights=[0.31, -1.25])
    return built(plane(), 2, 1, split(0, 0.1, leaf(-2.0), split(0, CLOSE, sums, leaf(2.0))))


def inner_nodes(policy):
    return [node for node in range(len(policy.rules.nodes)) if policy.rules.nodes["feature"][node] >= 0]


def test_a_test_is_said_with_the_digits_that_tell_it_apart_and_its_unit():
    policy = close_cuts()
    assert [policy.words.test(node) for node in inner_nodes(policy)] == [
        "x ≥ 0.1 m",
        "x ≥ 0.100001 m",
        "0.31·x - 1.25·y ≥ 0.3",
    ]
    assert policy.words.test(0, high=False) == "x < 0.1 m"


@pytest.mark.parametrize("name", ["cartpole", "pendulum", "oblique", "odd names"])
def test_why_text_drawings_and_page_say_every_test_in_the_same_words(name, tmp_path):
    check_words(policies()[name], tmp_path)


def test_close_cuts_are_said_in_the_same_words_too(tmp_path):
    check_words(close_cuts(), tmp_path)


def check_words(policy, folder):
    page = written(folder, policy, policy)
    shown, data = unescape(text_of(page)).replace("−", "-"), data_of(page)
    text, graph = policy.to_text(), policy.to_dot()
    for node in inner_nodes(policy):
        said = policy.words.test(node)
        assert said in text
        assert said.replace("\\", "\\\\").replace('"', '\\"') in graph
        assert policy.words.cut(node) == data["words"]["cut"][node]
    low, high = policy.bounds()
    for leaf_node in policy.rules.leaves()[:40]:
        region = np.clip(low[leaf_node], -1e6, None), np.clip(high[leaf_node], None, 1e6)
        why = policy.why((region[0] + region[1]) / 2)
        rule = policy.words.rule(why.leaf)
        assert list(why.rule) == rule
        assert f"it applies {policy.words.leaf_action(why.leaf)}, because" in str(why)
        assert policy.words.leaf_action(why.leaf) in text
        assert all(part in shown for part in rule)


def test_table_and_text_have_the_same_digits_and_shares():
    policy = policies()["cartpole"]
    console = Console(width=300, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(rich_table(policy, rows=1000))
    table = console.export_text()
    assert re.search(r"angular velocity +\n.*\[rad/s\]", table)
    for node in inner_nodes(policy):
        assert re.search(rf"(?<![\d.]){re.escape(policy.words.cut(node))}(?![\d])", table)
    for leaf_node in policy.rules.leaves():
        time = share_of_time(policy.share[leaf_node])
        assert time in table
        assert f"({time})" in policy.to_text()


def test_where_the_action_changes_is_said_with_the_digits_of_the_test():
    policy = close_cuts()
    assert "  x = 0.100001 m (0.000001 m away): force = 2 N" in str(policy.why([0.1, 0.0])).replace("1e-06", "0.000001")


def test_actions_without_names_are_called_the_same_everywhere():
    two = Problem("two", "", (Axis("x", -1.0, 1.0),), Continuous((-1.0, -1.0), (1.0, 1.0)), 10)
    policy = built(two, 1, 2, split(0, 0.0, leaf(0.5, 1.0), leaf(-0.5, 0.0)))
    said = "action 1 = 0.5, action 2 = 1"
    assert said in str(policy.why([-0.5]))
    assert said in policy.to_text()
    assert {"action 1", "action 2"} <= set(policy.table().columns)
    one = built(plane(actions=Finite((0, 1))), 2, 1, leaf(1))
    assert "action = 1" in str(one.why([0.0, 0.0])) and "action = 1" in one.to_text()  # noqa: PT018


def test_names_that_are_the_same_are_told_apart_in_why_and_in_the_table_too():
    policy = built(plane(("x", "x")), 2, 1, split(1, 0.5, leaf(0), leaf(1)))
    assert policy.why([0.0, 0.0]).rule == ("x_2 < 0.5",)
    assert {"x (m) from", "x_2 from"} <= set(policy.table().columns)


def test_percentages_of_why_text_and_page_are_the_same(tmp_path):
    table = policies()["cartpole table"]
    tree = table.tree()
    leaf_node = int(np.argmax(tree.share))
    state = tree.usage.states[spaql.trees.tree.leaf_of(tree.rules, tree.usage.states) == leaf_node][0]
    said = share_of_time(tree.share[leaf_node])
    assert f"Share of time under this rule: {said}." in str(tree.why(state))
    assert f"({said})" in tree.to_text()
    page = written(tmp_path, table, tree)
    assert said in text_of(page)
    assert data_of(page)["leaves"]["time"][tree.rules.leaves().tolist().index(leaf_node)] == said
