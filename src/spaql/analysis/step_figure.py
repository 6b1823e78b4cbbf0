"""A step response as a picture: reference, output, input, limits."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.episode_figure import LIMIT, draw_limit, fit_actions
from spaql.analysis.style import axis_label, legend, sheet, write_as
from spaql.ground.colours import BLUE, GREEN, GREY, ORANGE
from spaql.ground.writing import form_of
from spaql.policy.digits import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from spaql.policy.probe_results import StepResponse

TALL, PANEL = 2.1, 1.1  # inches, the height of the first panel and of the others
BEFORE = 0.15  # of the time after the jump, so much is shown before it
REFERENCE: dict[str, Any] = {"color": GREY, "linewidth": 1.3, "linestyle": "--"}


def step_figure(response: "StepResponse", path: str | PathLike[str] | None) -> "Figure":
    """See `StepResponse.plot`."""
    if path is not None:
        form_of(path)
    with step_sheet(response) as figure:
        if path is not None:
            write_as(figure, path)
    return figure


@contextmanager
def step_sheet(response: "StepResponse") -> Iterator["Figure"]:
    """A figure of the response."""
    others = _limited(response)
    with sheet(TALL + PANEL * (response.inputs.shape[1] + len(others)) + 0.7) as figure:
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
    axes[0].set_ylabel(axis_label(response.output, response.unit))
    for j in range(inputs.shape[1]):
        axis = axes[1 + j]
        axis.stairs(inputs[:, j], time[: len(inputs) + 1], baseline=None, color=ORANGE, linewidth=1.4)
        fit_actions(axis, signals.actuator, j)
        units = signals.actuator.units
        axis.set_ylabel(axis_label(signals.action_names[j], units[j] if units else ""))
    for axis, place in zip(axes[1 + inputs.shape[1] :], others, strict=True):
        values = variables[:, place]
        axis.plot(time[: len(values)], values, color=BLUE)
        axis.set_ylabel(axis_label(signals.measured[place].name, signals.measured[place].unit))
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
    legend(figure, entries + ([Line2D([], [], label="limit", **LIMIT)] if drawn else []))


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
