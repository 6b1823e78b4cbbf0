"""Laws in every form of export: programs do what the policy does, data comes back the same, people read one and the same law."""

import copy
import csv
import io
import json
import platform
import re
import shutil
import subprocess
from xml.etree import ElementTree

import numpy as np
import pytest

import spaql
from exported_programs import COMPILERS, MILLION, STRICT, compiled, needs_compiler
from exported_programs import controller_of as bare_controller
from hostile_json import loaded_or_refused, mutated, refused
from law_examples import NAMES, applied_by_python, law_actions, law_policies, law_states
from spaql.export import FORMATS, export
from spaql.policy.policy import Policy
from structured_text import LawBlock

FORMS = ("ifs", "table")
FITTING = [(to, name) for to in FORMATS for name in NAMES if to != "dtcontrol" and (to, name) not in (("st", "deep laws"), ("plcopen", "deep laws"))]


@pytest.mark.parametrize(("to", "name"), FITTING)
def test_the_same_laws_give_the_same_well_formed_text(to, name):
    policy = law_policies()[name]
    text = export(policy, to)
    assert text == export(policy, to)
    assert text.endswith("\n")
    assert "\r" not in text
    assert not re.search(r"\b(nan|inf)\b", text) or to == "csv"  # in a table, inf is a bound


def test_dtcontrol_refuses_laws():
    with pytest.raises(spaql.SpaqlError, match="not laws"):
        export(law_policies()["P2"], "dtcontrol")


# -- C -----------------------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("name", NAMES)
def test_c_does_what_the_policy_does_on_a_million_states_to_the_bit(tmp_path, name):
    policy = law_policies()[name]
    states = law_states(policy, MILLION)
    wanted = law_actions(policy, states)
    for form in FORMS:
        got = compiled(tmp_path, export(policy, "c", form=form))(states, wanted.shape[1])
        assert got.tobytes() == wanted.tobytes(), f"{(got != wanted).any(axis=1).sum()} of {len(got)} states, {form}"
    assert (wanted != wanted[0]).any()  # laws at work


@needs_compiler
@pytest.mark.parametrize("name", [name for name in NAMES if name != "deep laws"])
def test_c_in_single_precision_differs_by_rounding_alone(tmp_path, name):
    policy = law_policies()[name]
    states = law_states(policy, MILLION).astype(np.float32)
    wanted = law_actions(policy, states)
    laws = policy.rules.laws
    rounding = 1e-5 * max(1.0, float((np.abs(laws.gains).sum(axis=2) * 20 + np.abs(laws.offsets)).max()))
    for form in FORMS:
        text = export(policy, "c", precision="single", form=form)
        assert "Single precision: laws are rounded" in text
        differs = np.abs(compiled(tmp_path, text)(states, wanted.shape[1]) - wanted).max(axis=1)
        apart = differs > rounding  # states beside a test or beside another action
        assert apart.mean() < 1e-4
        beside, changed = states[apart].astype(float), np.zeros(int(apart.sum()), bool)
        for step in np.random.default_rng(0).normal(scale=1e-4, size=(40, states.shape[1])):
            changed |= (np.abs(law_actions(policy, beside + step) - wanted[apart]) > rounding).any(axis=1)
        assert changed.all()


@needs_compiler
@pytest.mark.parametrize("precision", ["double", "single"])
def test_laws_are_not_fused_where_the_machine_could(tmp_path, precision):
    path, arm = tmp_path / "controller.c", platform.machine() in ("aarch64", "arm64")
    for name in ("P2", "scores", "ordered"):
        for form in FORMS:
            text = export(law_policies()[name], "c", form=form, precision=precision)
            made = {}
            for allowed in (False, True):
                path.write_text(text.replace('("-ffp-contract=off")', '("-ffp-contract=fast")') if allowed else text)
                flags = ["-std=gnu11", "-O2", *([] if arm else ["-march=haswell"]), "-S", "-o", "-"]
                ran = subprocess.run([COMPILERS[0], *flags, path], capture_output=True, text=True, check=False)
                if ran.returncode != 0:
                    pytest.skip("this compiler makes no code for a processor with fused multiply-add")
                made[allowed] = re.findall(r"\bf?n?m(?:add|sub|la|ls)\b|\bvfn?m\w+|\bfn?m(?:add|sub|la|ls)\b", ran.stdout)
            assert not made[False]
            assert made[True] or COMPILERS[0] != "gcc" or name != "P2"  # it would have fused


