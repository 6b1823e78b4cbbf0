"""The page that explains a controller: its data are the policy's, it stands alone, and nothing in a name can break it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import spaql
from helpers import linear_plant, wrapped
from made_explanations import NASTY, cube_policy, data_of, grown, learned, oblique_tree, text_of, written
from made_pages import Reader
from spaql.report.explanation import MOST_LEAVES
from spaql.report.explanation_data import arrays_of, best_axes, page_data, variables
from spaql.report.page_parts import labels, picked, recorded
from spaql.trees.tree import NODE, Builder, make_tree


def tree_from(data, d):
    """The tree a script rebuilds from the arrays of the page."""
    nodes = np.zeros(len(data["feature"]), NODE)
    for name in ("feature", "low", "high"):
        nodes[name] = data[name]
    nodes["cut"] = np.array(data["cuts"])[data["cut"]]
    actions = np.array([data["actions"][i] if i >= 0 else [0.0] * len(data["actions"][0]) for i in data["action"]])
    weights = np.zeros((len(nodes), d))
    for node, row in data["weights"].items():
        weights[int(node)] = row
    return make_tree(nodes, actions, d, weights)


@pytest.fixture(scope="module")
def pendulum():
    return learned("pendulum")


@pytest.fixture(scope="module")
def cartpole():
    return learned("cartpole", spaql.SPAQLTS)


@pytest.fixture(scope="module")
def pages(tmp_path_factory, pendulum, cartpole):
    folder = tmp_path_factory.mktemp("explained")
    return {
        "table": written(folder, pendulum),
        "exact": written(folder, cartpole, cartpole.tree()),
        "oblique": written(folder, cartpole, oblique_tree(cartpole)),
        "cube": written(folder, cube_policy()),
        "untrained": written(folder, spaql.SPAQL(spaql.make("pendulum")).policy()),
    }


# -- the data ------------------------------------------------------------------------------------------------------------------------


def test_arrays_of_the_page_are_the_tree_to_the_last_bit(pendulum, cartpole):
    for policy in (pendulum, pendulum.tree(), cartpole.tree(), oblique_tree(cartpole)):
        again = tree_from(json.loads(json.dumps(arrays_of(policy.rules))), policy.rules.variables)
        inner = policy.rules.nodes["feature"] >= 0
        for name in ("feature", "low", "high", "cut"):
            np.testing.assert_array_equal(again.nodes[name][inner], policy.rules.nodes[name][inner])
        np.testing.assert_array_equal(again.actions[~inner], policy.rules.actions[~inner])
        np.testing.assert_array_equal(again.weights, policy.rules.weights)


def test_a_table_is_shown_as_its_exact_tree_with_the_values_of_its_cells(pages, pendulum):
    data = data_of(pages["table"])
    assert data["leaves"]["node"] == pendulum.tree().rules.leaves().tolist()
    table, nodes = data["table"], np.array(data["table"]["node"])
    rows = pendulum.knowledge.table.rows
    cells = pendulum.knowledge.table.row_of_node[nodes]
    np.testing.assert_allclose(np.array(table["q"]), rows.q[cells], rtol=1e-5)
    assert table["visits"] == rows.visits[cells].tolist()
    for told, known in zip(table["runner_up"], rows.runner_up[cells], strict=True):
        assert told is None or np.allclose(told, known, rtol=1e-5)
    assert sum(share for share in data["leaves"]["share"]) == pytest.approx(1.0, abs=1e-3)


def test_episodes_are_those_of_the_policy_and_chosen_by_their_return(pendulum):
    tree = pendulum.tree()
    returns = tree.evaluate(40).returns
    found = recorded(tree, returns)
    assert [one["label"] for one in found[:3]] == ["typical", "best of 40", "worst of 40"]
    assert found[1]["return"] == pytest.approx(returns.max(), rel=1e-5)
    assert found[2]["return"] == pytest.approx(returns.min(), rel=1e-5)
    np.testing.assert_array_equal(found[1]["observations"], tree.episode(0, int(returns.argmax())).observations)
    assert len({one["return"] for one in found}) == 6


def test_few_and_equal_episodes_are_no_error():
    assert picked(np.array([3.0]), 6) == [0]
    assert sorted(picked(np.arange(4.0), 6)) == [0, 1, 2, 3]
    assert picked(np.array([5.0, 1.0, 3.0]), 3) == [2, 0, 1]
    assert labels([200.0, 200.0], 30) == ["episode 1", "episode 2"]


def test_unbounded_variables_show_where_the_loop_goes_widened(cartpole):
    shown = variables(cartpole.tree())
    velocity = shown[1]
    assert velocity["low"] is None
    assert velocity["near"][0] < velocity["near"][1]
    assert velocity["far"][1] > 100.0 > velocity["near"][1]
    assert shown[0]["near"][0] >= shown[0]["low"]


def test_the_map_begins_with_the_variables_that_matter():
    grow = Builder(3, 1)
    root, inner = grow.test(0, 100.0), grow.test(2, 0.0)
    grow.join(inner, grow.leaf(-1.0), grow.leaf(1.0))
    grow.join(root, inner, grow.leaf(0.0))
    tested = replace(spaql.SPAQL(linear_plant(3)).policy(), rules=grow.tree(), kind="compressed tree")
    assert 2 in best_axes(tested)


def test_in_an_environment_the_page_has_episodes_too(tmp_path):
    agent = spaql.SPAQL(wrapped(linear_plant(2)), xi=1.0)
    agent.learn(3, rollouts=2)
    data = data_of(written(tmp_path, agent.policy()))
    assert len(data["episodes"]) == 6
    assert len(data["episodes"][0]["observations"]) == 31
    assert data["drawing"] is None


def test_plants_we_know_are_drawn(pages):
    assert data_of(pages["table"])["drawing"] == "pendulum"
    assert data_of(pages["exact"])["drawing"] == "cartpole"
    assert data_of(pages["cube"])["drawing"] is None


# -- what the page says --------------------------------------------------------------------------------------------------------------


def test_the_head_says_what_it_is_and_what_it_is_worth(pages, cartpole):
    text = text_of(pages["exact"])
    assert "SPAQL-TS on cartpole" in text
    assert "seed 0, exact tree" in text
    fresh = cartpole.evaluate(1000)
    assert f"{fresh.mean:,.2f} ±" in text or f"{fresh.mean:,.1f} ±" in text
    assert f"a learned table of {cartpole.n_leaves} regions" in text
    assert f"{cartpole.knowledge.samples.training:,}" in text


def test_a_compressed_tree_shows_both_returns_its_samples_and_the_sizes(pages):
    text = text_of(pages["oblique"])
    assert "return of the learned table in the same episodes" in text
    assert "1,234" in text
    assert "How small can it be?" in text
    assert "agrees with the table" in text
    assert pages["oblique"].count('class="point') == 3
    assert "How small can it be?" not in pages["exact"]


def test_without_a_plant_there_is_no_player_and_no_share_of_time(pages):
    page = pages["cube"]
    assert data_of(page)["episodes"] == []
    assert "play" not in Reader(page).all("name")
    assert "share" not in Reader(page).all("class")
    assert "≥ " in text_of(page)


def test_an_untrained_agent_has_one_rule(pages):
    text = text_of(pages["untrained"])
    assert "applies the same action everywhere" in text
    assert "1 rule " in text


def test_of_a_policy_that_changes_with_time_the_page_says_which_one(tmp_path):
    agent = spaql.AQL(spaql.make("pendulum"), seed=0)
    agent.learn(3, rollouts=1)
    assert "the one of step 7" in text_of(written(tmp_path, agent.policy(step=7)))


def test_the_tree_and_all_rules_are_written_without_scripts(pages, cartpole):
    read, tree = Reader(pages["exact"]), cartpole.tree()
    leaves = [attrs for tag, attrs in read.elements if tag == "a" and "leaf" in attrs.get("class", "")]
    assert len(leaves) == tree.n_leaves
    rows = [attrs["id"] for tag, attrs in read.elements if tag == "tr" and attrs.get("id", "").startswith("rule-")]
    assert sorted(rows) == sorted(f"rule-{i}" for i in range(1, tree.n_leaves + 1))
    assert {attrs["href"][1:] for attrs in leaves} == set(rows)


# -- one file that stands alone ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["table", "exact", "oblique", "cube", "untrained"])
def test_page_needs_nothing_but_itself_and_is_well_made(pages, kind):
    page, read = pages[kind], Reader(pages[kind])
    assert all(value.startswith("data:") for value in read.all("src"))
    assert all(value.startswith(("#", "data:")) for value in read.all("href"))
    assert len(page.encode()) < 5_000_000
    ids = read.all("id")
    assert len(ids) == len(set(ids))
    assert {value[1:] for value in read.all("href") if value.startswith("#")} <= set(ids)
    names = [tag for tag, _ in read.elements]
    assert names.count("caption") == names.count("table")
    assert all("scope" in attrs for tag, attrs in read.elements if tag == "th")
    data_of(page)


def test_names_cannot_break_the_page(tmp_path):
    page = written(tmp_path, cube_policy(NASTY, NASTY, NASTY))
    read = Reader(page)
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert not any('alert("x")' in script and "explanation-data" not in script and "\\u003c" not in script for script in read.scripts)
    assert data_of(page)["state"][0]["name"] == f"{NASTY}0".replace("\u2028", " ")  # names are one line


def test_large_policies_stay_small_pages(tmp_path):
    table = cube_policy(updates=200)
    policy = replace(table, rules=grown(MOST_LEAVES + 200), kind="compressed tree", table_policy=table)
    page = written(tmp_path, table, policy)
    assert len(page.encode()) < 2_000_000
    assert "200 more rules are hardly used" in page
    assert len(data_of(page)["tree"]["feature"]) == 2 * (MOST_LEAVES + 200) - 1


def test_long_episodes_are_cut(monkeypatch, pendulum):
    monkeypatch.setattr("spaql.report.page_parts.MOST_NUMBERS", 1)
    tree = pendulum.tree()
    found = recorded(tree, tree.evaluate(10).returns)
    assert len(found[0]["observations"]) == 51
    assert found[0]["steps"] == 200
    assert page_data(pendulum, tree, found)["start"] == found[0]["observations"][0]
