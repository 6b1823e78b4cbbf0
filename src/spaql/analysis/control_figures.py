"""Step responses, proofs and learning curves as pictures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis import style
from spaql.analysis.episode_figure import LIMIT, draw_limit, fit_actions
from spaql.ground.arrays import Array
from spaql.ground.colours import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION
from spaql.ground.errors import SpaqlError, echoed
from spaql.policy.digits import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from spaql.learners.history import History
    from spaql.policy.probe_results import StepResponse
    from spaql.proofs.proof import Proof

TALL, PANEL = 2.1, 1.1  # inches, the height of the first panel and of the others
BEFORE = 0.15  # of the time after the jump, so much is shown before it
REFERENCE: dict[str, Any] = {"color": GREY, "linewidth": 1.3, "linestyle": "--"}


def step_figure(response: "StepResponse", path: str | PathLike[str] | None) -> "Figure":
    """See `StepResponse.plot`."""
    with step_sheet(response, path) as figure:
        return figure


@contextmanager
def step_sheet(response: "StepResponse", path: str | PathLike[str] | None = None) -> Iterator["Figure"]:
    """A figure of the response."""
    others = _limited(response)
    with style.sheet(TALL + PANEL * (response.inputs.shape[1] + len(others)) + 0.7, path=path) as figure:
        _draw(response, figure, others)
        yield figure


def _draw(response: "StepResponse", figure: "Figure", others: list[int]) -> None:
    """`others`: measured variables with a panel of their own, because they are limited."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    signals = response.episode.problem.signals if response.episode.problem is not None else None
    assert signals is not None
    dt, at = response.dt, response.at
    begin = max(0, at - round(BEFORE * (response.outputs.shape[1] - 1 - at)))
    outputs, inputs, variables = response.outputs[:, begin:], response.inputs[begin:], response.variables[begin:]
    heights = [TALL, *[PANEL] * (inputs.shape[1] + len(others))]
    axes = list(figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])
    time = (np.arange(outputs.shape[1]) + begin - at) * dt
    for row in outputs[:0:-1]:  # the first one on top
        axes[0].plot(time, row, color=BLUE, linewidth=0.7, alpha=0.35)
    axes[0].plot(time, np.where(time < 0.0, response.start, response.to), drawstyle="steps-post", **REFERENCE)
    axes[0].plot(time, outputs[0], color=BLUE, linewidth=1.7)
    band = response.tolerance * abs(response.to - response.start)
    axes[0].fill_between([0.0, time[-1]], response.to - band, response.to + band, color=GREEN, alpha=0.22, linewidth=0)
    axes[0].set_ylabel(style.axis_label(response.output, response.unit))
    for j in range(inputs.shape[1]):
        axis = axes[1 + j]
        axis.stairs(inputs[:, j], time[: len(inputs) + 1], baseline=None, color=ORANGE, linewidth=1.4)
        fit_actions(axis, signals.actuator, j)
        units = signals.actuator.units
        axis.set_ylabel(style.axis_label(signals.action_names[j], units[j] if units else ""))
    for axis, place in zip(axes[1 + inputs.shape[1] :], others, strict=True):
        values = variables[:, place]
        axis.plot(time[: len(values)], values, color=BLUE)
        axis.set_ylabel(style.axis_label(signals.measured[place].name, signals.measured[place].unit))
    drawn = _draw_limits(response, axes, others)
    axes[-1].set_xlim(float(time[0]), float(time[-1]))
    axes[-1].set_xlabel("time after the step (s)")
    figure.align_ylabels(axes)
    figure.suptitle(_title(response), fontsize=9, fontweight="bold", x=0.01, ha="left")
    entries: list[Any] = [
        Line2D([], [], color=BLUE, label="output"),
        Line2D([], [], label="reference", **REFERENCE),
        Patch(color=GREEN, alpha=0.3, linewidth=0, label=f"±{number(100.0 * response.tolerance)} % of the step"),
        Line2D([], [], color=ORANGE, label="input"),
    ]
    style.legend(figure, entries + ([Line2D([], [], label="limit", **LIMIT)] if drawn else []))


def _limited(response: "StepResponse") -> list[int]:
    """Measured variables, other than the output, that have a limit."""
    problem = response.episode.problem
    assert problem is not None
    assert problem.signals is not None
    names = {limit.variable for limit in problem.limits} - {response.output}
    return [j for j, axis in enumerate(problem.signals.measured) if axis.name in names]


def _draw_limits(response: "StepResponse", axes: list["Axes"], others: list[int]) -> bool:
    """Those on measured variables and on what is applied."""
    problem = response.episode.problem
    assert problem is not None
    assert problem.signals is not None
    inputs = problem.signals.action_names
    where = {response.output: 0} | {name: 1 + j for j, name in enumerate(inputs)}
    where |= {problem.signals.measured[j].name: 1 + len(inputs) + n for n, j in enumerate(others)}
    drawn = [limit for limit in problem.limits if limit.variable in where]
    for limit in drawn:
        draw_limit(axes[where[limit.variable]], limit.low, limit.high)
    return bool(drawn)


def _title(response: "StepResponse") -> str:
    parts = [] if np.isnan(response.rise_time) else [f"rise {number(response.rise_time, 3)} s"]
    parts += [] if np.isnan(response.overshoot) else [f"overshoot {number(response.overshoot, 3)} %"]
    settled = (
        "not settled" if np.isnan(response.settling_time) else f"settled after {number(response.settling_time, 3)} s"
    )
    return f"{response.problem}, {response.jump}: {', '.join([*parts, settled])}"


