"""The `learn` call: stretches of iterations, progress, callback, Ctrl-C."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Protocol

from spaql.ground.checks import items, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.interrupts import stop_on_interrupt
from spaql.ground.progress import advance, display, doing, working
from spaql.learners.agent import Agent
from spaql.learners.history import History
from spaql.learners.outer import TRAIN_SAMPLES
from spaql.learners.registry import learners, resolve
from spaql.training.acceptance import shortcomings
from spaql.training.callbacks import Callback

if TYPE_CHECKING:
    from spaql.learners.agent import Callbacks

# -- the callbacks of one `learn` call: when each is due, and that the `end` of all of them is called ------------------

class Calls:
    """None, a function of the agent, a `spaql.callbacks.Callback`, or a list of these."""

    def __init__(self, given: Any) -> None:
        if isinstance(given, Sequence) and not isinstance(given, str):
            listed = list(given)
        else:
            listed = [] if given is None else [given]
        for call in listed:
            if not callable(call) or isinstance(call, type):
                hint = f": write {call.__name__}(...)" if isinstance(call, type) else ""
                wanted = "callback must be a function of the agent, or a list of such"
                raise SpaqlError(f"{wanted}, not {echoed(call)}{hint}")
        self.calls: list[Callable[[Agent], bool | None]] = listed
        self.begun: list[Any] = []

    def begin(self, agent: Agent, goal: str) -> None:
        for call in self.calls:
            if isinstance(call, Callback):
                call.begin(agent, goal)
                self.begun.append(call)

    def room(self, iterations: int) -> int:
        """How many more iterations until a callback is due."""
        return min((self._every(call) - iterations % self._every(call) for call in self.calls), default=2**62)

    def __call__(self, agent: Agent) -> bool:
        """Call all callbacks that are due; False if one of them wants to stop."""
        count = len(agent.state.history)
        answers = [call(agent) for call in self.calls if count % self._every(call) == 0]
        return not any(answer is False for answer in answers)

    def end(self, agent: Agent) -> None:
        """Call the `end` of all callbacks, also if one of these calls fails."""
        with contextlib.ExitStack() as stack:
            for call in reversed(self.begun):
                stack.callback(call.end, agent)

    @staticmethod
    def _every(call: Any) -> int:
        return call.every if isinstance(call, Callback) else 1


INTERRUPTED = "it was interrupted, and is the best so far: learn again goes on from there"
STRETCH_SECONDS = 0.25  # how long compiled code runs before Python looks at progress and Ctrl-C


class Loop(Protocol):
    """What trains one agent. Made by the `loop` of its card from (agent, rollouts, stop, samples).

    If it has a method `close`, that is called at the end: worker processes end there.
    """

    finished: bool  # all samples that were asked for have been used

    def run(self, iterations: int) -> int:
        """The next iterations, each with its row of the history. Returns how many: fewer if training was stopped."""


def learn(
    agent: Agent, iterations: int | None, rollouts: int | None, samples: int | None, progress: bool | None,
    callback: "Callbacks | None",
) -> History:  # fmt: skip
    """Train one agent, and show how far it is; see `Agent.learn`."""
    wanted, unit = goal([agent], iterations, samples), "iterations" if samples is None else "samples"
    stop = threading.Event()
    with working(_title(agent), progress, wanted, unit), stop_on_interrupt(stop):
        history = train(agent, iterations, rollouts, samples, callback, stop)
        notes = shortcomings(agent, hurry=stop.is_set())
    agent.state.notes = (INTERRUPTED, *notes) if stop.is_set() else notes
    return history


def train(
    agent: Agent, iterations: int | None, rollouts: int | None, samples: int | None, callback: "Callbacks | None",
    stop: threading.Event, conclude: bool = True,
) -> History:  # fmt: skip
    """Train one agent. `stop`: set by whoever wants an end. `conclude`: its controller is found, too."""
    wanted, by_samples, judged = goal([agent], iterations, samples), samples is not None, agent.card.judged
    iterations = 2**62 if by_samples else wanted
    if rollouts is None:
        rollouts = agent.problem.rollouts if judged else 0
    rollouts = whole("rollouts", rollouts, int(judged), 10**6)
    if not agent.problem.can_run:
        name = agent.problem.name
        raise SpaqlError(f"{name} has no plant to learn on: use update(), or load the file with problem=...")
    calls, state = Calls(callback), agent.state
    if len(state.history) == 0:
        state.outer[TRAIN_SAMPLES] = max(state.outer[TRAIN_SAMPLES], agent.problem.map_samples)
    agent._interrupted, called_off, started = False, False, time.perf_counter()
    with (
        stop_on_interrupt(stop),
        _called(calls, agent, wanted, by_samples),
        contextlib.ExitStack() as exits,
    ):
        loop: Loop = resolve(agent.card.loop)(agent, rollouts, stop, samples)
        exits.callback(getattr(loop, "close", lambda: None))
        done, stretch, used = 0, 1, float(state.outer[TRAIN_SAMPLES])
        while done < iterations and not stop.is_set() and not called_off and not (by_samples and loop.finished):
            begin = time.perf_counter()
            agent.before_training()
            tried = min(stretch, iterations - done, calls.room(len(state.history)))
            more = loop.run(tried)
            done += more
            so_far = float(state.outer[TRAIN_SAMPLES]) - used if by_samples else done
            getattr(loop, "tell", advance)(so_far, _note(agent))
            with state.guard.pause():  # here the agent is whole: other threads may look at it
                called_off = more > 0 and not calls(agent)
            taken = max(time.perf_counter() - begin, 1e-6)
            stretch = max(1, min(2 * stretch, int(tried * STRETCH_SECONDS / taken)))
        finished = loop.finished if by_samples else done >= iterations
        if conclude:
            agent.conclude(stop)
    agent._interrupted, agent._seconds = not finished or stop.is_set(), time.perf_counter() - started
    return agent.history


@contextlib.contextmanager
def _called(calls: Calls, agent: Agent, wanted: int, by_samples: bool) -> Iterator[None]:
    """Calls `begin` of the callbacks and, whatever happens, `end`."""
    try:
        with agent.state.guard.pause():
            calls.begin(agent, f"{wanted:,} {'samples' if by_samples else 'iterations'}")
        yield
    finally:
        with agent.state.guard.pause():
            calls.end(agent)


def learn_all(
    agents: Sequence[Agent],
    iterations: int | None = None,
    rollouts: int | None = None,
    *,
    samples: int | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
    callbacks: "Callable[[Agent], Callbacks] | None" = None,
) -> list[History]:
    """Train several agents in parallel on all cores: compiled plants run in threads without the interpreter lock.

    Every agent gets the same bits as alone. Agents on Gymnasium environments are trained one after the other. Ctrl-C
    ends the training of all agents after their current stretch; each keeps what it has learned.

    `callbacks(agent)` makes the callbacks of one agent, as `learn(callback=...)` takes them: agents do not share
    callbacks, because most callbacks have a state. They are called in the thread that trains the agent.

    Controllers that come out badly bring one `SpaqlWarning`, with the notes of the first of these agents.
    """
    histories = train_all(agents, iterations, rollouts, samples, jobs, progress, callbacks)
    bad = [agent for agent in agents if agent.notes]
    if bad:
        others = f" (and {len(bad) - 1} more of {len(agents)} agents: see agent.notes)" if len(bad) > 1 else ""
        bad[0].warn(3, others)
    return histories


def train_all(
    agents: Sequence[Agent], iterations: int | None, rollouts: int | None, samples: int | None, jobs: int | None,
    progress: bool | None, callbacks: "Callable[[Agent], Callbacks] | None",
) -> list[History]:  # fmt: skip
    """`learn_all` without warnings: for whoever shows the notes of the agents."""
    if callbacks is not None and (not callable(callbacks) or isinstance(callbacks, Callback)):
        raise SpaqlError("callbacks must be a function that makes those of one agent: callbacks=lambda agent: [...]")
    agents = items("agents", agents)
    states = {id(agent.state) for agent in agents if isinstance(agent, Agent)}
    if len(states) != len(agents):
        raise SpaqlError("learn_all takes a list of different agents")
    wanted = goal(agents, iterations, samples)
    jobs = whole("jobs", jobs if jobs is not None else os.cpu_count() or 1, 1)
    if any(agent.problem.plant is None for agent in agents):
        jobs = 1
    calls = [None if callbacks is None else callbacks(agent) for agent in agents]
    stop = threading.Event()
    with stop_on_interrupt(stop), display(progress) as shown:
        titles = [f"{agent.algorithm}, seed {agent.seed}" if len(agents) > 1 else _title(agent) for agent in agents]
        tasks = [shown.task(title, wanted, "iterations" if samples is None else "samples") for title in titles]

        def train_one(agent: Agent, index: int) -> History:
            with doing(tasks[index]), agent.state.guard.write(training=True):
                history = train(agent, iterations, rollouts, samples, calls[index], stop)
                agent.state.notes = shortcomings(agent, hurry=stop.is_set())
                return history

        with ThreadPoolExecutor(jobs) as pool:
            pending = [pool.submit(train_one, agent, index) for index, agent in enumerate(agents)]
            left = set(pending)
            while left:  # a signal that comes just before a wait without end would be heard at its end only
                done, left = wait(left, STRETCH_SECONDS, FIRST_COMPLETED)
                if any(future.exception() is not None for future in done):
                    stop.set()  # the other agents end after their current stretch
        return [future.result() for future in pending]


def goal(agents: Sequence[Agent], iterations: int | None, samples: int | None) -> int:
    """How many iterations or samples to learn for, checked."""
    others = [agent.algorithm for agent in agents if agent.card.learns_by != "samples"]
    if samples is not None and others:
        counting = ", ".join(card.name for card in learners() if card.learns_by == "samples")
        raise SpaqlError(f"{others[0]} does not learn by samples, only {counting}: give it iterations")
    if not others and (iterations is None) == (samples is None):
        raise SpaqlError("say how long to learn by one of the two: learn(samples=...) or learn(iterations=...)")
    most = 10**12 if all(agent.card.simulator for agent in agents) else 10**9
    return whole("iterations", iterations, 1) if samples is None else whole("samples", samples, 1, most)


def _title(agent: Agent) -> str:
    return f"{agent.algorithm} on {agent.problem.name}"


def _note(agent: Agent) -> str:
    history = agent.history
    if not len(history):
        return ""
    seen = f"{history.best_seen[-1]:.1f}"
    if agent.card.simulator:
        return f"best law {seen}"
    return f"best seen {seen}" if agent.card.judged else f"last episode {seen}"
