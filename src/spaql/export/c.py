"""C99 source of a policy: nested ifs for people, or constant tables and a loop.

No memory is allocated and nothing recurses.
"""

import math
import re
from collections.abc import Callable, Iterable

import numpy as np

from spaql.export.c_laws import assign_law, declared, law_lines, law_rows
from spaql.export.c_loop import comment, loop_lines, main_of_loop, main_program
from spaql.export.heading import (
    C_WORDS,
    checked_name,
    double,
    facts,
    identifiers,
    single,
    single_at_least,
    weighted_sum,
)
from spaql.ground.arrays import Array
from spaql.ground.checks import choice, flag
from spaql.ground.errors import SpaqlError
from spaql.policy.policy import Policy
from spaql.trees.regions import branches, deepest_level
from spaql.trees.tree import LEAF, Tree, walk

FEW_LEAVES = 64  # up to here nested ifs, beyond a table
DEEPEST = 120  # C99 promises 127 nested blocks
WIDTH = 118


def to_c(
    policy: Policy, precision: str = "double", name: str = "controller", form: str = "auto", main: bool = False
) -> str:
    """C99 source with `void controller(const double *obs, double *action)`, or of floats.

    `form`: "ifs", "table", or "auto": ifs up to 64 leaves. `main`: also a program that reads observations and prints
    actions.
    """
    choice("precision", precision, ("double", "single"))
    choice("form", form, ("auto", "ifs", "table"))
    flag("main", main)
    checked_name(name, C_WORDS)
    tree = policy.rules
    if form == "auto":
        form = "ifs" if tree.n_leaves <= FEW_LEAVES else "table"
    if form == "ifs" and deepest_level(tree) > DEEPEST:
        raise SpaqlError(f"the tree is too deep for nested ifs in C ({deepest_level(tree)} levels): use form='table'")
    real = "float" if precision == "single" else "double"
    number = single if precision == "single" else double
    literal: Callable[[float], str] = (lambda value: number(value) + "f") if precision == "single" else number

    def cut(node: int) -> str:
        value = float(tree.nodes["cut"][node])
        at = single_at_least(value) if precision == "single" else value
        return "INFINITY" if math.isinf(at) else literal(at)  # a test that only infinity passes

    body = _ifs(policy, real, name, cut, literal) if form == "ifs" else _table(tree, real, cut, literal)
    signature = f"void {name}(const {real} *obs, {real} *action)"
    signals = policy.problem.signals
    exact = _exact_sums() if tree.oblique or tree.laws is not None or signals is not None else []
    lines = [*comment([*facts(policy), *_precision_note(tree, precision)]), *_includes(body, main), *exact]
    lines += [f"{signature};", "", signature, "{", *body, "}"]
    if signals is not None:
        lines += loop_lines(signals, name, real, literal)
    if main:
        lines += ["", *(main_of_law(tree, real, name) if signals is None else main_of_loop(signals, name, real))]
    return "\n".join(lines) + "\n"


def _precision_note(tree: Tree, precision: str) -> list[str]:
    if precision == "double":
        return []
    if tree.laws is not None:
        return [
            "Single precision: laws are rounded, "
            "and states very near to a weighted test or to another action may be decided as their neighbours are."
        ]
    if tree.oblique:
        return [
            "Single precision: weighted sums are rounded, "
            "so that states very near to such a test may go to its other side."
        ]
    return ["Single precision: decides as the policy does for every observation that is a float."]


def _includes(body: list[str], main: bool) -> list[str]:
    math_h = ["#include <math.h>"] if any("INFINITY" in line for line in body) else []
    found = math_h + (["#include <stdio.h>"] if main else [])
    return ["", *found, ""] if found else [""]


def _exact_sums() -> list[str]:
    """Sums without multiply-adds, which would differ from the policy in the last bit."""
    return [
        "/* the products of weighted sums are rounded before they are added, as in the policy */",
        "#if defined(__clang__)",
        "#pragma STDC FP_CONTRACT OFF",
        "#elif defined(__GNUC__)",
        '#pragma GCC optimize ("-ffp-contract=off")',
        "#endif",
        "",
    ]


def _ifs(policy: Policy, real: str, name: str, cut: Callable[[int], str], literal: Callable[[float], str]) -> list[str]:
    tree, d = policy.rules, policy.rules.variables
    own = {"score", "best", "value"} if tree.laws is not None else set()
    words = identifiers(policy.words.names, C_WORDS | {"obs", "action", name} | own)
    feature, used = tree.nodes["feature"], _used(tree)
    lines = [f"    const {real} {words[j]} = obs[{j}];" for j in range(d) if j in used] or ["    (void)obs;"]
    start = len(lines)
    lines.append("")

    def condition(node: int) -> str:
        j = int(feature[node])
        return f"{words[j] if j < d else weighted_sum(tree, node, words, literal)} >= {cut(node)}"

    for what, level, node in branches(tree):
        indent = "    " * (level + 1)
        if what == "leaf" and tree.laws is not None:
            lines += [indent + line for line in law_lines(tree.laws, node, words, literal)]
        elif what == "leaf":
            lines += [
                f"{indent}action[{axis}] = {literal(value)};" for axis, value in enumerate(tree.actions[node].tolist())
            ]
        else:
            head = {"if": "if (", "elif": "} else if (", "else": "} else {", "end": "}"}[what]
            lines.append(indent + head + (f"{condition(node)}) {{" if head.endswith("(") else ""))
    if tree.laws is not None:
        lines[start:start] = declared(tree.laws, lines, real, literal)
    return lines


