"""Policies as JSON: they come back the same, and no text, however hostile, does more than raise a SpaqlError of one line."""

import copy
import json

import numpy as np
import pytest

import spaql
from exported_policies import NAMES, built, expected, leaf, plane, policies, random_tree, split, states_of
from hostile_json import loaded_or_refused, mutated, refused
from spaql.export import export
from spaql.policy.policy import Policy
from spaql.trees.equality import differences


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_back_the_same(name):
    policy = policies()[name]
    text = export(policy, "json")
    again = Policy.from_json(text)
    assert export(again, "json") == text
    for field in ("nodes", "actions", "weights"):
        assert getattr(again.rules, field).dtype == getattr(policy.rules, field).dtype
    if not policy.rules.oblique:
        assert differences(policy.rules, again.rules) == []
    states = states_of(policy, 10_000)
    np.testing.assert_array_equal(expected(again, states), expected(policy, states))
    assert (again.kind, again.origin, again.knowledge.step) == (policy.kind, policy.origin, policy.knowledge.step)
    assert (again.problem.state, again.problem.actions) == (policy.problem.state, policy.problem.actions)
    assert Policy.from_json(text.encode()).n_leaves == policy.n_leaves


def test_a_problem_of_the_catalog_can_be_run_again():
    policy = policies()["cartpole"]
    again = Policy.from_json(export(policy, "json"))
    np.testing.assert_array_equal(again.evaluate(50, seed=3).returns, policy.evaluate(50, seed=3).returns)
    told = json.loads(export(policy, "json"))
    told["variables"][0]["high"] = 5.0
    other = Policy.from_json(json.dumps(told))
    assert other.problem.plant is None
    assert other.predict([0.0] * 4)[0] in (0, 1)
    with pytest.raises(spaql.SpaqlError, match="no plant"):
        other.evaluate(5)


def test_a_given_problem_must_be_the_same():
    policy = policies()["pendulum"]
    text = export(policy, "json")
    assert Policy.from_json(text, spaql.make("pendulum")).evaluate(5).returns.shape == (5,)
    assert "its actions are not those of pendulum-5" in refused(text, spaql.make("pendulum-5"))
    assert "its variables are not those of cartpole" in refused(text, spaql.make("cartpole"))


def test_it_is_plain_json():
    told = json.loads(export(policies()["cartpole"], "json"), parse_constant=pytest.fail)
    assert (told["format"], told["version"], told["problem"]["name"]) == ("spaql policy", 1, "cartpole")
    assert told["variables"][1] == {"name": "velocity", "unit": "m/s", "low": None, "high": None, "slope": 1 / 240, "centre": 0.0}
    assert told["actions"] == {"kind": "finite", "values": [0, 1], "box": False, "names": ["push"], "units": []}
    assert {tuple(node) for node in told["nodes"]} == {("action",), ("variable", "at_least", "low", "high")}


def test_hostile_texts():
    good = export(policies()["oblique"], "json")
    texts = ["", "{", "null", "[]", "3", '"spaql policy"', "[" * 100_000, '{"a":' * 100_000, "9" * 10_000, b"\xff\xfe\x00", "\x00", "NaN"]
    texts += [good.replace("0.3", word) for word in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "true", '"0.3"', "[0.3]")]
    texts += [good.replace('"kind": "comp', '"version": 1, "kind": "comp'), good + "{}", good[:-10]]
    texts += [good.replace('"name": "x"', f'"name": "{"x" * 2000}"'), good.replace('"name": "x"', '"name": "\\ud800"')]
    for text in texts:
        refused(text)
    for nothing in (None, 3, ["{}"], bytearray(b"{}")):
        assert "text" in refused(nothing)
    assert "nested too deep" in refused("[" * 100_000)
    assert "version 2" in refused(good.replace('"version": 1', '"version": 2'))


def test_trees_that_are_none():
    good = json.loads(export(built(plane(), 2, 1, split(0, 0.5, leaf(1), split(1, 0.25, leaf(2), leaf(3)))), "json"))
    nodes = good["nodes"]
    assert ["action" in node for node in nodes] == [False, True, False, True, True]

    def changed(index, **values):
        told = copy.deepcopy(good)
        told["nodes"][index].update(values)
        return json.dumps(told)

    for bad in (
        changed(2, low=2), changed(2, high=0), changed(2, low=1), changed(0, high=1), changed(2, high=99), changed(0, low=1.0),
        changed(0, variable=2), changed(0, variable=-1), changed(0, variable=True), changed(0, low=2**40), changed(0, extra=1),
        changed(1, action=[1, 2]), changed(1, action=[]), changed(1, action=1), changed(1, action=[4.0]), changed(1, action=[None]),
        changed(0, weights=[1, 2]), json.dumps(good | {"nodes": []}), json.dumps(good | {"nodes": nodes[:-1]}),
        json.dumps(good | {"nodes": [*nodes, nodes[1]]}), json.dumps(good | {"nodes": [nodes[0]] * 3}), json.dumps(good | {"nodes": {}}),
    ):  # fmt: skip
        refused(bad)


@pytest.mark.parametrize("name", ["cartpole", pytest.param("pendulum-5", marks=pytest.mark.slow), "oblique", "odd names"])
def test_mutated_texts(name):
    """What still loads is a sound policy; everything else is a SpaqlError of one line."""
    policy, rng = policies()[name], np.random.default_rng(0)
    text = export(policy, "json")
    told, loaded = json.loads(text), 0
    for i in range(400):
        if i % 2 == 0:
            changed = json.dumps(mutated(told, rng))
        else:
            letters = list(text)
            for _ in range(int(rng.integers(1, 6))):
                letters[int(rng.integers(len(letters)))] = str(rng.choice(list('{}[]",:0123456789eE.-+ntfx\\')))
            changed = "".join(letters)
        again = loaded_or_refused(changed)
        if again is None:
            continue
        assert isinstance(again, Policy)
        loaded += 1
        d = len(again.problem.state)
        assert again.decide(np.zeros((1, d))).shape == (1, again.rules.actions.shape[1])
        assert Policy.from_json(export(again, "json")).n_leaves == again.n_leaves
    assert 0 < loaded < 300


@pytest.mark.slow
def test_large_policies():
    policy = random_tree(20_000)
    again = Policy.from_json(export(policy, "json"))
    np.testing.assert_array_equal(again.rules.nodes, policy.rules.nodes)
