"""Episodes, step responses, the worst episode and sizes of trees, as the explanation page shows them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from spaql.analysis.episode_figure import Panel, panels_of
from spaql.compress.frontier import FrontierPoint
from spaql.ground.arrays import Array
from spaql.plants.loop import can_restate
from spaql.policy.evaluation import Evaluation
from spaql.policy.policy import Policy
from spaql.policy.probe_results import Worst
from spaql.policy.words import number, percent
from spaql.report.shell import inline_svg, one_plain, plain
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
        episodes = [policy.episode(0, place) for place in picked(returns, count)]
        of = len(returns)
    else:  # in an environment only the first rollout of a seed can be repeated
        rollouts = [policy.episode(seed) for seed in range(count)]
        earned = np.array([episode.rewards.sum() for episode in rollouts])
        episodes = [rollouts[place] for place in picked(earned, count)]
        of = count
    totals = [float(episode.rewards.sum()) for episode in episodes]
    steps = max(MOST_NUMBERS // (len(episodes) * len(problem.state)), 50)
    said = [_episode(episode, label, steps) for episode, label in zip(episodes, labels(totals, of), strict=True)]
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


# -- step responses and the worst episode, as the explanation page shows them ------------------------------------------

def step_views(policy: Policy) -> list[dict[str, Any]]:
    """One for every reference that a variable follows: a drawing, and what was measured."""
    from spaql.analysis.control_figures import step_sheet
    from spaql.analysis.style import svg_of

    problem, views = policy.problem, []
    if problem.signals is None or problem.horizon < 2 or not can_restate(problem):
        return []
    for k, reference in enumerate(reference for reference in problem.signals.references if reference.of is not None):
        response, title = policy.step_response(reference.name), f"Step response of {reference.of}"
        with step_sheet(response) as figure:
            drawing = svg_of(figure, f"step{k + 1}", title)
        views.append({"title": title, "jump": response.jump, "rows": response.rows()})
        views[-1]["drawing"] = inline_svg(drawing, f"response-{k + 1}", title)
    return views


def worst_view(worst: Worst) -> dict[str, Any]:
    """The drawing with the typical episode behind it, and what was found."""
    from spaql.analysis.episode_figure import episode_sheet
    from spaql.analysis.style import svg_of

    title = "The worst episode that was found, and a typical one"
    with episode_sheet(worst.episode, worst) as figure:
        drawing = svg_of(figure, "worst", title)
    rows = [(name, text.replace("\N{NO-BREAK SPACE}", " ")) for name, text in worst.rows()]
    by = {"return": "lowest return", "limits": "largest excess over a limit"}[worst.by]
    return {
        "title": title,
        "by": by,
        "tried": f"{worst.tried:,}",
        "compiled": worst.problem.plant is not None,
        "rows": rows,
        "drawing": inline_svg(drawing, "worst-episode", title),
    }


# -- all sizes of tree that a compression found, as the explanation page draws them ------------------------------------

def frontier(sizes: list[FrontierPoint], chosen: int, own: Evaluation | None) -> dict[str, Any] | None:
    """All sizes of tree that a compression found: places in a picture of 100 by 100, and the numbers."""
    if not sizes:
        return None
    points = [frontier_point(point) for point in sizes]
    level = None if own is None else own.mean
    ends = [value for point in points for value in (point["low"], point["high"])] + ([] if level is None else [level])
    bottom, top = min(ends), max(ends)
    room = 0.06 * (top - bottom) or 1.0
    bottom, top = bottom - room, top + room
    most = max(2, *(point["leaves"] for point in points))
    for point in points:
        point["x"] = 100 * math.log(point["leaves"]) / math.log(most)
        point["y"], point["y_low"], point["y_high"] = (
            100 * (top - point[name]) / (top - bottom) for name in ("mean", "low", "high")
        )
        point["chosen"] = point["leaves"] == chosen
    marks = [value for value in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if value <= most]
    return {
        "points": points,
        "level": None if level is None else 100 * (top - level) / (top - bottom),
        "level_text": None if level is None else number(level),
        "x_ticks": [(100 * math.log(value) / math.log(most), value) for value in marks],
        "y_ticks": [(100 * (top - value) / (top - bottom), number(value)) for value in round_numbers(bottom, top)],
    }


def round_numbers(low: float, high: float) -> list[float]:
    """Two to five values between both, at steps of 1, 2 or 5 times a power of ten."""
    size = 10.0 ** math.floor(math.log10(high - low))
    step = next(part * size for part in (2.0, 1.0, 0.5) if (high - low) >= 2.0 * part * size)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def frontier_point(one: FrontierPoint) -> dict[str, Any]:
    low, high = one.ci95
    texts = {"interval": f"{number(low)} … {number(high)}", "mean_text": number(one.mean)}
    texts["fidelity"] = percent(one.fidelity) if math.isfinite(one.fidelity) else "–"
    return {"leaves": one.leaves, "mean": one.mean, "low": low, "high": high} | texts
