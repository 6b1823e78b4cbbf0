"""C99 source of a policy: nested ifs for people, or constant tables and a loop (c_table.py).

No memory is allocated and nothing recurses. The loop around a law is a struct that holds the memory, with init and
step.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence

from spaql.export.c_table import index_text, table_lines
from spaql.export.heading import C_WORDS, checked_name, double, facts, identifiers, labelled, single, single_at_least
from spaql.export.programs import UNUSABLE, Language, indented, leaf_lines, nested, score_text, step_of
from spaql.export.written_features import OF_MATH_H, c_grammar, formulas_of, needed, seen_by_table
from spaql.ground.checks import FAR, choice, flag
from spaql.ground.errors import SpaqlError
from spaql.plants.signals import Signals
from spaql.policy.policy import Policy
from spaql.policy.words import one_line
from spaql.trees.laws import THRESHOLD, LeafLaws
from spaql.trees.regions import deepest_level, steps_of
from spaql.trees.tree import Tree

FEW_LEAVES = 64  # up to here nested ifs, beyond a table
FEW_VALUES = 8  # ordered actions that are compared one by one; more stand in an array
DEEPEST = 120  # C99 promises 127 nested blocks
FAR_SINGLE = 1e18  # times a gain as large, it still is a float
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
    tree, signals = policy.rules, policy.problem.signals
    if form == "auto":
        form = "ifs" if tree.n_leaves <= FEW_LEAVES else "table"
    if form == "ifs" and deepest_level(tree) > DEEPEST:
        raise SpaqlError(f"the tree is too deep for nested ifs in C ({deepest_level(tree)} levels): use form='table'")
    real = "float" if precision == "single" else "double"
    language = _language(name, real)

    def cut(node: int) -> str:
        value = float(tree.nodes["cut"][node])
        at = single_at_least(value) if precision == "single" else value
        return "INFINITY" if math.isinf(at) else language.literal(at)  # a test that only infinity passes

    if form == "ifs":
        body = _ifs(policy, name, real, language, cut)
    else:
        body = seen_by_table(policy, real, language.literal, table_lines(tree, real, cut, language.literal))
    signature = f"void {name}(const {real} *obs, {real} *action)"
    lines = [*comment([*facts(policy), *_precision_note(tree, precision)]), *_includes(body, main)]
    exact = tree.oblique or tree.laws is not None or signals is not None or policy.problem.features is not None
    lines += EXACT_SUMS if exact else []
    lines += [f"{signature};", "", signature, "{", *body, "}"]
    if signals is not None:
        lines += loop_lines(signals, name, real, language)
    if main:
        lines += ["", *_main(policy, name, real)]
    return "\n".join(lines) + "\n"


def _language(name: str, real: str) -> Language:
    return Language(
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


def _precision_note(tree: Tree, precision: str) -> list[str]:
    if precision == "double":
        return []
    rounded = "decides as the policy does for every observation that is a float."
    if tree.laws is not None:
        rounded = "laws are rounded, and states very near to a weighted test or to another action may be decided as "
        rounded += "their neighbours are."
    elif tree.oblique:
        rounded = "weighted sums are rounded, so that states very near to such a test may go to its other side."
    return [f"Single precision: {rounded}"]


def _includes(body: list[str], main: bool) -> list[str]:
    math_h = ["#include <math.h>"] if any(OF_MATH_H.search(line) for line in body) else []
    headers = math_h + (["#include <stdio.h>"] if main else [])
    return ["", *headers, ""] if headers else [""]


def comment(lines: Iterable[str]) -> list[str]:
    """A block comment that nothing in its lines ends, and that has no trigraphs."""
    text = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    text = [re.sub(r"\?(?=\?)", "? ", line) for line in text]
    return [f"/* {text[0]}", *(f" * {line}".rstrip().rstrip("\\") for line in text[1:]), " */"]


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


# -- the loop around a law ---------------------------------------------------------------------------------------------

def loop_lines(signals: Signals, name: str, real: str, language: Language) -> list[str]:
    """Declarations and functions that follow the law `name`."""
    far = language.literal(FAR_SINGLE if real == "float" else FAR)
    own = {"memory", "input", "output", "obs", "action", "started", "usable", name}
    own |= {f"{name}_{part}" for part in ("memory", "limited", "usable")}
    given = [f"input[{j}]" for j in range(len(signals.inputs))]
    decided = [f"action[{j}]" for j in range(len(signals.action_names))]
    step = step_of(signals, language, given, decided, C_WORDS | own)
    head = f"void {name}_step({name}_memory *memory, const {real} *input, {real} *output)"
    usable = ["{", f"    return value >= -{far} && value <= {far};", "}", ""]
    limited = ["{", "    return value < low ? low : value > high ? high : value;", "}", ""]
    clips = any("_limited(" in line for line in [*step.seen, *step.applied, *step.after])
    return [
        "",
        *comment(_facts(signals, name, far)),
        "typedef struct {",
        "    int started;",
        *(f"    {real} {register};" for register in step.registers),
        f"}} {name}_memory;",
        "",
        f"void {name}_init({name}_memory *memory);",
        f"{head};",
        "",
        *([f"static int {name}_usable({real} value)", *usable] if step.inputs else []),
        *([f"static {real} {name}_limited({real} value, {real} low, {real} high)", *limited] if clips else []),
        f"void {name}_init({name}_memory *memory)",
        "{",
        "    memory->started = 0;",
        *(f"    memory->{register} = {value};" for register, value in step.registers.items()),
        "}",
        "",
        head,
        "{",
        f"    {real} obs[{len(step.observation)}];",
        f"    {real} action[{len(decided)}];",
        *([f"    const {line}" for line in step.inputs] or ["    (void)input;"]),
        f"    const int usable = {step.usable};",
        *(f"    const {line}" for line in step.errors),
        "",
        "    if (usable && !memory->started) {",
        *indented([*step.first, "memory->started = 1;"], 2),
        "    }",
        *(f"    const {line}" for line in step.seen),
        *(f"    obs[{j}] = {value};" for j, value in enumerate(step.observation)),
        f"    {name}(obs, action);",
        *indented(step.applied),
        *(["    if (usable) {", *indented(step.after, 2), "    }"] if step.after else []),
        *indented(step.kept),
        *(f"    output[{j}] = {value};" for j, value in enumerate(step.outputs)),
        "}",
    ]


def _facts(signals: Signals, name: str, far: str) -> list[str]:
    """What the comment says: how it is called, what it takes and gives."""
    inputs = [one_line(labelled(axis.name, axis.unit)) for axis in signals.inputs]
    return [
        f"The loop around it: call {name}_init once, then {name}_step at every sampling instant.",
        *(f"  input[{j}]  {text}" for j, text in enumerate(inputs)),
        *(f"  output[{j}]  {one_line(action)}, to be applied" for j, action in enumerate(signals.action_names)),
        *(line.format(far) for line in UNUSABLE),
    ]


def _main(policy: Policy, name: str, real: str) -> list[str]:
    """Reads numbers until there are no more; what is left of an incomplete row is an error."""
    about = "reads one observation per line, prints one action per line."
    signals, begin = policy.problem.signals, list[str]()
    (given, d), (shown, axes) = ("obs", len(policy.problem.measured)), ("action", policy.rules.actions.shape[1])
    call = f"{name}(obs, action);"
    if signals is not None:
        about = "reads the inputs of an episode, one step per line, prints what is applied."
        (given, d), (shown, axes) = ("input", len(signals.inputs)), ("output", signals.actuator.axes)
        begin = indented([f"{name}_memory memory;", "", f"{name}_init(&memory);"])
        call = f"{name}_step(&memory, input, output);"
    scan, value = ("%f", f"(double){shown}[j]") if real == "float" else ("%lf", f"{shown}[j]")
    return [
        f"/* For tests: {about} */",
        "int main(void)",
        "{",
        f"    {real} {given}[{d}];",
        f"    {real} {shown}[{axes}];",
        "    int read = 0;",
        *begin,
        "",
        f'    while (scanf("{scan}", &{given}[read]) == 1) {{',
        "        read++;",
        f"        if (read == {d}) {{",
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
