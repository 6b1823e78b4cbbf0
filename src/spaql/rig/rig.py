"""`spaql.Rig`: a real machine, and what was learned on it, as a folder."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from spaql.data.table import ENDINGS, read_table
from spaql.data.table import MEASURED as MDF
from spaql.ground.checks import checked_path, text, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.progress import working
from spaql.ground.writing import check_file, refusal
from spaql.policy.policy import Policy
from spaql.rig import folder as files
from spaql.rig.description import EXAMPLE, Description, description_of, read_description
from spaql.rig.folder import RigTrial
from spaql.rig.live import Live, LiveLoop, Read, Write
from spaql.rig.log_check import Checked, check_log
from spaql.rig.next_trial import propose, read_controller, read_plan, write_trial
from spaql.rig.status_page import calibration, help_most, outcome, outcome_lines, write_status


@dataclass(frozen=True)
class Said:
    """What a command on a rig has done: the number of its trial, the folder of this, and lines for people."""

    trial: int
    path: Path
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)


class Rig:
    """A machine that is learned trial by trial, in a folder that can be kept under version control.

    `rig.toml` in it says what the machine is (docs/rig.md). `Rig.new(folder)` makes such a folder.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = checked_path(folder)
        self.described: Description = read_description(self.folder / files.DESCRIPTION)

    @classmethod
    def new(cls, folder: str | PathLike[str], description: str = EXAMPLE) -> "Rig":
        """A folder with a `rig.toml`: the given text, or an example to be changed."""
        path = checked_path(folder)
        description_of(text("description", description))
        target = path / files.DESCRIPTION
        try:
            path.mkdir(parents=True, exist_ok=True)
            files.write(target, description)
            if not (path / ".gitignore").exists():
                files.write(path / ".gitignore", files.IGNORED)
        except FileExistsError as error:
            raise SpaqlError(
                f"{target} is there already: nothing was changed; use spaql.Rig({str(folder)!r})"
            ) from error
        except OSError as error:
            raise refusal(f"cannot write {target}", error) from error
        return cls(path)

    @property
    def trials(self) -> list[RigTrial]:
        """All trials so far."""
        return files.trials_of(self.folder)

    def controller(self, trial: int | None = None) -> Policy:
        """What a trial runs; by default the last one."""
        return read_controller(self._trial(trial, [each for each in self.trials if each.expected is not None]))

    @working("learning from the trials")
    def next(self, seed: int = 0) -> Said:
        """Write the next trial: controller, plan, and what is expected of it.

        SpaqlError, if the chance of touching a limit is above what `rig.toml` allows, whatever is tried.
        """
        whole("seed", seed, 0, 2**31)
        trials = self.trials
        logs = [(trial, self._checked(trial)) for trial in trials if trial.result is not None]
        proposal = propose(self.described, logs, trials, seed)
        trial = files.new_trial(
            self.folder, lambda folder: write_trial(self.described, proposal, len(trials), seed, folder)
        )
        assert trial.expected is not None
        lines = [f"{trial.name} in {trial.path}", *trial.expected["lines"]]
        if waiting := files.waiting(trials):
            lines.append(f"note: {waiting[-1].name} has no log yet")
        return Said(trial.number, trial.path, tuple(lines))

    def add(self, log: Any, trial: int | None = None) -> Said:
        """Add the log of a trial: check it, hold it against what was promised, keep it.

        `log`: a file (CSV, Parquet, MDF) or a data frame. `trial`: its number; by default the only one without a log.
        0: of another controller, as data only.
        """
        waiting = files.waiting(self.trials)
        if trial is None and len(waiting) > 1:
            numbers = ", ".join(str(each.number) for each in waiting)
            raise SpaqlError(f"trials {numbers} have no log: say of which one this is, trial=..., or 0 for other data")
        other = trial == 0 or (trial is None and not waiting)
        if trial is not None:
            whole("trial", trial, 0)
        target = None if other else self._trial(trial, waiting if trial is None else self.trials)
        if target is not None and target.result is not None:
            raise SpaqlError(f"{target.name} has a log already: nothing was changed; give the number of another trial")
        ending, content = _content(log)
        for each in self.trials:
            if each.result is not None and each.log.stat().st_size == len(content) and each.log.read_bytes() == content:
                raise SpaqlError(f"this log is there already, as that of {each.name}: nothing was changed")
        checked = self._check(log, target)
        result = {"log": f"log{ending}"} | outcome(self.described, target, checked)

        def fill(folder: Path) -> None:
            files.write(folder / str(result["log"]), content)
            files.write(folder / files.RESULT, files.json_text(result))

        def as_data(folder: Path) -> None:
            (folder / files.MEASURED).mkdir()
            fill(folder / files.MEASURED)

        if target is None:
            target = files.new_trial(self.folder, as_data)
        else:
            files.measured(target, fill)
        return Said(target.number, target.path, tuple(outcome_lines(target, self.described, result)))

    def run(self, read: Read, write: Write, trial: int | None = None) -> Live:
        """Run a trial on a machine that Python reaches, by default the last one; then `add` the log that it names.

        `read()` returns what is measured, in the order of `rig.toml` or by name, or None if nothing came; `write` takes
        a number for every action. Whatever ends the trial, `write` gets the safe actions of `rig.toml`. While one of
        both hangs, another thread calls `write`.
        """
        for name, function in (("read", read), ("write", write)):
            if not callable(function):
                raise SpaqlError(f"{name} must be a function, not {echoed(function)}")
        chosen = self._trial(trial, [each for each in self.trials if each.expected is not None])
        if chosen.expected is None or chosen.result is not None:
            raise SpaqlError(f"{chosen.name} has a log already: run the one that next has written")
        runs = len(list(chosen.path.glob(f"{files.RUNNING}-*.csv")))
        log = chosen.path / f"{files.RUNNING}-{runs + 1}.csv"
        return LiveLoop(self.described, read_controller(chosen), read_plan(chosen), read, write, log).run()

    @working("writing the page")
    def status(self, path: str | PathLike[str] | None = None) -> Said:
        """All trials: a line each, and a page with promises, data, laws, and what would help most.

        `path`: of the page, by default `status.html` in the folder.
        """
        target = self.folder / "status.html" if path is None else checked_path(path)
        check_file(target)
        trials, lines = self.trials, []
        for trial in trials:
            result, expected = trial.result, trial.expected
            law = "" if expected is None else f"; {expected['law']}"
            lines.append(
                (outcome_lines(trial, self.described, result)[0] if result else f"{trial.name}: no log yet") + law
            )
        logs = {trial.number: self._checked(trial).pieces for trial in trials if trial.result is not None}
        write_status(self.described, trials, logs, target)
        lines += [calibration(trials), help_most(self.described, trials, logs), f"page: {target}"]
        return Said(trials[-1].number if trials else 0, target, tuple(lines))

    def _trial(self, number: int | None, among: Sequence[RigTrial]) -> RigTrial:
        if number is None:
            if not among:
                raise SpaqlError(f"{self.folder} has no trial yet: call next first")
            return among[-1]
        for trial in self.trials:
            if trial.number == whole("trial", number, 0):
                return trial
        raise SpaqlError(f"{self.folder} has no trial {number}: there are {len(self.trials)}")

    def _checked(self, trial: RigTrial) -> Checked:
        """The log of a trial, which was checked when it was added: rig.toml may have changed since."""
        try:
            return self._check(trial.log, trial if trial.expected is not None else None)
        except SpaqlError as error:
            raise SpaqlError(f"{trial.name}: {error}") from error

    def _check(self, log: Any, trial: RigTrial | None) -> Checked:
        if trial is None or trial.expected is None:
            return check_log(self.described, log)
        return check_log(self.described, log, read_controller(trial), read_plan(trial))

    def __repr__(self) -> str:
        return f"<Rig {self.described.name} in {self.folder}: {len(self.trials)} trials>"


def _content(log: Any) -> tuple[str, bytes]:
    """Ending and content of a log, as it is kept."""
    if isinstance(log, str | PathLike):
        path = checked_path(log)
        ending = next((end for end in (*ENDINGS, *MDF) if path.name.lower().endswith(end)), "")
        if not ending:
            raise SpaqlError(f"{path.name}: a log is a .csv, .parquet or .mf4 file; convert it, or give a data frame")
        try:
            return ending, path.read_bytes()
        except OSError as error:
            raise SpaqlError(f"cannot read {path}: {error.strerror}") from error
    written = io.StringIO()
    read_table(log).frame.to_csv(written, index=False)
    return ".csv", written.getvalue().encode()
