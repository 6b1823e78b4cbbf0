"""The `learn` call: stretches of iterations, progress, callback, Ctrl-C."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spaql.arrays import Array
from spaql.checks import whole
from spaql.errors import SpaqlError
from spaql.learners.state import copied
from spaql.training.calling import Calls
from spaql.training.compiled import CompiledLoop
from spaql.training.evaluation import RandomLoop
from spaql.training.gym_loop import GymLoop
from spaql.training.history import History
from spaql.training.outer import BEST_RETURN, TRAIN_SAMPLES

if TYPE_CHECKING:
    from rich.progress import Progress

    from spaql.learners.agent import Agent, Callbacks

COMPILING = "starting (the first run ever compiles, half a minute)"
STRETCH_SECONDS = 0.25  # how long compiled code runs before Python looks at progress and Ctrl-C


class Loop(Protocol):
    def run(self, iterations: int) -> Array:
        """The history rows of the next iterations; fewer if it was stopped."""


def train(
    agent: "Agent", iterations: int | None, rollouts: int | None, progress: bool, callback: "Callbacks | None",
    stop: threading.Event | None = None, on_progress: Callable[[int], None] | None = None, samples: int | None = None,
) -> History:  # fmt: skip
    """Train one agent; see `Agent.learn`. `samples`: of Atlas, instead of `iterations`."""
    by_samples, judged = samples is not None, agent.algorithm != "Atlas"
    wanted = whole("samples", samples, 1, 10**9) if by_samples else whole("iterations", iterations, 1)
    iterations = 2**62 if by_samples else wanted
    rollouts = whole("rollouts", (agent.problem.rollouts if judged else 0) if rollouts is None else rollouts, int(judged), 10**6)
    if not agent.problem.can_run:
        raise SpaqlError(f"{agent.problem.name} has no plant to learn on: use update(), or load the file with problem=...")
    calls, state = Calls(callback), agent.state
    if len(state.history) == 0:
        state.outer[TRAIN_SAMPLES] = max(state.outer[TRAIN_SAMPLES], agent.problem.map_samples)
    stop = stop or threading.Event()
    agent._interrupted, started = False, time.perf_counter()
    with stop_on_interrupt(stop), _progress_bar(agent, wanted, progress) as shown, _called(calls, agent, wanted, by_samples):
        loop = _loop(agent, rollouts, stop, samples)
        done, stretch = 0, 1
        while done < iterations and not stop.is_set() and not (by_samples and loop.finished):  # type: ignore[attr-defined]
            begin, used = time.perf_counter(), state.outer[TRAIN_SAMPLES]
            if judged and np.isnan(state.outer[BEST_RETURN]) and state.trainee is not state.forest:
                state.trainee = copied(state.forest, state.space)  # update() has changed the agent: go on from it
            tried = min(stretch, iterations - done, calls.room(len(state.history)))
            rows = loop.run(tried)
            state.history = np.concatenate([state.history, rows])
            done += len(rows)
            for report in (shown, on_progress):
                if report is not None:
                    report(int(state.outer[TRAIN_SAMPLES] - used) if by_samples else len(rows))
            if len(rows) and not calls(agent):
                stop.set()
            taken = max(time.perf_counter() - begin, 1e-6)
            stretch = max(1, min(2 * stretch, int(tried * STRETCH_SECONDS / taken)))
    finished = loop.finished if by_samples else done >= iterations  # type: ignore[attr-defined]
    agent._interrupted, agent._seconds = not finished, time.perf_counter() - started
    return agent.history


@contextlib.contextmanager
def _called(calls: Calls, agent: "Agent", wanted: int, by_samples: bool) -> Iterator[None]:
    """Callbacks are told of the beginning and, whatever happens, of the end."""
    try:
        calls.begin(agent, f"{wanted} {'samples' if by_samples else 'iterations'}")
        yield
    finally:
        calls.end(agent)


def learn_all(
    agents: Sequence["Agent"],
    iterations: int | None = None,
    rollouts: int | None = None,
    *,
    samples: int | None = None,
    jobs: int | None = None,
    progress: bool = False,
    callbacks: "Callable[[Agent], Callbacks] | None" = None,
) -> list[History]:
    """Train several agents in parallel on all cores: compiled plants run in threads without the interpreter lock.

    Every agent gets the same bits as alone. Agents on Gymnasium environments are trained one after the other. Ctrl-C ends all of them
    after their current stretch; each keeps what it has learned.

    `callbacks(agent)` makes the callbacks of one agent, as `learn(callback=...)` takes them: agents do not share any, because most of them
    remember something. They are called in the thread that trains the agent.
    """
    from spaql.callbacks import Callback
    from spaql.learners.agent import Agent

    if callbacks is not None and (not callable(callbacks) or isinstance(callbacks, Callback)):
        raise SpaqlError("callbacks must be a function that makes those of one agent: callbacks=lambda agent: [...]")
    if not all(isinstance(agent, Agent) for agent in agents) or len({id(agent.state) for agent in agents}) != len(agents):
        raise SpaqlError("learn_all takes a list of different agents")
    if (iterations is None) == (samples is None):
        raise SpaqlError("say how long to learn: iterations, or samples for Atlas")
    if samples is not None and any(agent.algorithm != "Atlas" for agent in agents):
        raise SpaqlError("only Atlas learns by samples: give the others iterations")
    wanted = whole("samples", samples, 1, 10**9) if samples is not None else whole("iterations", iterations, 1)
    jobs = whole("jobs", jobs if jobs is not None else os.cpu_count() or 1, 1)
    if any(agent.problem.plant is None for agent in agents):
        jobs = 1
    calls = [None if callbacks is None else callbacks(agent) for agent in agents]
    stop = threading.Event()
    with stop_on_interrupt(stop), _progress_of_all(agents, wanted, progress) as shown:

        def one(agent: "Agent", index: int) -> History:
            with agent.state.guard.write():
                told = (lambda done: shown(index, done)) if shown else None
                return train(agent, iterations, rollouts, False, calls[index], stop, told, samples)

        with ThreadPoolExecutor(jobs) as pool:
            pending = [pool.submit(one, agent, index) for index, agent in enumerate(agents)]
            for future in as_completed(pending):
                if future.exception() is not None:
                    stop.set()  # the others end after their current stretch
        return [future.result() for future in pending]


def _loop(agent: "Agent", rollouts: int, stop: threading.Event, samples: int | None) -> Loop:
    if agent.algorithm == "Atlas":
        from spaql.learners.atlas.loop import AtlasLoop

        return AtlasLoop(agent, rollouts, stop, samples)  # type: ignore[arg-type]
    if agent.algorithm == "Random":
        return RandomLoop(agent, rollouts)
    if agent.problem.plant is not None:
        return CompiledLoop(agent, rollouts)
    return GymLoop(agent, rollouts, stop)


@contextlib.contextmanager
def stop_on_interrupt(stop: threading.Event) -> Iterator[None]:
    """The first Ctrl-C asks training to end after the current iteration, the second interrupts whatever runs.

    An exception could come between any two lines and leave half an iteration behind.
    """
    if threading.current_thread() is not threading.main_thread() or stop.is_set():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def pressed(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"), console=Console(stderr=True),
    )  # fmt: skip


def _note(agent: "Agent") -> str:
    history = agent.state.history
    if not len(history):
        return ""
    return f"last episode {history[-1, 1]:.1f}" if agent.algorithm == "Atlas" else f"best seen {history[-1, 1]:.1f}, {agent.arms} arms"


@contextlib.contextmanager
def _progress_bar(agent: "Agent", iterations: int, wanted: bool) -> Iterator[Callable[[int], None] | None]:
    if not wanted:
        yield None
        return
    with _bar() as bar:
        task = bar.add_task(f"{agent.algorithm} on {agent.problem.name}", total=iterations, note=COMPILING)

        def show(rows: int) -> None:
            bar.update(task, advance=rows, note=_note(agent))

        yield show


@contextlib.contextmanager
def _progress_of_all(agents: Sequence["Agent"], iterations: int, wanted: bool) -> Iterator[Callable[[int, int], None] | None]:
    if not wanted:
        yield None
        return
    with _bar() as bar:
        tasks = [bar.add_task(f"{a.algorithm} on {a.problem.name}, seed {a.seed}", total=iterations, note=COMPILING) for a in agents]

        def show(index: int, rows: int) -> None:
            bar.update(tasks[index], advance=rows, note=_note(agents[index]))

        yield show
