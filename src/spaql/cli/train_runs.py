"""What `spaql train` does between its options and its table: nothing learned is lost, whenever Ctrl-C is pressed."""

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaql.ground.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.learners.agent import Agent, Callbacks
    from spaql.learners.history import History
    from spaql.policy.evaluation import Evaluation

EVERY = 100  # training episodes between two checkpoints


@dataclass
class TrainRun:
    """One trained agent."""

    agent: "Agent"
    history: "History"
    fresh: "Evaluation | None" = None  # None: not evaluated
    hurried: bool = False  # Ctrl-C was pressed twice

    def row(self) -> dict[str, Any]:
        last = len(self.history) - 1
        row: dict[str, Any] = {"seed": self.agent.seed, "iterations": len(self.history)}
        # a model-based learner that was not evaluated would make a plan only to count its cells
        counted = self.fresh is not None or not self.agent.card.model_based
        row["arms"] = self.agent.arms if counted else None
        frontier = getattr(self.agent.state, "frontier", None)  # of laws: an empty one has seen nothing
        seen = last >= 0 and (frontier is None or len(frontier.tidy) > 0)
        row["best_seen"] = float(self.history.best_seen[last]) if seen else math.nan
        confirmed = getattr(self.agent, "confirmed", None)  # of laws in an environment
        if confirmed is not None:
            row["confirmed_episodes"], row["confirmed_ci95"] = len(confirmed.returns), None
            if len(confirmed.returns) > 1:
                row["confirmed_ci95"] = list(confirmed.ci95)
        row["fresh"] = None if self.fresh is None else self.fresh.mean
        row["fresh_ci95"] = None if self.fresh is None else list(self.fresh.ci95)
        row["fresh_worst5"] = None if self.fresh is None else self.fresh.worst5
        failures = None if self.fresh is None or not self.fresh.failures.rule else self.fresh.failures
        row["fresh_failures"] = None if failures is None else failures.share
        row["train_samples"] = int(self.history.train_samples[last]) if last >= 0 else 0
        row["eval_samples"] = int(self.history.eval_samples[last]) if last >= 0 else 0
        row["seconds"] = self.history.seconds
        return row


def callbacks_of(
    checkpoint: Path | None, every: int | None, log: Path | None, seeds: int
) -> "Callable[[Agent], Callbacks] | None":
    """The function that makes the callbacks of one agent, from `--checkpoint`, `--every` and `--log`.

    Each of several agents has its own folder and its own file.
    """
    from spaql.ground.checks import whole
    from spaql.ground.writing import check_file, check_folder
    from spaql.training.callbacks import Checkpoint, CsvLog

    if every is not None and checkpoint is None:
        raise SpaqlError("--every goes with --checkpoint: it says how often")
    often = whole("--every", EVERY if every is None else every, 1)
    check_file(log)
    if checkpoint is not None:
        check_folder(checkpoint)

    def made(agent: "Agent") -> "Callbacks":
        calls: list[Any] = []
        if checkpoint is not None:
            calls.append(Checkpoint(checkpoint / f"seed{agent.seed}" if seeds > 1 else checkpoint, often))
        if log is not None:
            calls.append(CsvLog(log.with_name(f"{log.stem}-seed{agent.seed}{log.suffix}") if seeds > 1 else log))
        return calls

    return None if checkpoint is None and log is None else made


def trained(
    agents: "Sequence[Agent]", iterations: int | None, rollouts: int | None, **options: Any
) -> tuple[list[TrainRun], SpaqlError | None]:
    """The runs; after a second Ctrl-C, or an error in the middle, with what was learned until then."""
    from spaql.training.trainer import train_all

    try:
        histories = train_all(agents, iterations, rollouts, **options)
        return [TrainRun(agent, history) for agent, history in zip(agents, histories, strict=True)], None
    except KeyboardInterrupt:  # the first Ctrl-C lets the iterations under way end, the second does not wait for them
        return [TrainRun(agent, agent.history, hurried=True) for agent in agents], None
    except SpaqlError as error:  # of the plant, or of a disk that takes no more lines of the log
        if not any(len(agent.history) for agent in agents):
            raise
        return [TrainRun(agent, agent.history, hurried=True) for agent in agents], error


