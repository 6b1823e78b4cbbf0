"""The loop around a law in C: a struct that holds the memory, with init and step."""

from collections.abc import Sequence

from spaql.export.heading import C_WORDS, c_comment, labelled
from spaql.export.monitor_parts import OUTSIDE, UNUSABLE_INPUT
from spaql.export.programs import UNUSABLE, Language, Step, indented, step_of
from spaql.ground.checks import FAR
from spaql.plants.signals import Signals
from spaql.policy.words import one_line

FAR_SINGLE = 1e18  # times a gain as large, it still is a float


def loop_lines(signals: Signals, name: str, language: Language) -> list[str]:
    """Declarations and functions that follow the law `name`."""
    step, real = loop_step(signals, name, language), language.real
    head = f"void {name}_step({name}_memory *memory, const {real} *input, {real} *output)"
    return [
        "",
        *c_comment(_facts(signals, name, far_literal(language))),
        *memory_lines(step, name, real),
        "",
        f"void {name}_init({name}_memory *memory);",
        f"{head};",
        "",
        *helper_lines([step], name, language),
        f"void {name}_init({name}_memory *memory)",
        "{",
        "    memory->started = 0;",
        *(f"    memory->{register} = {value};" for register, value in step.registers.items()),
        "}",
        "",
        head,
        *step_body(signals, step, name, language),
    ]


def loop_step(signals: Signals, name: str, language: Language, given: Sequence[str] = ()) -> Step:
    """`given`: how the inputs are read, where they are not the elements of `input`."""
    own = {"memory", "input", "output", "obs", "action", "started", "usable", name}
    own |= {f"{name}_{part}" for part in ("memory", "limited", "usable")}
    given = given or [f"input[{j}]" for j in range(len(signals.inputs))]
    decided = [f"action[{j}]" for j in range(len(signals.action_names))]
    return step_of(signals, language, given, decided, C_WORDS | own)


def memory_lines(step: Step, name: str, real: str) -> list[str]:
    registers = [f"    {real} {register};" for register in step.registers]
    return ["typedef struct {", "    int started;", *registers, f"}} {name}_memory;"]


def helper_lines(steps: Sequence[Step], name: str, language: Language, usable: bool = False) -> list[str]:
    """The functions that steps call; `usable`: others call that one."""
    real, far = language.real, far_literal(language)
    head = f"static {real} {name}_limited({real} value, {real} low, {real} high)"
    checked = [f"static int {name}_usable({real} value)", "{"]
    checked += [f"    return value >= -{far} && value <= {far};", "}", ""]
    limited = [head, "{", "    return value < low ? low : value > high ? high : value;", "}", ""]
    clips = any("_limited(" in line for step in steps for line in [*step.first, *step.seen, *step.applied, *step.after])
    return [*(checked if usable or any(step.inputs for step in steps) else []), *(limited if clips else [])]


def far_literal(language: Language) -> str:
    return language.literal(FAR_SINGLE if language.real == "float" else FAR)


def step_body(signals: Signals, step: Step, law: str, language: Language, inside: str = "") -> list[str]:
    """What a step does. `inside`: a function of `obs`; the step then returns why the law must not act, or 0."""
    reads, real = any("input[" in line for line in step.inputs), language.real
    return [
        "{",
        f"    {real} obs[{len(step.observation)}];",
        f"    {real} action[{len(signals.action_names)}];",
        *([] if reads else ["    (void)input;"]),
        *(f"    const {line}" for line in step.inputs),
        f"    const int usable = {step.usable};",
        *(f"    const {line}" for line in step.errors),
        "",
        *(unless("usable", UNUSABLE_INPUT) if inside else []),
        "    if (usable && !memory->started) {",
        *indented([*step.first, "memory->started = 1;"], 2),
        "    }",
        *(f"    const {line}" for line in step.seen),
        *(f"    obs[{j}] = {value};" for j, value in enumerate(step.observation)),
        *(unless(f"{inside}(obs)", OUTSIDE) if inside else []),
        f"    {law}(obs, action);",
        *indented(step.applied),
        *(["    if (usable) {", *indented(step.after, 2), "    }"] if step.after else []),
        *indented(step.kept),
        *(f"    output[{j}] = {value};" for j, value in enumerate(step.outputs)),
        *(["    return 0;"] if inside else []),
        "}",
    ]


def unless(condition: str, cause: int) -> list[str]:
    """Ends a step that must not go on."""
    return [f"    if (!{condition}) {{", f"        return {cause};", "    }"]


def _facts(signals: Signals, name: str, far: str) -> list[str]:
    """What the comment says: how it is called, what it takes and gives."""
    inputs = [one_line(labelled(axis.name, axis.unit)) for axis in signals.inputs]
    return [
        f"The loop around it: call {name}_init once, then {name}_step at every sampling instant.",
        *(f"  input[{j}]  {text}" for j, text in enumerate(inputs)),
        *(f"  output[{j}]  {one_line(action)}, to be applied" for j, action in enumerate(signals.action_names)),
        *(line.format(far) for line in UNUSABLE),
    ]
