"""A log as a table: from a CSV or Parquet file, or from a data frame."""

import csv
import gzip
import io
import zlib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import checked_path
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.writing import cell_text
from spaql.plants.problem import Problem

ENDINGS = (".csv", ".csv.gz", ".parquet")
MEASURED = (".mf4", ".mdf")  # ASAM MDF 4, with the extra mdf
LARGEST = 5_000_000  # rows
SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
FEW = 200  # rows that tell how numbers are written
EXACT_PANDAS = (3, 1)  # from this version on numbers are read to the last bit by default
# what a flag may be in a file
TRUE = ("true", "1", "1.0", "yes")
FALSE = ("false", "0", "0.0", "no")


class LogTable:
    """A data frame whose columns are asked for by name and checked; `name` is what messages call it."""

    def __init__(self, frame: Any, name: str) -> None:
        if len(frame) > LARGEST:
            raise SpaqlError(f"{name} has {len(frame):,} rows, more than {LARGEST:,}: cut it into several logs")
        self.frame, self.name = frame, name
        self.units: dict[str, str] = dict(frame.attrs.get("units", {}))  # of a row of units behind the header
        self.columns = [str(column).strip() for column in frame.columns]
        if len(frame) == 0:
            raise SpaqlError(f"{name} has no rows: nothing to learn from")
        for column in self.columns:
            if column and self.columns.count(column) > 1:
                raise SpaqlError(f"{name} has two columns {echoed(column)}: remove or rename one")

    def __len__(self) -> int:
        return len(self.frame)

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def require(self, columns: Sequence[str], why: str) -> None:
        missing = [column for column in columns if column not in self]
        if not missing:
            return
        raise SpaqlError(
            f"{self.name} has no column {', '.join(map(repr, missing))} ({why}); "
            f"it has {', '.join(map(repr, self.columns[:20]))}: rename or add columns"
        )

    def numbers(self, column: str) -> Array:
        """float64; an empty field is NaN, anything else that is not a number an error."""
        import pandas

        given = self._column(column)
        numbers = pandas.to_numeric(given, errors="coerce")
        bad = np.flatnonzero((numbers.isna() & given.notna()).to_numpy())
        if len(bad):
            value = given.iloc[int(bad[0])]
            comma = isinstance(value, str) and _number(value.replace(",", "."))
            hint = ": write a decimal point, not a comma" if comma else ""
            self.fail(bad, f"{column} is {echoed(value)}, not a number{hint}")
        if numbers.dtype.kind == "c":
            raise SpaqlError(f"{self.name}: {column} holds complex numbers, not real ones")
        return np.ascontiguousarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan))

    def times(self, column: str) -> Array:
        """Numbers, or dates and times as seconds."""
        import pandas

        given = self._column(column)
        if pandas.api.types.is_numeric_dtype(given):
            return self.numbers(column)
        moments = pandas.to_datetime(given, errors="coerce", utc=True)
        bad = np.flatnonzero(moments.isna().to_numpy())
        if len(bad):
            self.fail(bad, f"{column} is {echoed(given.iloc[int(bad[0])])}, neither a number nor a date and time")
        seconds: Array = (moments - moments.iloc[0]).dt.total_seconds().to_numpy(dtype=np.float64)
        return seconds

    def flags(self, column: str) -> Array:
        """True and False, also written as 1 and 0, yes and no."""
        words = self._column(column).map(lambda value: str(value).strip().lower()).to_numpy()
        true = np.isin(words.astype(str), TRUE)
        bad = np.flatnonzero(~true & ~np.isin(words.astype(str), FALSE))
        if len(bad):
            value = self._column(column).iloc[int(bad[0])]
            self.fail(bad, f"{column} is {echoed(value)}: write True or False, or 1 or 0")
        return true

    def labels(self, column: str) -> Array:
        """Equal entries get equal whole numbers."""
        import pandas

        codes, _ = pandas.factorize(self._column(column))
        if (codes < 0).any():
            self.fail(np.flatnonzero(codes < 0), f"{column} is empty")
        return np.asarray(codes)

    def fail(self, rows: Array, what: str) -> None:
        """Raise, with the first bad row and how many there are."""
        more = f" (and {len(rows) - 1} more rows)" if len(rows) > 2 else " (and one more row)" if len(rows) == 2 else ""
        raise SpaqlError(f"{self.name}, row {int(rows[0]) + 1} of {len(self)}: {what}{more}; nothing was learned")

    def _column(self, column: str) -> Any:
        return self.frame.iloc[:, self.columns.index(column)]


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_table(log: Any) -> LogTable:
    """A file by its ending, a pandas data frame, anything that becomes one (`to_pandas`), or columns by name."""
    import pandas

    if isinstance(log, str | PathLike):
        path = checked_path(log)
        return LogTable(_read_file(path), path.name)
    if isinstance(log, pandas.DataFrame):
        return LogTable(log, "the log")
    if hasattr(log, "to_pandas"):
        return LogTable(log.to_pandas(), "the log")
    if isinstance(log, Mapping):
        try:
            return LogTable(pandas.DataFrame(dict(log)), "the log")
        except (ValueError, TypeError) as error:
            raise SpaqlError(f"the log's columns do not fit together: {error}") from error
    raise SpaqlError(f"a log is a .csv or .parquet file or a data frame, not {type(log).__name__}")