def kept_and_judged(runs: list[TrainRun], out: Path | None, fresh: int) -> tuple[bool, list[Path], SpaqlError | None]:
    """Save the agents, then evaluate them (a model-based learner plans first).

    False if Ctrl-C was pressed at any time; where agents are that had the names of these; and what was wrong with the
    files.
    """
    from spaql.ground.interrupts import stop_on_interrupt
    from spaql.ground.writing import kept

    earlier: list[Path] = []
    pressed, unwritten = threading.Event(), None
    if out is not None:
        with stop_on_interrupt(pressed):  # files first: Ctrl-C waits for them
            unwritten = kept(out, lambda folder: earlier.extend(save_runs(runs, folder)))
    try:
        for run in runs if fresh > 0 and not pressed.is_set() and not runs[0].hurried else ():
            if len(run.history) or not run.history.interrupted:  # what has seen nothing yet is worth nothing
                run.fresh = run.agent.evaluate(fresh)
    except KeyboardInterrupt:
        pressed.set()
    complete = not pressed.is_set() and not any(run.hurried or run.history.interrupted for run in runs)
    return complete, earlier, unwritten


def compared_with(runs: list[TrainRun], others: dict[str, Any]) -> "tuple[Any, SpaqlError | None]":
    """The table of the agents and controllers of one's own, and what went wrong with these: the agents are reported.

    None where an agent was not evaluated.
    """
    from spaql.analysis.paired import beside

    fresh = {f"seed {run.agent.seed}": run.fresh for run in runs if run.fresh is not None}
    if not others or len(fresh) < len(runs):
        return None, None
    try:
        return beside({f"seed {run.agent.seed}": run.agent for run in runs}, fresh, others), None
    except SpaqlError as error:
        return None, error


def kept_where(runs: list[TrainRun], out: Path | None, checkpoint: Path | None) -> str:
    """What became of an interrupted training."""
    text = "what was learned until then is reported above"
    if all(run.fresh is None for run in runs):
        ended = any(run.hurried or run.history.interrupted for run in runs)
        text = f"training {'ended' if ended else 'was complete'}, the agents were not evaluated"
    elif any(run.fresh is None for run in runs):
        text += ", but not all agents were evaluated"
    folder = out or checkpoint
    return f"{text}; {f'they are kept in {folder}/' if folder is not None else 'without --out, nothing is kept'}"


def have_curve(runs: list[TrainRun]) -> bool:
    """A curve has two points at least: laws, and what was interrupted early, have none."""
    return all(len(run.history) > 1 for run in runs)


def save_runs(runs: list[TrainRun], folder: Path) -> list[Path]:
    """Saves every agent, the agent with the best average seen also as agent.spaql, and the learning curve.

    Returns where agents are that had these names.
    """
    from spaql.analysis.control_figures import learning_curve
    from spaql.ground.writing import CURVE, put

    files = {f"agent-seed{run.agent.seed}.spaql": run.agent.save for run in runs}
    earlier = put(folder, files | {"agent.spaql": best_run(runs).agent.save})
    if have_curve(runs):
        agent, histories = runs[0].agent, [run.history for run in runs]
        learning_curve(histories, agent.algorithm, agent.problem.name, folder / CURVE)
    return earlier


def best_run(runs: list[TrainRun]) -> TrainRun:
    """The run with the best average seen; without evaluation rollouts, with the best second half of training."""

    def worth(run: TrainRun) -> float:
        seen = run.history.best_seen
        later = seen[len(seen) // 2 :] if not run.agent.card.judged else seen[-1:]
        return float(later.mean()) if len(seen) else -math.inf

    return max(runs, key=worth)
