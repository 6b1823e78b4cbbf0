"""A policy drawn as a tree: as a graph for Graphviz (DOT), and without it as SVG."""

import unicodedata
from dataclasses import dataclass
from html import escape

import numpy as np

from spaql.export.heading import passing, shares, title, width
from spaql.ground.arrays import Array
from spaql.ground.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from spaql.plants.problem import Continuous, Finite
from spaql.policy.policy import Policy
from spaql.policy.words import Words, one_line
from spaql.trees.tree import LEAF, Tree, walk

# -- colours of actions, the same in every drawing: safe for the colour-blind, and visible on white and on black -------

NAMED = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, GREY)  # of the actions of a small set, in their order
ENDS = ((0, 114, 178), (150, 150, 150), (213, 94, 0))  # of a scale: low is BLUE, the middle a grey, high is VERMILION


def action_colours(policy: Policy) -> dict[int, str]:
    """By leaf.

    Choices of a small set have a colour each; forces and the like one from a scale over their range, by their first
    axis. Laws have a colour each, which tells them from their neighbours.
    """
    tree, actions = policy.rules, policy.problem.actions
    if tree.laws is not None:
        return {leaf: NAMED[i % len(NAMED)] for i, leaf in enumerate(tree.leaves().tolist())}
    return {leaf: colour_of(actions, float(tree.actions[leaf, 0])) for leaf in tree.leaves().tolist()}


def has_named(actions: Finite | Continuous) -> bool:
    """Whether actions have a colour each."""
    return isinstance(actions, Finite) and not actions.box and len(actions.values) <= len(NAMED)


def colour_of(actions: Finite | Continuous, value: float) -> str:
    """The colour of an action, by its first axis."""
    if isinstance(actions, Finite) and has_named(actions):
        return NAMED[actions.values.index(value)] if value in actions.values else "#000000"
    low, high = (float(bound[0]) for bound in actions.bounds)
    return on_scale(0.5 if high <= low else min(max((value - low) / (high - low), 0.0), 1.0))


def on_scale(part: float) -> str:
    below, above, along = (ENDS[0], ENDS[1], 2 * part) if part <= 0.5 else (ENDS[1], ENDS[2], 2 * part - 1)
    return "#" + "".join(f"{round(a + along * (b - a)):02X}" for a, b in zip(below, above, strict=True))


# -- a policy as a graph in the DOT language of Graphviz ---------------------------------------------------------------

def to_dot(policy: Policy, share: bool = True) -> str:
    """Tests with their two answers; leaves in the colour of their action.

    `share`: lines as wide as the time spent on them.
    """
    words, tree, colours = policy.words, policy.rules, action_colours(policy)
    often, part = shares(policy, share), passing(policy, share)
    lines = [
        "digraph policy {",
        f"  label={_quoted(title(policy))}; labelloc=t; bgcolor=transparent;",
        '  node [shape=box, style=rounded, fontname="DejaVu Sans, Verdana, sans-serif", fontsize=11];',
        '  edge [fontname="DejaVu Sans, Verdana, sans-serif", fontsize=10];',
    ]
    for node, _ in walk(tree):
        if tree.nodes["feature"][node] == LEAF:
            style = "filled,dashed" if part[node] == 0 else "filled"
            look = (
                f'style="{style}", color="{colours[node]}", fillcolor="{colours[node]}40", penwidth={width(part[node])}'
            )
            label = _quoted(*words.leaf_lines(node), often.get(node, ""))
            lines.append(f"  n{node} [label={label}, {look}];")
            continue
        lines.append(f"  n{node} [label={_quoted(words.test(node))}];")
        for side, answer in (("low", "no"), ("high", "yes")):
            child = int(tree.nodes[side][node])
            lines.append(f'  n{node} -> n{child} [label="{answer}", penwidth={width(part[child])}];')
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(*lines: str) -> str:
    """A label; Graphviz reads backslashes in it."""
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines if line) + '"'


# -- where the boxes of a tree go --------------------------------------------------------------------------------------
#
# Every subtree as close to its neighbour as their outlines allow, parents in the middle above.

@dataclass(frozen=True, eq=False)
class Layout:
    """Centres by node; `x` begins at 0 at the left edge of the leftmost box."""

    x: Array
    level: Array
    width: float
    levels: int


