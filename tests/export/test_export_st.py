"""Exported Structured Text is run by a small interpreter that knows the grammar of IEC 61131-3 as far as it is used."""


import numpy as np
import pytest

import spaql
from exported_policies import NAMES, built, corners_of, deep_chain, expected, leaf, plane, policies, split, states_of
from spaql.export import export
from structured_text import Block


@pytest.mark.parametrize("name", NAMES)
def test_it_does_what_the_policy_does(name):
    policy = policies()[name]
    block = Block(export(policy, "st"))
    assert block.name == "controller"
    states = np.concatenate([states_of(policy, 20_000), np.random.default_rng(0).permutation(corners_of(policy))[:20_000]])
    states = states[(np.abs(states) >= np.finfo(float).tiny).all(axis=1) | (states == 0).all(axis=1)]  # see the next test
    got = np.array([block.run(state) for state in states.tolist()])
    np.testing.assert_array_equal(got, expected(policy, states))


def test_cuts_that_a_plc_cannot_write_become_zero():
    policy = built(plane(), 2, 1, split(0, -1e-323, leaf(-1), split(1, 3e-310, leaf(0), leaf(1))))
    text = export(policy, "st")
    assert text.count(">= LREAL#0.0 ") == 2
    block = Block(text)
    for state in ([0.0, 1e-300], [-1e-300, 0.0], [1e-300, -1e-300]):
        assert block.run(state) == expected(policy, [state])[0].tolist()


def test_names_and_units():
    block = Block(export(policies()["pendulum"], "st", name="SwingUp"))
    assert (block.name, block.inputs, block.outputs) == ("SwingUp", ["cos_value", "sin_value", "velocity"], ["torque"])
    assert "(* velocity [rad/s], from -8 to 8 *)" in export(policies()["pendulum"], "st")
    assert Block(export(policies()["odd names"], "st")).inputs == ["a_b", "if_value", "theta_b_1"]


def test_trees_that_nest_too_deep_are_refused():
    Block(export(deep_chain(100), "st"))
    with pytest.raises(spaql.SpaqlError, match="too deep for Structured Text"):
        export(deep_chain(101), "st")


@pytest.mark.parametrize("name", ["cartpole", "oblique", "odd names", "one leaf"])
def test_a_real_parser_reads_it(name):
    blark = pytest.importorskip("blark", reason="blark, a parser of Structured Text, is not installed (pip install blark)")
    parsed = blark.parse_source_code(export(policies()[name], "st"))
    assert "controller" in str(parsed.transform())
