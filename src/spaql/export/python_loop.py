"""The loop around a law in Python: a dict that holds the memory, with init and step."""

from spaql.export.loop_lines import Syntax, step_of
from spaql.export.names import PYTHON_WORDS
from spaql.export.numbers import double
from spaql.plants.signals import Signals
from spaql.policy.words import one_line


def loop_lines(signals: Signals, name: str) -> list[str]:
    """Functions that follow the law `name`."""
    syntax = Syntax(
        let=lambda left, right: f"{left} = {right}",
        put=lambda left, right: f"{left} = {right}",
        limited=lambda text, low, high: f"min(max({text}, {low}), {high})",
        chosen=lambda condition, yes, no: f"{yes} if {condition} else {no}",
        literal=double,
        register='memory["{}"]',
        read="inputs[{}]",
    )
    step = step_of(signals, syntax, PYTHON_WORDS | {"memory", "inputs", "action", "min", "max", "tuple", "type", name})
    several = "action = decided" if len(step.outputs) > 1 else "action = (decided,)"
    order = ", ".join(one_line(axis.name) for axis in signals.inputs)
    out = ", ".join(step.outputs)
    return [
        "", "", f"def {name}_init():", '    """The memory before the first step."""', "    return {}", "", "",
        f"def {name}_step(memory, inputs):",
        f"    # given, in this order: {order}",
        '    """One step: changes the memory, returns what is applied."""',
        "    inputs = [float(value) for value in inputs]",
        *(f"    {line}" for line in step.inputs),
        *(["    if not memory:", *(f"        {line}" for line in step.first)] if step.first else []),
        *(f"    {line}" for line in step.seen),
        f"    decided = {name}([{', '.join(step.observation)}])",
        f"    {several}",
        *(f"    {line}" for line in step.applied),
        *(f"    {line}" for line in step.after),
        f"    return {out}",
    ]  # fmt: skip
