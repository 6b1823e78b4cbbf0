"""A policy as a function block in Structured Text, the Pascal-like language of IEC 61131-3 for PLCs."""

import re
import sys

from spaql.errors import SpaqlError
from spaql.export.heading import choices_text, facts, labelled, range_text
from spaql.export.names import ST_WORDS, checked_name, identifiers
from spaql.export.numbers import double, weighted_sum
from spaql.policy.policy import Policy
from spaql.trees.regions import branches, deepest_level

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
    words = identifiers([*names, *results], ST_WORDS | {name.casefold()}, fold=True)
    inputs, outputs, d = words[: len(names)], words[len(names) :], len(names)
    lines = [f"(* {_clean(line)} *)" if line else "" for line in facts(policy, interface=False)]
    lines += ["", f"FUNCTION_BLOCK {name}", "VAR_INPUT"]
    for word, label, unit, axis in zip(inputs, names, said.units, problem.state, strict=True):
        lines.append(f"    {word} : LREAL;  (* {_clean(labelled(label, unit))}, {range_text(axis)} *)")
    lines += ["END_VAR", "VAR_OUTPUT"]
    for j, (word, label, unit) in enumerate(zip(outputs, results, said.action_units, strict=True)):
        lines.append(f"    {word} : LREAL;  (* {_clean(labelled(label, unit))}, {choices_text(policy, j)} *)")
    lines += ["END_VAR", ""]
    feature, cut = tree.nodes["feature"].tolist(), tree.nodes["cut"].tolist()
    for what, level, node in branches(tree):
        indent = "    " * level
        if what == "leaf":
            lines += [
                f"{indent}{word} := {_literal(value)};"
                for word, value in zip(outputs, tree.actions[node].tolist(), strict=True)
            ]
        elif what in ("if", "elif"):
            tested = inputs[feature[node]] if feature[node] < d else weighted_sum(tree, node, inputs, _literal)
            lines.append(f"{indent}{'IF' if what == 'if' else 'ELSIF'} {tested} >= {_literal(cut[node])} THEN")
        else:
            lines.append(indent + ("ELSE" if what == "else" else "END_IF;"))
    return "\n".join([*lines, "END_FUNCTION_BLOCK"]) + "\n"


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
