"""The loop around a law in Structured Text: a second function block, which holds the memory and calls the law."""

from collections.abc import Callable, Sequence

from spaql.checks import FAR
from spaql.export.loop_lines import UNUSABLE, Syntax, step_of
from spaql.export.names import ST_WORDS, identifiers
from spaql.plants.signals import Signals


def loop_lines(
    signals: Signals, name: str, seen: Sequence[str], decided: Sequence[str], literal: Callable[[float], str]
) -> list[str]:
    """`seen` and `decided`: inputs and outputs of the block of the law."""
    syntax = Syntax(
        let=lambda left, right: f"{left} := {right};",
        put=lambda left, right: f"{left} := {right};",
        limited=lambda text, low, high: f"LIMIT({low}, {text}, {high})",
        chosen=lambda condition, yes, no: f"SEL({condition}, {no}, {yes})",
        usable=lambda words: " AND ".join(f"{w} >= {literal(-FAR)} AND {w} <= {literal(FAR)}" for w in words) or "TRUE",
        unless=lambda condition, usable: f"({condition}) OR NOT ({usable})",
        literal=literal,
        register="{}",
        read="input{}",
    )
    own = {"law", "started", "usable", name.casefold(), f"{name}_loop".casefold()}
    inputs = identifiers([f"{axis.name} in" for axis in signals.inputs], ST_WORDS | own, fold=True)
    outputs = identifiers([f"{one} out" for one in signals.action_names], ST_WORDS | own, fold=True)
    step = step_of(signals, syntax, ST_WORDS | own | {word.casefold() for word in (*inputs, *outputs)}, fold=True)

    def renamed(line: str) -> str:
        """Arrays of the other languages are variables here."""
        for j, word in enumerate(decided):
            line = line.replace(f"action[{j}]", f"law.{word}")
        return line

    reads = {f"input{j};": f"{word};" for j, word in enumerate(inputs)}
    halves = [line.rsplit(" ", 1) for line in step.inputs]
    lines = [f"{left} {reads.get(right, right)}" for left, right in halves]
    local = [*step.inputs, *step.errors, *step.seen, *step.applied]
    kept = list(dict.fromkeys(line.split(" :=", 1)[0] for line in local))
    called = ", ".join(f"{word} := {one}" for word, one in zip(seen, step.observation, strict=True))
    return [
        "",
        "(* The loop around it: call it at every sampling instant; it holds the memory. *)",
        *(f"(* {line.format(FAR)} *)" for line in UNUSABLE),
        f"FUNCTION_BLOCK {name}_loop",
        "VAR_INPUT",
        *(f"    {word} : LREAL;" for word in inputs),
        "END_VAR",
        "VAR_OUTPUT",
        *(f"    {word} : LREAL;  (* to be applied *)" for word in outputs),
        "END_VAR",
        "VAR",
        f"    law : {name};",
        "    started : BOOL;",
        "    usable : BOOL;",
        *(f"    {word} : LREAL := {value};" for word, value in step.registers.items()),
        *(f"    {word} : LREAL;" for word in kept),
        "END_VAR",
        "",
        *lines,
        f"usable := {step.usable};",
        *step.errors,
        "IF usable AND NOT started THEN",
        *(f"    {line}" for line in step.first),
        "    started := TRUE;",
        "END_IF;",
        *step.seen,
        f"law({called});",
        *(renamed(line) for line in step.applied),
        *(["IF usable THEN", *(f"    {line}" for line in step.after), "END_IF;"] if step.after else []),
        *step.kept,
        *(f"{word} := {one};" for word, one in zip(outputs, step.outputs, strict=True)),
        "END_FUNCTION_BLOCK",
    ]
