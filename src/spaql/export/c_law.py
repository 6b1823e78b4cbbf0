"""A law in C: nested ifs for people, or constant tables and a loop (c_table.py)."""

import math
import re
from collections.abc import Callable

from spaql.export import programs
from spaql.export.c_table import index_text, table_lines
from spaql.export.heading import C_WORDS, double, identifiers, single, single_at_least
from spaql.ground.checks import choice
from spaql.ground.errors import SpaqlError
from spaql.policy.policy import Policy
from spaql.trees.laws import THRESHOLD, LeafLaws
from spaql.trees.regions import deepest_level, steps_of
from spaql.trees.tree import Tree

PRECISIONS = ("double", "single", "fixed")
FEW_LEAVES = 64  # up to here nested ifs, beyond a table
FEW_VALUES = 8  # ordered actions that are compared one by one; more stand in an array
DEEPEST = 120  # C99 promises 127 nested blocks
OF_MATH_H = re.compile(r"\bINFINITY\b|\b(a?(sin|cos|tan)|atan2|tanh|exp|log|sqrt|fabs|fmin|fmax)f?\(")
NAMES = {"abs": "fabs", "min": "fmin", "max": "fmax"}  # of functions, where they are others than in formulas
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


def law_body(policy: Policy, name: str, precision: str, form: str) -> list[str]:
    """The statements of the function of the law, as nested ifs or as a table."""
    choice("form", form, ("auto", "ifs", "table"))
    tree, language = policy.rules, language_of(name, precision)
    if form == "auto":
        form = "ifs" if tree.n_leaves <= FEW_LEAVES else "table"
    if form == "ifs" and deepest_level(tree) > DEEPEST:
        raise SpaqlError(f"the tree is too deep for nested ifs in C ({deepest_level(tree)} levels): use form='table'")

    def cut(node: int) -> str:
        value = float(tree.nodes["cut"][node])
        at = single_at_least(value) if precision == "single" else value
        return "INFINITY" if math.isinf(at) else language.literal(at)  # a test that only infinity passes

    if form == "ifs":
        return _ifs(policy, name, language, cut)
    return _table(policy, language, cut)


def language_of(name: str, precision: str) -> programs.Language:
    """C as the functions around `name` write it."""
    real = "float" if choice("precision", precision, ("double", "single")) == "single" else "double"
    f = "f" if real == "float" else ""
    return programs.Language(
        real=real,
        functions=programs.calls(lambda function: NAMES.get(function, function) + f),
        literal=(lambda value: single(value) + "f") if f else double,
        put="{} = {};",
        let=f"{real} {{}} = {{}};",
        heads=programs.BRACES,
        limited=f"{name}_limited({{}}, {{}}, {{}})",
        chosen="{} ? {} : {}",
        usable=f"{name}_usable({{}})",
        both=" && ",
        true="1",
        unless="{} || !({})",
        register="memory->{}",
        clipped="score < {0} ? {0} : score > {1} ? {1} : score <= {1} ? score : {2}",  # NaN is not
    )


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


# -- a table, and nested ifs -------------------------------------------------------------------------------------------


def _table(policy: Policy, language: programs.Language, cut: Callable[[int], str]) -> list[str]:
    """It reads variables by their number: features stand behind what is observed."""
    body = table_lines(policy.rules, language, cut)
    if policy.problem.features is None:
        return body
    d, raw = len(policy.problem.state), len(policy.problem.measured)
    words = [f"seen[{j}]" for j in range(d)]
    filled = [f"    {words[j]} = obs[{j}];" for j in range(raw)]
    filled += [f"    {words[j]} = {text};" for j, text in programs.formulas_of(policy, language, words, every=True)]
    body = [re.sub(r"\bobs\[", "seen[", line) for line in body]
    first = next(k for k, line in enumerate(body) if "while (" in line)
    return [f"    {language.real} seen[{d}];", *body[:first], *filled, "", *body[first:]]


def _ifs(policy: Policy, name: str, language: programs.Language, cut: Callable[[int], str]) -> list[str]:
    tree, literal, real = policy.rules, language.literal, language.real
    own = {"score", "best", "value"} if tree.laws is not None else set()
    words = identifiers(policy.words.names, C_WORDS | {"obs", "action", name} | own)
    outputs = [f"action[{axis}]" for axis in range(tree.actions.shape[1])]

    def stepped(laws: LeafLaws, leaf: int) -> list[str]:
        values = [literal(value) for value in laws.values.tolist()]
        if laws.kind == THRESHOLD:
            score, cut = programs.score_text(laws, leaf, 0, words, literal, False), literal(steps_of(laws, leaf)[0][0])
            return [f"action[0] = {score} >= {cut} ? {values[-1]} : {values[0]};"]
        chain = "".join(f"score >= {literal(float(k))} ? {values[k]} : " for k in range(len(values) - 1, 0, -1))
        many = len(values) > FEW_VALUES
        chosen = f"value[{index_text(len(values), literal)}]" if many else f"{chain}{values[0]}"
        score = programs.score_text(laws, leaf, 0, words, literal)
        return [f"score = {score} + {literal(0.5)};", f"action[0] = {chosen};"]

    raw, used = len(policy.problem.measured), programs.needed(policy)
    read = [f"    const {real} {word} = obs[{j}];" for j, word in enumerate(words[:raw]) if j in used]
    read += [f"    const {real} {words[j]} = {text};" for j, text in programs.formulas_of(policy, language, words)]

    def leaf_of(leaf: int) -> list[str]:
        return programs.leaf_lines(tree, leaf, words, outputs, language, stepped)

    body = programs.nested(tree, programs.BRACES, 1, leaf_of, programs.condition_of(tree, words, language, cut))
    needed_words = ("best", "score") if tree.laws is not None else ()
    declared = [f"    {real} {word};" for word in needed_words if any(f"    {word} = " in line for line in body)]
    if tree.laws is not None and any("value[" in line for line in body):
        values = ", ".join(map(literal, tree.laws.values.tolist()))
        declared.append(f"    static const {real} value[{len(tree.laws.values)}] = {{{values}}};")
    return [*(read or ["    (void)obs;"]), *declared, "", *body]


def main_lines(taken: int, axes: int, remembers: bool, name: str, real: str) -> list[str]:
    """Reads numbers until there are no more; what is left of an incomplete row is an error."""
    about = "reads one observation per line, prints one action per line."
    given, shown, begin, call = "obs", "action", list[str](), f"{name}(obs, action);"
    if remembers:
        about = "reads the inputs of an episode, one step per line, prints what is applied."
        given, shown = "input", "output"
        begin = programs.indented([f"{name}_memory memory;", "", f"{name}_init(&memory);"])
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
