"""What people read, and tables: rules are applied to states, bounds are compared with the tree."""

import csv
import io
import re
import shutil
import subprocess

import numpy as np
import pytest

import spaql
from exported_policies import NAMES, built, expected, leaf, plane, policies, random_tree, split, states_of
from spaql.export import export
from spaql.plants.problem import Finite

SHORT = split(0, 0.25, split(1, -1.5, leaf(-3), split(0, -0.5, leaf(-1), leaf(0))), split(1, 2, leaf(1), split(0, 0.75, leaf(2), leaf(3))))


def short():
    """Numbers of few digits, which are shown exactly."""
    return built(plane(), 2, 1, SHORT)


def holds(condition, x, y):
    condition = re.sub(r" m$", "", condition)
    chain = re.fullmatch(r"(\S+) ≤ (x|y) < (\S+)", condition)
    if chain:
        return float(chain[1]) <= {"x": x, "y": y}[chain[2]] < float(chain[3])
    name, sign, bound = condition.split()
    value = {"x": x, "y": y}[name]
    return value >= float(bound) if sign == "≥" else value < float(bound)


def test_exactly_one_rule_holds_and_says_the_action():
    policy = short()
    rules = re.findall(r"^- if (.*): force = (\S+) N$", export(policy, "md"), re.MULTILINE)
    assert len(rules) == 6
    states = states_of(policy, 3000)
    for (x, y), action in zip(states, expected(policy, states)[:, 0], strict=True):
        found = [float(value) for conditions, value in rules if all(holds(one, x, y) for one in conditions.split(" and "))]
        assert found == [action]


def test_rules_read_well():
    text = export(short(), "md")
    assert "- if x < -0.5 m and y ≥ -1.5: force = -1 N\n" in text
    assert "- if -0.5 ≤ x < 0.25 m and y ≥ -1.5: force = 0 N\n" in text
    assert "- always: push = 1 (100 %)\n" in export(policies()["one leaf"], "md")
    assert "- always: push = 1\n" in export(policies()["one leaf"], "md", share=False)
    assert "0.1·x - 1.3·y < 0.3: force = 1 N" in export(policies()["oblique"], "md")
    odd = export(policies()["odd names"], "md")
    assert r'a "b" \*/ ??/ (\* \\' in odd
    assert r"θ \<b>\&" in odd
    assert r"m/s²\|%" in odd


def test_rules_that_no_state_reaches_are_left_out():
    policy = built(plane(), 2, 1, split(0, 0.5, split(0, 0.75, leaf(0), leaf(1)), leaf(2)))
    assert "force = 1" not in export(policy, "md")
    assert len(export(policy, "csv").splitlines()) == 3


@pytest.mark.parametrize("name", ["short", "oblique"])
def test_the_indented_text_is_the_tree(name):
    policy = short() if name == "short" else policies()[name]
    head, _, *lines = export(policy, "txt").splitlines()
    assert head == f"compressed tree of hand: {policy.n_leaves} leaves"
    code = "\n".join("  " + line for line in lines).replace("else if", "elif").replace("≥", ">=").replace("·", "*").replace(" m:", ":")
    scope = {}
    exec("def act(x, y):\n" + re.sub(r"force = (\S+) N", r"return \1", code), scope)
    states = states_of(policy, 3000)
    np.testing.assert_array_equal([scope["act"](*state) for state in states], expected(policy, states)[:, 0])


@pytest.mark.parametrize("name", NAMES)
def test_csv_has_the_exact_bounds(name):
    policy = policies()[name]
    heads, *rows = csv.reader(io.StringIO(export(policy, "csv")))
    assert all(len(row) == len(heads) for row in rows)
    d, axes = policy.rules.variables, policy.rules.actions.shape[1]
    if policy.rules.oblique:
        assert heads == ["x [m] from", "x [m] below", "y from", "y below", "oblique tests", "force [N]"]
        return
    table = np.array(rows, float)
    low, high, actions = table[:, 0 : 2 * d : 2], table[:, 1 : 2 * d : 2], table[:, 2 * d : 2 * d + axes]
    states = np.clip(states_of(policy, 3000), np.maximum(low.min(axis=0), -1e9), np.minimum(np.nextafter(high.max(axis=0), -np.inf), 1e9))
    inside = ((states[:, None] >= low) & (states[:, None] < high)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(actions[inside.argmax(axis=1)], expected(policy, states))
    if policy.problem.plant is not None:
        assert table[:, heads.index("share of time")].sum() == pytest.approx(1)
    if name == "cartpole table":
        assert heads[-2:] == ["q", "visits"]
        assert len(rows) == len(policy.knowledge.cells.size)
        assert sorted(table[:, -2]) == sorted(policy.knowledge.table.rows.q)


def read_as_dtcontrol(text):
    """As its CSVDatasetLoader does."""
    lines = text.splitlines()
    assert lines[0] == "#NON-PERMISSIVE"
    states, inputs = map(int, lines[1].split("BEGIN")[1].split())
    table = np.array([[float(word) for word in line.split(",")] for line in lines[2:]])
    assert table.shape[1] == states + inputs
    return table[:, :states], table[:, states:]


@pytest.mark.parametrize("points", ["centres", "corners"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "oblique"])
def test_dtcontrol(name, points):
    policy = policies()[name]
    states, actions = read_as_dtcontrol(export(policy, "dtcontrol", points=points))
    assert np.isfinite(states).all()
    np.testing.assert_array_equal(actions, expected(policy, states))
    assert len(states) == policy.n_leaves * (1 if points == "centres" else 1 + 2**policy.rules.variables)
    # two states that are read as the same one would be a choice between two actions
    assert len(np.unique(states.astype(np.float32), axis=0)) == len(states)


def test_dtcontrol_refuses_what_it_could_not_read():
    with pytest.raises(spaql.SpaqlError, match="oblique"):
        export(policies()["oblique"], "dtcontrol")
    with pytest.raises(spaql.SpaqlError, match="points must be one of"):
        export(policies()["cartpole"], "dtcontrol", points="all")


@pytest.mark.parametrize("name", NAMES)
def test_latex(tmp_path, name):
    policy = policies()[name]
    text = export(policy, "tex")
    text.encode("ascii")
    many = policy.n_leaves > 45
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    shape = re.search(r"\\begin\{(tabular|longtable)\}\{@\{\}(r+)@\{\}\}", text)
    assert shape[1] == ("longtable" if many else "tabular")
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(shape[2]) - 1}
    assert len(rows) == policy.n_leaves + 1
    assert text.count(r"\endhead") == many
    for line in text.splitlines()[1:]:
        assert line.count("{") == line.count("}")
        assert line.replace(r"\$", "").count("$") % 2 == 0
        assert not re.search(r"(?<!\\)[%#]", line)
    if shutil.which("pdflatex"):
        page = r"\documentclass{article}\usepackage{booktabs,longtable,textcomp}\begin{document}" + text + r"\end{document}"
        (tmp_path / "page.tex").write_text(page)
        subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"], cwd=tmp_path, check=True, capture_output=True
        )


def test_latex_says_what_is_tested():
    text = export(short(), "tex")
    assert "x [m] & y & force [N] \\\\" in text
    assert "$-$0.5 to 0.25 & $\\geq$ $-$1.5 & 0 \\\\" in text
    assert r"$\theta$" in export(policies()["odd names"], "tex")


def test_a_large_policy_in_words():
    policy = random_tree(2000)
    assert export(policy, "md").count("\n- if ") == 2000
    many = built(plane(actions=Finite(tuple(range(100)))), 2, 1, leaf(7))
    assert "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..., 99" in export(many, "c")
