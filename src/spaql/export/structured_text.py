"""A law as a function block in Structured Text, the Pascal-like language of IEC 61131-3 for PLCs.

The loop around a law is a second function block, which holds the memory and calls the law.
"""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from spaql.export import export, programs
from spaql.export.heading import ST_WORDS, choices_text, double, identifiers, labelled, range_text
from spaql.export.monitor_parts import OUTSIDE, UNUSABLE_INPUT
from spaql.ground.checks import FAR
from spaql.ground.errors import SpaqlError
from spaql.plants.signals import Signals
from spaql.policy.policy import Policy
from spaql.trees.laws import CLIP, SCORES, THRESHOLD, LeafLaws
from spaql.trees.regions import deepest_level, steps_of
from spaql.trees.tree import Tree
from spaql.version import __version__

DEEPEST = 100


def st_literal(value: float) -> str:
    """Typed, because some systems read a bare number as a single; with a decimal point, which the grammar wants.

    Numbers below the smallest normal one become zero: they are outside the range many systems document for LREAL.
    """
    if abs(value) < sys.float_info.min:
        return "LREAL#0.0"
    text = double(value).replace("e", "E")
    return "LREAL#" + (text if "." in text else re.sub("(?=E)", ".0", text))


# IEC 61131-3 has no tanh; ATAN2 is of its third edition
TANH = f"({st_literal(1.0)} - {st_literal(2.0)} / (EXP({st_literal(2.0)} * ({{}})) + {st_literal(1.0)}))"
LANGUAGE = programs.Language(
    literal=st_literal,
    put="{} := {};",
    let="{} := {};",
    heads={"if": "IF {} THEN", "elif": "ELSIF {} THEN", "else": "ELSE", "end": "END_IF;"},
    limited="LIMIT({1}, {0}, {2})",
    chosen="SEL({0}, {2}, {1})",
    usable=f"{{0}} >= {st_literal(-FAR)} AND {{0}} <= {st_literal(FAR)}",
    both=" AND ",
    true="TRUE",
    unless="({}) OR NOT ({})",
    register="{}",
    functions=programs.calls(str.upper) | {"log": "LN({})", "tanh": TANH},
    clipped="LIMIT({0}, SEL(score = score, {2}, score), {1})",  # NaN is not equal to itself
)


def law_block(policy: Policy, name: str) -> tuple[list[str], list[str], list[str]]:
    """The block of the law, its inputs and its outputs."""
    problem, tree, said = policy.problem, policy.rules, policy.words
    if deepest_level(tree) > DEEPEST:
        raise SpaqlError(
            f"the tree is too deep for Structured Text ({deepest_level(tree)} levels): compress it first, or export C"
        )
    names, results = said.names, said.action_names
    own = {"best", "score"} if tree.laws is not None else set()
    words = identifiers([*names, *results], ST_WORDS | {name.casefold()} | own, fold=True)
    inputs, outputs = words[: len(names)], words[len(names) :]

    def stepped(laws: LeafLaws, leaf: int) -> list[str]:
        values = [st_literal(value) for value in laws.values.tolist()]
        if laws.kind == THRESHOLD:
            summed = programs.score_text(laws, leaf, 0, inputs, st_literal, False)
            tests = [(summed, st_literal(steps_of(laws, leaf)[0][0]), values[-1])]
        else:  # the half is added to the sum as the policy adds it, so that both round alike
            half = f"{programs.score_text(laws, leaf, 0, inputs, st_literal)} + {st_literal(0.5)}"
            tests = [(half, st_literal(float(k)), values[k]) for k in range(len(values) - 1, 0, -1)]
        lines = []
        for k, (score, cut, value) in enumerate(tests):
            lines += [f"{'ELSIF' if k else 'IF'} {score} >= {cut} THEN", f"    {outputs[0]} := {value};"]
        return [*lines, "ELSE", f"    {outputs[0]} := {values[0]};", "END_IF;"]

    lines = [f"FUNCTION_BLOCK {name}", "VAR_INPUT"]
    for word, label, unit, axis in zip(inputs, names, said.units, problem.measured, strict=False):
        lines.append(f"    {word} : LREAL;  (* {clean(labelled(label, unit))}, {range_text(axis)} *)")
    lines += ["END_VAR", "VAR_OUTPUT"]
    for j, (word, label, unit) in enumerate(zip(outputs, results, said.action_units, strict=True)):
        lines.append(f"    {word} : LREAL;  (* {clean(labelled(label, unit))}, {choices_text(policy, j)} *)")
    formulas = programs.formulas_of(policy, LANGUAGE, inputs)
    lines += ["END_VAR", *_own_variables(tree, [inputs[j] for j, _ in formulas]), ""]
    lines += [f"{inputs[j]} := {text};" for j, text in formulas]

    def leaf_of(leaf: int) -> list[str]:
        return programs.leaf_lines(tree, leaf, inputs, outputs, LANGUAGE, stepped)

    lines += programs.nested(tree, LANGUAGE.heads, 0, leaf_of, programs.condition_of(tree, inputs, LANGUAGE))
    return [*lines, "END_FUNCTION_BLOCK"], inputs[: len(problem.measured)], outputs


