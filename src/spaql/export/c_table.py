"""A policy in C as constant tables and a loop: the actions or laws of all leaves are rows of arrays."""

import re
from collections.abc import Callable, Iterable, Sequence

from spaql.export.programs import Language
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.regions import neutral_of
from spaql.trees.tree import LEAF, Tree, walk

WIDTH = 118
Literal = Callable[[float], str]


def table_lines(tree: Tree, language: Language, cut: Callable[[int], str]) -> list[str]:
    """Constant arrays and a loop. Nodes are in the order of a walk, the low side first.

    So the low child of a node is the next one, and only the high child is stored.
    """
    d, axes, laws = tree.variables, tree.actions.shape[1], tree.laws
    real, literal = language.real, language.literal
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
    weights = f"; from {d} on rows of weight" if sums else ""
    leaf = "action" if laws is None else "law"
    arrays = {"value": list(row)} if laws is None else law_rows(laws, list(row))
    arrays |= {"weight": [tree.weights[node].tolist() for node in sums]}
    return [
        f"    /* variable that a node tests, -1 at leaves{weights} */",
        *_array(_whole(features), f"feature[{len(features)}]", map(str, features)),
        "    /* the test is passed from this value on */",
        *_array(real, f"cut[{len(cuts)}]", cuts),
        f"    /* next node if the test is passed, else it is the node that follows; at leaves the row of the {leaf} */",
        *_array(_whole(children), f"child[{len(children)}]", map(str, children)),
        *(line for name, rows in arrays.items() if rows for line in _rows(real, name, rows, literal)),
        "    long node = 0;",
        "",
        *_loop(real, d, bool(sums), literal(0.0)),
        *(f"    action[{axis}] = value[child[node]][{axis}];" for axis in range(axes if laws is None else 0)),
        *([] if laws is None else assign_law(laws, d, language)),
    ]


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


def law_rows(laws: LeafLaws, rows: Sequence[Sequence[float]]) -> dict[str, list[Sequence[float]]]:
    """The arrays of a table: gains output by output, offsets, and what the action is made of."""
    last = laws.outputs
    arrays = {"gain": [row[:-last] for row in rows], "offset": [row[-last:] for row in rows]}
    if laws.kind == CLIP:
        return arrays | {"range": [[laws.low[k], laws.high[k], neutral_of(laws, k)] for k in range(laws.outputs)]}
    return arrays | {"value": [laws.values.tolist()]}


def assign_law(laws: LeafLaws, d: int, language: Language) -> list[str]:
    """The action by the law in row `child[node]`."""
    real, literal, last = language.real, language.literal, len(laws.values) - 1
    zero = literal(0.0)
    applied = {
        CLIP: [
            "        action[k] = score < range[k][0] ? range[k][0] : score > range[k][1] ? range[k][1] :",
            "                    score <= range[k][1] ? score : range[k][2];",
        ],
        THRESHOLD: [f"        action[k] = score >= {zero} ? value[0][{last}] : value[0][0];"],
        ORDERED: [
            f"        score += {literal(0.5)};",
            f"        action[k] = value[0][{index_text(last + 1, literal)}];",
        ],
        SCORES: [
            "        if (k == 0 || score > best) {",
            "            best = score;",
            "            action[0] = value[0][k];",
            "        }",
        ],
    }[laws.kind]
    return [
        *([f"    {real} best = {zero};"] if laws.kind == SCORES else []),
        f"    for (int k = 0; k < {laws.outputs}; k++) {{",
        f"        {real} score = {zero};",
        f"        for (int j = 0; j < {d}; j++) {{",
        f"            if (gain[child[node]][k * {d} + j] != {zero}) {{",
        f"                score += gain[child[node]][k * {d} + j] * obs[j];",
        "            }",
        "        }",
        "        score += offset[child[node]][k];",
        *applied,
        "    }",
    ]


def index_text(count: int, literal: Literal) -> str:
    """The number of an ordered action; what is not a number is the first one."""
    return f"score >= {literal(1.0)} ? score < {literal(float(count))} ? (long)score : {count - 1}L : 0L"


def _whole(values: list[int]) -> str:
    """The smallest type that holds the values; int may have only 16 bits on a small controller."""
    return "signed char" if max(values) <= 127 else "short" if max(values) <= 32767 else "long"


def _rows(kind: str, name: str, rows: Sequence[Sequence[float]], literal: Literal) -> list[str]:
    text = ["{" + ", ".join(map(literal, row)) + "}" for row in rows]
    return _array(kind, f"{name}[{len(rows)}][{len(rows[0])}]", text)


def _array(kind: str, name: str, values: Iterable[str]) -> list[str]:
    lines = [" " * 7]
    for value in values:
        if len(lines[-1]) + len(value) + 2 > WIDTH and not lines[-1].isspace():
            lines.append(" " * 7)
        lines[-1] += f" {value},"
    return [f"    static const {kind} {name} = {{", *lines[:-1], re.sub(",$", "", lines[-1]), "    };"]
