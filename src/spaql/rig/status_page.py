"""What came of trials, beside what was promised: in lines, and as the page of a rig."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import axis_label, sheet, svg_of, thinned
from spaql.ground.colours import BLUE, GREY, SKY, VERMILION
from spaql.policy.digits import counted, number
from spaql.report.shell import render, write_html
from spaql.rig.description import Description
from spaql.rig.folder import RigTrial, waiting
from spaql.rig.log_check import Checked, LogPiece

if TYPE_CHECKING:
    from matplotlib.axes import Axes

def outcome(described: Description, trial: RigTrial | None, checked: Checked) -> dict[str, Any]:
    """The return of a log, beside what was promised, and the limits that it touched."""
    piece: LogPiece = max(checked.pieces, key=lambda piece: (piece.first == 0, len(piece.u)))
    n = min(len(piece.u), described.steps)
    earned = float(described.paid(piece.y[: n + 1], piece.r[:n], piece.u[:n]).sum())
    whole = piece.first == 0 and n == described.steps
    touched = []
    names = [axis.name for axis in described.state]
    for limit in described.limits:
        for part in checked.pieces:
            values = part.y[:, names.index(limit.variable)]
            beyond = np.flatnonzero((values < limit.low) | (values > limit.high))
            if len(beyond):
                touched.append(
                    {"variable": limit.variable, "step": int(part.first + beyond[0]), "value": float(values[beyond[0]])}
                )
                break
    expected = None if trial is None else trial.expected
    inside = None
    if whole and expected is not None and expected["low"] is not None and not touched:
        inside = bool(expected["low"] <= earned <= expected["high"])
    return {
        "return": earned,
        "steps": n,
        "whole": whole,
        "inside": inside,
        "touched": touched,
        "notes": list(checked.notes),
    }


def outcome_lines(trial: RigTrial, described: Description, result: dict[str, Any]) -> list[str]:
    """What happened, beside what was promised."""
    expected = trial.expected
    said = f"{trial.name}: return {number(result['return'])} in {counted(result['steps'], 'step')}"
    if expected is None:
        said += ", kept as data: no controller of ours ran"
    elif result["inside"] is not None:
        promised = f"{number(expected['mean'])} (95 %: {number(expected['low'])} to {number(expected['high'])})"
        said += f", promised {promised}: {'inside' if result['inside'] else 'OUTSIDE, promises get wider'}"
    elif not result["whole"]:
        said += f" of {described.steps}: too short to be held against the promise"
    lines = [said]
    for touch in result["touched"]:
        lines.append(f"LIMIT touched: {touch['variable']} {number(touch['value'])} at step {touch['step']}")
    return [*lines, *(f"note: {note}" for note in result["notes"])]


# -- the page ----------------------------------------------------------------------------------------------------------


POOR = 0.5  # of the changes of a variable that the model misses
REACHED = 0.9  # of what references ask for, that the data should hold
TALL, ROW = 2.4, 1.05  # inches


def write_status(
    described: Description, trials: Sequence[RigTrial], logs: Mapping[int, Sequence[LogPiece]], path: Path
) -> None:
    """`logs`: what was measured, by trial."""
    from markupsafe import Markup

    figures = []
    if logs:
        with sheet(TALL) as figure:
            _promises(figure.subplots(), trials)
            figures.append(svg_of(figure, "promises", "promised and measured returns over the trials"))
        with sheet(ROW * len(described.names) + 0.4) as figure:
            axes = figure.subplots(len(described.names), 1, sharex=True, squeeze=False)[:, 0]
            _data(list(axes), described, logs)
            figures.append(svg_of(figure, "data", "what was measured and applied, all trials one behind the other"))
    text = render(
        "status.html", "spaql.rig", title=f"The rig {described.name}", calibration=calibration(trials),
        help=help_most(described, trials, logs), figures=[Markup(figure) for figure in figures],
        rows=[_row(trial) for trial in trials],
    )  # fmt: skip
    write_html(path, text)


def calibration(trials: Sequence[RigTrial]) -> str:
    """How many promises were kept, and how many limits touched."""
    results = [trial.result for trial in trials]
    judged = [result["inside"] for result in results if result is not None and result["inside"] is not None]
    touched = sum(bool(result["touched"]) for result in results if result is not None)
    steps = sum(result["steps"] for result in results if result is not None)
    kept = (
        f"{sum(judged)} of {counted(len(judged), 'promise')} were kept" if judged else "no promise was put to the test"
    )
    done = counted(sum(result is not None for result in results), "trial")
    return f"{done} with a log, {counted(steps, 'step')}: {kept}; limits were touched in {counted(touched, 'trial')}."


def help_most(described: Description, trials: Sequence[RigTrial], logs: Mapping[int, Sequence[LogPiece]]) -> str:
    """One sentence that says what to do."""
    if without_log := waiting(trials):
        return f"Run {without_log[-1].name} and add its log."
    if not logs:
        return "Write the first trial (next), run it, and add its log."
    last = [trial for trial in trials if trial.result is not None][-1]
    result, expected = last.result or {}, last.expected or {}
    if result.get("touched"):
        return f"{last.name} touched a limit: look why before the next one. Its log makes the model warn of that."
    if result.get("inside") is False:
        return f"{last.name} was outside of its promise: measure what differs between trials, or repeat it."
    missed = expected.get("missed") or {}
    worst = max(missed, key=lambda name: float(missed[name]), default="")
    if worst and missed[worst] > POOR:
        return f"The model misses {100 * missed[worst]:.0f} % of the changes of {worst}: measure what drives it."
    for reference in described.references:
        if reference.of is None:
            continue
        j = [axis.name for axis in described.state].index(reference.of)
        values = np.concatenate([piece.y[:, j] for pieces in logs.values() for piece in pieces])
        low, high = float(values.min()), float(values.max())
        if high - low < REACHED * (reference.high - reference.low):
            asked = f"{reference.name} may ask for {number(reference.low)} to {number(reference.high)}"
            return f"{asked}, and {reference.of} was seen from {number(low, 3)} to {number(high, 3)}: another trial."
    return "Another trial. When promises stay the same from trial to trial, the last law is as good as the data allow."


def _row(trial: RigTrial) -> dict[str, Any]:
    expected, result = trial.expected or {}, trial.result
    promised = "nothing"
    if expected.get("low") is not None:
        promised = f"{number(expected['mean'])} ({number(expected['low'])} to {number(expected['high'])})"
    measured, notes = "no log yet", [str(expected["why"])] if "why" in expected else ["a log of another controller"]
    if result is not None:
        outside = ", OUTSIDE" if result["inside"] is False else ""
        measured = f"{number(result['return'])} in {counted(result['steps'], 'step')}{outside}"
        notes += [f"LIMIT touched: {touch['variable']} {number(touch['value'])}" for touch in result["touched"]]
        notes += result["notes"]
    law = expected.get("law", "")
    return {"number": trial.number, "law": law, "promised": promised, "measured": measured, "notes": notes}


def _promises(axes: "Axes", trials: Sequence[RigTrial]) -> None:
    fallback = [(t.number, t.expected["fallback"]) for t in trials if t.expected and t.expected["fallback"] is not None]
    if fallback:
        axes.plot(*zip(*fallback, strict=True), color=GREY, linestyle="--", label="fallback, expected")
    for trial in trials:
        expected, result, n = trial.expected or {}, trial.result, trial.number
        if expected.get("low") is not None:
            axes.plot([n, n], [expected["low"], expected["high"]], color=SKY, linewidth=6, solid_capstyle="butt")
            axes.plot([n - 0.15, n + 0.15], [expected["mean"]] * 2, color=BLUE)
        if result is not None and result["whole"]:
            outside = result["inside"] is False or bool(result["touched"])
            axes.plot([n], [result["return"]], "o", color=VERMILION if outside else BLUE)
    axes.set(xlabel="trial", ylabel="return", xticks=[trial.number for trial in trials])


def _data(axes: "Sequence[Axes]", described: Description, logs: Mapping[int, Sequence[LogPiece]]) -> None:
    units = [*(axis.unit for axis in described.state), *described.actions.axis_units]
    d, begin = len(described.state), 0
    for number_, pieces in logs.items():
        axes[0].annotate(f"{number_}", (begin, 1.0), xycoords=("data", "axes fraction"), va="bottom")
        for piece in pieces:
            n = len(piece.u)
            chosen = thinned(n)
            for j, axis in enumerate(axes):
                values = piece.y[:n, j] if j < d else piece.u[:, j - d]
                axis.plot(begin + chosen, values[chosen], color=BLUE, linewidth=0.9)
            for k, reference in enumerate(described.references):
                if reference.of is not None:
                    place = [axis.name for axis in described.state].index(reference.of)
                    axes[place].step(begin + chosen, piece.r[chosen, k], color=GREY, linewidth=0.8, where="post")
            begin += n
        for axis in axes:
            axis.axvline(begin, color=GREY, linewidth=0.6)
    for axis, name, unit in zip(axes, described.names, units, strict=True):
        axis.set_ylabel(axis_label(name, unit))
        for limit in described.limits:
            for end in (limit.low, limit.high):
                if limit.variable == name and np.isfinite(end):
                    axis.axhline(end, color=VERMILION, linestyle="--", linewidth=0.9)
    axes[-1].set_xlabel("step")
