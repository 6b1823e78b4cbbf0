"""Ready callbacks for `learn(callback=...)`: one callback, or a list of callbacks and functions of your own.

agent.learn(2000, callback=[spaql.callbacks.Checkpoint("run", every=100), spaql.callbacks.EarlyStop(patience=300)])
"""

import os
import sys
import time
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

import numpy as np

from spaql.ground.checks import checked_path, real, whole
from spaql.ground.errors import SpaqlError
from spaql.ground.writing import make_folder, refusal, write_whole
from spaql.learners.history import COLUMN, COLUMNS, COUNTS
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES

if TYPE_CHECKING:
    from spaql.learners.agent import Agent

__all__ = ["Callback", "Checkpoint", "CsvLog", "EarlyStop", "Progress", "TensorBoard"]
NOISY = 10  # training episodes whose mean counts for EarlyStop, where there are no evaluation rollouts


class Callback:
    """Base class of callbacks that are also called at the beginning and at the end of `learn`.

    Called after every `every`-th iteration of the agent.
    """

    every: int = 1

    def begin(self, agent: "Agent", goal: str) -> None:
        """Before the first iteration. `goal`: "2000 iterations"."""

    def __call__(self, agent: "Agent") -> bool | None:
        """After an iteration. False stops training."""
        return None

    def end(self, agent: "Agent") -> None:
        """After the last iteration, also when training was stopped, interrupted by Ctrl-C, or failed."""


class Checkpoint(Callback):
    """Saves the agent every `every` iterations as DIRECTORY/agent-ITERATION.spaql, at the end as DIRECTORY/agent.spaql.

    `spaql.load` goes on from any of these files, to the same bits as without a break. `keep`: how many of the newest
    files stay.
    """

    def __init__(self, directory: str | PathLike[str], every: int = 100, keep: int | None = None) -> None:
        self.directory, self.every = checked_path(directory), whole("every", every, 1)
        self.keep = None if keep is None else whole("keep", keep, 1)
        self.written: list[Path] = []

    def begin(self, agent: "Agent", goal: str) -> None:
        make_folder(self.directory)

    def __call__(self, agent: "Agent") -> None:
        path = self.directory / f"agent-{len(agent.state.history):06}.spaql"
        agent.save(path)
        self.written.append(path)
        while self.keep is not None and len(self.written) > self.keep:
            old = self.written.pop(0)
            try:
                old.unlink(missing_ok=True)
            except OSError as error:
                raise SpaqlError(f"cannot remove {old}: {error.strerror or error}") from error

    def end(self, agent: "Agent") -> None:
        agent.save(self.directory / "agent.spaql")


class EarlyStop(Callback):
    """Stops when `best_seen` of the history reaches `target`, or stays within `gain` for `patience` iterations.

    Where no best agent is kept, `best_seen` is the current evaluation, so that the best of this call counts. Atlas
    makes no evaluation rollouts (unless asked to, `learn(rollouts=...)`): its `best_seen` is the return of one training
    episode, as noisy as one episode is, and with its exploration. So the mean of the last `window` iterations of this
    call counts, and nothing is decided before there are `window` iterations: 10 of Atlas without evaluation rollouts, 1
    otherwise, unless given.
    """

    def __init__(
        self, patience: int | None = None, target: float | None = None, gain: float = 0.0, window: int | None = None
    ) -> None:  # fmt: skip
        if patience is None and target is None:
            raise SpaqlError("say when to stop: EarlyStop(patience=...), EarlyStop(target=...), or both")
        self.patience = None if patience is None else whole("patience", patience, 1)
        self.target = None if target is None else real("target", target)
        self.gain = real("gain", gain, 0.0)
        self.window = None if window is None else whole("window", window, 1)
        self.best, self.at, self.first, self.evaluated = -np.inf, 0, 0, 0.0

    def begin(self, agent: "Agent", goal: str) -> None:
        self.best, self.at, self.first = -np.inf, len(agent.state.history), len(agent.state.history)
        self.evaluated = float(agent.state.outer[EVAL_SAMPLES])

    def _window(self, agent: "Agent") -> int:
        if self.window is not None:
            return self.window
        single = not agent.card.judged and not agent.card.simulator  # it sees single episodes only
        return NOISY if single and agent.state.outer[EVAL_SAMPLES] == self.evaluated else 1

    def __call__(self, agent: "Agent") -> bool | None:
        count, window = len(agent.state.history), self._window(agent)
        if count - self.first < window:
            self.at = count  # patience begins when there is something to judge by
            return None
        seen = float(agent.state.history[-window:, COLUMN.best_seen].mean())
        if seen > self.best + self.gain or self.best == -np.inf:
            self.best, self.at = seen, count
        reached = self.target is not None and seen >= self.target
        tired = self.patience is not None and count - self.at >= self.patience
        return False if reached or tired else None


