"""A log that is fit to learn from: every row checked before the first is used."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spaql.data.table import LogTable, action_columns, named_actions, next_columns, read_table, state_columns
from spaql.ground.arrays import Array
from spaql.ground.checks import FAR
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.chart import EDGE
from spaql.plants.problem import Finite, Problem

JITTER = 0.5  # of the usual time between rows: a time that differs by more is a gap
# by which values in wrong units differ from the declared bounds, and what was then written
DEGREES = 57.29577951308232
FACTORS = {
    DEGREES: "degrees instead of radians",
    100.0: "hundredths of the unit, or per cent",
    1000.0: "thousandths of the unit",
}
NEAR = 1.4  # of a variable without unit: so near to 57.3 its factor must be to be taken for that of degrees


@dataclass(frozen=True, eq=False)
class Log:
    """Transitions in the order of the rows, in physical units."""

    name: str
    states: Array  # (n, d)
    actions: Array  # (n, axes)
    rewards: Array
    nexts: Array  # (n, d)
    terminated: Array  # bool
    steps: Array  # of the episode, from 0
    first: Array  # bool: the first transition of an episode in the log, whatever its step
    last: Array  # bool: no transition of the log begins in the state to which this one led
    episodes: int
    rows: int  # of the file
    left_out: int  # rows whose next state is not known
    ends_left_out: int  # rows left out at which the episode terminated

    def __len__(self) -> int:
        return len(self.rewards)


def read_log(problem: Problem, log: Any, gaps: bool = False, paid: bool = True) -> Log:
    """Read and check a log; see docs/data.md for its columns.

    `gaps`: rows may be missing; then the next_ columns must be there. `paid`: there must be a reward; else rewards that
    are missing are zero.
    """
    table = read_table(log)
    names, following = state_columns(problem), next_columns(problem)
    acting = _acting(table, problem)
    paid = paid or "reward" in table
    needed = f"the variables of {problem.name}, action" + " and reward" * paid
    if problem.signals is not None and not all(name in table for name in names):
        instead = "loop a model of what was measured, spaql.loop(spaql.from_data(plant, log), ...)"
        needed += f"; errors and memory are made by the loop: {instead}"
    table.require([*names, *acting, *["reward"] * paid], needed)
    given = any(column in table for column in following)
    if given:
        table.require(following, "some next_ columns are there: give all of them, or none, and the next row serves")
    elif gaps:
        raise SpaqlError(
            f"{table.name}: gaps are allowed only with next_ columns, which hold the state after every step"
        )
    terminated, truncated = (
        table.flags(name) if name in table else np.zeros(len(table), bool) for name in ("terminated", "truncated")
    )
    # without next_ columns, a row with neither action nor reward only says where the last step has led
    final = np.full(len(table), not given)
    for column in (*["reward"] * paid, *acting) if not given else ():
        final &= np.isnan(table.numbers(column))
    episode, step = _episodes(table, terminated | truncated, final, gaps)
    after = _following(episode)
    if not gaps:
        _no_gaps(table, step, after)
    _ends_end(table, after, terminated, final)
    known = np.full(len(table), True) if given else after >= 0
    states = _variables(table, problem, names, np.full(len(table), True))
    nexts = _variables(table, problem, following, known) if given else states[after]
    actions = np.column_stack([_finite(table, column, table.numbers(column), known) for column in acting])
    rewards = _finite(table, "reward", table.numbers("reward"), known) if paid else np.zeros(len(table))
    _check_actions(table, problem, acting, actions, known)
    if not known.any():
        raise SpaqlError(
            f"{table.name}: no row has a next one in its episode, and there are no next_ columns: nothing to learn from"
        )
    first = np.zeros(int(known.sum()), bool)
    first[np.unique(episode[known], return_index=True)[1]] = True
    goes_on = (after >= 0) & known[after] & (step[after] == step + 1)
    return Log(
        table.name, states[known], actions[known], rewards[known], nexts[known], terminated[known], step[known], first,
        ~goes_on[known], len(np.unique(episode)), len(table), int((~known).sum()), int((~known & terminated).sum()),
    )  # fmt: skip


def _acting(table: LogTable, problem: Problem) -> list[str]:
    """The columns of the action: `action`, or by its names."""
    plain, named = action_columns(problem), named_actions(problem) or []
    both = [next((column for column in columns if column in table), None) for columns in (plain, named)]
    if None not in both:
        raise SpaqlError(
            f"{table.name} has the columns {echoed(both[0])} and {echoed(both[1])}, and either may be the action: "
            "remove or rename the one that was not applied"
        )
    return named if both[1] is not None else plain


def _episodes(table: LogTable, ended: Array, final: Array, gaps: bool) -> tuple[Array, Array]:
    """The episode of every row as a number, and the step in it from 0 on."""
    step = _whole(table, "step") if "step" in table else None
    if "episode" in table:
        episode = table.labels("episode")
    else:
        falls = np.zeros(len(table) - 1, bool) if step is None else step[1:] <= step[:-1]
        if step is not None and not gaps:
            _starts_again(table, step, np.flatnonzero(falls) + 1)
        # a final row belongs to the step before, with which the episode has ended
        over = ended[:-1] & ~final[1:] | np.concatenate([[False], ended[:-2]]) & final[:-1] | falls
        lone = np.flatnonzero(final[:-1] & ~over)
        if len(lone):
            empty = "action is empty, and the log goes on behind it"
            table.fail(lone, f"{empty}: fill it in, or number the episodes (a column episode) if one ends here")
        episode = np.cumsum(np.concatenate([[False], over]))
    if step is None:
        order = np.argsort(episode, kind="stable")
        first = np.concatenate([[True], np.diff(episode[order]) != 0])
        place = np.arange(len(order))
        step = np.empty(len(order), np.int64)
        step[order] = place - np.maximum.accumulate(np.where(first, place, 0))
    elif not (step == 0).any() and all(step[np.unique(episode, return_index=True)[1]] == 1):
        step = step - 1  # counted from 1
    return episode, step


def _starts_again(table: LogTable, step: Array, rows: Array) -> None:
    """Where `step` falls an episode begins, with 0, 1 or the step that the log begins with."""
    bad = rows[~np.isin(step[rows], (0, 1, step[0]))]
    if len(bad):
        table.fail(
            bad,
            f"step falls from {step[bad[0] - 1]} to {step[bad[0]]}, with which no episode begins: put the rows in "
            "order, or number the episodes (a column episode)",
        )


def _following(episode: Array) -> Array:
    """The next row of the same episode, or -1. Rows of several episodes may alternate."""
    order = np.argsort(episode, kind="stable")
    after = np.full(len(episode), -1)
    same = np.diff(episode[order]) == 0
    after[order[:-1][same]] = order[1:][same]
    return after


def _no_gaps(table: LogTable, step: Array, after: Array) -> None:
    rows = np.flatnonzero(after >= 0)
    bad = rows[step[after[rows]] != step[rows] + 1]
    if len(bad):
        here, there = int(bad[0]), int(after[bad[0]])
        table.fail(
            after[bad],
            f"step goes from {step[here]} to {step[there]} within an episode: rows are missing or out of order; "
            "log every step, number the episodes anew behind a gap, "
            "or allow gaps (gaps=True, --gaps) if there are next_ columns",
        )
    if "time" in table:
        time = _finite(table, "time", table.times("time"), np.full(len(table), True))
        between = time[after[rows]] - time[rows]
        usual = float(np.median(between)) if len(rows) else 0.0
        bad = rows[~((between > 0) & (np.abs(between - usual) <= JITTER * usual))]
        if len(bad):
            table.fail(
                after[bad],
                f"time goes from {time[bad[0]]:g} to {time[after[bad[0]]]:g}, usually by {usual:g}: "
                "a gap; begin a new episode behind it",
            )


def _ends_end(table: LogTable, after: Array, terminated: Array, final: Array) -> None:
    rows = np.flatnonzero(terminated & (after >= 0))
    bad = after[rows[~final[after[rows]]]]
    if len(bad):
        table.fail(bad, "the episode goes on behind a row with terminated: give every episode its own number")


def _whole(table: LogTable, column: str) -> Array:
    values = _finite(table, column, table.numbers(column), np.full(len(table), True))
    bad = np.flatnonzero((values != np.round(values)) | (values < 0) | (values > 2**53))
    if len(bad):
        table.fail(bad, f"{column} is {values[bad[0]]:g}: whole numbers from 0 on are needed")
    return values.astype(np.int64)


def _finite(table: LogTable, column: str, values: Array, needed: Array) -> Array:
    bad = np.flatnonzero(~(np.abs(values) <= FAR) & needed)
    if len(bad):
        value = values[bad[0]]
        fault = "is missing (empty or NaN)" if np.isnan(value) else f"is {value:g}"
        table.fail(bad, f"{column} {fault}: fill it in, or remove its episode")
    return values


def _variables(table: LogTable, problem: Problem, columns: list[str], needed: Array) -> Array:
    """(n, d), within what the problem declares."""
    read = []
    for axis, column in zip(problem.state, columns, strict=True):
        values = _finite(table, column, table.numbers(column), needed)
        if axis.slope is None and not problem.clip:
            bounds, remedy = (axis.low, axis.high), "make the problem with wider bounds"
            check_inside(table, column, values, needed, bounds, axis.unit, remedy)
        read.append(values)
    return np.ascontiguousarray(np.column_stack(read))


def check_inside(
    table: LogTable, column: str, values: Array, needed: Array, bounds: tuple[float, float], unit: str, remedy: str
) -> None:  # fmt: skip
    """Values outside the bounds are most often in other units than declared."""
    low, high = bounds
    slack = (EDGE - 1.0) * (high - low) / 2
    bad = np.flatnonzero(needed & ~((values >= low - slack) & (values <= high + slack)))
    if len(bad) == 0:
        return
    seen = values[needed]
    far = float(np.abs(seen).max()) / max(-low, high)
    angle = "rad" in unit or (not unit and 1 / NEAR < far / DEGREES < NEAR)  # else centimetres look like degrees
    guess = ""
    for factor, written in FACTORS.items():
        fits = low - slack <= seen.min() / factor and seen.max() / factor <= high + slack
        if fits and far > 0.05 * factor and (angle or factor != DEGREES):
            guess = f" ({written}?)"
            break
    ends = f"{low:g} ... {high:g} {unit}".rstrip()
    raise SpaqlError(
        f"{table.name}: {column} is outside {ends} in {len(bad)} of {len(table)} rows, "
        f"first in row {int(bad[0]) + 1} ({values[bad[0]]:g}); "
        f"it goes from {seen.min():g} to {seen.max():g}: wrong units{guess}? "
        f"Convert the column, or {remedy}; nothing was learned"
    )


def _check_actions(table: LogTable, problem: Problem, columns: list[str], actions: Array, needed: Array) -> None:
    space = problem.actions
    units = space.units or ("",) * len(columns)
    if not isinstance(space, Finite):
        for j, column in enumerate(columns):
            bounds, remedy = (space.low[j], space.high[j]), "allow a wider range of actions"
            check_inside(table, column, actions[:, j], needed, bounds, units[j], remedy)
        return
    bad = np.flatnonzero(needed & ~np.isin(actions[:, 0], space.values))
    if len(bad):
        values, action = ", ".join(f"{value:g}" for value in space.values[:20]), actions[bad[0], 0]
        table.fail(bad, f"{columns[0]} {action:g} is not one of {values}: give the actions as the problem has them")
