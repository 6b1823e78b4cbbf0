"""The loop around a law in C: a struct that holds the memory, with init and step."""

from collections.abc import Callable

from spaql.export.heading import labelled
from spaql.export.loop_lines import Syntax, step_of
from spaql.export.names import C_WORDS
from spaql.plants.signals import Signals
from spaql.policy.words import one_line


def loop_lines(signals: Signals, name: str, real: str, literal: Callable[[float], str]) -> list[str]:
    """Declarations and functions that follow the law `name`."""
    syntax = Syntax(
        let=lambda left, right: f"{real} {left} = {right};",
        put=lambda left, right: f"{left} = {right};",
        limited=lambda text, low, high: f"{name}_limited({text}, {low}, {high})",
        chosen=lambda condition, yes, no: f"{condition} ? {yes} : {no}",
        literal=literal,
        register="memory->{}",
        read="input[{}]",
    )
    own = {"memory", "input", "output", "obs", "action", "started", name, f"{name}_memory", f"{name}_limited"}
    step = step_of(signals, syntax, C_WORDS | own)
    outputs = len(step.outputs)
    head = f"void {name}_step({name}_memory *memory, const {real} *input, {real} *output)"
    first = [*(f"        {line}" for line in step.first), "        memory->started = 1;"]
    lines = [
        "",
        f"/* The loop around it: call {name}_init once, then {name}_step at every sampling instant.",
        *(f" *   input[{j}]  {comment(labelled(axis.name, axis.unit))}" for j, axis in enumerate(signals.inputs)),
        *(f" *   output[{j}]  {comment(one)}, to be applied" for j, one in enumerate(signals.action_names)),
        " */",
        "typedef struct {",
        "    int started;",
        *(f"    {real} {one};" for one in step.registers),
        f"}} {name}_memory;",
        "",
        f"void {name}_init({name}_memory *memory);",
        f"{head};",
        "",
    ]
    body = [*step.inputs, *step.seen]
    if any("_limited(" in line for line in [*body, *step.applied, *step.after]):
        lines += [
            f"static {real} {name}_limited({real} value, {real} low, {real} high)",
            "{",
            "    return value < low ? low : value > high ? high : value;",
            "}",
            "",
        ]
    lines += [f"void {name}_init({name}_memory *memory)", "{", "    memory->started = 0;"]
    lines += [*(f"    memory->{one} = {literal(0.0)};" for one in step.registers), "}", "", head, "{"]
    lines += [f"    {real} obs[{len(step.observation)}];", f"    {real} action[{outputs}];"]
    lines += [*(f"    const {line}" for line in step.inputs), "", "    if (!memory->started) {", *first, "    }"]
    lines += [*(f"    const {line}" for line in step.seen)]
    lines += [f"    obs[{j}] = {one};" for j, one in enumerate(step.observation)]
    lines += [f"    {name}(obs, action);", *(f"    {line}" for line in step.applied)]
    lines += [f"    {line}" for line in step.after]
    lines += [f"    output[{j}] = {one};" for j, one in enumerate(step.outputs)]
    return [*lines, "}"]


def comment(text: str) -> str:
    """A name that neither ends a comment nor makes a trigraph."""
    return one_line(text).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\")


def main_lines(signals: Signals, name: str, real: str) -> list[str]:
    """A program for tests: an episode, one line of inputs per step."""
    d, axes, scan = len(signals.inputs), signals.actuator.axes, "%f" if real == "float" else "%lf"
    shown = "(double)output[j]" if real == "float" else "output[j]"
    return [
        "/* For tests: reads the inputs of an episode, one step per line, prints what is applied. */",
        "int main(void)",
        "{",
        f"    {name}_memory memory;",
        f"    {real} input[{d}];",
        f"    {real} output[{axes}];",
        "    int read = 0;",
        "",
        f"    {name}_init(&memory);",
        f'    while (scanf("{scan}", &input[read]) == 1) {{',
        "        read++;",
        f"        if (read == {d}) {{",
        f"            {name}_step(&memory, input, output);",
        f"            for (int j = 0; j < {axes}; j++) {{",
        f'                printf("%s%.17g", j > 0 ? " " : "", {shown});',
        "            }",
        '            printf("\\n");',
        "            read = 0;",
        "        }",
        "    }",
        "    return feof(stdin) && read == 0 ? 0 : 1;",
        "}",
    ]
