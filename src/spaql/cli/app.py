"""The app: what all commands share, and how help is laid out.

Commands stand in groups, in the order of use, and examples are lines one can copy.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from spaql.ground.interrupts import interrupted, keep_from_now_on
from spaql.ground.writing import kept, write_whole
from spaql.version import __version__

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
INTERRUPTED = 130  # exit code, as shells have it for Ctrl-C
WIDTH = 76  # letters of an example; longer ones go on in the next line, as a shell takes them
SECTIONS = {
    "Learn a controller": ("problems", "learners", "train", "tune", "evaluate"),
    "Inspect and export it": ("explain", "export", "prove"),
    "Learn from logged data": ("record", "coverage", "replay"),
    "Learn on a real machine": ("rig",),
    "Experiments": ("sweep", "reproduce", "report", "bench"),
}
INTRODUCTION = """Learn controllers a person can read.

First steps:
  spaql train cartpole-fitted laws --samples 2000000 --out results
  spaql explain results/agent.spaql --html controller.html
  spaql export results/agent.spaql --to c
"""


class Commands(typer.core.TyperGroup):
    """The list of commands, in the groups above."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width, placed = max(map(len, self.commands)), [name for names in SECTIONS.values() for name in names]
        others = tuple(name for name in self.commands if name not in placed)
        for title, names in SECTIONS.items() if not others else [*SECTIONS.items(), ("Others", others)]:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), self.commands[name].get_short_help_str(100)) for name in names])


class OneCommand(typer.core.TyperCommand):
    """One command; its options stand in groups, those without a group first."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if record is not None:
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def laid_out(docstring: str) -> str:
    r"""A docstring whose examples stay lines: `\b` tells click to leave a paragraph as it is."""
    paragraphs = re.split(r"\n\s*\n", docstring.strip())
    return "\n\n".join(_lines(text) if re.match(r"[A-Z][\w ]*:\n", text) else text for text in paragraphs)


def _lines(paragraph: str) -> str:
    title, *examples = (line.strip() for line in paragraph.splitlines())
    return "\n".join(["\b", title, *(line for example in examples for line in _broken(example))])


def _broken(example: str) -> list[str]:
    """One command, before options that would not fit in the next line."""
    lines, indent = [""], "  "
    for word in re.split(r" (?=--)", example):
        if lines[-1] and len(indent + lines[-1]) + len(word) > WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return (indent + f" \\\n{3 * indent}".join(lines)).split("\n")


# -- commands ----------------------------------------------------------------------------------------------------------

app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)

Command = TypeVar("Command", bound=Callable[..., None])


def command(function: Command, group: typer.Typer = app) -> Command:
    """A command of the app, or of a group of it. Ctrl-C and SIGTERM end a command with one line; typer alone would say
    nothing."""

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> None:
        keep_from_now_on()
        try:
            function(*args, **options)
        except typer.Exit:
            raise
        except BaseException as error:
            if not interrupted(error):
                raise
            print("interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    group.command(cls=OneCommand, help=laid_out(inspect.getdoc(function) or ""))(run)
    return function


def write_out(out: Path, text: str) -> None:
    """At the end of long work: what cannot be written there is kept among the temporary files, which is an error."""
    unwritten = kept(out.parent, lambda folder: write_whole(folder / out.name, lambda file: file.write(text.encode())))
    if unwritten is not None:
        raise unwritten
    print(f"wrote {out}", file=sys.stderr)


def _version(asked: bool) -> None:
    if asked:
        print(f"spaql {__version__}")
        raise typer.Exit


@app.callback(help=laid_out(INTRODUCTION))
def spaql(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """What stands before the name of a command."""
