"""The loop around a law in Python: a dict that holds the memory, with init and step."""

from spaql.checks import FAR
from spaql.export.loop_lines import UNUSABLE, Syntax, step_of
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
        usable=lambda words: " and ".join(f"-{FAR!r} <= {word} <= {FAR!r}" for word in words) or "True",
        unless=lambda condition, usable: f"{condition} or not ({usable})",
        literal=double,
        register='memory["{}"]',
        read="inputs[{}]",
    )
    own = {"memory", "inputs", "action", "started", "usable", "min", "max", "tuple", "type", name}
    step = step_of(signals, syntax, PYTHON_WORDS | own)
    several = "action = decided" if len(step.outputs) > 1 else "action = (decided,)"
    order = ", ".join(one_line(axis.name) for axis in signals.inputs)
    out = ", ".join(step.outputs)
    begin = ", ".join(f'"{key}": {value}' for key, value in [("started", "False"), *step.registers.items()])
    return [
        "", "", f"def {name}_init():", '    """The memory before the first step."""', f"    return {{{begin}}}", "", "",
        f"def {name}_step(memory, inputs):",
        f"    # given, in this order: {order}",
        *(f"    # {line.format(FAR)}" for line in UNUSABLE),
        '    """One step: changes the memory, returns what is applied."""',
        "    inputs = [float(value) for value in inputs]",
        *(f"    {line}" for line in step.inputs),
        f"    usable = {step.usable}",
        *(f"    {line}" for line in step.errors),
        '    if usable and not memory["started"]:',
        *(f"        {line}" for line in step.first),
        '        memory["started"] = True',
        *(f"    {line}" for line in step.seen),
        f"    decided = {name}([{', '.join(step.observation)}])",
        f"    {several}",
        *(f"    {line}" for line in step.applied),
        *(["    if usable:", *(f"        {line}" for line in step.after)] if step.after else []),
        *(f"    {line}" for line in step.kept),
        f"    return {out}",
    ]  # fmt: skip
