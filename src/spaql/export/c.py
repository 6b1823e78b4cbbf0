"""C99 source of a policy: nested ifs for people, or constant tables and a loop (c_table.py).

No memory is allocated and nothing recurses. The loop around a law is a struct that holds the memory, with init and
step.
"""

import math
from collections.abc import Callable, Sequence

from spaql.export.c_loop import loop_lines
from spaql.export.c_table import index_text, table_lines
from spaql.export.fixed_point import to_fixed_point
from spaql.export.heading import (
    C_WORDS,
    c_comment,
    checked_name,
    double,
    facts,
    identifiers,
    single,
    single_at_least,
)
from spaql.export.programs import Language, indented, leaf_lines, nested, score_text
from spaql.export.sizes import with_sizes
from spaql.export.written_features import OF_MATH_H, c_grammar, formulas_of, needed, seen_by_table
from spaql.ground.checks import choice, flag
from spaql.ground.errors import SpaqlError
from spaql.policy.policy import Policy
from spaql.trees.laws import THRESHOLD, LeafLaws
from spaql.trees.regions import deepest_level, steps_of
from spaql.trees.tree import Tree

PRECISIONS = ("double", "single", "fixed")
FEW_LEAVES = 64  # up to here nested ifs, beyond a table
FEW_VALUES = 8  # ordered actions that are compared one by one; more stand in an array
DEEPEST = 120  # C99 promises 127 nested blocks
HEADS = {"if": "if ({}) {{", "elif": "}} else if ({}) {{", "else": "}} else {{", "end": "}}"}
# sums without multiply-adds, which would differ from the policy in the last bit
EXACT_SUMS = (
    "/* the products of weighted sums are rounded before they are added, as in the policy */",
    "#if defined(__clang__)",
    "#pragma STDC FP_CONTRACT OFF",
    "#elif defined(__GNUC__)",
    '#pragma GCC optimize ("-ffp-contract=off")',
    "#endif",
    "",
)


def to_c(
    policy: Policy, precision: str = "double", name: str = "controller", form: str = "auto", main: bool = False,
    sizes: bool = False,
) -> str:  # fmt: skip
    """C99 source with `void controller(const double *obs, double *action)`, or of floats, or of integers alone.

    `precision`: "double", "single", or "fixed" (fixed_point.py). `form`: "ifs", "table", or "auto": ifs up to 64
    leaves. `main`: also a program that reads observations and prints actions.
    `sizes`: measured flash, RAM and time on an AVR and a Cortex-M, in the comment.
    """
    flag("main", main)
    checked_name(name, C_WORDS)
    tree, signals = policy.rules, policy.problem.signals
    if choice("precision", precision, PRECISIONS) == "fixed":
        if main or form == "table":
            raise SpaqlError("precision='fixed' goes with neither main nor form='table'")
        text = to_fixed_point(policy, name)
        return with_sizes(policy, text, None, name, precision) if flag("sizes", sizes) else text
    language, real = language_of(name, precision)
    body = law_body(policy, name, precision, form)
    signature = f"void {name}(const {real} *obs, {real} *action)"
    lines = [*c_comment([*facts(policy), *precision_note(tree, precision)]), *includes(body, main)]
    exact = tree.oblique or tree.laws is not None or signals is not None or policy.problem.features is not None
    lines += EXACT_SUMS if exact else []
    lines += [f"{signature};", "", signature, "{", *body, "}"]
    if signals is not None:
        lines += loop_lines(signals, name, real, language)
    if main:
        taken = len(policy.problem.measured) if signals is None else len(signals.inputs)
        lines += ["", *main_lines(taken, tree.actions.shape[1], signals is not None, name, real)]
    text = "\n".join(lines) + "\n"
    return with_sizes(policy, text, None, name, precision) if flag("sizes", sizes) else text


def law_body(policy: Policy, name: str, precision: str, form: str) -> list[str]:
    """The statements of the function of the law, as nested ifs or as a table."""
    choice("form", form, ("auto", "ifs", "table"))
    tree, (language, real) = policy.rules, language_of(name, precision)
    if form == "auto":
        form = "ifs" if tree.n_leaves <= FEW_LEAVES else "table"
    if form == "ifs" and deepest_level(tree) > DEEPEST:
        raise SpaqlError(f"the tree is too deep for nested ifs in C ({deepest_level(tree)} levels): use form='table'")

    def cut(node: int) -> str:
        value = float(tree.nodes["cut"][node])
        at = single_at_least(value) if precision == "single" else value
        return "INFINITY" if math.isinf(at) else language.literal(at)  # a test that only infinity passes

    if form == "ifs":
        return _ifs(policy, name, real, language, cut)
    return seen_by_table(policy, real, language.literal, table_lines(tree, real, cut, language.literal))