def _own_variables(tree: Tree, features: list[str]) -> list[str]:
    """Features, and what the statements of leaves keep a score in."""
    kind = None if tree.laws is None else tree.laws.kind
    own = [*features, *(["best"] if kind == SCORES else []), *(["score"] if kind in (CLIP, SCORES) else [])]
    return ["VAR", *(f"    {word} : LREAL;" for word in own), "END_VAR"] if own else []


def clean(text: str) -> str:
    """Comments end at the first "*)", and on some systems begin again at "(*"."""
    return text.replace("(*", "( *").replace("*)", "* )")


def loop_block(
    signals: Signals, name: str, seen: list[str], decided: list[str], begins: bool = False,
    inside: Callable[[list[str]], str] | None = None,
) -> tuple[list[str], list[str], list[str]]:  # fmt: skip
    """The block around that of the law, its inputs and its outputs; `seen` and `decided`: those of the law.

    Behind a monitor it can begin anew (`begins`); that of the law says why it must not act, by a condition `inside`.
    """
    more = {"begin", "cause", *(f"last{j + 1}" for j in range(len(decided)))} if begins else set()
    reserved = ST_WORDS | {"law", "started", "usable", name.casefold(), f"{name}_loop".casefold()} | more
    inputs = identifiers([f"{axis.name} in" for axis in signals.inputs], reserved, fold=True)
    outputs = identifiers([f"{action} out" for action in signals.action_names], reserved, fold=True)
    taken = reserved | {word.casefold() for word in (*inputs, *outputs)}
    step = programs.step_of(signals, LANGUAGE, inputs, [f"law.{word}" for word in decided], taken, fold=True)
    local = [*step.inputs, *step.errors, *step.seen, *step.applied]
    about = [
        "(* The loop around it: call it at every sampling instant; it holds the memory. *)",
        *(f"(* {line.format(FAR)} *)" for line in programs.UNUSABLE),
    ]
    carried = {word: f"last{j + 1}" for word, j in step.carried.items()}
    anew = [f"{word} := {carried.get(word, value)};" for word, value in step.registers.items()]
    anew = ["IF begin THEN", *programs.indented([*anew, "started := FALSE;"]), "END_IF;"] if begins else []
    unusable, outside = list[str](), list[str]()
    if inside is not None:
        unusable = ["cause := 0;", *_ends("usable", UNUSABLE_INPUT)]
        outside = _ends(inside(step.observation), OUTSIDE)
    lines = [
        "",
        *about,
        f"FUNCTION_BLOCK {name}_loop",
        "VAR_INPUT",
        *(f"    {word} : LREAL;" for word in inputs),
        *(["    begin : BOOL;  (* as at the first step *)"] if begins else []),
        *(f"    last{j + 1} : LREAL;  (* what was applied before *)" for j in range(len(decided)) if begins),
        "END_VAR",
        "VAR_OUTPUT",
        *(f"    {word} : LREAL;  (* to be applied *)" for word in outputs),
        *(["    cause : INT;"] if inside else []),
        "END_VAR",
        "VAR",
        f"    law : {name};",
        "    started : BOOL;",
        "    usable : BOOL;",
        *(f"    {word} : LREAL := {value};" for word, value in step.registers.items()),
        *(f"    {word} : LREAL;" for word in dict.fromkeys(line.split(" :=", 1)[0] for line in local)),
        "END_VAR",
        "",
        *anew,
        *step.inputs,
        f"usable := {step.usable};",
        *step.errors,
        *unusable,
        "IF usable AND NOT started THEN",
        *programs.indented([*step.first, "started := TRUE;"]),
        "END_IF;",
        *step.seen,
        *outside,
        f"law({arguments(seen, step.observation)});",
        *step.applied,
        *(["IF usable THEN", *programs.indented(step.after), "END_IF;"] if step.after else []),
        *step.kept,
        *(f"{word} := {value};" for word, value in zip(outputs, step.outputs, strict=True)),
        "END_FUNCTION_BLOCK",
    ]
    return lines, inputs, outputs


