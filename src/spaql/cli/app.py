"""The app, and what all commands share."""

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from spaql.errors import SpaqlError

app = typer.Typer(
    help="Learn controllers a person can read.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    rich_markup_mode=None,
)  # fmt: skip

JSON_HELP = "Print JSON for machines instead of a table."
INTERRUPTED = 130
Command = TypeVar("Command", bound=Callable[..., None])


def command(function: Command) -> Command:
    """A command of the app. Ctrl-C ends it with one line; typer alone would say nothing."""

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> None:
        try:
            function(*args, **options)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    app.command()(run)
    return function


def floats(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise SpaqlError(f"--{name} must be numbers separated by commas, not {text!r}") from error