# -- a theorem in two of the plant's variables: starts, what is open, where the loop stays or arrives ------------------


PROOF_HEIGHT = 3.6  # inches
Range = tuple[float, float]


def proof_figure(proof: "Proof", path: str | PathLike[str] | None, x: str | None, y: str | None) -> "Figure":
    """See `Proof.plot`."""
    across, up = _shown(proof, x, y)
    with style.sheet(PROOF_HEIGHT, path=path) as figure:
        axes = figure.subplots()
        style.legend(figure, _draw_proof(axes, proof, across, up))
        axes.set_xlabel(proof.claim.variables[across])
        axes.set_ylabel(proof.claim.variables[up])
    return figure


def _shown(proof: "Proof", x: str | None, y: str | None) -> tuple[int, int]:
    """The places of two variables: those asked for, else the two whose starts are widest."""
    names = proof.claim.variables
    for name in (x, y):
        if name is not None and name not in names:
            raise SpaqlError(f"a proof has no variable {echoed(name)}: choose among {', '.join(names)}")
    if len(names) < 2 or (x is not None and x == y):
        raise SpaqlError("a picture needs two different variables")
    width = np.diff(np.array(proof.claim.start), axis=1)[:, 0]
    free = [j for j in np.argsort(-width, kind="stable").tolist() if names[j] not in (x, y)]
    across, up = (free.pop(0) if name is None else names.index(name) for name in (x, y))
    return (across, up) if x is not None or y is not None else (min(across, up), max(across, up))


def _draw_proof(axes: "Axes", proof: "Proof", across: int, up: int) -> list[Any]:
    """What the theorem says, the largest below; entries of the legend."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Patch

    claim, entries = proof.claim, []
    start = np.array(claim.start)
    proven = Patch(facecolor=SKY, alpha=0.5, label="starts that are proven")
    if proof.evidence:
        axes.add_patch(_rectangle(start[across], start[up], facecolor=SKY, alpha=0.5))
        entries.append(proven)
    if proof.open:
        boxes = [_rectangle(box[across], box[up]) for box in np.array(proof.open)]
        axes.add_collection(PatchCollection(boxes, facecolor=VERMILION, edgecolor=VERMILION, linewidth=0.3))
        entries.append(Patch(facecolor=VERMILION, label="open"))
    outlines = (
        (proof.bound if proof.evidence else {}, BLUE, "-", "never left"),
        (claim.never or {}, GREY, "--", "asked: never left"),
        (claim.reach if isinstance(claim.reach, dict) else {}, GREEN, "-", "reached and kept"),
    )
    axes.autoscale_view()
    for bounds, colour, dashes, label in outlines:
        ends = [bounds.get(claim.variables[j]) for j in (across, up)]
        if any(ends):
            entries.append(_outline(axes, ends, colour, dashes, label))
    axes.autoscale_view()
    return entries


def _rectangle(across: Array, up: Array, **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((across[0], up[0]), across[1] - across[0], up[1] - up[0], **style)


def _outline(axes: "Axes", ends: list[Range | None], colour: str, dashes: str, label: str) -> Any:
    """A box, or two lines where one of the variables has no bounds."""
    line: dict[str, Any] = {"color": colour, "linestyle": dashes, "linewidth": 1.3}
    across, up = ends
    if across is not None and up is not None:
        (left, right), (low, high) = across, up
        return axes.plot([left, right, right, left, left], [low, low, high, high, low], label=label, **line)[0]
    draw = axes.axvline if up is None else axes.axhline
    lines = [draw(at, label=label, **line) for at in (across if up is None else up) or ()]
    return lines[0]


# -- the learning curve that `spaql train` leaves ----------------------------------------------------------------------


def learning_curve(histories: Sequence["History"], algorithm: str, problem: str, path: Path) -> None:
    """Best seen and arms over iterations: mean over the agents with its 95 % interval, every agent as a thin line."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    length, colour, count = min(len(history) for history in histories), style.COLOURS[algorithm], len(histories)
    chosen = style.thinned(length)
    look: dict[str, Any] = {"color": colour, "linewidth": 1.8}
    with style.sheet(3.1) as figure:
        axes = figure.subplots(1, 2)
        for axis, field, label in zip(axes, ("best_seen", "arms"), ("best average return seen", "arms"), strict=True):
            values = np.array([getattr(history, field)[chosen] for history in histories], float)
            mean, half = style.mean_and_half(values)
            if half is not None:
                low = np.maximum(mean - half, 1.0) if field == "arms" else mean - half
                axis.fill_between(chosen + 1, low, mean + half, color=colour, alpha=style.BAND, linewidth=0)
                axis.plot(chosen + 1, values.T, color=colour, linewidth=0.5, alpha=0.5)
            axis.plot(chosen + 1, mean, **look)
            axis.set_ylabel(label)
            style.episodes(axis, length)
        axes[1].set_yscale("log")
        axes[1].set_ylim(bottom=0.8 * float(mean.min()))
        style.plain_log(axes[1], "y")
        style.letters(list(axes), [f"{algorithm} on {problem}", "size"])
        entries = [Line2D([], [], label=f"mean of {count} agents" if count > 1 else "one agent", **look)]
        if count > 1:
            entries.append(Line2D([], [], color=colour, linewidth=0.5, alpha=0.5, label="single agents"))
            band = Patch(color=colour, alpha=style.BAND, linewidth=0, label="95 % interval of the mean")
            entries.append(band)  # type: ignore[arg-type]
        style.legend(figure, entries)
        style.write(path, style.png_of(figure))
