"""A policy in Structured Text, alone or behind a monitor (see c.py)."""

from collections.abc import Callable
from typing import Any

from spaql.export.heading import ST_WORDS, checked_name, facts, identifiers, labelled
from spaql.export.monitor_parts import ASKED, OUTSIDE, UNUSABLE_INPUT, Side, Sides, monitor_facts, sides_of, written
from spaql.export.programs import indented
from spaql.export.structured_text import LANGUAGE, arguments, clean, law_block, loop_block, st_literal
from spaql.policy.policy import Policy


def to_st(policy: Policy, name: str = "controller", monitor: Any = None) -> str:
    """A FUNCTION_BLOCK with one LREAL input per variable and one LREAL output per axis of the action.

    Behind a `monitor` also with the inputs `request` and `reset`, and the outputs `fallback`, `trips` and `cause`.
    """
    checked_name(name, ST_WORDS, fold=True)
    sides = None if monitor is None else sides_of(policy, monitor)
    comment = facts(policy, interface=False) if sides is None else monitor_facts(sides)
    lines = [f"(* {clean(line)} *)" if line else "" for line in comment]
    if sides is not None:
        return "\n".join([*lines, *_monitored(sides, name)]) + "\n"
    block, inputs, outputs = law_block(policy, name)
    signals = policy.problem.signals
    around = [] if signals is None else loop_block(signals, name, inputs, outputs)[0]
    return "\n".join([*lines, "", *block, *around]) + "\n"


def _monitored(sides: Sides, name: str) -> list[str]:
    words = sides.seen(ST_WORDS | {f"{name}_inside".casefold()}, fold=True)
    sums, tests = sides.region.conditions(words, sides.sums(), st_literal)
    lines = ["", f"FUNCTION {name}_inside : BOOL", "VAR_INPUT", *(f"    {word} : LREAL;" for word in words), "END_VAR"]
    lines += ["VAR", *(f"    {word} : LREAL;" for word in sides.sums()), "END_VAR"] if sums else []
    lines += [f"{word} := {total};" for word, total in zip(sides.sums(), sums, strict=True)]
    lines += [f"{name}_inside := {' AND '.join(tests)};", "END_FUNCTION"]

    def inside(values: list[str]) -> str:
        return f"{name}_inside({arguments(words, values)})"

    lines_of = {}
    for part, side in (("law", sides.law), ("fallback", sides.fallback)):
        own = f"{name}_{part}"
        block, seen, decided = law_block(written(side), own)
        lines += ["", *block]
        if side.signals is not None:
            guard = inside if part == "law" else None
            block, seen, decided = loop_block(side.signals, own, seen, decided, True, guard)
            lines += block
        lines_of[part] = f"{own}_loop" if side.signals is not None else own, seen, decided
    return [*lines, *_st_switch(sides, lines_of, name, inside)]


LOOPS = ("", "_loop")  # how blocks are called
OWN = {"request", "reset", "fallback", "cause", "trips", "of_law", "of_fallback", "was_reset", "fresh", "now"}


def _st_switch(
    sides: Sides, blocks: dict[str, tuple[str, list[str], list[str]]], name: str, inside: Callable[[list[str]], str]
) -> list[str]:
    """`blocks`: name, inputs and outputs of the blocks of law and fallback."""
    last = [f"last{j + 1}" for j in range(len(sides.outputs))]
    own = ["", "_inside", *(f"_{part}{loop}" for part in blocks for loop in LOOPS)]
    types = {f"{name}{part}".casefold() for part in own}
    names = [*(axis.name for axis in sides.inputs), *sides.outputs]
    words = identifiers(names, ST_WORDS | OWN | types | {*last}, fold=True)
    taken, applied = words[: len(sides.inputs)], words[len(sides.inputs) :]

    def call(part: str, side: Side) -> list[str]:
        given = [taken[value] if isinstance(value, int) else st_literal(value) for value in side.given]
        values = arguments(blocks[part][1], given)
        if side.signals is None:
            return [f"of_{part}({values});"]
        begin = arguments(["begin", *last], ["fresh", *last])
        return [f"of_{part}({values}, {begin});", "fresh := FALSE;"]

    def result(part: str) -> list[str]:
        return [f"{word} := of_{part}.{decided};" for word, decided in zip(applied, blocks[part][2], strict=True)]

    usable = " AND ".join(LANGUAGE.usable.format(word) for word in taken)
    if sides.law.signals is None:
        acting = [f"IF NOT ({usable}) THEN", f"    now := {UNUSABLE_INPUT};", f"ELSIF NOT {inside(taken)} THEN"]
        acting += [f"    now := {OUTSIDE};", "ELSE", *indented([*call("law", sides.law), *result("law")]), "END_IF;"]
    else:
        acting = [*call("law", sides.law), "now := of_law.cause;"]
        acting += ["IF now = 0 THEN", *indented(result("law")), "END_IF;"]
    begun = zip(last, map(st_literal, sides.first), strict=True)
    shown = zip(taken, sides.inputs, strict=True)
    return [
        "",
        "(* What is to be called at every sampling instant. *)",
        f"FUNCTION_BLOCK {name}",
        "VAR_INPUT",
        *(f"    {word} : LREAL;  (* {clean(labelled(axis.name, axis.unit))} *)" for word, axis in shown),
        "    request : BOOL;  (* TRUE: the fallback acts from now on *)",
        "    reset : BOOL;  (* becomes TRUE: the law acts again, if it may *)",
        "END_VAR",
        "VAR_OUTPUT",
        *(f"    {word} : LREAL;  (* to be applied *)" for word in applied),
        "    fallback : BOOL;  (* TRUE: the fallback acts, until reset *)",
        "    cause : INT;  (* why it took over last *)",
        "    trips : UDINT;  (* how often it has taken over *)",
        "END_VAR",
        "VAR",
        *(f"    of_{part} : {block};" for part, (block, _, _) in blocks.items()),
        "    was_reset : BOOL;",
        "    now : INT;",
        "    fresh : BOOL := TRUE;",
        *(f"    {word} : LREAL := {value};" for word, value in begun),
        "END_VAR",
        "",
        "IF reset AND NOT was_reset AND fallback THEN",
        "    fallback := FALSE;",
        "    fresh := TRUE;",
        "END_IF;",
        "was_reset := reset;",
        "now := 0;",
        "IF NOT fallback THEN",
        "    IF request THEN",
        f"        now := {ASKED};",
        "    ELSE",
        *indented(acting, 2),
        "    END_IF;",
        "END_IF;",
        "IF now <> 0 THEN",
        *indented(["fallback := TRUE;", "cause := now;", "trips := trips + 1;", "fresh := TRUE;"]),
        "END_IF;",
        "IF fallback THEN",
        *indented([*call("fallback", sides.fallback), *result("fallback")]),
        "END_IF;",
        *(f"{word} := {value};" for word, value in zip(last, applied, strict=True)),
        "END_FUNCTION_BLOCK",
    ]