def _ends(condition: str, cause: int) -> list[str]:
    """Ends a step that must not go on."""
    return [f"IF NOT {condition} THEN", f"    cause := {cause};", "    RETURN;", "END_IF;"]


def arguments(words: Sequence[str], values: Sequence[str]) -> str:
    """Of a call."""
    return ", ".join(f"{word} := {value}" for word, value in zip(words, values, strict=True))


# -- the same as PLCopen XML (TC6, version 2.01), which engineering tools of PLCs import -------------------------------

SECTIONS = {"VAR_INPUT": "inputVars", "VAR_OUTPUT": "outputVars", "VAR": "localVars"}
PLAIN = ("LREAL", "BOOL", "INT", "UDINT")  # types that are elements; others are blocks
CREATED = "1980-01-01T00:00:00"  # the same policy gives the same bytes
DECLARED = re.compile(r"^    (\w+) : (\w+)(?: := (.*?))?;(?:  \(\* (.*) \*\))?$", re.MULTILINE)
SECTION = re.compile(r"^(VAR(?:_INPUT|_OUTPUT)?)\n(.*?)^END_VAR\n", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^(FUNCTION|FUNCTION_BLOCK) (\w+)(?: : (\w+))?\n(.*?)^END_\1$", re.MULTILINE | re.DOTALL)


def to_plcopen(policy: Policy, name: str = "controller", monitor: Any = None) -> str:
    """A project with the blocks of `to_st(name=..., monitor=...)`."""
    text = export(policy, "st", name=name, monitor=monitor)
    remarks = re.findall(r"^\(\* (.*) \*\)$", text[: BLOCK.search(text).start()], re.MULTILINE)  # type: ignore[union-attr]
    scaling = "<scaling x=\"1\" y=\"1\"/>"
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<project xmlns="http://www.plcopen.org/xml/tc6_0201">',
            f'  <fileHeader companyName="" productName="spaql" productVersion="{__version__}"'
            f' creationDateTime="{CREATED}"/>',
            f"  <contentHeader name={quoteattr(name)}>",
            f"    <Comment>{escape(chr(10).join(remarks))}</Comment>",
            f"    <coordinateInfo><fbd>{scaling}</fbd><ld>{scaling}</ld><sfc>{scaling}</sfc></coordinateInfo>",
            "  </contentHeader>",
            "  <types>",
            "    <dataTypes/>",
            "    <pous>",
            *(line for block in BLOCK.finditer(text) for line in _pou(*block.groups())),
            "    </pous>",
            "  </types>",
            "  <instances><configurations/></instances>",
            "</project>",
            "",
        ]
    )


def _pou(kind: str, name: str, returned: str | None, body: str) -> list[str]:
    """One block: its variables, and its statements as text."""
    lines = [
        f"      <pou name={quoteattr(name)} pouType=\"{'function' if kind == 'FUNCTION' else 'functionBlock'}\">",
        "        <interface>",
    ]
    lines += [f"          <returnType>{_type(returned)}</returnType>"] if returned else []
    for section, variables in SECTION.findall(body):
        tag = SECTIONS[section]
        lines += [f"          <{tag}>", *map(_variable, DECLARED.findall(variables)), f"          </{tag}>"]
    statements = SECTION.sub("", body).strip("\n")
    return [
        *lines,
        "        </interface>",
        f"        <body><ST>{_text(statements)}</ST></body>",
        "      </pou>",
    ]


def _text(text: str) -> str:
    return f'<xhtml xmlns="http://www.w3.org/1999/xhtml">{escape(text)}</xhtml>'


def _type(name: str) -> str:
    return f"<{name}/>" if name in PLAIN else f"<derived name={quoteattr(name)}/>"


def _variable(declared: tuple[str, str, str, str]) -> str:
    name, kind, begin, about = declared
    value = f"<initialValue><simpleValue value={quoteattr(begin)}/></initialValue>" if begin else ""
    remark = f"<documentation>{_text(about)}</documentation>" if about else ""
    return f"            <variable name={quoteattr(name)}><type>{_type(kind)}</type>{value}{remark}</variable>"
