"""Logs are written (rollouts of an agent, of a policy, or of random actions), and agents learn from them."""

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.data.log import Log, read_log
from spaql.data.table import ENDINGS, action_columns, named_actions, next_columns, state_columns
from spaql.ground.checks import checked_path, flag, whole
from spaql.ground.errors import SpaqlError
from spaql.ground.interrupts import stop_on_interrupt
from spaql.ground.progress import at_work, working
from spaql.ground.writing import cell, check_file, write_whole
from spaql.learners.agent import Agent
from spaql.learners.random import Random
from spaql.plants.problem import Finite, Problem
from spaql.policy.policy import Policy
from spaql.training.acceptance import shortcomings

if TYPE_CHECKING:
    from spaql.training.episode import Episode


def record(
    who: Problem | Agent | Policy,
    path: str | PathLike[str] | None = None,
    *,
    episodes: int = 50,
    seed: int = 0,
    deterministic: bool = False,
) -> Any:
    """Rollouts as a log: a data frame with one row per step, written to `path` (.csv or .parquet) if there is one.

    `who` acts: an agent or a policy; for a problem, actions are random. Columns of actions have the names of the
    actions. On compiled plants these are rollouts 0, 1, ... of `evaluate(seed=seed)`; in Gymnasium environments,
    episode i begins as rollout 0 of `evaluate(seed=seed + i)`.
    """
    import pandas

    count, first = whole("episodes", episodes, 1, 10**6), whole("seed", seed, 0)
    target = None if path is None else log_target(path)
    problem, run = _runner(who, first, flag("deterministic", deterministic))
    names, following = state_columns(problem), next_columns(problem)
    acting = named_actions(problem) or action_columns(problem)
    parts = []
    for number in range(count):
        at_work("recording episodes", number, count)
        episode = run(first, number) if problem.plant is not None else run(first + number, 0)
        n = len(episode)
        last = np.arange(n) == n - 1
        columns: dict[str, Any] = {"episode": np.full(n, number), "step": np.arange(n)}
        columns |= {name: episode.observations[:-1, j] for j, name in enumerate(names)}
        whole_numbers = isinstance(problem.actions, Finite) and not problem.actions.box and problem.actions.consecutive
        actions = episode.actions.astype(np.int64 if whole_numbers else float)
        columns |= {name: actions[:, j] for j, name in enumerate(acting)}
        columns["reward"] = episode.rewards
        columns["terminated"], columns["truncated"] = last & episode.terminated, last & (not episode.terminated)
        columns |= {name: episode.observations[1:, j] for j, name in enumerate(following)}
        parts.append(pandas.DataFrame(columns))
    frame = pandas.concat(parts, ignore_index=True)
    if target is not None:
        write_log(frame, target)
    return frame


def write_log(frame: Any, path: Path) -> None:
    """The file appears whole or not at all. Numbers are written so that reading them gives the same bits."""
    if path.name.lower().endswith(".parquet"):
        write_whole(path, lambda file: frame.to_parquet(file, index=False))
    else:
        packed = "gzip" if path.name.lower().endswith(".gz") else None
        heads = [cell(str(name)) for name in frame.columns]
        write_whole(path, lambda file: frame.to_csv(file, index=False, header=heads, compression=packed))


def log_target(path: str | PathLike[str]) -> Path:
    """Where a log can be written, checked before the work."""
    target = checked_path(path)
    if not target.name.lower().endswith(ENDINGS):
        raise SpaqlError(f"{target.name}: a log is a .csv or .parquet file; choose such a name")
    check_file(target)
    return target


def _runner(who: Any, seed: int, deterministic: bool) -> "tuple[Problem, Callable[[int, int], Episode]]":
    if isinstance(who, Problem):
        who = Random(who, seed=seed)
    if isinstance(who, Agent) and who.card.model_based:
        who = who.policy()  # so that the learner plans once, not for every episode
    if isinstance(who, Policy):
        return who.problem, who.episode
    if not isinstance(who, Agent):
        raise SpaqlError(f"record takes a problem, an agent or a policy, not {type(who).__name__}")
    agent = who
    return agent.problem, lambda first, rollout: agent.episode(first, rollout, deterministic=deterministic)


# -- learning from a log -----------------------------------------------------------------------------------------------


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
def replay(agent: Agent, log: Any, passes: int, gaps: bool) -> Replayed:
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
        agent.state.notes = shortcomings(agent, hurry=stop.is_set())
    return Replayed(data.name, done, data.rows, data.episodes, data.left_out, stop.is_set())


def _within_horizon(agent: Agent, data: Log) -> None:
    late = np.flatnonzero(data.steps >= agent.problem.horizon)
    if len(late):
        raise SpaqlError(
            f"{data.name}: step {int(data.steps[late[0]])} is beyond the horizon of {agent.problem.name}, "
            f"{agent.problem.horizon} steps, and {agent.algorithm} has a policy per step: "
            "cut the episodes, or make the problem with a longer horizon; nothing was learned"
        )
