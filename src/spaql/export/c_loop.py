"""The loop around a law in C: a struct that holds the memory, with init and step."""

from collections.abc import Callable

from spaql.export.c_parts import comment, main_program
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
        *comment(_facts(signals, name)),
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


def _facts(signals: Signals, name: str) -> list[str]:
    """What the comment says: how it is called, what it takes and gives."""
    inputs = [one_line(labelled(axis.name, axis.unit)) for axis in signals.inputs]
    return [
        f"The loop around it: call {name}_init once, then {name}_step at every sampling instant.",
        *(f"  input[{j}]  {text}" for j, text in enumerate(inputs)),
        *(f"  output[{j}]  {one_line(one)}, to be applied" for j, one in enumerate(signals.action_names)),
    ]


def main_of_loop(signals: Signals, name: str, real: str) -> list[str]:
    """A program for tests."""
    given, made = ("input", len(signals.inputs)), ("output", signals.actuator.axes)
    about = "reads the inputs of an episode, one step per line, prints what is applied."
    begin = [f"{name}_memory memory;", "", f"{name}_init(&memory);"]
    return main_program(about, real, given, made, f"{name}_step(&memory, input, output);", begin)
