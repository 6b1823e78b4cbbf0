"""Drawings: well-formed, nothing on top of anything else, every node and every action in it."""

import re
import shutil
import subprocess
from xml.etree import ElementTree

import numpy as np
import pytest

from exported_policies import NAMES, deep_chain, policies, random_tree
from spaql.export import export
from spaql.export.drawing import MANY, tidy
from spaql.trees.tree import LEAF

SVG = "{http://www.w3.org/2000/svg}"


def boxes_of(root):
    """(left, right, top, bottom) of the boxes of nodes."""
    found = [[float(box.get(key)) for key in ("x", "y", "width", "height")] for box in root.iterfind(f".//{SVG}g/{SVG}rect")]
    return np.array([(x, x + w, y, y + h) for x, y, w, h in found])


@pytest.mark.parametrize("name", NAMES)
def test_svg_shows_the_whole_tree(name):
    policy = policies()[name]
    root = ElementTree.fromstring(export(policy, "svg"))
    nodes, leaves = len(policy.rules.nodes), policy.n_leaves
    assert len(root.findall(f".//{SVG}path")) == nodes - 1
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert len(titles) == nodes + 1
    boxes = boxes_of(root)
    assert len(boxes) == (leaves if leaves > MANY else nodes)
    wide, high = (float(value) for value in root.get("viewBox").split()[2:])
    assert boxes[:, [0, 2]].min() >= 0
    assert boxes[:, 1].max() <= wide
    assert boxes[:, 3].max() <= high
    assert not {element.tag for element in root.iter()} & {f"{SVG}script", f"{SVG}image", f"{SVG}foreignObject"}
    if leaves <= MANY:
        shown = {element.text for element in root.iter(f"{SVG}text")}
        assert {"yes", "no"} <= shown or leaves == 1
        assert any(title.split(", ")[0] in shown for title in titles[1:])


@pytest.mark.parametrize("name", NAMES)
def test_boxes_do_not_overlap(name):
    boxes = boxes_of(ElementTree.fromstring(export(policies()[name], "svg")))
    for top in np.unique(boxes[:, 2]):
        row = boxes[boxes[:, 2] == top]
        row = row[np.argsort(row[:, 0])]
        assert (row[1:, 0] >= row[:-1, 1]).all()


@pytest.mark.parametrize(("grow", "size"), [(random_tree, 3000), (deep_chain, 300)])
def test_large_trees_are_laid_out(grow, size):
    policy = grow(size)
    tree = policy.rules
    widths = np.random.default_rng(0).uniform(1, 20, len(tree.nodes))
    place = tidy(tree, widths, 2.0)
    for level in range(place.levels):
        row = np.flatnonzero(place.level == level)
        row = row[np.argsort(place.x[row])]
        gaps = place.x[row][1:] - widths[row][1:] / 2 - place.x[row][:-1] - widths[row][:-1] / 2
        assert (gaps >= 2.0 - 1e-6).all()
    assert (place.x - widths / 2 >= -1e-9).all()
    assert (place.x + widths / 2 <= place.width + 1e-9).all()
    inner = np.flatnonzero(tree.nodes["feature"] != LEAF)
    assert (place.x[tree.nodes["low"][inner]] < place.x[tree.nodes["high"][inner]]).all()
    np.testing.assert_allclose((place.x[tree.nodes["low"][inner]] + place.x[tree.nodes["high"][inner]]) / 2, place.x[inner])
    ElementTree.fromstring(export(policy, "svg"))


def test_colours_tell_actions_apart():
    for name, colours in (("cartpole", {"#0072B2", "#D55E00"}), ("one leaf", {"#D55E00"})):
        root = ElementTree.fromstring(export(policies()[name], "svg"))
        assert {box.get("fill") for box in root.iterfind(f".//{SVG}g/{SVG}rect") if box.get("fill")} == colours
    policy = policies()["pendulum-5"]
    text = export(policy, "svg")
    assert len(set(re.findall(r'rect [^>]*fill="(#\w+)"', text))) == len(np.unique(policy.rules.actions[policy.rules.leaves()]))
    assert "currentColor" in text


def test_share_of_time():
    policy = policies()["cartpole"]
    assert "stroke-dasharray" in export(policy, "svg")
    assert " %<" in export(policy, "svg")
    for to in ("svg", "dot"):
        plain = export(policy, to, share=False)
        assert " %" not in plain
        assert "never" not in plain
    assert "never" not in export(policies()["odd names"], "svg")  # it has no plant


DOT_STRING = r'"(?:[^"\\]|\\.)*"'
DOT_VALUE = rf"(?:{DOT_STRING}|[\w.]+)"
DOT_LIST = rf"\[\w+={DOT_VALUE}(?:, \w+={DOT_VALUE})*\]"
DOT_LINES = re.compile(rf"  (?:label={DOT_STRING}; labelloc=t; bgcolor=transparent|(?:node|edge|n\d+(?: -> n\d+)?) {DOT_LIST});")


@pytest.mark.parametrize("name", NAMES)
def test_dot(tmp_path, name):
    policy = policies()[name]
    text = export(policy, "dot")
    first, *lines, last = text.splitlines()
    assert (first, last) == ("digraph policy {", "}")
    for line in lines:
        assert DOT_LINES.fullmatch(line), line
    assert len(re.findall(r"^  n\d+ \[", text, re.MULTILINE)) == len(policy.rules.nodes)
    assert len(re.findall(r"^  n\d+ -> n\d+ \[", text, re.MULTILINE)) == len(policy.rules.nodes) - 1
    if shutil.which("dot"):
        made = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True)
        assert made.stderr == ""
        ElementTree.fromstring(made.stdout)