@needs_compiler
def test_the_program_reads_observations_and_prints_what_the_laws_apply(tmp_path):
    policy = law_policies()["L1c"]
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(export(policy, "c", main=True), encoding="utf-8")
    subprocess.run([COMPILERS[0], *STRICT, "-o", program, source], check=True)
    states = law_states(policy, 300)
    lines = "\n".join(" ".join(map(repr, state)) for state in states.tolist()) + "\n"
    made = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    np.testing.assert_array_equal(np.loadtxt(io.StringIO(made.stdout)), law_actions(policy, states))


def test_c_reads_as_the_law_does():
    text = export(law_policies()["P2"], "c")
    assert "score = -14.0 * sin_value - 3.0 * velocity;" in text
    assert "action[0] = score < -2.0 ? -2.0 : score > 2.0 ? 2.0 : score <= 2.0 ? score : 0.0;" in text
    assert "action[0] = -position + 50.0 * velocity >= 0.46 ? 2.0 : 0.0;" in export(law_policies()["C2"], "c")
    assert "while (" in export(law_policies()["deep laws"], "c")


# -- Python and Structured Text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_python_does_what_the_policy_does(name, nested, monkeypatch):
    if not nested:
        monkeypatch.setattr("spaql.export.python.DEEPEST", -1)
    policy = law_policies()[name]
    states = law_states(policy, 20_000)
    text = export(policy, "python")
    assert ("nodes = (" in text) == (not nested or name == "deep laws")
    np.testing.assert_array_equal(applied_by_python(text, states), law_actions(policy, states))


def test_python_returns_what_the_plant_takes_and_can_be_read():
    for name, kind in (("C2", int), ("ordered", int), ("L2d", int), ("P2", float), ("ordered many", float), ("L1c", tuple)):
        act = bare_controller(export(law_policies()[name], "python"))
        act.__globals__["__builtins__"] |= {"min": min, "max": max, "int": int}
        assert type(act([0.1] * law_policies()[name].rules.variables)) is kind
    text = export(law_policies()["P2"], "python")
    assert "score = -14.0 * sin - 3.0 * velocity" in text
    assert "return min(max(score, -2.0), 2.0) if score == score else 0.0" in text


@pytest.mark.parametrize("name", [name for name in NAMES if name != "deep laws"])
def test_structured_text_does_what_the_policy_does(name):
    policy = law_policies()[name]
    block = LawBlock(export(policy, "st"))
    states = law_states(policy, 10_000)
    np.testing.assert_array_equal([block.run(state) for state in states.tolist()], law_actions(policy, states))


def test_structured_text_reads_as_the_law_does():
    text = export(law_policies()["P2"], "st")
    assert "score := -LREAL#14.0 * sin_value - LREAL#3.0 * velocity;" in text
    assert "torque := LIMIT(LREAL#-2.0, SEL(score = score, LREAL#0.0, score), LREAL#2.0);" in text
    with pytest.raises(spaql.SpaqlError, match="too deep"):
        export(law_policies()["deep laws"], "st")


# -- JSON --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_json_comes_back_the_same(name):
    policy = law_policies()[name]
    text = export(policy, "json")
    again = Policy.from_json(text)
    assert export(again, "json") == text
    for one, other in zip(again.rules.laws, policy.rules.laws, strict=True):
        np.testing.assert_array_equal(one, other)
    states = law_states(policy, 10_000)
    np.testing.assert_array_equal(law_actions(again, states), law_actions(policy, states))
    assert again.numbers == policy.numbers


def test_laws_loaded_for_a_plant_of_the_catalog_can_be_run():
    policy = law_policies()["P2"]
    again = Policy.from_json(export(policy, "json"))
    np.testing.assert_array_equal(again.evaluate(20, seed=3).returns, policy.evaluate(20, seed=3).returns)


