"""Writing logs: rollouts of an agent, of a policy, or of random actions."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.data.table import ENDINGS, action_columns, named_actions, next_columns, state_columns
from spaql.ground.checks import checked_path, flag, whole
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work
from spaql.ground.writing import cell, check_file, write_whole
from spaql.learners.agent import Agent
from spaql.learners.random import Random
from spaql.plants.problem import Finite, Problem
from spaql.policy.policy import Policy

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
