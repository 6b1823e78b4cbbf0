"""A policy as a function block in Structured Text, the Pascal-like language of IEC 61131-3 for PLCs."""

import re
import sys
from collections.abc import Callable, Sequence

from spaql.export.heading import (
    ST_WORDS,
    affine,
    checked_name,
    choices_text,
    double,
    facts,
    identifiers,
    labelled,
    range_text,
    weighted_sum,
)
from spaql.export.loop_lines import UNUSABLE, Syntax, step_of
from spaql.ground.checks import FAR
from spaql.ground.errors import SpaqlError
from spaql.plants.signals import Signals
from spaql.policy.policy import Policy
from spaql.trees.laws import CLIP, SCORES, THRESHOLD, LeafLaws
from spaql.trees.regions import branches, constant_of, deepest_level, neutral_of, steps_of
from spaql.trees.tree import Tree

# -- the loop around a law in Structured Text: a second function block, which holds the memory and calls the law -------

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


# -- a policy as a function block in Structured Text, the Pascal-like language of IEC 61131-3 for PLCs -----------------

DEEPEST = 100


def to_st(policy: Policy, name: str = "controller") -> str:
    """A FUNCTION_BLOCK with one LREAL input per variable and one LREAL output per axis of the action."""
    checked_name(name, ST_WORDS, fold=True)
    problem, tree, said = policy.problem, policy.rules, policy.words
    if deepest_level(tree) > DEEPEST:
        raise SpaqlError(
            f"the tree is too deep for Structured Text ({deepest_level(tree)} levels): compress it first, or export C"
        )
    names, results = said.names, said.action_names
    own = {"best", "score"} if tree.laws is not None else set()
    words = identifiers([*names, *results], ST_WORDS | {name.casefold()} | own, fold=True)
    inputs, outputs, d = words[: len(names)], words[len(names) :], len(names)
    lines = [f"(* {_clean(line)} *)" if line else "" for line in facts(policy, interface=False)]
    lines += ["", f"FUNCTION_BLOCK {name}", "VAR_INPUT"]
    for word, label, unit, axis in zip(inputs, names, said.units, problem.state, strict=True):
        lines.append(f"    {word} : LREAL;  (* {_clean(labelled(label, unit))}, {range_text(axis)} *)")
    lines += ["END_VAR", "VAR_OUTPUT"]
    for j, (word, label, unit) in enumerate(zip(outputs, results, said.action_units, strict=True)):
        lines.append(f"    {word} : LREAL;  (* {_clean(labelled(label, unit))}, {choices_text(policy, j)} *)")
    lines += ["END_VAR", *_law_variables(tree), ""]
    feature, cut = tree.nodes["feature"].tolist(), tree.nodes["cut"].tolist()
    for what, level, node in branches(tree):
        indent = "    " * level
        if what == "leaf" and tree.laws is not None:
            lines += [indent + line for line in _law(tree.laws, node, inputs, outputs)]
        elif what == "leaf":
            lines += [
                f"{indent}{word} := {_literal(value)};"
                for word, value in zip(outputs, tree.actions[node].tolist(), strict=True)
            ]
        elif what in ("if", "elif"):
            tested = inputs[feature[node]] if feature[node] < d else weighted_sum(tree, node, inputs, _literal)
            lines.append(f"{indent}{'IF' if what == 'if' else 'ELSIF'} {tested} >= {_literal(cut[node])} THEN")
        else:
            lines.append(indent + ("ELSE" if what == "else" else "END_IF;"))
    lines.append("END_FUNCTION_BLOCK")
    if problem.signals is not None:
        lines += loop_lines(problem.signals, name, inputs, outputs, _literal)
    return "\n".join(lines) + "\n"


def _law_variables(tree: Tree) -> list[str]:
    """What the statements of leaves keep a score in."""
    if tree.laws is None or tree.laws.kind not in (CLIP, SCORES):
        return []
    best = ["    best : LREAL;"] if tree.laws.kind == SCORES else []
    return ["VAR", *best, "    score : LREAL;", "END_VAR"]


def _law(laws: LeafLaws, leaf: int, inputs: list[str], outputs: list[str]) -> list[str]:
    """The statements of a leaf."""

    def total(output: int, offset: bool = True) -> str:
        constant = float(laws.offsets[leaf, output]) if offset else 0.0
        return affine(laws.gains[leaf, output].tolist(), constant, inputs, _literal)

    if laws.kind == CLIP:
        lines = []
        for axis, word in enumerate(outputs):
            fixed, (low, high) = constant_of(laws, leaf, axis), (float(end[axis]) for end in (laws.low, laws.high))
            if fixed is not None:
                lines.append(f"{word} := {_literal(fixed)};")
                continue
            number = f"SEL(score = score, {_literal(neutral_of(laws, axis))}, score)"  # NaN is not equal to itself
            lines += [f"score := {total(axis)};", f"{word} := LIMIT({_literal(low)}, {number}, {_literal(high)});"]
        return lines
    word, fixed, values = outputs[0], constant_of(laws, leaf), [_literal(value) for value in laws.values.tolist()]
    if fixed is not None:
        return [f"{word} := {_literal(fixed)};"]
    if laws.kind == SCORES:
        lines = [f"best := {total(0)};", f"{word} := {values[0]};"]
        for k in range(1, len(values)):
            lines += [f"score := {total(k)};", "IF score > best THEN", "    best := score;"]
            lines += [f"    {word} := {values[k]};", "END_IF;"]
        return lines
    if laws.kind == THRESHOLD:
        tests = [(total(0, False), _literal(steps_of(laws, leaf)[0][0]), values[-1])]
    else:  # the half is added to the sum as the policy adds it, so that both round alike
        half = f"{total(0)} + {_literal(0.5)}"
        tests = [(half, _literal(float(k)), values[k]) for k in range(len(values) - 1, 0, -1)]
    lines = []
    for k, (told, cut, value) in enumerate(tests):
        lines += [f"{'ELSIF' if k else 'IF'} {told} >= {cut} THEN", f"    {word} := {value};"]
    return [*lines, "ELSE", f"    {word} := {values[0]};", "END_IF;"]


def _literal(value: float) -> str:
    """Typed, because some systems read a bare number as a single; with a decimal point, which the grammar wants.

    Numbers below the smallest normal one become zero: they are outside the range many systems document for LREAL.
    """
    if abs(value) < sys.float_info.min:
        return "LREAL#0.0"
    text = double(value).replace("e", "E")
    return "LREAL#" + (text if "." in text else re.sub("(?=E)", ".0", text))


def _clean(text: str) -> str:
    """Comments end at the first "*)", and on some systems begin again at "(*"."""
    return text.replace("(*", "( *").replace("*)", "* )")