def language_of(name: str, precision: str) -> tuple[Language, str]:
    """C as the functions around `name` write it, and its type of numbers."""
    real = "float" if choice("precision", precision, ("double", "single")) == "single" else "double"
    language = Language(
        literal=double if real == "double" else lambda value: single(value) + "f",
        put="{} = {};",
        let=f"{real} {{}} = {{}};",
        heads=HEADS,
        limited=f"{name}_limited({{}}, {{}}, {{}})",
        chosen="{} ? {} : {}",
        usable=f"{name}_usable({{}})",
        both=" && ",
        true="1",
        unless="{} || !({})",
        register="memory->{}",
        clipped="score < {0} ? {0} : score > {1} ? {1} : score <= {1} ? score : {2}",  # NaN is not
    )
    return language, real


def precision_note(tree: Tree, precision: str) -> list[str]:
    if precision == "double":
        return []
    rounded = "decides as the policy does for every observation that is a float."
    if tree.laws is not None:
        rounded = "laws are rounded, and states very near to a weighted test or to another action may be decided as "
        rounded += "their neighbours are."
    elif tree.oblique:
        rounded = "weighted sums are rounded, so that states very near to such a test may go to its other side."
    return [f"Single precision: {rounded}"]


def includes(body: list[str], main: bool) -> list[str]:
    math_h = ["#include <math.h>"] if any(OF_MATH_H.search(line) for line in body) else []
    headers = math_h + (["#include <stdio.h>"] if main else [])
    return ["", *headers, ""] if headers else [""]


# -- nested ifs --------------------------------------------------------------------------------------------------------

def _ifs(policy: Policy, name: str, real: str, language: Language, cut: Callable[[int], str]) -> list[str]:
    tree, literal = policy.rules, language.literal
    own = {"score", "best", "value"} if tree.laws is not None else set()
    words = identifiers(policy.words.names, C_WORDS | {"obs", "action", name} | own)
    outputs = [f"action[{axis}]" for axis in range(tree.actions.shape[1])]

    def stepped(laws: LeafLaws, leaf: int) -> list[str]:
        values = [literal(value) for value in laws.values.tolist()]
        if laws.kind == THRESHOLD:
            test = f"{score_text(laws, leaf, 0, words, literal, False)} >= {literal(steps_of(laws, leaf)[0][0])}"
            return [f"action[0] = {test} ? {values[-1]} : {values[0]};"]
        chain = "".join(f"score >= {literal(float(k))} ? {values[k]} : " for k in range(len(values) - 1, 0, -1))
        many = len(values) > FEW_VALUES
        chosen = f"value[{index_text(len(values), literal)}]" if many else f"{chain}{values[0]}"
        score = score_text(laws, leaf, 0, words, literal)
        return [f"score = {score} + {literal(0.5)};", f"action[0] = {chosen};"]

    raw, used = len(policy.problem.measured), needed(policy)
    read = [f"    const {real} {word} = obs[{j}];" for j, word in enumerate(words[:raw]) if j in used]
    for j, text in formulas_of(policy, c_grammar(literal, real), words):
        read.append(f"    const {real} {words[j]} = {text};")
    body = nested(tree, words, language, lambda leaf: leaf_lines(tree, leaf, words, outputs, language, stepped), 1, cut)
    return [*(read or ["    (void)obs;"]), *_declared(tree, body, real, literal), "", *body]


def _declared(tree: Tree, body: Sequence[str], real: str, literal: Callable[[float], str]) -> list[str]:
    """What the statements of laws need."""
    if tree.laws is None:
        return []
    lines = [f"    {real} {word};" for word in ("best", "score") if any(f"    {word} = " in line for line in body)]
    if any("value[" in line for line in body):
        values = ", ".join(literal(value) for value in tree.laws.values.tolist())
        lines.append(f"    static const {real} value[{len(tree.laws.values)}] = {{{values}}};")
    return lines


def main_lines(taken: int, axes: int, remembers: bool, name: str, real: str) -> list[str]:
    """Reads numbers until there are no more; what is left of an incomplete row is an error."""
    about = "reads one observation per line, prints one action per line."
    given, shown, begin, call = "obs", "action", list[str](), f"{name}(obs, action);"
    if remembers:
        about = "reads the inputs of an episode, one step per line, prints what is applied."
        given, shown = "input", "output"
        begin = indented([f"{name}_memory memory;", "", f"{name}_init(&memory);"])
        call = f"{name}_step(&memory, input, output);"
    scan, value = ("%f", f"(double){shown}[j]") if real == "float" else ("%lf", f"{shown}[j]")
    return [
        f"/* For tests: {about} */",
        "int main(void)",
        "{",
        f"    {real} {given}[{taken}];",
        f"    {real} {shown}[{axes}];",
        "    int read = 0;",
        *begin,
        "",
        f'    while (scanf("{scan}", &{given}[read]) == 1) {{',
        "        read++;",
        f"        if (read == {taken}) {{",
        f"            {call}",
        f"            for (int j = 0; j < {axes}; j++) {{",
        f'                printf("%s%.17g", j > 0 ? " " : "", {value});',
        "            }",
        '            printf("\\n");',
        "            read = 0;",
        "        }",
        "    }",
        "    return feof(stdin) && read == 0 ? 0 : 1;",
        "}",
    ]
