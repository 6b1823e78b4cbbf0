"""Exported Structured Text is run by a small interpreter that knows the grammar of IEC 61131-3 as far as it is used."""

import re

import numpy as np
import pytest

import spaql
from exported_policies import NAMES, built, corners_of, deep_chain, expected, leaf, plane, policies, split, states_of
from spaql.export import export
from spaql.export.names import ST_WORDS

TOKEN = re.compile(
    r"\s*(?:(?P<comment>\(\*.*?\*\))|(?P<real>LREAL#[+-]?\d+\.\d+(?:E[+-]?\d+)?)|(?P<word>[A-Za-z][A-Za-z0-9_]*)|(?P<sign>:=|>=|[-+*;:]))",
    re.DOTALL,
)
WORDS = {"FUNCTION_BLOCK", "VAR_INPUT", "VAR_OUTPUT", "END_VAR", "IF", "THEN", "ELSIF", "ELSE", "END_IF", "END_FUNCTION_BLOCK", "LREAL"}


class Block:
    """A function block: reads the text once, then runs it."""

    def __init__(self, text):
        self.tokens, place = [], 0
        text = text.rstrip()
        while place < len(text):
            found = TOKEN.match(text, place)
            assert found, f"no token at {text[place : place + 40]!r}"
            assert found["comment"] is None or "(*" not in found["comment"][2:], "a comment in a comment"
            self.tokens += [] if found["comment"] else [(found.lastgroup, found[found.lastgroup])]
            place = found.end()
        self.take("FUNCTION_BLOCK")
        self.name = self.identifier()
        self.inputs, self.outputs = self.variables("VAR_INPUT"), self.variables("VAR_OUTPUT")
        folded = [word.lower() for word in [self.name, *self.inputs, *self.outputs]]
        assert len(set(folded)) == len(folded)
        self.body = self.statements()
        self.take("END_FUNCTION_BLOCK")
        assert not self.tokens

    def take(self, *wanted):
        assert self.tokens, f"the text ends where {wanted} should be"
        kind, text = self.tokens.pop(0)
        assert text in wanted or kind in wanted, f"{text} where {wanted} should be"
        return text

    def identifier(self):
        word = self.take("word")
        assert "__" not in word
        assert not word.endswith("_")
        assert word.lower() not in ST_WORDS
        return word

    def variables(self, section):
        self.take(section)
        names = []
        while self.tokens[0][1] != "END_VAR":
            names.append(self.identifier())
            for sign in (":", "LREAL", ";"):
                self.take(sign)
        self.take("END_VAR")
        return names

    def statements(self):
        found = []
        while self.tokens[0][1] not in ("ELSIF", "ELSE", "END_IF", "END_FUNCTION_BLOCK"):
            found.append(self.choice() if self.tokens[0][1] == "IF" else self.assignment())
        return found

    def assignment(self):
        name = self.identifier()
        assert name in self.outputs
        self.take(":=")
        value = self.real()
        self.take(";")
        return name, value

    def choice(self):
        branches, word = [], self.take("IF")
        while word in ("IF", "ELSIF"):
            test = self.comparison()
            self.take("THEN")
            branches.append((test, self.statements()))
            word = self.take("ELSIF", "ELSE", "END_IF")
        assert word == "ELSE"
        otherwise = self.statements()
        self.take("END_IF")
        self.take(";")
        return branches, otherwise

    def real(self):
        return float(self.take("real").removeprefix("LREAL#"))

    def comparison(self):
        terms = [self.term(1.0 if self.tokens[0][1] != "-" else self.sign())]
        while self.tokens[0][1] in "+-":
            terms.append(self.term(self.sign()))
        self.take(">=")
        return terms, self.real()

    def sign(self):
        return 1.0 if self.take("+", "-") == "+" else -1.0

    def term(self, sign):
        if self.tokens[0][0] == "word":
            return sign, self.inputs.index(self.identifier())
        weight = self.real()
        self.take("*")
        return sign * weight, self.inputs.index(self.identifier())

    def run(self, state):
        memory, todo = {}, [self.body]
        while todo:
            for statement in todo.pop():
                if isinstance(statement[0], str):
                    memory[statement[0]] = statement[1]
                else:
                    branches, otherwise = statement
                    todo.append(next((body for test, body in branches if passes(test, state)), otherwise))
        return [memory[name] for name in self.outputs]


def passes(test, state):
    terms, cut = test
    total = terms[0][0] * state[terms[0][1]]
    for weight, j in terms[1:]:
        total += weight * state[j]
    return total >= cut


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
