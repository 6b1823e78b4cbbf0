"""Learning from a log."""

import threading
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.data.log import Log, read_log
from spaql.ground.checks import flag, whole
from spaql.ground.errors import SpaqlError
from spaql.ground.interrupts import stop_on_interrupt
from spaql.ground.progress import at_work, working
from spaql.training.trainer import assess

if TYPE_CHECKING:
    from spaql.learners.agent import Agent


@dataclass(frozen=True)
class Replayed:
    """What was learned from a log."""

    name: str
    samples: int  # learning steps made
    rows: int
    episodes: int
    left_out: int  # rows whose next state is not known
    interrupted: bool = False  # by Ctrl-C: the samples before were learned

    def __str__(self) -> str:
        rows = f"{self.rows:,} rows (episodes: {self.episodes:,})"
        left = f"; rows that only say where the step before led: {self.left_out:,}" if self.left_out else ""
        return f"{self.name}: {self.samples:,} learning steps from {rows}{left}"


@working("learning from the log")
def replay(agent: "Agent", log: Any, passes: int, gaps: bool) -> Replayed:
    """See `Agent.replay`."""
    card = agent.card
    if not card.takes_data:
        remedy = "make a plant of the log, with spaql.from_data" if card.learns else "choose a learner that does"
        raise SpaqlError(f"{card.name} does not learn from logs, only on a plant: {remedy}")
    passes = whole("passes", passes, 1, 10**6)
    if card.model_based and passes > 1:
        raise SpaqlError(f"{card.name} keeps all data and plans with all of it: one pass is enough (passes=1)")
    data = read_log(agent.problem, log, flag("gaps", gaps))
    if card.per_step:
        _within_horizon(agent, data)
    if data.ends_left_out:
        warnings.warn(
            f"{data.name}: {data.ends_left_out} episodes terminate in their last row, "
            "and without next_ columns it is not known where: these steps are not learned; "
            "log the final observation too, as one more row or in next_ columns",
            stacklevel=3,
        )
    done, stop = 0, threading.Event()
    with stop_on_interrupt(stop):
        while done < passes * len(data) and not stop.is_set():
            i = done % len(data)
            state, action, reward, after = data.states[i], data.actions[i], data.rewards[i], data.nexts[i]
            # for a learner that keeps all data an episode begins with step 0, whatever the log calls its first step
            step = 0 if card.model_based and data.first[i] else int(data.steps[i])
            agent.update(state, action, reward, after, bool(data.terminated[i]), step)
            done += 1
            if done % 1000 == 0:
                at_work("learning from the log", done, passes * len(data))
        agent.conclude(stop)
        assess(agent, stop.is_set())
    return Replayed(data.name, done, data.rows, data.episodes, data.left_out, stop.is_set())


def _within_horizon(agent: "Agent", data: Log) -> None:
    late = np.flatnonzero(data.steps >= agent.problem.horizon)
    if len(late):
        raise SpaqlError(
            f"{data.name}: step {int(data.steps[late[0]])} is beyond the horizon of {agent.problem.name}, "
            f"{agent.problem.horizon} steps, and {agent.algorithm} has a policy per step: "
            "cut the episodes, or make the problem with a longer horizon; nothing was learned"
        )
