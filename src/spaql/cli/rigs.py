"""`spaql rig new | next | add | status`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spaql.cli.app import AsJson, Command, app, command
from spaql.ground.progress import working

if TYPE_CHECKING:
    from spaql.rig.rig import Said

group = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
app.add_typer(group, name="rig", help="Learn on a real machine, trial by trial: new, next, add, status.")
Folder = Annotated[Path, typer.Argument(help="The folder of the rig.")]


def of_rig(function: Command) -> Command:
    """A command of the group."""
    return command(function, group)


@of_rig
def new(folder: Annotated[Path, typer.Argument(help="The folder to make.")]) -> None:
    """Make a folder with a rig.toml that describes an example: change it to describe your machine.

    Example:
      spaql rig new cart
    """
    from spaql.rig.rig import Rig

    print(f"wrote {Rig.new(folder).folder / 'rig.toml'}: describe your machine in it, then: spaql rig next {folder}")


@of_rig
def next(
    folder: Folder,
    seed: Annotated[int, typer.Option(help="Seed of the search, and of the references.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write the next trial, and say what it is expected to do. Refused if it may touch a limit.

    Example:
      spaql rig next cart
    """
    from spaql.rig.rig import Rig

    with working("learning from the trials", False if as_json else None):
        _say(Rig(folder).next(seed), as_json)


@of_rig
def add(
    folder: Folder,
    log: Annotated[Path, typer.Argument(help="The log: .csv, .parquet or .mf4, one row per step.")],
    trial: Annotated[int | None, typer.Option(help="Its trial (default: that without a log); 0: other data.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check the log of a trial, hold it against what was expected, and keep it.

    Example:
      spaql rig add cart log.csv
    """
    from spaql.rig.rig import Rig

    _say(Rig(folder).add(log, trial), as_json)


@of_rig
def status(
    folder: Folder,
    html: Annotated[Path | None, typer.Option(help="The page to write (default: status.html in the folder).")] = None,
    as_json: AsJson = False,
) -> None:
    """All trials: what was expected of them, what came of them, what would help most; also as a page.

    Example:
      spaql rig status cart --html cart.html
    """
    from spaql.rig.rig import Rig

    _say(Rig(folder).status(html), as_json)


def _say(said: "Said", as_json: bool) -> None:
    print(json.dumps({"trial": said.trial, "path": str(said.path), "lines": said.lines}) if as_json else said)
