"""Exports are read by a parser of their format, whatever stands in the names of variables, actions, units and problems."""

import ast
import csv
import io
import json
import subprocess
from functools import cache
from xml.etree import ElementTree

import pytest
from lark.exceptions import LarkError
from markdown_it import MarkdownIt

import format_grammars
from exported_policies import NAMES, built, leaf, policies, split
from exported_programs import COMPILERS, STRICT, needs_compiler
from law_examples import NAMES as LAW_NAMES
from law_examples import grown, law, law_policies, when
from loop_controllers import LOOPS, controller, structured_loop
from spaql.export import export
from spaql.plants.problem import Axis, Continuous, Problem
from spaql.trees.laws import CLIP
from spaql.trees.tree import LEAF
from structured_text import Block, LawBlock

HOSTILE = (
    'a "quote" and \'another\'', 'three """ quotes', "back\\slash\\", "\\end{tabular} \\\\ \\", "100 % of {x}_1^2 ~ #1 & $y$",
    "a line\nand another\r\nand one more", "θ → ∞ · 漢字 é", "*/ /* ??/ // (* *) { }", "</text></title><script>alert(1)</script>&amp;",
    "`code` [link](x) *em* _em_ | # 1", "#BEGIN 3 4", "x = 1; END_IF; }", "%d %s\t%n", "\u202edrow\u202c \x00\x07", "0",
)  # fmt: skip


def plane_of(name):
    """A problem in which everything has this name."""
    state = (Axis(name, -1.0, 1.0, unit=name), Axis(f"second {name}", -1.0, 1.0, unit=name))
    return Problem(name, name, state, Continuous((-3.0,), (3.0,), (name,), (name,)), 10)


@cache
def hostile():
    """Trees and laws by name."""
    kept = {}
    for name in HOSTILE:
        problem = plane_of(name)
        tree = split(0, 0.25, leaf(1.0), split(2, 0.5, leaf(-2.0), leaf(0.125), weights=[0.5, -1.0]))
        kept[f"tree {name}"] = built(problem, 2, 1, tree, origin=name)
        second = f"second {name}"
        laws = when({second: 1}, 0.25, law([0.5, -1, 0.1]), law([0, 2, 0]))
        kept[f"laws {name}"] = grown(problem, laws, CLIP, origin=name)
    return kept


@cache
def all_policies():
    ours = {name: policies()[name] for name in NAMES} | {f"laws {name}": law_policies()[name] for name in LAW_NAMES}
    return ours | hostile()


CASES = [*NAMES, *(f"laws {name}" for name in LAW_NAMES), *(f"{kind} {name}" for name in HOSTILE for kind in ("tree", "laws"))]


@needs_compiler
@pytest.mark.parametrize("options", [{}, {"precision": "single"}, {"form": "table"}], ids=str)
def test_a_compiler_takes_all_programs_in_one_file_without_a_warning(options, tmp_path):
    listed = [*all_policies().values(), *(controller(given) for given in LOOPS.values())]
    programs = [export(policy, "c", name=f"controller{place}", **options) for place, policy in enumerate(listed)]
    (tmp_path / "all.c").write_text("".join(programs), encoding="utf-8")
    for compiler in COMPILERS:
        subprocess.run([compiler, *STRICT, "-fsyntax-only", tmp_path / "all.c"], check=True)


@pytest.mark.parametrize("name", CASES)
def test_python_parses_the_program(name):
    module = ast.parse(export(all_policies()[name], "python"))
    assert [node.name for node in module.body if isinstance(node, ast.FunctionDef)][-1] == "controller"


@pytest.mark.parametrize("name", HOSTILE)
def test_structured_text_is_two_inputs_and_one_output(name):
    for kind, block in (("tree", Block), ("laws", LawBlock)):
        parsed = block(export(hostile()[f"{kind} {name}"], "st"))
        assert (len(parsed.inputs), len(parsed.outputs)) == (2, 1)


@pytest.mark.parametrize("name", LOOPS)
def test_structured_text_of_a_loop_is_read_whole(name):
    structured_loop(export(controller(LOOPS[name]), "st"))


