"""Controllers of one's own beside a learned one: `--baseline` of `train`, `evaluate` and `explain`."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spaql.cli.plant_files import found_in, is_python, run_of
from spaql.ground.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.plants.problem import Problem
    from spaql.policy.policy import Policy

BASELINE_HELP = "Another controller to compare with: motor.py:pi, an agent's file or a policy. Repeat for several."
Baselines = Annotated[list[str] | None, typer.Option("--baseline", metavar="FILE", help=BASELINE_HELP)]


def baselines_of(texts: Iterable[str] | None, problem: "Problem | None") -> dict[str, Any]:
    """Controllers by name: of a Python file what has this name there, else an agent or policy from its file."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, one = _baseline(text, problem)
        if name in found:
            raise SpaqlError(f"--baseline {text}: there is another {name!r} already: rename one of the two")
        found[name] = one
    return found


def _baseline(text: str, problem: "Problem | None") -> tuple[str, Any]:
    if not is_python(text):
        return Path(text).stem, policy_in(Path(text), problem)
    found, path = found_in(text)
    if inspect.isfunction(found) and _takes_nothing(found):  # problems may be functions too
        found = run_of(path, found)
    if not callable(getattr(found, "evaluate", None)):
        wanted = "a policy, an agent or a spaql.Controller, such as pi = spaql.pid(problem, ...)"
        raise SpaqlError(f"--baseline {text} is no controller: give {wanted}, or a function () that returns one")
    return text.rpartition(":")[2], found


def _takes_nothing(function: Callable[..., Any]) -> bool:
    return all(one.default is not one.empty for one in inspect.signature(function).parameters.values())


def policy_in(file: Path, plant: "Problem | None") -> "Policy":
    """The policy of an agent's file, or one that `spaql export --to json` has written."""
    if file.suffix == ".json":
        from spaql.policy.policy import Policy

        try:
            return Policy.from_json(file.read_text("utf-8"), problem=plant)
        except (OSError, UnicodeDecodeError) as error:
            raise SpaqlError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
    from spaql.learners.files import load

    return load(file, plant).policy()


def compared_table(table: Any, width: int) -> Any:
    """The table of `spaql.compare`, as the terminal shows it: numbers are never cut, names are folded if need be."""
    from spaql.analysis.paired import rows_of

    title = f"In the same {table.attrs['episodes']:,} fresh episodes"
    headings, *rows = rows_of(table)
    wide, stacked = (
        rich_rows(title, headings, [[row[0], *(cell.replace(" to ", between) for cell in row[1:])] for row in rows])
        for between in (" to ", " to\n")
    )
    return wide if natural_width(wide) <= width else stacked


def rich_rows(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Any:
    """A table for a terminal, of which only the first column may be folded."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    look: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0)}
    made = Table(title=title, title_justify="left", title_style="", **look)
    for place, heading in enumerate(headings):
        aside = "left" if place == 0 else "right"
        made.add_column(heading, justify=aside, no_wrap=place > 0, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def natural_width(table: Any) -> int:
    """Letters that a table takes if nothing is cut or folded."""
    from rich.console import Console

    return int(Console(width=1000).measure(table).maximum)


def compared_json(table: Any) -> dict[str, Any]:
    """The same for machines."""
    import json

    found: dict[str, Any] = json.loads(table.to_json(orient="index"))
    return found
