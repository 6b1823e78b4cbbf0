"""Structured Text of several blocks, run as Python: every statement of an export stands on a line of its own."""

import re

import numpy as np

LINES = [
    (r"(ELS)?IF (.*) THEN", lambda match: f"{'elif' if match[1] else 'if'} {value(match[2])}:"),
    (r"ELSE", lambda match: "else:"),
    (r"RETURN;", lambda match: "return"),
    (r"(\w+)\((\w+ := .*)\);", lambda match: f"self.{match[1]}({arguments(match[2])})"),
    (r"(\w+) := (.*);", lambda match: f"self.{match[1]} = {value(match[2])}"),
]
OWN = {"LIMIT": lambda low, x, high: min(max(x, low), high), "SEL": lambda which, no, yes: yes if which else no}


def arguments(text):
    return ", ".join(f"{name}={value(given)}" for name, given in (part.split(" := ") for part in text.split(", ")))


def value(text):
    """An expression: variables belong to the block, functions and numbers do not."""
    text = re.sub(r"LREAL#(-?[\d.]+(?:E[+-]?\d+)?)", r"(\1)", text).replace("<>", "!=")
    text = re.sub(r"(?<![:<>!])=", "==", text).replace(" := ", "=")
    words = {"AND": "and", "OR": "or", "NOT": "not", "TRUE": "True", "FALSE": "False"}

    def placed(match):
        called = match[0] in OWN or match[0].endswith("_inside") or match["keyword"]
        return match[0] if called else words.get(match[0], f"self.{match[0]}")

    return re.sub(r"(?<![\w.])[A-Za-z]\w*(?P<keyword>=(?!=))?", placed, text)


class Instance:
    """One block with its variables."""

    def __init__(self, block, types):
        for name, kind, begin in block.variables:
            made = types[kind].instance(types) if kind in types else eval(value(begin)) if begin else {"BOOL": False}.get(kind, 0)
            setattr(self, name, made)
        self.block, self.types = block, types

    def __call__(self, **given):
        assert set(given) <= self.block.inputs, "an argument that is no input"
        vars(self).update(given)
        self.block.run(self)
        return getattr(self, self.block.name, None)


class Block:
    def __init__(self, text):
        head = re.match(r"FUNCTION(?:_BLOCK)? (\w+)", text)
        self.name, body = head[1], text[head.end() :].partition("\n")[2]
        sections = re.findall(r"VAR(?:_INPUT|_OUTPUT)?\n.*?END_VAR\n", body, re.DOTALL)
        for section in sections:
            body = body.replace(section, "")
        declared = r"^    (\w+) : (\w+)(?: := (.*?))?;"
        self.variables = [part for section in sections for part in re.findall(declared, section, re.MULTILINE)]
        self.inputs = {name for section in sections if section.startswith("VAR_INPUT") for name, *_ in re.findall(declared, section, re.MULTILINE)}
        names = [name.lower() for name, *_ in self.variables]
        assert len(set(names)) == len(names), "a variable is there twice"
        self.lines = ["def run(self):"]
        level = 1
        for line in filter(None, map(str.strip, re.sub(r"END_FUNCTION(_BLOCK)?", "", body).splitlines())):
            if line == "END_IF;":
                level -= 1
                continue
            made = next(write(match) for pattern, write in LINES if (match := re.fullmatch(pattern, line)))
            level -= line.startswith(("ELSE", "ELSIF"))
            self.lines.append("    " * level + made)
            level += made.endswith(":")

    def instance(self, types):
        return Instance(self, types)

    def bind(self, functions):
        scope = OWN | functions
        exec("\n".join(self.lines), scope)
        self.run = scope["run"]


def blocks(text):
    """By name, a maker of instances of every block; functions can be called by all."""
    text = re.sub(r" *\(\*.*?\*\)", "", text, flags=re.DOTALL)
    found = [Block(part) for part in re.findall(r"^FUNCTION.*?^END_FUNCTION(?:_BLOCK)?$", text, re.DOTALL | re.MULTILINE)]
    types = {block.name: block for block in found}
    functions = {name: lambda name=name, **given: Instance(types[name], types)(**given) for name in types if name.endswith("_inside")}
    for block in found:
        block.variables += [(block.name, "BOOL", "")] if block.name in functions else []
        block.bind(functions)
    return {block.name: lambda block=block: Instance(block, types) for block in found}


def monitored(text, inputs):
    """A function of the inputs that runs the block `controller`; with its instance."""
    controller = blocks(text)["controller"]()
    names = [name for name, kind, _ in controller.block.variables if kind == "LREAL" and name in controller.block.inputs]
    outputs = [name for name, kind, _ in controller.block.variables if kind == "LREAL" and name not in controller.block.inputs and not name.startswith("last")]
    assert len(names) == inputs

    def step(given, request=False, reset=False):
        with np.errstate(all="ignore"):
            controller(**dict(zip(names, given, strict=True)), request=request, reset=reset)
        return [getattr(controller, name) for name in outputs]

    return step, controller
