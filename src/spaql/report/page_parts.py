"""What the explanation page shows of episodes, step responses, the worst episode, sizes of trees, and laws."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from spaql.analysis.episode_figure import Panel, panels_of
from spaql.compress.frontier import FrontierPoint
from spaql.export.drawing import ENDS, NAMED, colour_of, has_named
from spaql.export.json_form import KINDS
from spaql.ground.arrays import Array
from spaql.plants.loop import can_restate
from spaql.policy.digits import counted
from spaql.policy.evaluation import Evaluation
from spaql.policy.policy import Policy
from spaql.policy.probe_results import Worst
from spaql.policy.words import Words, number, percent
from spaql.report.shell import inline_svg, minus, one_plain, plain
from spaql.training.episode import Episode
from spaql.trees.laws import CLIP, ORDERED, THRESHOLD, LeafLaws
from spaql.trees.regions import constant_of
from spaql.trees.tree import LEAF, Tree

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


# -- laws: coefficients, words, and the colours a law can apply --------------------------------------------------------


def laws_of(tree: Tree) -> dict[str, Any] | None:
    """The laws to the last bit, by leaf. None: leaves are constant actions."""
    laws = tree.laws
    if laws is None:
        return None
    leaves, held = tree.leaves().tolist(), laws.kind in (CLIP, ORDERED)  # other scores are held nowhere
    return {
        "kind": KINDS[laws.kind],
        "gains": {str(leaf): laws.gains[leaf].tolist() for leaf in leaves},
        "offsets": {str(leaf): laws.offsets[leaf].tolist() for leaf in leaves},
        "low": laws.low.tolist() if held else None,
        "high": laws.high.tolist() if held else None,
        "values": laws.values.tolist(),
    }


def said_of_laws(words: Words) -> dict[str, Any]:
    """By leaf its laws, one line for each axis of the action, and broken for boxes; values of actions."""
    if words.law_words is None:
        return {}
    leaves = words.tree.leaves().tolist()
    return {
        "law": {str(leaf): [signed(line) for line in words.laws(leaf)] for leaf in leaves},
        "lines": {str(leaf): law_lines(words, leaf) for leaf in leaves},
        "rules": [f"Rule {i}: {signed(' and '.join(words.rule(leaf)))}" for i, leaf in enumerate(leaves, 1)],
        "values": [[value, minus(text)] for value, text in words.law_words.values.items()],
    }


def law_lines(words: Words, leaf: int) -> list[str]:
    """What a leaf does, broken where one would pause."""
    return [signed(line) for line in words.leaf_lines(leaf)]


def signed(text: str) -> str:
    """Real minus signs in a sum, also between its parts and before a variable alone."""
    return re.sub(r"(?<![^\s(])-(?=[\s\w])", "−", minus(text))


def spoken(words: Words, text: str) -> str:
    """A test beside laws has their signs."""
    return text if words.law_words is None else signed(text)


def law_verdict(shown: Policy, made_from: Policy | None) -> str:
    """What the controller is. `made_from`: the larger one that it may differ from."""
    text = f"The controller is {'one law' if shown.n_leaves == 1 else f'{shown.n_leaves:,} laws'}"
    text += f" with {counted(shown.numbers, 'number')} to read{', tests included' if shown.n_leaves > 1 else ''}."
    if made_from is not None:
        size = counted(made_from.n_leaves, "law" if made_from.has_laws else "region")
        text += f" It was found by compressing a controller of {size}, and may differ from it."
    return text + " A law computes the action from the state. Nothing in it is random."


# -- colours -----------------------------------------------------------------------------------------------------------


def swatches(policy: Policy) -> dict[int, str]:
    """By leaf, as a background: the colours its law can apply along the first axis; of a constant, its own."""
    laws, actions = policy.rules.laws, policy.problem.actions
    assert laws is not None
    several = "linear-gradient(to right, " + ", ".join(f"rgb({r} {g} {b})" for r, g, b in ENDS) + ")"
    if has_named(actions):
        values = laws.values[[0, -1]] if laws.kind == THRESHOLD else laws.values
        several = _stripes([colour_of(actions, value) for value in values.tolist()])
    fixed = {leaf: constant_of(laws, leaf) for leaf in policy.rules.leaves().tolist()}
    return {leaf: several if value is None else colour_of(actions, value) for leaf, value in fixed.items()}


def _stripes(colours: list[str]) -> str:
    n = len(colours)
    stops = [f"{colour} {100 * i / n:.4g}% {100 * (i + 1) / n:.4g}%" for i, colour in enumerate(colours)]
    return f"linear-gradient(to right, {', '.join(stops)})"


def rule_colours(tree: Tree) -> list[str]:
    """By leaf, from left to right, to tell laws from their neighbours; nothing to tell where there are none."""
    return [] if tree.laws is None else [NAMED[i % len(NAMED)] for i in range(tree.n_leaves)]


# -- variables ---------------------------------------------------------------------------------------------------------


def law_weights(tree: Tree, sizes: Array) -> Array:
    """How much each variable moves the scores within its range, from 0 to 1. `sizes`: of the ranges."""
    if tree.laws is None:
        return np.zeros(tree.variables)
    moved: Array = (np.abs(tree.laws.gains[tree.nodes["feature"] == LEAF]) * sizes).mean(axis=(0, 1))
    return moved / (moved.max() or 1.0)


def difference(laws: LeafLaws | None, one: Array, other: Array) -> float:
    """How much actions differ: of continuous ones the mean of the distance, of others how often they do."""
    if laws is None or laws.kind != CLIP:
        return float(np.any(one != other, axis=1).mean())
    return float((np.abs(one - other) / np.maximum(laws.high - laws.low, 1e-300)).mean())
