"""Structured Text as PLCopen XML (TC6, version 2.01), which engineering tools of PLCs import: the blocks of `to_st`."""

import re
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from spaql.export import export
from spaql.policy.policy import Policy
from spaql.version import __version__

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
