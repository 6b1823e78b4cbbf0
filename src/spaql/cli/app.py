"""The app, and what all commands share."""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from spaql.cli.help import INTRODUCTION, Commands, laid_out
from spaql.cli.help import Command as OneCommand
from spaql.ground.errors import SpaqlError
from spaql.ground.interrupts import interrupted, keep_from_now_on
from spaql.version import __version__

if TYPE_CHECKING:
    from spaql.plants.equations import Between

app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)

STORE_HELP = "Folder of results; finished runs in it are not computed again."
JSON_HELP = "Print JSON instead of a table."
INTERRUPTED = 130  # exit code, as shells have it for Ctrl-C
Command = TypeVar("Command", bound=Callable[..., None])


def command(function: Command) -> Command:
    """A command of the app. Ctrl-C and SIGTERM end a command with one line; typer alone would say nothing."""

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

    app.command(cls=OneCommand, help=laid_out(inspect.getdoc(function) or ""))(run)
    return function


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


SET_HELP = (
    "A parameter of the problem: m=2, m=0.8..1.2 (drawn in every episode), horizon=300, "
    "process_noise.velocity=0.1, observation_noise=0.05. Repeat for several."
)


def settings(given: list[str] | None) -> dict[str, Any]:
    """`--set NAME=VALUE`, or NAME.VARIABLE=VALUE for the noise of one variable, as `spaql.make` takes them."""
    made: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        name, dot, variable = name.strip().partition(".")
        if not equals or not name or (dot and not variable):
            raise SpaqlError(f"--set takes NAME=VALUE, such as m=2 or process_noise.velocity=0.1, not {text!r}")
        level = made.setdefault(name, {}) if dot else made
        if not isinstance(level, dict) or (variable or name) in level:
            raise SpaqlError(f"--set {text}: {name} is given twice")
        level[variable or name] = _number(text, value)
    return made


def _number(text: str, value: str) -> "int | float | Between":
    low, dots, high = value.partition("..")
    if dots:
        from spaql.plants.equations import Between

        if ".." in high:
            raise SpaqlError(f"--set {text}: a range is LOW..HIGH, such as m=0.8..1.2")
        return Between(float(_number(text, low)), float(_number(text, high)))  # type: ignore[arg-type]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    raise SpaqlError(f"--set {text}: {value!r} is not a number")


def floats(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise SpaqlError(f"--{name} must be numbers separated by commas, not {text!r}") from error