class Progress(Callback):
    """A line every `every` iterations, for terminals and files without bars (`learn(progress=True)` shows a bar)."""

    def __init__(self, every: int = 100, file: TextIO | None = None) -> None:
        self.every, self.file = whole("every", every, 1), file
        self.goal, self.started, self.before = "", time.perf_counter(), 0

    def begin(self, agent: "Agent", goal: str) -> None:
        self.goal, self.started, self.before = goal, time.perf_counter(), self._place(agent, goal)

    @staticmethod
    def _place(agent: "Agent", goal: str) -> int:
        return int(agent.state.outer[TRAIN_SAMPLES]) if goal.endswith("samples") else len(agent.state.history)

    def __call__(self, agent: "Agent") -> None:
        row = dict(zip(COLUMNS, agent.state.history[-1].tolist(), strict=True))
        figures = f"best seen {row['best_seen']:.2f}, evaluation {row['evaluation']:.2f}, {int(row['arms']):,} arms"
        samples = f"{int(row['train_samples'] + row['eval_samples']):,} samples"
        place = f"{self._place(agent, self.goal) - self.before:,} of {self.goal}"
        name = f"{agent.algorithm} on {agent.problem.name}, seed {agent.seed}"
        seconds = time.perf_counter() - self.started
        print(f"{name}: {place}: {figures}, {samples}, {seconds:.1f} s", file=self.file or sys.stderr, flush=True)


class CsvLog(Callback):
    """The history as a CSV file that grows with it: one line per iteration, there as soon as the iteration is.

    A file of this agent is continued, also one that a killed process left; the file of another run is refused.
    """

    def __init__(self, path: str | PathLike[str], every: int = 1) -> None:
        self.path, self.every, self.lines = checked_path(path), whole("every", every, 1), 0

    def begin(self, agent: "Agent", goal: str) -> None:
        if self.path.exists() and not self.path.is_file() and not self.path.is_char_device():
            raise SpaqlError(f"cannot write {self.path}: a history is added to, line by line; give a file name")
        table = agent.state.history
        ours = ",".join(("iteration", *COLUMNS)) + "\n" + self._text(table, 0)
        try:
            there = self.path.read_text("utf-8") if self.path.is_file() else ""
        except (OSError, UnicodeDecodeError) as error:
            cause = getattr(error, "strerror", None) or error
            raise SpaqlError(f"cannot read {self.path}, to go on with it: {cause}") from error
        whole_lines = there[: there.rfind("\n") + 1]
        # A longer file of the same run belongs to an agent that goes on from a checkpoint. An agent without history
        # has nothing to compare with, so that any lines in the file are those of another run.
        same_run = ours.startswith(whole_lines) or (len(table) > 0 and whole_lines.startswith(ours))
        if not same_run:
            raise SpaqlError(f"{self.path} is the log of another run: choose another name, or remove it")
        write_whole(self.path, lambda file: file.write(ours.encode()))
        self.lines = len(table)

    def __call__(self, agent: "Agent") -> None:
        table = agent.state.history
        text = self._text(table[self.lines :], self.lines)
        try:
            # one call for whole lines: a kill leaves all lines or, at worst, a torn last line, which `begin` repairs
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                data = text.encode()
                while data:  # a disk that is nearly full takes a part, and says so at the next part
                    data = data[os.write(handle, data) :]
            finally:
                os.close(handle)
        except OSError as error:
            raise refusal(f"cannot write {self.path}", error) from error
        self.lines = len(table)

    def end(self, agent: "Agent") -> None:
        if self.lines < len(agent.state.history):
            self(agent)

    @staticmethod
    def _text(rows: Any, first: int) -> str:
        kinds = [int if name in COUNTS else float for name in COLUMNS]
        lines = []
        for number, row in enumerate(rows, first + 1):
            cells = [repr(kind(value)) for kind, value in zip(kinds, row, strict=True)]
            lines.append(",".join([str(number), *cells]) + "\n")
        return "".join(lines)


class TensorBoard(Callback):
    """Every column of the history as a scalar for TensorBoard, in DIRECTORY.

    Needs the extra: pip install 'spaql[tensorboard]'.
    """

    columns: ClassVar[tuple[str, ...]] = COLUMNS

    def __init__(self, directory: str | PathLike[str], every: int = 1) -> None:
        self.directory, self.every = checked_path(directory), whole("every", every, 1)
        self.writer_class = _writer_class()  # now, not after an hour of training: the package may be missing
        self.writer: Any = None
        self.rows = 0

    def begin(self, agent: "Agent", goal: str) -> None:
        try:
            self.writer = self.writer_class(str(self.directory))
        except OSError as error:
            raise refusal(f"cannot write to {self.directory}", error) from error
        self.rows = len(agent.state.history)

    def __call__(self, agent: "Agent") -> None:
        for number, row in enumerate(agent.state.history[self.rows :].tolist(), self.rows + 1):
            for name, value in zip(self.columns, row, strict=True):
                self.writer.add_scalar(f"{agent.algorithm}/{name}", value, number)
        self.rows = len(agent.state.history)
        self.writer.flush()

    def end(self, agent: "Agent") -> None:
        if self.writer is None:
            return
        self(agent)
        self.writer.close()
        self.writer = None


def _writer_class() -> Any:
    """tensorboardX needs neither Torch nor TensorBoard; TensorBoard's own writer will do."""
    try:
        from tensorboardX import SummaryWriter

        return SummaryWriter
    except ImportError:
        pass
    try:
        from tensorboard.summary import Writer

        return Writer
    except ImportError as error:
        raise SpaqlError("TensorBoard logs need the extra: pip install 'spaql[tensorboard]'") from error
