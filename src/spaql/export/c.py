"""C99 source of a policy, alone or behind a monitor. No memory is allocated and nothing recurses."""

from typing import Any

from spaql.export.c_law import EXACT_SUMS, PRECISIONS, includes, language_of, law_body, main_lines, precision_note
from spaql.export.c_loop import helper_lines, loop_lines, loop_step, memory_lines, step_body, unless
from spaql.export.fixed_point import to_fixed_point
from spaql.export.heading import C_WORDS, c_comment, checked_name, facts
from spaql.export.monitor_parts import ASKED, OUTSIDE, UNUSABLE_INPUT, Sides, monitor_facts, sides_of, written
from spaql.export.programs import Language, Step, indented
from spaql.export.sizes import with_sizes
from spaql.ground.checks import choice, flag
from spaql.ground.errors import SpaqlError
from spaql.policy.policy import Policy


def to_c(
    policy: Policy, precision: str = "double", name: str = "controller", form: str = "auto", main: bool = False,
    sizes: bool = False, monitor: Any = None,
) -> str:  # fmt: skip
    """C99 source with `void controller(const double *obs, double *action)`, or of floats, or of integers alone.

    `precision`: "double", "single", or "fixed" (fixed_point.py). `form`: "ifs", "table", or "auto": ifs up to 64
    leaves. `main`: also a program that reads observations and prints actions.
    `sizes`: measured flash, RAM and time on an AVR and a Cortex-M, in the comment.
    `monitor`: a `spaql.Monitor`; then with `controller_init`, `_step`, `_request` and `_reset`, all of a
    `controller_memory`.
    """
    flag("main", main)
    checked_name(name, C_WORDS)
    if choice("precision", precision, PRECISIONS) == "fixed" and monitor is None:
        if main or form == "table":
            raise SpaqlError("precision='fixed' goes with neither main nor form='table'")
        text = to_fixed_point(policy, name)
    else:
        how = name, precision, form, main
        lines = _alone(policy, *how) if monitor is None else _monitored(sides_of(policy, monitor), *how)
        text = "\n".join(lines) + "\n"
    return with_sizes(policy, text, monitor, name, precision) if flag("sizes", sizes) else text


def _alone(policy: Policy, name: str, precision: str, form: str, main: bool) -> list[str]:
    """A law, and the loop around it: a struct that holds the memory, with init and step."""
    tree, signals, language = policy.rules, policy.problem.signals, language_of(name, precision)
    body = law_body(policy, name, precision, form)
    signature = f"void {name}(const {language.real} *obs, {language.real} *action)"
    lines = [*c_comment([*facts(policy), *precision_note(tree, precision)]), *includes(body, main)]
    exact = tree.oblique or tree.laws is not None or signals is not None or policy.problem.features is not None
    lines += EXACT_SUMS if exact else []
    lines += [f"{signature};", "", signature, "{", *body, "}"]
    if signals is not None:
        lines += loop_lines(signals, name, language)
    if main:
        taken = len(policy.problem.measured) if signals is None else len(signals.inputs)
        lines += ["", *main_lines(taken, tree.actions.shape[1], signals is not None, name, language.real)]
    return lines


# -- two controllers behind a monitor ----------------------------------------------------------------------------------
#
#     init       the law acts
#     step       the law, while it may; else, and from then on, the fallback
#     request    the fallback acts from the next step on
#     reset      the law acts again from the next step on, if it may


def _monitored(sides: Sides, name: str, precision: str, form: str, main: bool) -> list[str]:
    language = language_of(name, precision)
    real = language.real
    parts = {"law": sides.law, "fallback": sides.fallback}
    bodies = {part: law_body(written(side), f"{name}_{part}", precision, form) for part, side in parts.items()}
    steps: dict[str, Step] = {}
    for part, side in parts.items():
        if side.signals is not None:
            given = side.inputs("input[{}]", language.literal)
            steps[part] = loop_step(side.signals, f"{name}_{part}", language, given)
    statements = [line for body in bodies.values() for line in body]
    lines = [
        *c_comment([*monitor_facts(sides, "{}[{}]", f"{name}_reset"), *precision_note(sides.policy.rules, precision)]),
        *includes(statements, main), *EXACT_SUMS,
        *(line for part, step in steps.items() for line in [*memory_lines(step, f"{name}_{part}", real), ""]),
        *_c_memory(sides, steps, name, real), "",
        f"void {name}_init({name}_memory *memory);",
        f"void {name}_request({name}_memory *memory);",
        f"void {name}_reset({name}_memory *memory);",
        f"void {name}_step({name}_memory *memory, const {real} *input, {real} *output);", "",
    ]  # fmt: skip
    for part, body in bodies.items():
        lines += [f"static void {name}_{part}(const {real} *obs, {real} *action)", "{", *body, "}", ""]
    words = sides.seen(C_WORDS | {"obs", name})
    sums, tests = sides.region.conditions(words, sides.sums(), language.literal, real == "float")
    used = [j for j, word in enumerate(words) if any(word in test.split(" ") for test in [*sums, *tests])]
    lines += [f"static int {name}_inside(const {real} *obs)", "{"]
    lines += [f"    const {real} {words[j]} = obs[{j}];" for j in used]
    lines += [f"    const {real} {word} = {total};" for word, total in zip(sides.sums(), sums, strict=True)]
    lines += ["", "    return " + "\n        && ".join(tests) + ";", "}", ""]
    lines += helper_lines(list(steps.values()), name, language, usable=True)
    lines += _c_law_step(sides, steps, name, language)
    if "fallback" in steps and sides.fallback.signals is not None:
        own = f"{name}_fallback"
        lines.append(f"static void {own}_step({own}_memory *memory, const {real} *input, {real} *output)")
        lines += [*step_body(sides.fallback.signals, steps["fallback"], own, language), ""]
    lines += _c_switch(sides, steps, name, language)
    return lines + (["", *main_lines(len(sides.inputs), len(sides.outputs), True, name, real)] if main else [])


