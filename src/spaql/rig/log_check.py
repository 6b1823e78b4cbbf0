"""Whether a log is one of this rig and fit to learn from; what is wrong with it, and what was done about it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spaql.data.log import check_inside
from spaql.data.table import LogTable, read_table
from spaql.ground.arrays import Array
from spaql.ground.checks import FAR
from spaql.ground.errors import SpaqlError, echoed
from spaql.policy.policy import Policy
from spaql.rig.description import Description

SAME = 0.02  # of the period, that the usual time between rows may be off
OFF = 0.2  # of the period: a row that is off by more has jitter
GAP = 0.5  # of the period: a row that is later by more comes after a gap
SHORTEST = 10  # steps of a piece that is kept
KEPT = 0.5  # of the rows, at least
STUCK = 0.5  # of the rows with one value, while actions move
MOVED = 0.2  # of the range of an action: so much it moves
ALIKE = 0.02  # of the range of an action: so near it is to what the controller says
FITTING = 0.5  # of the steps, at least
SEEN = 2000  # steps that are compared with the controller
UNITS = re.compile(r"^(.*?)\s*[\[(]([^\])]*)[\])]$")  # "speed [rad/s]"
MILLI = (1e3, 1e6)  # other units of time


@dataclass(frozen=True)
class LogPiece:
    """Rows without a gap: the action of a row is applied from it on; that of the last row does not count."""

    y: Array  # (n + 1, measured)
    u: Array  # (n, actions)
    r: Array  # (n, references)
    first: int  # step of the trial with which it begins


@dataclass(frozen=True)
class Checked:
    """A log that is fit to learn from."""

    pieces: tuple[LogPiece, ...]
    notes: tuple[str, ...]
    rows: int

    @property
    def steps(self) -> int:
        return sum(len(piece.u) for piece in self.pieces)


def check_log(described: Description, log: Any, controller: Policy | None = None, plan: Array | None = None) -> Checked:
    """`controller`: that of the trial; `plan`: its references and excitation by step, where the log has none."""
    table, notes = read_table(log), list[str]()
    _by_name(described, table)
    state, acting = [axis.name for axis in described.state], list(described.actions.names)
    table.require([*state, *acting], f"what {described.name} measures and applies")
    if len(table) <= SHORTEST:
        raise SpaqlError(f"{table.name}: {len(table)} rows are too few to learn from: at least {SHORTEST + 1}")
    y, u = (np.column_stack([_values(table, name) for name in names]) for names in (state, acting))
    signals = described.signals() if controller is None else controller.problem.signals
    assert signals is not None
    following = [signal.name for signal in signals.references]
    given = all(name in table for name in following)
    if not given and (plan is None or plan.shape[1] != len(following)):
        table.require(following, "the references, and the excitation of the trial")
    r = np.column_stack([_values(table, name) for name in following]) if given and following else None
    times = _times(table, described.period, notes)
    rows, y, u, r = _resampled(described, times, y, u, r, notes, table)
    pieces = _pieces(described, rows, y, u, r, plan, len(following), notes, table)
    _ranges(described, table, pieces)
    _stuck(described, table, pieces, notes)
    pieces = _rated(described, pieces, notes)
    if controller is not None:
        pieces = _of_controller(described, table, pieces, controller, notes)
    low, high = described.actions.bounds
    for j, name in enumerate(acting):
        column = np.concatenate([piece.u[:, j] for piece in pieces])
        share = float(np.mean((column <= low[j]) | (column >= high[j])))
        if share > OFF:
            notes.append(f"{name} is at an end of its range in {100 * share:.0f} % of the steps")
    return Checked(tuple(pieces), tuple(notes), len(table))


def _by_name(described: Description, table: LogTable) -> None:
    """Columns such as `speed [rad/s]` get their plain name; units must be those of rig.toml."""
    units = {axis.name: axis.unit for axis in described.state}
    units |= dict(zip(described.actions.axis_names, described.actions.axis_units, strict=True))
    units |= {signal.name: signal.unit for signal in described.references}
    for n, column in enumerate(table.columns):
        match = UNITS.match(column)
        if match and match[1] in (*units, "time") and match[1] not in table.columns:
            table.columns[n] = match[1]
            table.units[match[1]] = match[2].strip()
    for name, unit in units.items():
        written = table.units.get(name, "")
        if name in table and written and unit and written not in (unit, "-"):
            raise SpaqlError(f"{table.name}: {name} is in {written}, and in {unit} in rig.toml: convert the column")
    if table.units.get("time", "s") not in ("s", "sec", "seconds", "-", ""):
        raise SpaqlError(f"{table.name}: time is in {table.units['time']}: convert it to s")


def _values(table: LogTable, name: str) -> Array:
    values = table.numbers(name)
    bad = np.flatnonzero(np.abs(values) > FAR)
    if len(bad):
        table.fail(bad, f"{name} is {values[bad[0]]:g}: no measurement")
    return values


def _times(table: LogTable, period: float, notes: list[str]) -> Array | None:
    """Of the rows, in s; None if the log has none."""
    if "time" not in table:
        notes.append("there is no column time: sample time, jitter and gaps are not checked")
        return None
    times = table.times("time")
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad):
        table.fail(bad, "time is missing")
    steps = np.diff(times)
    if not (steps > 0).any():
        raise SpaqlError(f"{table.name}: time does not go on: is it another column?")
    usual = float(np.median(steps[steps > 0]))
    for factor in MILLI:
        if abs(usual / period / factor - 1.0) < SAME:
            raise SpaqlError(
                f"{table.name}: time goes by {usual:g} from row to row, and the period is {period:g} s: "
                f"{'milli' if factor == MILLI[0] else 'micro'}seconds? Convert it to s"
            )
    back = np.flatnonzero(steps <= 0)
    if len(back):
        notes.append(
            f"the clock was set back, or stood still, {len(back)} times, first after row {back[0] + 1}: cut there"
        )
    return times


def _resampled(
    described: Description, times: Array | None, y: Array, u: Array, r: Array | None, notes: list[str], table: LogTable
) -> tuple[Array, Array, Array, Array | None]:
    """Times in periods, and rows once per period."""
    if times is None:
        return np.arange(len(y), dtype=float), y, u, r
    places = (times - times[0]) / described.period
    steps = np.diff(places)
    usual = float(np.median(steps[steps > 0]))
    if abs(usual - 1.0) <= SAME:
        late = (np.abs(steps - usual) > OFF) & (steps > 0) & (steps < 1.0 + GAP)
        if late.any():
            notes.append(
                f"jitter: {100 * late.mean():.1f} % of the steps are off by more than {100 * OFF:.0f} % of the period"
            )
        return places, y, u, r
    said = f"sampled every {usual * described.period:.6g} s, and the period is {described.period:g} s"
    times_faster = round(1.0 / usual)
    if times_faster < 2 or abs(usual * times_faster - 1.0) > SAME:
        raise SpaqlError(f"{table.name} is {said}: log once per period, or a whole number of times")
    moves = np.flatnonzero((np.diff(u, axis=0) != 0).any(axis=1)) + 1
    phase = int(np.bincount(moves % times_faster, minlength=times_faster).argmax()) if len(moves) else 0
    regular = len(moves) == 0 or float((moves % times_faster == phase).mean()) > 1.0 - OFF
    if not regular:
        raise SpaqlError(
            f"{table.name} is {said}, but actions change between two steps: log what is applied once per period"
        )
    chosen = np.arange(phase, len(y), times_faster)
    notes.append(f"{said}: every {times_faster}. row was taken, where actions change")
    return places[chosen], y[chosen], u[chosen], None if r is None else r[chosen]


def _pieces(
    described: Description, places: Array, y: Array, u: Array, r: Array | None, plan: Array | None, references: int,
    notes: list[str], table: LogTable,
) -> list[LogPiece]:  # fmt: skip
    """Cut where rows are missing, in time or because a value is."""
    step = np.round(places - places[0]).astype(int)
    if r is None and references:  # as planned
        assert plan is not None
        r = plan[np.clip(step, 0, len(plan) - 1)]
    r = np.zeros((len(y), 0)) if r is None else r
    whole: Array = np.all(np.isfinite(y), axis=1)
    applied: Array = np.all(np.isfinite(np.hstack([u, r])), axis=1)
    follows = (np.diff(places) > 0) & (np.diff(places) < 1.0 + GAP)
    goes_on = whole[:-1] & applied[:-1] & whole[1:] & follows
    cuts = np.flatnonzero(~goes_on) + 1
    pieces = [
        LogPiece(y[a:b], u[a : b - 1], r[a : b - 1], int(step[a]))
        for a, b in zip(np.r_[0, cuts], np.r_[cuts, len(y)], strict=True)
        if b - a > SHORTEST
    ]
    kept = sum(len(piece.y) for piece in pieces)
    if kept < KEPT * len(y) or not pieces:
        raise SpaqlError(
            f"{table.name}: {len(y)} rows with {len(cuts)} gaps or empty fields leave {kept} in pieces of more than "
            f"{SHORTEST}: too few to learn from; log every step"
        )
    if len(pieces) > 1 or kept < len(y):
        notes.append(
            f"cut at {len(cuts)} gaps or empty fields: {kept} of {len(y)} rows are kept, in {len(pieces)} pieces"
        )
    return pieces


def _ranges(described: Description, table: LogTable, pieces: Sequence[LogPiece]) -> None:
    actions = described.actions
    acting = zip(actions.axis_names, actions.low, actions.high, actions.axis_units, strict=True)
    columns = [(axis.name, axis.low, axis.high, axis.unit) for axis in described.state]
    for j, (name, low, high, unit) in enumerate([*columns, *acting]):
        k = j - len(columns)
        values = np.concatenate([piece.y[:, j] if k < 0 else piece.u[:, k] for piece in pieces])
        remedy = "widen its range in rig.toml"
        check_inside(table, name, values, np.full(len(values), True), (low, high), unit, remedy)


def _stuck(described: Description, table: LogTable, pieces: Sequence[LogPiece], notes: list[str]) -> None:
    """Sensors that stand still while actions move."""
    low, high = described.actions.bounds
    u = np.concatenate([piece.u for piece in pieces])
    moving = (np.ptp(u, axis=0) > MOVED * (high - low)).any()
    for j, axis in enumerate(described.state):
        values = np.concatenate([piece.y[:, j] for piece in pieces])
        if len(np.unique(values)) == 1 and moving:
            raise SpaqlError(
                f"{table.name}: {axis.name} is {values[0]:g} in all rows while actions move: is its sensor stuck?"
            )
        ends = np.flatnonzero(np.diff(values) != 0)
        runs = np.diff(np.r_[-1, ends, len(values) - 1])
        longest = int(runs.argmax())
        if runs[longest] > STUCK * len(values):
            begin = int(np.r_[0, ends + 1][longest])
            part = u[begin : begin + int(runs[longest]) - 1]
            if (np.ptp(part, axis=0) > MOVED * (high - low)).any():
                raise SpaqlError(
                    f"{table.name}: {axis.name} stays at {values[begin]:g} for {int(runs[longest])} rows from row "
                    f"{begin + 1} on, while actions move: is its sensor stuck? Cut these rows off"
                )
            notes.append(f"{axis.name} stays at {values[begin]:g} for {int(runs[longest])} rows")


def _rated(described: Description, pieces: list[LogPiece], notes: list[str]) -> list[LogPiece]:
    """What was commanded becomes what a rate limit lets through."""
    if not described.rates:
        return pieces
    rates, limited, beyond = np.array(described.rates), [], 0
    for piece in pieces:
        u = piece.u.copy()
        for t in range(1, len(u)):
            u[t] = np.clip(u[t], u[t - 1] - rates, u[t - 1] + rates)
        beyond += int((np.abs(u - piece.u) > ALIKE * rates).any(axis=1).sum())
        limited.append(replace(piece, u=u))
    if not beyond:
        return pieces
    notes.append(f"actions change faster than their rates in {beyond} steps: taken as commanded, and the rates applied")
    return limited


def _of_controller(
    described: Description, table: LogTable, pieces: list[LogPiece], controller: Policy, notes: list[str]
) -> list[LogPiece]:
    """Whether these are the actions of the controller of the trial; one step of lag is put right."""
    piece = max(pieces, key=lambda piece: (piece.first == 0, len(piece.u)))
    if piece.first != 0:  # its memory is not known in the middle
        return pieces
    memory, said = controller.memory(), []
    for y, r in zip(piece.y[:-1][:SEEN], piece.r[:SEEN], strict=True):
        action, memory = controller.predict([*y, *r], state=memory)
        said.append(action)
    low, high = described.actions.bounds
    near = ALIKE * (high - low)

    def fits(u: Array, expected: Array) -> float:
        return float(np.mean(np.all(np.abs(u - expected) <= near, axis=1))) if len(u) else 0.0

    expected = np.array(said)
    u, n = piece.u[: len(expected)], len(expected)
    share = fits(u, expected)
    if share < 1.0 - SAME <= fits(u[1:], expected[:-1]):
        notes.append("actions stand one row later than they were decided: taken as a lag of the log, and put right")
        return [replace(part, y=part.y[:-1], u=part.u[1:], r=part.r[:-1]) for part in pieces]
    other = np.flatnonzero(np.any(np.abs(u - expected) > near, axis=1))
    if share >= FITTING or (len(other) and other[0] >= SHORTEST):  # a monitor's fallback, or a hand, has taken over
        if share < 1.0 - SAME:
            others = f"in {100 * (1 - share):.0f} % of the steps, first in step {other[0]}"
            notes.append(f"{others}, another action was applied than the controller's")
        return pieces
    worst = int(np.abs(u - expected).max(axis=1).argmax())
    values, wanted = (echoed(np.round(row[worst], 4).tolist()) for row in (u, expected))
    raise SpaqlError(
        f"{table.name}: only {100 * share:.0f} % of the {n} actions are those of the controller of this trial (row "
        f"{worst + 1}: {values} for {wanted}): the log of another trial, or columns that are swapped? Give the trial, "
        "or trial=0 for a log of another controller"
    )
