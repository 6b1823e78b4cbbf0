"""The pages of the documentation, taken apart: code blocks, commands, links."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from page_checks import EARNS, NO_PLANT, WARNS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)")
NOT_RUN = re.compile(r"<!-- not run: (.*) -->")


class Block(NamedTuple):
    """A fenced code block. `first` is the number of its first line, counted from 1; `excuse` says why it is not run."""

    language: str
    first: int
    lines: list[str]
    excuse: str | None


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found, lines, inside = [], text.splitlines(), None
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if inside is not None and fence:
            found.append(inside)
            inside = None
        elif fence:
            excuse = NOT_RUN.search(lines[number - 2]) if number > 1 else None
            inside = Block(fence[1], number + 1, [], excuse[1] if excuse else None)
        elif inside is not None:
            inside.lines.append(line)
    assert inside is None, "a code block does not end"
    return found


def commands_of(block: Block) -> list[tuple[int, list[str]]]:
    """The `spaql` commands of a console block: line and words. Other lines are what they print."""
    return [
        (block.first + offset, shlex.split(line.removeprefix("$ "), comments=True))
        for offset, line in enumerate(block.lines)
        if line.removeprefix("$ ").startswith("spaql ")
    ]


def indented_commands(text: str) -> list[tuple[int, list[str]]]:
    """The `spaql` commands in indented blocks, which are shown but not run."""
    lines = enumerate(text.splitlines(), 1)
    return [(number, shlex.split(line, comments=True)) for number, line in lines if line.startswith("    spaql ")]


def promise_of(text: str, block: Block) -> str | None:
    """The checks that the remarks behind a block ask for; None without a remark."""
    checks = []
    for line in text.splitlines()[block.first + len(block.lines) :]:
        if told := EARNS.match(line):
            checks.append(f"page_checks.earns({told[1]}, {told[2]}, {told[3]})")
        elif told := NO_PLANT.match(line):
            checks.append(f"page_checks.no_plant({told[1]})")
        elif WARNS.match(line):
            checks.append("page_checks.warned()")
        else:
            break
    return "; ".join(checks) or None


def program_of(text: str) -> str:
    """A page as one Python program: blocks in order, commands as calls, every line where it stands on the page (the first is its title)."""
    program = [""] * len(text.splitlines())
    program[0] = "import command_line, page_checks; page_checks.watch()"
    for block in blocks_of(text):
        if block.excuse is not None:
            continue
        if block.language == "python":
            program[block.first - 2] = program[block.first - 2] or "page_checks.begin()"
            program[block.first - 1 : block.first - 1 + len(block.lines)] = block.lines
            program[block.first - 1 + len(block.lines)] = promise_of(text, block) or ""
        elif block.language in ("console", "sh"):
            for number, words in commands_of(block):
                program[number - 1] = f"_said = command_line.run(*{words[1:]!r}, columns=140); assert _said.returncode == 0, _said; print(_said.stdout)"
    return "\n".join(program) + "\n"