@pytest.mark.parametrize("name", CASES)
def test_json_holds_the_names_as_they_are(name):
    policy = all_policies()[name]
    parsed = json.loads(export(policy, "json"), parse_constant=pytest.fail)
    assert parsed["problem"]["name"] == policy.problem.name
    assert [axis["name"] for axis in parsed["variables"]] == [axis.name for axis in policy.problem.state]


@pytest.mark.parametrize("name", CASES)
def test_dot_is_the_tree_with_its_words(name):
    policy = all_policies()[name]
    graph = format_grammars.dot(export(policy, "dot"))
    features = policy.rules.nodes["feature"]
    nodes = {str(node.children[0]): node for node in graph.find_data("node") if str(node.children[0])[1:].isdigit()}
    assert len(nodes) == len(features)
    assert sum(1 for _ in graph.find_data("edge")) == 2 * int((features != LEAF).sum())
    for place, feature in enumerate(features):
        label = next(str(part.children[1]) for part in nodes[f"n{place}"].find_data("attribute") if part.children[0] == "label")
        if feature != LEAF:
            assert ast.literal_eval(label) == policy.words.test(place)


@pytest.mark.parametrize("name", CASES)
def test_svg_is_xml_with_the_words_as_text_and_no_element_of_a_name(name):
    policy = all_policies()[name]
    root = ElementTree.fromstring(export(policy, "svg"))
    assert {element.tag.partition("}")[2] for element in root.iter()} <= {"svg", "title", "style", "text", "tspan", "path", "rect", "circle", "g"}


@pytest.mark.parametrize("name", CASES)
def test_latex_is_a_table_of_full_rows_or_formulas(name):
    policy = all_policies()[name]
    parsed = format_grammars.latex(export(policy, "tex"))
    assert len([*parsed.find_data("table"), *parsed.find_data("align")]) == 1
    for table in parsed.find_data("table"):
        begin, columns, *_, end = table.children
        assert begin.removeprefix("\\begin") == end.removeprefix("\\end")
        assert {len([*row.find_data("cell")]) for row in table.find_data("row")} == {len(columns)}


@pytest.mark.parametrize("name", CASES)
def test_csv_has_as_many_fields_in_every_row(name):
    heads, *rows = csv.reader(io.StringIO(export(all_policies()[name], "csv"), newline=""), strict=True)
    assert {len(row) for row in rows} == {len(heads)}


@pytest.mark.parametrize("name", CASES)
def test_markdown_is_a_title_and_a_list_or_a_table_without_html(name):
    policy = all_policies()[name]
    tokens = MarkdownIt("commonmark").enable("table").parse(export(policy, "md"))
    inline = [token.type for part in tokens for token in part.children or ()]
    assert not {"html_block", "heading_open", "code_block", "fence", "blockquote_open", "hr"} & {token.type for token in tokens}
    assert not {"html_inline", "link_open", "image", "em_open"} & set(inline)
    assert inline.count("strong_open") == 1


@pytest.mark.parametrize("name", [name for name in NAMES if name != "oblique"])
def test_dtcontrol_is_states_and_actions_as_its_head_says(name):
    policy = all_policies()[name]
    kind, head, *rows = export(policy, "dtcontrol").splitlines()
    axes = policy.rules.actions.shape[1]
    assert (kind, head) == ("#NON-PERMISSIVE", f"#BEGIN {policy.rules.variables} {axes}")
    assert {len([float(field) for field in row.split(",")]) for row in rows} == {policy.rules.variables + axes}


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (format_grammars.dot, 'digraph p { n0 [label="a "b""]; }'),
        (format_grammars.dot, 'digraph p { n0 [label="a\nb"]; }'),
        (format_grammars.latex, "\\begin{tabular}{@{}l@{}}\nx_1 \\\\\n\\end{tabular}\n"),
        (format_grammars.latex, "\\begin{tabular}{@{}l@{}}\n100 % \\\\\n\\end{tabular}\n"),
        (format_grammars.latex, "\\begin{align*}\nx &= \\text{a & b}\n\\end{align*}\n"),
        (format_grammars.latex, "\\begin{align*}\nx &= \\begin{cases} 1 & 2 \\end{align*}\n"),
    ],
)
def test_the_grammars_refuse_what_is_not_escaped_or_not_closed(parse, text):
    with pytest.raises(LarkError):
        parse(text)
