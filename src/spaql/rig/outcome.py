"""What came of a trial, beside what was promised."""

from typing import Any

import numpy as np

from spaql.policy.digits import counted, number
from spaql.rig.description import Description
from spaql.rig.folder import RigTrial
from spaql.rig.log_check import Checked, LogPiece


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
