"""Controllers of one's own beside a learned one: `--baseline` of `train`, `evaluate` and `explain`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spaql.cli.arguments import plant_of
from spaql.cli.plant_files import found_in, is_python
from spaql.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

BASELINE_HELP = "Another controller to compare with: motor.py:pi, an agent's file or a policy. Repeat for several."
Baselines = Annotated[list[str] | None, typer.Option("--baseline", metavar="FILE", help=BASELINE_HELP)]


def baselines_of(texts: Iterable[str] | None, problem: str | None) -> dict[str, Any]:
    """Controllers by name: of a Python file what has this name there, else an agent or policy from its file."""
    return dict(_baseline(text, problem) for text in texts or ())


def _baseline(text: str, problem: str | None) -> tuple[str, Any]:
    if not is_python(text):
        return Path(text).stem, policy_in(Path(text), problem)
    found, _ = found_in(text)
    if not callable(getattr(found, "evaluate", None)):
        wanted = "a policy, an agent or a spaql.Controller, such as pi = spaql.pid(problem, ...)"
        raise SpaqlError(f"--baseline {text} is no controller: give {wanted}")
    return text.rpartition(":")[2], found


def policy_in(file: Path, problem: str | None) -> "Policy":
    """The policy of an agent's file, or one that `spaql export --to json` has written."""
    plant = plant_of(problem, {})
    if file.suffix == ".json":
        from spaql.policy.policy import Policy

        try:
            return Policy.from_json(file.read_text("utf-8"), problem=plant)
        except (OSError, UnicodeDecodeError) as error:
            raise SpaqlError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
    from spaql.learners.files import load

    return load(file, plant).policy()


def compared(table: Any) -> Any:
    """The table of `spaql.compare`, as the terminal shows it."""
    from rich import box
    from rich.table import Table

    from spaql.report.beside import rows_of

    title = f"In the same {table.attrs['episodes']:,} fresh episodes"
    made = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, padding=(0, 1))
    headings, *rows = rows_of(table)
    for place, heading in enumerate(headings):
        made.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made


def compared_plain(table: Any) -> dict[str, Any]:
    """The same for machines."""
    import json

    found: dict[str, Any] = json.loads(table.to_json(orient="index"))
    return found
