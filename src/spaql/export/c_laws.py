"""Laws in C: a few lines for people in each leaf, or rows of arrays and loops that all leaves share."""

from collections.abc import Callable, Sequence

from spaql.export.heading import affine
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.regions import constant_of, neutral_of, steps_of

FEW_VALUES = 8  # ordered actions that are compared one by one; more stand in an array

Literal = Callable[[float], str]


# -- in nested ifs -----------------------------------------------------------------------------------------------------


def law_lines(laws: LeafLaws, leaf: int, words: Sequence[str], literal: Literal) -> list[str]:
    """The statements of a leaf."""

    def total(output: int, offset: bool = True) -> str:
        constant = float(laws.offsets[leaf, output]) if offset else 0.0
        return affine(laws.gains[leaf, output].tolist(), constant, words, literal)

    if laws.kind == CLIP:
        lines = []
        for axis in range(laws.outputs):
            fixed = constant_of(laws, leaf, axis)
            if fixed is not None:
                lines.append(f"action[{axis}] = {literal(fixed)};")
                continue
            low, high = literal(float(laws.low[axis])), literal(float(laws.high[axis]))
            lines.append(f"score = {total(axis)};")
            within = f"score <= {high} ? score : {literal(neutral_of(laws, axis))}"  # NaN is not
            lines.append(f"action[{axis}] = score < {low} ? {low} : score > {high} ? {high} : {within};")
        return lines
    fixed = constant_of(laws, leaf)
    values = [literal(value) for value in laws.values.tolist()]
    if fixed is not None:
        return [f"action[0] = {literal(fixed)};"]
    if laws.kind == SCORES:
        lines = [f"best = {total(0)};", f"action[0] = {values[0]};"]
        for k in range(1, len(values)):
            lines += [f"score = {total(k)};", "if (score > best) {", "    best = score;"]
            lines += [f"    action[0] = {values[k]};", "}"]
        return lines
    if laws.kind == THRESHOLD:
        cut = steps_of(laws, leaf)[0][0]
        return [f"action[0] = {total(0, False)} >= {literal(cut)} ? {values[-1]} : {values[0]};"]
    lines = [f"score = {total(0)} + {literal(0.5)};"]
    if len(values) > FEW_VALUES:
        return [*lines, f"action[0] = value[{_index(len(values), literal)}];"]
    chain = "".join(f"score >= {literal(float(k))} ? {values[k]} : " for k in range(len(values) - 1, 0, -1))
    return [*lines, f"action[0] = {chain}{values[0]};"]


def declared(laws: LeafLaws, lines: Sequence[str], real: str, literal: Literal) -> list[str]:
    """What the statements of the leaves need."""
    found = [f"    {real} {word};" for word in ("best", "score") if any(f"    {word} = " in line for line in lines)]
    if any("value[" in line for line in lines):
        values = ", ".join(literal(value) for value in laws.values.tolist())
        found.append(f"    static const {real} value[{len(laws.values)}] = {{{values}}};")
    return found


def _index(count: int, literal: Literal) -> str:
    """The number of an ordered action; what is not a number is the first one."""
    return f"score >= {literal(1.0)} ? score < {literal(float(count))} ? (long)score : {count - 1}L : 0L"


# -- in a table --------------------------------------------------------------------------------------------------------


def law_rows(laws: LeafLaws, rows: Sequence[Sequence[float]]) -> dict[str, list[list[float]]]:
    """The arrays of a table: gains output by output, offsets, and what the action is made of."""
    last = laws.outputs
    arrays = {"gain": [list(row[:-last]) for row in rows], "offset": [list(row[-last:]) for row in rows]}
    if laws.kind == CLIP:
        ends = [[laws.low[k], laws.high[k], neutral_of(laws, k)] for k in range(laws.outputs)]
        return arrays | {"range": ends}
    return arrays | {"value": [laws.values.tolist()]}


def assign_law(laws: LeafLaws, d: int, real: str, literal: Literal) -> list[str]:
    """The action by the law in row `child[node]`."""
    zero, last = literal(0.0), len(laws.values) - 1
    applied = {
        CLIP: [
            "        action[k] = score < range[k][0] ? range[k][0] : score > range[k][1] ? range[k][1] :",
            "                    score <= range[k][1] ? score : range[k][2];",
        ],
        THRESHOLD: [f"        action[k] = score >= {zero} ? value[0][{last}] : value[0][0];"],
        ORDERED: [
            f"        score += {literal(0.5)};",
            f"        action[k] = value[0][{_index(last + 1, literal)}];",
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
