"""What `spaql train` does between its options and its table: nothing learned is lost, whenever Ctrl-C comes."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaql.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.learners.agent import Agent, Callbacks
    from spaql.reporting import Run

EVERY = 100


def callbacks_of(checkpoint: Path | None, every: int | None, log: Path | None, seeds: int) -> "Callable[[Agent], Callbacks] | None":
    """Of `--checkpoint`, `--every` and `--log`: what makes the callbacks of one agent. Several agents have a folder and a file each."""
    from spaql.callbacks import Checkpoint, CsvLog
    from spaql.checks import whole
    from spaql.cli.outputs import check_file, check_folder

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


def trained(agents: "Sequence[Agent]", iterations: int | None, rollouts: int | None, **options: Any) -> "list[Run]":
    """The runs; after a second Ctrl-C with what was learned until then."""
    from spaql.reporting import Run
    from spaql.training.trainer import learn_all

    try:
        return [Run(agent, history) for agent, history in zip(agents, learn_all(agents, iterations, rollouts, **options), strict=True)]
    except KeyboardInterrupt:  # the first has ended training after the iterations under way, the second the waiting for them
        return [Run(agent, agent.history, hurried=True) for agent in agents]


def kept_and_judged(runs: "list[Run]", out: Path | None, fresh: int) -> bool:
    """Save the agents, then evaluate them, which of Atlas makes the final plan first. False if Ctrl-C was pressed at any time."""
    from spaql.reporting import save_runs
    from spaql.training.trainer import stop_on_interrupt

    pressed = threading.Event()
    if out is not None:
        with stop_on_interrupt(pressed):  # files first: Ctrl-C waits for them
            save_runs(runs, out)
    try:
        for run in runs if fresh > 0 and not pressed.is_set() and not runs[0].hurried else ():
            run.fresh = run.agent.evaluate(fresh)
    except KeyboardInterrupt:
        pressed.set()
    return not pressed.is_set() and not any(run.hurried or run.history.interrupted for run in runs)


def kept_where(runs: "list[Run]", out: Path | None, checkpoint: Path | None) -> str:
    """What became of an interrupted training."""
    told = "what was learned until then is reported above"
    if all(run.fresh is None for run in runs):
        told = "training ended" if any(run.hurried or run.history.interrupted for run in runs) else "training was complete"
        told += ", the agents were not evaluated"
    elif any(run.fresh is None for run in runs):
        told += ", but not all agents were evaluated"
    folder = out or checkpoint
    return f"{told}; {f'they are kept in {folder}/' if folder is not None else 'without --out, nothing is kept'}"