def _c_memory(sides: Sides, steps: dict[str, Step], name: str, real: str) -> list[str]:
    kept = [f"    {real} last[{len(sides.outputs)}]; /* what was applied */"]
    kept += ["    int fresh; /* whoever acts begins */"]
    return [
        "typedef struct {",
        f"    int fallback; /* 1: the fallback acts, until {name}_reset */",
        "    int cause; /* why it took over last */",
        "    unsigned long trips; /* how often it has taken over */",
        *(kept if sides.remembers else []),
        *(f"    {name}_{part}_memory of_{part};" for part in steps),
        f"}} {name}_memory;",
    ]


def _c_law_step(sides: Sides, steps: dict[str, Step], name: str, language: Language) -> list[str]:
    """Returns why the law must not act, or 0."""
    real = language.real
    if sides.law.signals is not None:
        head = f"static int {name}_law_step({name}_law_memory *memory, const {real} *input, {real} *output)"
        body = step_body(sides.law.signals, steps["law"], f"{name}_law", language, f"{name}_inside")
        return [head, *body, ""]
    return [
        f"static int {name}_law_step(const {real} *input, {real} *output)",
        "{",
        f"    for (int j = 0; j < {len(sides.inputs)}; j++) {{",
        *indented(unless(f"{name}_usable(input[j])", UNUSABLE_INPUT)),
        "    }",
        *unless(f"{name}_inside(input)", OUTSIDE),
        f"    {name}_law(input, output);",
        "    return 0;",
        "}",
        "",
    ]


def _c_switch(sides: Sides, steps: dict[str, Step], name: str, language: Language) -> list[str]:
    def anew(part: str) -> list[str]:
        """Whoever takes over begins as at its first step, but knows what was applied last."""
        if not sides.remembers:
            return []
        place, begun = f"memory->of_{part}", list[str]()
        if part in steps:
            step = steps[part]
            carried = {word: f"memory->last[{j}]" for word, j in step.carried.items()}
            begun = [f"{place}.{word} = {carried.get(word, value)};" for word, value in step.registers.items()]
            begun.append(f"{place}.started = 0;")
        return ["if (memory->fresh) {", *indented([*begun, "memory->fresh = 0;"]), "}"]

    real = language.real
    own = {part: f"&memory->of_{part}, " if part in steps else "" for part in ("law", "fallback")}
    fallback = f"{name}_fallback{'_step' if 'fallback' in steps else ''}"
    last = [f"memory->last[{j}] = {language.literal(value)};" for j, value in enumerate(sides.first)]
    kept = [f"memory->last[{j}] = output[{j}];" for j in range(len(sides.outputs))]
    return [
        f"static void {name}_trip({name}_memory *memory, int cause)",
        "{",
        *indented(["memory->fallback = 1;", "memory->cause = cause;", "memory->trips++;"]),
        *(["    memory->fresh = 1;"] if sides.remembers else []),
        "}",
        "",
        f"void {name}_init({name}_memory *memory)",
        "{",
        *indented(["memory->fallback = 0;", "memory->cause = 0;", "memory->trips = 0;"]),
        *(indented([*last, "memory->fresh = 1;"]) if sides.remembers else []),
        "}",
        "",
        f"void {name}_request({name}_memory *memory)",
        "{",
        *indented(["if (!memory->fallback) {", f"    {name}_trip(memory, {ASKED});", "}"]),
        "}",
        "",
        f"void {name}_reset({name}_memory *memory)",
        "{",
        *indented(["if (memory->fallback) {", "    memory->fallback = 0;"]),
        *(["        memory->fresh = 1;"] if sides.remembers else []),
        "    }",
        "}",
        "",
        f"void {name}_step({name}_memory *memory, const {real} *input, {real} *output)",
        "{",
        "    if (!memory->fallback) {",
        "        int cause;",
        *indented(anew("law"), 2),
        f"        cause = {name}_law_step({own['law']}input, output);",
        "        if (cause != 0) {",
        f"            {name}_trip(memory, cause);",
        "        }",
        "    }",
        "    if (memory->fallback) {",
        *indented(anew("fallback"), 2),
        f"        {fallback}({own['fallback']}input, output);",
        "    }",
        *(indented(kept) if sides.remembers else []),
        "}",
    ]