def test_hostile_laws_are_refused_in_one_line():
    good = json.loads(export(law_policies()["P2"], "json"))
    assert good["laws"] == "clip"
    at = next(i for i, node in enumerate(good["nodes"]) if "law" in node)
    assert good["nodes"][at]["law"] == {"gains": [[0.0, 8.0, 4.0]], "offsets": [0.0]}

    def changed(**values):
        told = copy.deepcopy(good)
        told["nodes"][at]["law"].update(values)
        return json.dumps(told)

    for text in (
        changed(gains=[[0.0, float("nan"), 4.0]]), changed(gains=[[0.0, 1e308, 4.0]]), changed(offsets=[-1e308]), changed(gains=[]),
        changed(gains=[[1.0, 2.0]]), changed(gains=[[1.0, 2.0, 3.0]] * 2), changed(gains=[1.0, 2.0, 3.0]), changed(offsets=[]),
        changed(offsets=[0.0, 0.0]), changed(offsets=0.0), changed(gains=[[0.0, True, 4.0]]), changed(gains=[[0.0, "8", 4.0]]),
        changed(gains=None), changed(extra=1), changed(offsets=[float("inf")]), changed(gains=[[0.0, 10**400, 4.0]]),
        json.dumps(good | {"laws": "threshold"}), json.dumps(good | {"laws": "scores"}), json.dumps(good | {"laws": "linear"}),
        json.dumps(good | {"laws": None}), json.dumps(good | {"laws": 0}), json.dumps(good | {"laws": ["clip"]}),
        json.dumps({key: value for key, value in good.items() if key != "laws"}),
        json.dumps(good | {"nodes": [{"action": [1.0]}]}), json.dumps(good | {"nodes": [{"law": [1.0]}]}),
        json.dumps(good | {"nodes": [{"law": {"gains": [[0, 0, 0]], "offsets": [0]}, "action": [1.0]}]}),
    ):  # fmt: skip
        refused(text)
    plain = json.loads(export(law_policies()["C2"], "json"))
    assert "do not fit the actions" in refused(json.dumps(plain | {"laws": "clip"}))


@pytest.mark.parametrize("name", ["P2", "L2d", "ordered"])
def test_mutated_laws_load_as_sound_policies_or_not_at_all(name):
    policy, rng, loaded = law_policies()[name], np.random.default_rng(0), 0
    told = json.loads(export(policy, "json"))
    for _ in range(200):
        again = loaded_or_refused(json.dumps(mutated(told, rng)))
        if again is not None:
            loaded += 1
            assert np.isfinite(again.decide(np.zeros((1, len(again.problem.state))))).all()
            assert Policy.from_json(export(again, "json")).n_leaves == again.n_leaves
            assert again.to_text(share=False)
    assert 0 < loaded < 150


# -- for people --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["md", "txt", "dot", "svg", "csv"])
def test_the_same_words_stand_everywhere(to):
    for name in ("P2", "C2", "A2", "M3"):
        policy = law_policies()[name]
        text = export(policy, to).replace("&gt;", ">")
        for leaf in policy.rules.leaves():
            for law in policy.words.laws(leaf):
                assert (law.split(" = ", 1)[1] if to == "csv" else law) in text


def test_the_indented_text_is_the_controller():
    """Typed in as it is read, it does what the policy does."""
    for name in ("P2", "C2", "A2", "M3", "cartpole", "ordered", "constants"):
        policy = law_policies()[name]
        names = policy.words.names
        code = "\n".join("  " + line for line in export(policy, "txt", share=False).splitlines()[2:])
        code = code.replace("else if", "elif").replace("≥", ">=").replace("·", "*").replace("angular velocity", "angular_velocity")
        code = re.sub(r" (N m|N|m|rad|m/step)(?=:|$)", "", code, flags=re.MULTILINE)
        code = re.sub(r"(\d) if (.*) >= (\S+), (\d) if >= (\S+), else (\d)", r"\1 if \2 >= \3 else \4 if \2 >= \5 else \6", code)
        code = re.sub(rf"^(\s*){policy.words.action_names[0]} = ", r"\1return ", code, flags=re.MULTILINE)
        scope = {"clip": lambda value, low, high: min(max(value, low), high)}
        exec(f"def act({', '.join(names).replace(' ', '_').replace(',_', ', ')}):\n{code}", scope)
        states = law_states(policy, 3000)
        np.testing.assert_array_equal([scope["act"](*state) for state in states.tolist()], law_actions(policy, states)[:, 0])