def _read_file(path: Path) -> Any:
    import pandas

    if not path.name.lower().endswith((*ENDINGS, *MEASURED)):
        raise SpaqlError(f"{path.name}: a log is a .csv or .parquet file; convert it, or give a data frame")
    try:
        if path.name.lower().endswith(".parquet"):
            return pandas.read_parquet(path)
        if path.name.lower().endswith(MEASURED):
            return _read_mdf(path)
        return _read_csv(path)
    except SpaqlError:
        raise
    except pandas.errors.EmptyDataError as error:
        raise SpaqlError(f"{path.name} is empty: nothing to learn from") from error
    except (EOFError, zlib.error) as error:  # of gzip
        raise SpaqlError(f"cannot read {path}: the file is incomplete or damaged") from error
    except OSError as error:
        raise SpaqlError(f"cannot read {path}: {error.strerror or 'the file is incomplete or damaged'}") from error
    except (ValueError, MemoryError, csv.Error) as error:  # pandas' parser errors and pyarrow's are ValueErrors
        raise SpaqlError(f"cannot read {path.name}: {' '.join(str(error).split())}") from error


def _read_csv(path: Path) -> Any:
    """By position, every row as long as the header. Left alone, pandas takes the first column for a name of the rows
    where these have a field more than the header, so that all others are shifted by one, and fills short rows up.

    Fields may be separated by semicolons or tabs, then also with decimal commas; behind the header may stand units.
    """
    import pandas

    version = tuple(map(int, pandas.__version__.split(".")[:2]))
    exact = {} if version >= EXACT_PANDAS else {"float_precision": "round_trip"}
    raw = path.read_bytes()  # once: a pipe gives its bytes only once
    raw = gzip.decompress(raw) if path.name.lower().endswith(".gz") else raw
    rows = raw.count(b"\n")
    if rows > LARGEST + 1:
        raise SpaqlError(f"{path.name} has {rows:,} rows, more than {LARGEST:,}: cut it into several logs")
    text = io.TextIOWrapper(io.BytesIO(raw), "utf-8-sig", newline="").read()
    head = next((line for line in text.splitlines() if line.strip()), "")
    mark = max(SEPARATORS, key=head.count)  # a comma, if there is none of them
    names: list[str] = []
    first: list[list[str]] = []
    given = csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True)
    for n, row in enumerate(row for row in given if len(row) > 1 or any(row)):  # blank lines are no rows
        names = names or row
        first += [row] if 0 < n <= FEW else []
        if len(row) != len(names):
            raise SpaqlError(
                f"{path.name}, row {n}: it has {_fields(len(row))} and the header {_fields(len(names))}: "
                f"{SEPARATORS[mark]} too many or too few, or a log that was cut? "
                "Write as many fields in every row as in the header"
            )
    units = _units_in(first)
    comma = mark != "," and any(_number(field.replace(",", ".")) for row in first for field in row if "," in field)
    # the second line that is not blank
    skipped = [[n for n, line in enumerate(text.splitlines()) if line.strip()][1]] if units else None
    frame = pandas.read_csv(
        io.StringIO(text, newline=""), index_col=False, skipinitialspace=True, low_memory=False, sep=mark,
        decimal="," if comma else ".", skiprows=skipped, **({} if comma else exact),
    )  # fmt: skip
    frame.columns = [cell_text(name.strip()) for name in names]  # pandas renames a second column of a name
    if units:
        frame.attrs["units"] = dict(zip(frame.columns, units, strict=True))
    return frame


def _units_in(rows: list[list[str]]) -> list[str]:
    """The row behind the header, if it holds no number and the next one does; [] if it is a row of values."""
    if len(rows) < 2 or not any(field.strip() for field in rows[0]):
        return []
    words = [field.strip() for field in rows[0]]
    numeric = [any(_number(field.replace(",", ".")) for field in row) for row in rows[:2]]
    return [word.strip("[]() ") for word in words] if numeric == [False, True] else []


def _read_mdf(path: Path) -> Any:
    """A measurement of ASAM MDF: all channels at the times of the one that was sampled most often."""
    try:
        from asammdf import MDF
    except ImportError:
        remedy = "pip install 'spaql[mdf]', or export the measurement as CSV"
        raise SpaqlError(f"{path.name} is an MDF file, for which asammdf is needed: {remedy}") from None
    try:
        with MDF(path) as measured:
            frame = measured.to_dataframe(time_from_zero=False)
            units = {channel: measured.get(channel).unit for channel in frame.columns}
    except Exception as error:  # asammdf raises what it happens to come across
        raise SpaqlError(f"cannot read {path.name}: {' '.join(str(error).split())}") from error
    frame.insert(0, "time", frame.index.to_numpy(float))
    frame = frame.reset_index(drop=True)
    frame.attrs["units"] = {name: unit for name, unit in units.items() if unit}
    return frame


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


# -- how a log names things: one row per step, physical units ----------------------------------------------------------

NEXT = "next_"
FLAGS = ("terminated", "truncated")
RESERVED = ("action", "reward", "episode", "step", "time", *FLAGS)


def state_columns(problem: Problem) -> list[str]:
    """The observed variables, as the problem calls them."""
    names = [axis.name for axis in problem.state]
    for name in names:
        if name in RESERVED or names.count(name) > 1 or (name.startswith(NEXT) and name.removeprefix(NEXT) in names):
            raise SpaqlError(
                f"{problem.name} cannot have logs: "
                f"its variable {echoed(name)} has the name of another column; rename its axis"
            )
    return names


def next_columns(problem: Problem) -> list[str]:
    return [NEXT + name for name in state_columns(problem)]


def action_columns(problem: Problem) -> list[str]:
    """`action`, or `action0`, `action1`, ... if there are several axes."""
    axes = problem.actions.axes
    return ["action"] if axes == 1 else [f"action{j}" for j in range(axes)]


def named_actions(problem: Problem) -> list[str] | None:
    """The names of the problem's actions, for use in a log; None without names, or if other columns have one."""
    names, taken = list(problem.actions.names), {*state_columns(problem), *next_columns(problem), *RESERVED}
    return names if names and not taken & set(names) and len(set(names)) == len(names) else None
