"""Recorded episodes, as the player of the explanation page shows them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from spaql.analysis.panels import Panel, panels_of
from spaql.arrays import Array
from spaql.policy.policy import Policy
from spaql.policy.worst import Worst
from spaql.report.shell import one_plain, plain
from spaql.training.episode import Episode

EPISODES = 6  # recorded for the page
MOST_NUMBERS = 60_000  # of recorded observations
LONG = 2_000  # steps of an episode that take a while to record


def recorded(policy: Policy, returns: Array, worst: Worst | None = None) -> list[dict[str, Any]]:
    """Some episodes, the typical episode first, then the worst one that a search has found, if there was a search.

    `returns`: of the rollouts of `policy.evaluate()`.
    """
    problem = policy.problem
    if not problem.can_run:
        return []
    count = EPISODES if problem.horizon <= LONG else 2
    if problem.plant is not None:
        found = [policy.episode(0, place) for place in picked(returns, count)]
        of = len(returns)
    else:  # in an environment only the first rollout of a seed can be repeated
        made = [policy.episode(seed) for seed in range(count)]
        found = [made[place] for place in picked(np.array([episode.rewards.sum() for episode in made]), count)]
        of = count
    totals = [float(episode.rewards.sum()) for episode in found]
    steps = max(MOST_NUMBERS // (len(found) * len(problem.state)), 50)
    said = [_episode(episode, label, steps) for episode, label in zip(found, labels(totals, of), strict=True)]
    if worst is not None:
        said.insert(1, _episode(worst.episode, "worst found by the search", steps))
    return said


def picked(returns: Array, count: int) -> list[int]:
    """The typical, the best and the worst episode, then episodes spread in between."""
    order = np.argsort(returns, kind="stable")
    last = len(order) - 1
    spread = [round(last * part / (count - 1)) for part in range(count)] if count > 1 else []
    ranks = list(dict.fromkeys([last // 2, last, 0, *spread, *range(last + 1)]))[:count]
    return [int(order[rank]) for rank in ranks]


def labels(totals: Sequence[float], of: int) -> list[str]:
    if len(totals) == 1 or max(totals) - min(totals) <= 1e-9 * max(1.0, abs(max(totals))):
        return [f"episode {place}" for place in range(1, len(totals) + 1)]
    named = ["typical", f"best of {of:,}", f"worst of {of:,}"]
    return (named + [f"another {place}" for place in range(1, len(totals))])[: len(totals)]


def _episode(episode: Episode, label: str, steps: int) -> dict[str, Any]:
    total = float(episode.rewards.sum())
    return {
        "label": label,
        "return": one_plain(total),
        "steps": len(episode),
        "terminated": episode.terminated,
        "observations": episode.observations[: steps + 1].tolist(),
        "returns": plain(np.cumsum(episode.rewards[:steps])),
        "rows": [_row(panel, steps) for panel in panels_of(episode)],
    }


def _row(panel: Panel, steps: int) -> dict[str, Any]:
    """What is drawn over the steps; `values`: null where the page has them, in its observations or from its laws."""
    own = panel.seen is None and (panel.action is None or panel.asked is not None)
    low, high = (None, None) if panel.among is None else (float(end[panel.among[1]]) for end in panel.among[0].bounds)
    end = steps + 1 if panel.among is None else steps
    return {
        "name": panel.name,
        "unit": panel.unit,
        "seen": panel.seen,
        "action": panel.action,
        "values": panel.values[:end].tolist() if own else None,
        "asked": panel.asked is not None,
        "reference": None if panel.reference is None else panel.reference[:end].tolist(),
        "followed": panel.followed,
        "ends": None if low is None else [low, high],
        "limits": [] if panel.limit is None else [end for end in panel.limit if math.isfinite(end)],
    }