@pytest.mark.parametrize("name", NAMES)
def test_csv_has_every_coefficient_with_all_its_digits(name):
    policy = law_policies()[name]
    heads, *rows = csv.reader(io.StringIO(export(policy, "csv")))
    table = {head: [row[i] for row in rows] for i, head in enumerate(heads)}
    laws, leaves = policy.rules.laws, policy.rules.leaves()
    if len(rows) == len(leaves):
        last = [head for head in heads if head.endswith(": constant")]
        np.testing.assert_array_equal(np.array([table[head] for head in last], float).T, laws.offsets[leaves])
        gains = [head for head in heads if ": gain of " in head]
        told = np.array([table[head] for head in gains], float).T.reshape(len(rows), laws.outputs, -1)
        np.testing.assert_array_equal(told, laws.gains[leaves])


@pytest.mark.parametrize("name", NAMES)
def test_latex(tmp_path, name):
    policy = law_policies()[name]
    text = export(policy, "tex")
    text.encode("ascii")
    begun, ended = (re.findall(rf"\\{word}\{{([a-z*]+)\}}", text) for word in ("begin", "end"))
    assert sorted(begun) == sorted(ended)
    assert text.replace(r"\{", "").count("{") == text.replace(r"\}", "").count("}")
    for line in text.splitlines()[1:]:
        assert not re.search(r"(?<!\\)#", line)
    if policy.n_leaves <= 12:
        assert begun[0] == "align*"
        assert text.count(r"\text{otherwise}") == (policy.n_leaves > 1) * len(policy.words.action_names)
    if shutil.which("pdflatex"):
        page = r"\documentclass{article}\usepackage{amsmath,booktabs,longtable}\begin{document}" + text + r"\end{document}"
        (tmp_path / "page.tex").write_text(page)
        subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"], cwd=tmp_path, check=True)


def test_latex_is_a_formula_ready_for_a_paper():
    text = export(law_policies()["P2"], "tex", share=False)
    assert text == (
        "% law tree of P2: 2 laws, 5 numbers\n"
        "\\begin{align*}\n"
        "  \\text{torque [N m]} &= \\begin{cases}\n"
        "    \\operatorname{clip}\\bigl({-}14\\,\\text{sin} - 3\\,\\text{velocity},\\ -2,\\ 2\\bigr)"
        " & \\text{if } \\text{cos} \\geq -0.08 \\\\\n"
        "    \\operatorname{clip}\\bigl(8\\,\\text{sin} + 4\\,\\text{velocity},\\ -2,\\ 2\\bigr) & \\text{otherwise} \\\\\n"
        "  \\end{cases}\n"
        "\\end{align*}\n"
    )


@pytest.mark.parametrize("name", NAMES)
def test_drawings_show_whole_laws_and_nothing_overlaps(name):
    policy = law_policies()[name]
    svg = "{http://www.w3.org/2000/svg}"
    root = ElementTree.fromstring(export(policy, "svg"))
    shown = {element.text for element in root.iter(f"{svg}text")}
    boxes = [[float(box.get(key)) for key in ("x", "y", "width", "height")] for box in root.iterfind(f".//{svg}g/{svg}rect")]
    wide, high = (float(value) for value in root.get("viewBox").split()[2:])
    for x, y, w, h in boxes:
        assert 0 <= x <= x + w <= wide
        assert 0 <= y <= y + h <= high
    for a in boxes:
        for b in boxes:
            apart = a[0] + a[2] <= b[0] + 0.1 or b[0] + b[2] <= a[0] + 0.1 or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
            assert apart or a == b
    if policy.n_leaves <= 64:
        for leaf in policy.rules.leaves():
            assert set(policy.words.leaf_lines(leaf)) <= shown