def tidy(tree: Tree, widths: Array, gap: float) -> Layout:
    """Places boxes of the given widths, one row per depth."""
    n = len(widths)
    level, shift = np.zeros(n, np.int64), np.zeros(n)  # shift: against the parent
    # outline of the subtree of a node, against the node: left and right ends per level, deepest first, so that adding a
    # row is cheap
    left: dict[int, list[float]] = {}
    right: dict[int, list[float]] = {}
    order = walk(tree)
    for node, depth in order:
        level[node] = depth
    for node, _ in reversed(order):
        half = float(widths[node]) / 2
        if tree.nodes["feature"][node] == LEAF:
            left[node], right[node] = [-half], [half]
            continue
        a, b = int(tree.nodes["low"][node]), int(tree.nodes["high"][node])
        ra, lb = right.pop(a), left.pop(b)
        la, rb = left.pop(a), right.pop(b)
        common = min(len(ra), len(lb))
        apart = max(ra[-k] - lb[-k] for k in range(1, common + 1)) + gap
        shift[a], shift[b] = -apart / 2, apart / 2
        left[node] = _outline(la, lb, -apart / 2, apart / 2)
        right[node] = _outline(rb, ra, apart / 2, -apart / 2)
        left[node].append(-half)
        right[node].append(half)
    x = np.zeros(n)
    x[0] = -min(left[0])
    for node, _ in order:
        if tree.nodes["feature"][node] != LEAF:
            for side in ("low", "high"):
                child = tree.nodes[side][node]
                x[child] = x[node] + shift[child]
    return Layout(x, level, max(right[0]) - min(left[0]), int(level.max()) + 1)


def _outline(near: list[float], far: list[float], near_shift: float, far_shift: float) -> list[float]:
    """The outer side of two subtrees: that of the near one, and below it that of the far one if it is deeper."""
    below = far[: max(len(far) - len(near), 0)]
    return [end + far_shift for end in below] + [end + near_shift for end in near]


# -- a policy drawn as a tree, without Graphviz. Text and lines take the colour of the page the drawing stands in ------

FONT = 12  # pixels: size of letters
LETTER = 7.4  # width of a letter of DejaVu Sans and Verdana, which are wide
LINE = 16  # distance of lines
MANY = 64  # leaves; beyond, boxes lose their text, which is then shown by the pointer
MARGIN = 16  # around the drawing
HEAD = 44  # for the title above it
LONGEST = 44  # letters in a box
LONGEST_LAW = 160  # letters in the box of a law, which is no good without its end
STYLE = (
    "text{fill:currentColor;font:12px 'DejaVu Sans',Verdana,sans-serif;text-anchor:middle}"
    ".small{font-size:10.5px;fill-opacity:.75}.left{text-anchor:start}.title{font-weight:bold}"
    ".edge{fill:none;stroke:currentColor;stroke-opacity:.45}"
    ".test{fill:none;stroke:currentColor;stroke-opacity:.7}.dot{fill:currentColor;fill-opacity:.7}"
)


def to_svg(policy: Policy, share: bool = True) -> str:
    """The tree as SVG: left where a test fails, right where it is passed.

    `share`: lines as wide as the time spent on them.
    """
    words, tree, colours = policy.words, policy.rules, action_colours(policy)
    often, part = shares(policy, share), passing(policy, share)
    small, longest = policy.n_leaves > MANY, LONGEST_LAW if policy.has_laws else LONGEST
    labels = _labels(words, often)
    widths = (
        np.where(tree.nodes["feature"] == LEAF, 7.0, 5.0)
        if small
        else np.array([_box_width(lines, longest) for lines in labels])
    )
    place = tidy(tree, widths, 2.0 if small else 14.0)
    step, tall = (26.0, 10.0) if small else (78.0, 38.0)
    if policy.has_laws and not small:
        more = LINE * max(0, max(map(len, labels)) - 2)  # lines of the longest law
        step, tall = step + more, tall + more
    y = HEAD + MARGIN + tall / 2 + step * place.level
    parts = _edges(policy, place, y, tall, part, small)
    for node, lines in enumerate(labels):
        x, at = place.x[node] + MARGIN, float(y[node])
        label = escape(", ".join(lines))
        if tree.nodes["feature"][node] != LEAF:
            text = _text(x, at, lines, longest)
            dot = f'<circle class="dot" cx="{x:.1f}" cy="{at:.1f}" r="2.5"><title>{label}</title></circle>'
            parts.append(dot if small else _test(x, at, widths[node], tall, text, label))
        else:
            text = "" if small else _text(x, at, lines, longest, len(lines) - bool(often.get(node)))
            parts.append(_leaf(x, at, widths[node], tall, text, label, colours[node], part[node]))
    listed = small and not policy.has_laws
    legend, legend_width, legend_height = _legend(words, colours, y.max() + tall / 2 + 24) if listed else ([], 0.0, 0.0)
    notes = _notes(bool(often), small)
    wide = max(place.width, legend_width, _text_width(title(policy)) * 1.1, _text_width(notes) * 0.9) + 2 * MARGIN
    high = y.max() + tall / 2 + legend_height + MARGIN
    name = escape(title(policy))
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.1f} {high:.1f}" '
        f'width="{wide:.0f}" height="{high:.0f}" role="img">',
        f"<title>{name}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="left title" x="{MARGIN}" y="{MARGIN + 6}">{name}</text>',
        f'<text class="left small" x="{MARGIN}" y="{MARGIN + 24}">{escape(notes)}</text>',
    ]
    return "\n".join([*head, *parts, *legend, "</svg>"]) + "\n"


