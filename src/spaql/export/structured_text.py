"""A policy as a function block in Structured Text, the Pascal-like language of IEC 61131-3 for PLCs."""

import re
import sys

from spaql.errors import SpaqlError
from spaql.export.heading import choices_text, facts, labelled, range_text
from spaql.export.names import ST_WORDS, checked_name, identifiers
from spaql.export.numbers import affine, double, weighted_sum
from spaql.export.st_loop import loop_lines
from spaql.policy.policy import Policy
from spaql.trees.law_parts import constant_of, neutral_of, steps_of
from spaql.trees.laws import CLIP, SCORES, THRESHOLD, Laws
from spaql.trees.regions import branches, deepest_level
from spaql.trees.tree import Tree

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


def _law(laws: Laws, leaf: int, inputs: list[str], outputs: list[str]) -> list[str]:
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
