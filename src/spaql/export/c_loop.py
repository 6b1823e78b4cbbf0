"""The loop around a law in C: a struct that holds the memory, with init and step."""

import re
from collections.abc import Callable, Iterable, Sequence

from spaql.export.heading import C_WORDS, labelled
from spaql.export.loop_lines import UNUSABLE, Syntax, step_of
from spaql.ground.checks import FAR
from spaql.plants.signals import Signals
from spaql.policy.words import one_line

# -- parts that every C program of ours has: its comment, and a main for tests -----------------------------------------

def comment(lines: Iterable[str]) -> list[str]:
    """A block comment that nothing in its lines ends, and that has no trigraphs."""
    text = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    text = [re.sub(r"\?(?=\?)", "? ", line) for line in text]
    return [f"/* {text[0]}", *(f" * {line}".rstrip().rstrip("\\") for line in text[1:]), " */"]


def main_program(
    about: str, real: str, given: tuple[str, int], made: tuple[str, int], call: str, begin: Sequence[str] = ()
) -> list[str]:
    """Reads numbers until there are no more; what is left of an incomplete row is an error.

    `given` and `made`: name and length of what is read and of what is printed; `call` makes one of the other; `begin`:
    lines before the first.
    """
    (read, d), (shown, axes), scan = given, made, "%f" if real == "float" else "%lf"
    value = f"(double){shown}[j]" if real == "float" else f"{shown}[j]"
    return [
        f"/* For tests: {about} */",
        "int main(void)",
        "{",
        f"    {real} {read}[{d}];",
        f"    {real} {shown}[{axes}];",
        "    int read = 0;",
        *(f"    {line}" for line in begin),
        "",
        f'    while (scanf("{scan}", &{read}[read]) == 1) {{',
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


# -- the loop around a law in C: a struct that holds the memory, with init and step ------------------------------------

FAR_SINGLE = 1e18  # times a gain as large, it still is a float


def loop_lines(signals: Signals, name: str, real: str, literal: Callable[[float], str]) -> list[str]:
    """Declarations and functions that follow the law `name`."""
    far = literal(FAR_SINGLE if real == "float" else FAR)
    syntax = Syntax(
        let=lambda left, right: f"{real} {left} = {right};",
        put=lambda left, right: f"{left} = {right};",
        limited=lambda text, low, high: f"{name}_limited({text}, {low}, {high})",
        chosen=lambda condition, yes, no: f"{condition} ? {yes} : {no}",
        usable=lambda words: " && ".join(f"{name}_usable({word})" for word in words) or "1",
        unless=lambda condition, usable: f"{condition} || !({usable})",
        literal=literal,
        register="memory->{}",
        read="input[{}]",
    )
    own = {"memory", "input", "output", "obs", "action", "started", "usable", name}
    step = step_of(signals, syntax, C_WORDS | own | {f"{name}_{part}" for part in ("memory", "limited", "usable")})
    outputs = len(step.outputs)
    head = f"void {name}_step({name}_memory *memory, const {real} *input, {real} *output)"
    first = [*(f"        {line}" for line in step.first), "        memory->started = 1;"]
    lines = [
        "",
        *comment(_facts(signals, name, far)),
        "typedef struct {",
        "    int started;",
        *(f"    {real} {one};" for one in step.registers),
        f"}} {name}_memory;",
        "",
        f"void {name}_init({name}_memory *memory);",
        f"{head};",
        "",
    ]
    if step.inputs:
        lines += [
            f"static int {name}_usable({real} value)",
            "{",
            f"    return value >= -{far} && value <= {far};",
            "}",
            "",
        ]
    if any("_limited(" in line for line in [*step.seen, *step.applied, *step.after]):
        lines += [
            f"static {real} {name}_limited({real} value, {real} low, {real} high)",
            "{",
            "    return value < low ? low : value > high ? high : value;",
            "}",
            "",
        ]
    lines += [f"void {name}_init({name}_memory *memory)", "{", "    memory->started = 0;"]
    lines += [*(f"    memory->{register} = {value};" for register, value in step.registers.items()), "}", "", head, "{"]
    lines += [f"    {real} obs[{len(step.observation)}];", f"    {real} action[{outputs}];"]
    lines += [f"    const {line}" for line in step.inputs] or ["    (void)input;"]
    lines += [f"    const int usable = {step.usable};"]
    lines += [*(f"    const {line}" for line in step.errors), ""]
    lines += ["    if (usable && !memory->started) {", *first, "    }", *(f"    const {line}" for line in step.seen)]
    lines += [f"    obs[{j}] = {one};" for j, one in enumerate(step.observation)]
    lines += [f"    {name}(obs, action);", *(f"    {line}" for line in step.applied)]
    lines += ["    if (usable) {", *(f"        {line}" for line in step.after), "    }"] if step.after else []
    lines += [f"    {line}" for line in step.kept]
    lines += [f"    output[{j}] = {one};" for j, one in enumerate(step.outputs)]
    return [*lines, "}"]


def _facts(signals: Signals, name: str, far: str) -> list[str]:
    """What the comment says: how it is called, what it takes and gives."""
    inputs = [one_line(labelled(axis.name, axis.unit)) for axis in signals.inputs]
    return [
        f"The loop around it: call {name}_init once, then {name}_step at every sampling instant.",
        *(f"  input[{j}]  {text}" for j, text in enumerate(inputs)),
        *(f"  output[{j}]  {one_line(one)}, to be applied" for j, one in enumerate(signals.action_names)),
        *(line.format(far) for line in UNUSABLE),
    ]


def main_of_loop(signals: Signals, name: str, real: str) -> list[str]:
    """A program for tests."""
    given, made = ("input", len(signals.inputs)), ("output", signals.actuator.axes)
    about = "reads the inputs of an episode, one step per line, prints what is applied."
    begin = [f"{name}_memory memory;", "", f"{name}_init(&memory);"]
    return main_program(about, real, given, made, f"{name}_step(&memory, input, output);", begin)
