"""The folder of a rig: rig.toml, and trials, which are only ever added.

    rig.toml
    trials/0001/expected.json      what was predicted, and why this trial
                controller.*       what is to run: C, Structured Text, JSON
                plan.csv           references and excitation, step by step
                running-1.csv      the log of a live loop, as it goes on
                measured/          the log as it came, and result.json: what happened

A trial, and what was measured in it, appear whole by one rename. So a killed command leaves nothing half-done, and of
two people who add at once neither overwrites the other: the second one gets the next number, or is refused.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spaql.ground.errors import SpaqlError
from spaql.ground.writing import refusal

DESCRIPTION = "rig.toml"
TRIALS = "trials"
MEASURED = "measured"
EXPECTED, RESULT, PLAN, RUNNING = "expected.json", "result.json", "plan.csv", "running"
CONTROLLER = "controller.json"
IGNORED = ".*.part/\n"  # what a killed command leaves behind


@dataclass(frozen=True)
class RigTrial:
    """One folder of trials."""

    number: int
    path: Path

    @property
    def name(self) -> str:
        return f"trial {self.number}"

    @property
    def expected(self) -> dict[str, Any] | None:
        """What was predicted; None of a log without a controller of ours."""
        return _read(self.path / EXPECTED) if (self.path / EXPECTED).exists() else None

    @property
    def result(self) -> dict[str, Any] | None:
        """What happened; None as long as there is no log."""
        return _read(self.path / MEASURED / RESULT) if (self.path / MEASURED).exists() else None

    @property
    def log(self) -> Path:
        """The log as it came."""
        assert self.result is not None
        return self.path / MEASURED / str(self.result["log"])


def trials_of(folder: Path) -> list[RigTrial]:
    """All trials, in their order."""
    try:
        names = [name for name in os.listdir(folder / TRIALS) if name.isdigit()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SpaqlError(f"cannot read {folder / TRIALS}: {error.strerror}") from error
    return [RigTrial(int(name), folder / TRIALS / name) for name in sorted(names, key=int)]


def waiting(trials: Sequence[RigTrial]) -> list[RigTrial]:
    """Those of our controllers that have no log yet."""
    return [trial for trial in trials if trial.expected is not None and trial.result is None]


def new_trial(folder: Path, fill: Callable[[Path], object]) -> RigTrial:
    """`fill(folder)` writes a trial, which then gets the next number that is free."""
    with _prepared(folder / TRIALS, fill) as part:
        while True:
            number = max((trial.number for trial in trials_of(folder)), default=0) + 1
            target = folder / TRIALS / f"{number:04d}"
            if _placed(part, target):
                return RigTrial(number, target)


def measured(trial: RigTrial, fill: Callable[[Path], object]) -> None:
    """`fill(folder)` writes what was measured in a trial: once."""
    with _prepared(trial.path, fill) as part:
        if not _placed(part, trial.path / MEASURED):
            raise SpaqlError(f"{trial.name} has a log already: nothing was changed; give the number of another trial")


def write(path: Path, content: str | bytes) -> None:
    """On the disk, not only in a buffer."""
    with open(path, "xb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def json_text(content: dict[str, Any]) -> str:
    """As files of a rig have it: a line per entry, for version control."""
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


@contextlib.contextmanager
def _prepared(inside: Path, fill: Callable[[Path], object]) -> Any:
    """A folder with a name that nobody looks at, filled; gone afterwards unless it was moved."""
    part = inside / f".{os.urandom(8).hex()}.part"
    try:
        part.mkdir(parents=True)
        fill(part)
        yield part
    except OSError as error:
        raise refusal(f"cannot write to {inside}", error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _placed(part: Path, target: Path) -> bool:
    """Whether it could be moved there: not, if there is something already."""
    try:
        os.rename(part, target)
    except OSError:
        if target.exists():
            return False
        raise
    with contextlib.suppress(OSError):  # folders cannot be synchronised everywhere
        handle = os.open(target.parent, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
    return True


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SpaqlError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise SpaqlError(f"{path} is damaged: get it back from version control, or remove its trial") from error
    if not isinstance(content, dict):
        raise SpaqlError(f"{path} is damaged: get it back from version control, or remove its trial")
    return content