def _used(tree: Tree) -> set[int]:
    """The variables that tests and laws look at."""
    feature, d = tree.nodes["feature"], tree.variables
    looked: Array = tree.weights[feature == d].any(axis=0)
    if tree.laws is not None:
        looked = looked | tree.laws.gains.any(axis=(0, 1))
    return {int(j) for j in feature[feature != LEAF]} | {int(j) for j in np.flatnonzero(looked)}


def _table(tree: Tree, real: str, cut: Callable[[int], str], literal: Callable[[float], str]) -> list[str]:
    """Constant arrays and a loop. Nodes are in the order of a walk, the low side first.

    So the low child of a node is the next one, and only the high child is stored.
    """
    d, axes = tree.variables, tree.actions.shape[1]
    order = [node for node, _ in walk(tree)]
    place = {node: i for i, node in enumerate(order)}
    feature, high = tree.nodes["feature"].tolist(), tree.nodes["high"].tolist()
    row: dict[tuple[float, ...], int] = {}  # actions or laws that are different, each once
    sums: list[int] = []
    features, cuts, children = [], [], []
    for node in order:
        if feature[node] == LEAF:
            features.append(LEAF)
            cuts.append(literal(0.0))
            children.append(row.setdefault(_does(tree, node), len(row)))
            continue
        features.append(feature[node] + len(sums) if feature[node] == d else feature[node])
        sums += [node] if feature[node] == d else []
        cuts.append(cut(node))
        children.append(place[high[node]])
    lines = [
        "    /* variable that a node tests, -1 at leaves" + (f"; from {d} on rows of weight" if sums else "") + " */"
    ]
    lines += _array(_whole(features), "feature", map(str, features), len(features))
    lines += ["    /* the test is passed from this value on */", *_array(real, "cut", cuts, len(cuts))]
    told = "action" if tree.laws is None else "law"
    lines += [
        f"    /* next node if the test is passed, else it is the node that follows; at leaves the row of the {told} */"
    ]
    lines += _array(_whole(children), "child", map(str, children), len(children))
    if tree.laws is None:
        lines += _rows(real, "value", [[literal(value) for value in values] for values in row])
    for array, numbers in law_rows(tree.laws, list(row)).items() if tree.laws is not None else ():
        lines += _rows(real, array, [[literal(value) for value in values] for values in numbers])
    lines += _rows(real, "weight", [[literal(w) for w in tree.weights[node].tolist()] for node in sums])
    assigned = _assign(axes) if tree.laws is None else assign_law(tree.laws, d, real, literal)
    return [*lines, "    long node = 0;", "", *_loop(real, d, bool(sums), literal(0.0)), *assigned]


def _does(tree: Tree, leaf: int) -> tuple[float, ...]:
    """The numbers of a leaf: its action, or the gains of its law and then the offsets."""
    if tree.laws is None:
        return tuple(tree.actions[leaf].tolist())
    return (*tree.laws.gains[leaf].ravel().tolist(), *tree.laws.offsets[leaf].tolist())


def _loop(real: str, d: int, oblique: bool, zero: str) -> list[str]:
    step = "        node = {} >= cut[node] ? child[node] : node + 1;"
    if not oblique:
        return ["    while (feature[node] >= 0) {", step.format("obs[feature[node]]"), "    }"]
    return [
        "    while (feature[node] >= 0) {",
        f"        {real} tested = {zero};",
        f"        if (feature[node] < {d}) {{",
        "            tested = obs[feature[node]];",
        "        } else {",
        f"            for (int j = 0; j < {d}; j++) {{",
        f"                if (weight[feature[node] - {d}][j] != {zero}) {{",
        f"                    tested += weight[feature[node] - {d}][j] * obs[j];",
        "                }",
        "            }",
        "        }",
        step.format("tested"),
        "    }",
    ]


def _assign(axes: int) -> list[str]:
    return [f"    action[{axis}] = value[child[node]][{axis}];" for axis in range(axes)]


def _whole(values: list[int]) -> str:
    """The smallest type that holds the values; int may have only 16 bits on a small controller."""
    return "signed char" if max(values) <= 127 else "short" if max(values) <= 32767 else "long"


def _array(kind: str, name: str, values: Iterable[str], length: int) -> list[str]:
    return [f"    static const {kind} {name}[{length}] = {{", *_wrapped(values), "    };"]


def _rows(kind: str, name: str, rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    text = ["{" + ", ".join(row) + "}" for row in rows]
    return [f"    static const {kind} {name}[{len(rows)}][{len(rows[0])}] = {{", *_wrapped(text), "    };"]


def _wrapped(values: Iterable[str]) -> list[str]:
    lines = [" " * 7]
    for value in values:
        if len(lines[-1]) + len(value) + 2 > WIDTH and not lines[-1].isspace():
            lines.append(" " * 7)
        lines[-1] += f" {value},"
    return [re.sub(",$", "", line) if i == len(lines) - 1 else line for i, line in enumerate(lines)]


def main_of_law(tree: Tree, real: str, name: str) -> list[str]:
    """A program for tests."""
    given, made = ("obs", tree.variables), ("action", tree.actions.shape[1])
    about = "reads one observation per line, prints one action per line."
    return main_program(about, real, given, made, f"{name}(obs, action);")