def _labels(words: Words, often: dict[int, str]) -> list[list[str]]:
    """By node: its test, or its action and its share of time."""
    labels = []
    for node, feature in enumerate(words.tree.nodes["feature"]):
        lines = [*words.leaf_lines(node), often.get(node, "")] if feature == LEAF else [words.test(node)]
        labels.append([line for line in lines if line])
    return labels


def _notes(shared: bool, small: bool) -> str:
    """How to read it."""
    parts = ["left: the test fails, right: it is passed"]
    parts += [f"wide lines: much of the time, {'pale' if small else 'dashed'}: never"] if shared else []
    return "; ".join(parts + (["point at a node to read it"] if small else []))


def _text_width(text: str) -> float:
    return LETTER * sum(
        1.7 if unicodedata.east_asian_width(sign) in "WF" else 0 if unicodedata.combining(sign) else 1 for sign in text
    )


def _box_width(lines: list[str], longest: int) -> float:
    return max(max(_text_width(one_line(line, longest)) for line in lines) + 14, 44.0)


def _edges(policy: Policy, place: Layout, y: Array, tall: float, part: Array, small: bool) -> list[str]:
    parts, nodes = [], policy.rules.nodes
    for node in np.flatnonzero(nodes["feature"] != LEAF):
        for side, answer in (("low", "no"), ("high", "yes")):
            child = int(nodes[side][node])
            x0, x1 = place.x[node] + MARGIN, place.x[child] + MARGIN
            y0, y1 = (y[node], y[child] - tall / 2) if small else (y[node] + tall / 2, y[child] - tall / 2)
            middle = (y0 + y1) / 2
            path = f"M{x0:.1f} {y0:.1f}C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
            parts.append(f'<path class="edge" stroke-width="{width(part[child])}" d="{path}"/>')
            if not small:
                away = -13 if side == "low" else 13  # the line comes from the other side
                parts.append(f'<text class="small" x="{x1 + away:.1f}" y="{y1 - 6:.1f}">{answer}</text>')
    return parts


def _test(x: float, y: float, wide: float, tall: float, text: str, told: str) -> str:
    at = f'x="{x - wide / 2:.1f}" y="{y - tall / 2:.1f}"'
    box = f'<rect class="test" {at} width="{wide:.1f}" height="{tall:.1f}" rx="9"/>'
    return f"<g><title>{told}</title>{box}{text}</g>"


def _leaf(x: float, y: float, wide: float, tall: float, text: str, told: str, colour: str, part: float) -> str:
    """A box with text, framed and pale; without text, filled, and pale only where it is never used."""
    never = part == 0
    look = f'fill="{colour}" fill-opacity="{0.25 if text else 0.35 if never else 0.9}"'
    if text:
        look += f' stroke="{colour}" stroke-width="{width(part)}"' + (' stroke-dasharray="3 3"' if never else "")
    box = f'<rect x="{x - wide / 2:.1f}" y="{y - tall / 2:.1f}" width="{wide:.1f}" height="{tall:.1f}" {look}/>'
    return f"<g><title>{told}</title>{box}{text}</g>"


def _text(x: float, y: float, lines: list[str], longest: int, plain: int = 1) -> str:
    """Lines in a box, the first `plain` ones in full size."""
    first = y + FONT * 0.36 - LINE * (len(lines) - 1) / 2
    parts = []
    for i, line in enumerate(lines):
        kind = ' class="small"' if i >= plain else ""
        parts.append(f'<text{kind} x="{x:.1f}" y="{first + i * LINE:.1f}">{escape(one_line(line, longest))}</text>')
    return "".join(parts)


def _legend(words: Words, colours: dict[int, str], top: float) -> tuple[list[str], float, float]:
    """Actions and their colours, at most eight, from low to high: what they are, how wide, how high."""
    leaf_of = {tuple(words.tree.actions[leaf].tolist()): leaf for leaf in colours}
    order = sorted(leaf_of)
    chosen = [order[i] for i in sorted({round(i) for i in np.linspace(0, len(order) - 1, min(len(order), 8))})]
    parts, x = [], float(MARGIN)
    for action in chosen:
        leaf = leaf_of[action]
        text = one_line(words.leaf_action(leaf), LONGEST)
        parts.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="12" height="12" fill="{colours[leaf]}" fill-opacity="0.9"/>'
        )
        parts.append(f'<text class="left small" x="{x + 17:.1f}" y="{top + 10:.1f}">{escape(text)}</text>')
        x += 17 + _text_width(text) + 14
    return parts, x - MARGIN, 40.0
