"""What every form of export promises.

The forms are found in the dictionary: a new one is checked without a line here.
"""

import inspect
import re

import numpy as np
import pytest

import spaql
from exported_policies import NAMES, ODD_NAMES, built, leaf, plane, policies, random_tree, split
from spaql.export import FORMATS, export, form
from spaql.plants.problem import Finite

BOXES_ONLY = ("dtcontrol",)  # forms that know no oblique tests, and say so
METHODS = {"md": "to_markdown", "txt": "to_text", "tex": "to_latex"}  # of Policy, where they are not to_NAME


def cases():
    return [(to, name) for to in FORMATS for name in NAMES if not (to in BOXES_ONLY and name == "oblique")]


@pytest.mark.parametrize(("to", "name"), cases())
def test_the_same_policy_gives_the_same_well_formed_text(to, name):
    policy = policies()[name]
    text = export(policy, to)
    assert text == export(policy, to)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    text.encode()
    assert "\r" not in text
    assert not re.search(r"\bnan\b", text)  # NaN as a word stands in the remark on bad input


@pytest.mark.parametrize(("to", "name"), cases())
def test_every_action_is_there(to, name):
    policy = policies()[name]
    text = export(policy, to).replace("$-$", "-")
    for value in np.unique(policy.rules.actions[policy.rules.leaves()]):
        axis = next(
            j for j in range(policy.rules.actions.shape[1]) if value in policy.rules.actions[policy.rules.leaves(), j]
        )
        exact = {repr(float(value)), repr(abs(float(value))), f"{value:g}", repr(float(value)).replace("e", ".0E")}
        assert any(word in text for word in (*exact, policy.words.applied_value(axis, float(value)))), value


@pytest.mark.parametrize("to", BOXES_ONLY)
def test_forms_for_boxes_refuse_oblique_tests(to):
    with pytest.raises(spaql.SpaqlError, match="oblique"):
        export(policies()["oblique"], to)


@pytest.mark.parametrize("to", FORMATS)
def test_hostile_names_neither_break_lines_nor_turn_the_text_around(to):
    text = export(policies()["odd names"], to)
    assert "\u202e" not in text or to == "json"  # in JSON it is data, inside quotes
    assert ODD_NAMES[2] not in text
    assert "\x00" not in text


@pytest.mark.parametrize("to", sorted(set(FORMATS) - {"json", "dtcontrol"}))
def test_names_that_are_the_same_are_told_apart(to):
    policy = built(plane(("x", "x"), actions=Finite((0, 1), names=("x",))), 2, 1, split(1, 0.5, leaf(0), leaf(1)))
    assert "x_2" in export(policy, to).replace("\\_", "_")


@pytest.mark.parametrize("to", FORMATS)
def test_a_large_policy_can_be_written(to):
    assert len(export(random_tree(500), to)) > 500


@pytest.mark.parametrize("to", FORMATS)
def test_an_unknown_option_is_refused_with_those_there_are(to):
    known = list(inspect.signature(form(to)).parameters)[1:]
    told = re.escape(f"{to} has no option 'colour': {', '.join(known) if known else 'it has none'}")
    with pytest.raises(spaql.SpaqlError, match=told):
        export(policies()["one leaf"], to, colour="red")


@pytest.mark.parametrize("to", FORMATS)
def test_every_form_says_in_one_line_what_it_is(to):
    assert (inspect.getdoc(form(to)) or "").splitlines()[0].endswith(".")


@pytest.mark.parametrize("to", FORMATS)
def test_the_method_of_a_policy_is_the_same_export(to):
    method = getattr(spaql.Policy, METHODS.get(to, f"to_{to}"), None)
    policy = policies()["cartpole"]
    assert policy.export(to) == export(policy, to)
    assert method is None or (method(policy) == export(policy, to) and method.__doc__)


def test_no_method_of_a_policy_lacks_its_form():
    methods = {name for name in vars(spaql.Policy) if name.startswith("to_")}
    assert methods <= {METHODS.get(to, f"to_{to}") for to in FORMATS}


@pytest.mark.parametrize("to", ["cobol", "C", None, 3])
def test_an_unknown_form_is_refused(to):
    with pytest.raises(spaql.SpaqlError, match="to must be one of"):
        export(policies()["one leaf"], to)
