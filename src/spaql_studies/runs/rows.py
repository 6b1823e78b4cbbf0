"""A run as one row of a Parquet file: written whole or not at all, checked when read."""

import hashlib
import json
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.writing import write_whole

Wholes = Annotated[Array, "int64"]  # other arrays are of real numbers
no_reals, no_wholes = partial(np.zeros, 0), partial(np.zeros, 0, np.int64)


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run, as read from a store. Its fields are the columns of the file, in their order.

    Curves have one entry per iteration.
    """

    # what was run, and what came out: in the digest
    key: str
    problem: str
    algorithm: str
    xi: float | None
    options: dict[str, Any]
    seed: int
    iterations: int
    rollouts: int
    episodes: int
    best_seen: float
    fresh: float
    arms: int | None
    train_samples: int
    eval_samples: int
    fresh_returns: Array
    evaluation_curve: Array
    best_seen_curve: Array
    arms_curve: Wholes
    train_samples_curve: Wholes
    eval_samples_curve: Wholes
    temperature_curve: Array
    episode_states: Array  # flat: the states of one episode, one after the other
    episode_actions: Array
    code: str
    # where it came from: not in the digest, because two computers give the same result at different times
    digest: str
    version: str
    seconds: float
    host: str
    finished: str
    python: str
    libraries: dict[str, str]
    # of a run with checkpoints: samples used, evaluation counted, and what was reached (no tree: 0 leaves, return NaN)
    checkpoints: Wholes = field(default_factory=no_wholes)
    checkpoint_returns: Array = field(default_factory=no_reals)
    tree_leaves: Wholes = field(default_factory=no_wholes)
    tree_returns: Array = field(default_factory=no_reals)
    # CPU seconds of learning, and of making the tree, up to each checkpoint; without checkpoints those of all learning
    cpu_curve: Array = field(default_factory=no_reals)
    tree_cpu_curve: Array = field(default_factory=no_reals)
    controller: str = ""  # the policy as JSON, if it is a few laws
    # of a run whose controller is judged by a model of its own, at each checkpoint: the mean of the worst twentieth of
    # the fresh episodes, laws and their numbers (0: a table), the return that the model predicts, and its doubts
    worst_returns: Array = field(default_factory=no_reals)
    law_leaves: Wholes = field(default_factory=no_wholes)
    law_numbers: Wholes = field(default_factory=no_wholes)
    model_returns: Array = field(default_factory=no_reals)
    doubts: Wholes = field(default_factory=no_wholes)
    parameters: str = ""  # of the problem, as JSON, where they are not the usual ones


# types of columns, as Arrow names them; older files have only those up to `libraries`
REALS, WHOLES = "list<float64>", "list<int64>"
KINDS: dict[Any, str] = {Array: REALS, Wholes: WHOLES, int: "int64", int | None: "int64", float: "float64"}
COLUMNS = {column.name: KINDS.get(column.type, "string") for column in fields(Run)} | {"xi": "float64"}
NEEDED = list(COLUMNS)[: list(COLUMNS).index("libraries") + 1]
LISTS = [name for name, kind in COLUMNS.items() if kind in (REALS, WHOLES)]
RESULT = NEEDED[: NEEDED.index("code") + 1]  # in the digest of every run
JUDGED = ("worst_returns", "law_leaves", "law_numbers", "model_returns", "doubts")
MORE = {  # in the digest of runs that have the first of them
    "checkpoints": ("checkpoints", "checkpoint_returns", "tree_leaves", "tree_returns"),
    "controller": ("controller",),
    "model_returns": JUDGED,
    "parameters": ("parameters",),
}


def run_from(row: dict[str, Any]) -> Run:
    """A Run from a computed row."""
    arrays = {
        name: np.asarray(row[name], np.int64 if COLUMNS[name] == WHOLES else np.float64)
        for name in LISTS
        if name in row
    }
    return Run(**(row | arrays | {"digest": digest_of(row | arrays)}))


def digest_of(row: dict[str, Any]) -> str:
    """Hash of everything a run has found: equal digests are equal bits."""
    digest = hashlib.sha256()
    more = [name for of, names in MORE.items() if len(row.get(of, "")) for name in names]
    for name in (*RESULT, *more):
        value, kind = row[name], COLUMNS[name]
        if kind in (REALS, WHOLES):
            value = np.asarray(value, "<i8" if kind == WHOLES else "<f8").tobytes()
        else:
            value = json.dumps(value, sort_keys=True).encode()
        digest.update(f"{name}:{len(value)}:".encode() + value)
    return digest.hexdigest()[:32]


def write_rows(path: Path, runs: list[Run]) -> None:
    """The file appears whole or not at all, whatever happens in between, and whoever else writes it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {kind: pa.type_for_alias(kind) for kind in ("string", "int64", "float64")}
    kinds |= {REALS: pa.list_(pa.float64()), WHOLES: pa.list_(pa.int64())}
    rows = [vars(run) | {"options": json.dumps(run.options), "libraries": json.dumps(run.libraries)} for run in runs]
    columns = {name: pa.array([row[name] for row in rows], kinds[kind]) for name, kind in COLUMNS.items()}
    table = pa.table(columns).replace_schema_metadata({"spaql": "runs 1"})
    # one row: dictionaries and statistics of its columns would be a quarter of the file, and of the time
    plain: dict[str, Any] = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}

    def write(file: Any) -> None:
        whole = pa.BufferOutputStream()  # a file of Python would be called for every page
        pq.write_table(table, whole, **plain, write_page_checksum=True)
        file.write(whole.getvalue())

    write_whole(path, write)


def read_rows(path: Path) -> list[Run]:
    """The runs in a file. A file that is not exactly what was written is refused."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open(path, "rb") as file:
            # one small file: threads and the machinery for folders would take twice the time
            table = pq.ParquetFile(file, page_checksum_verification=True).read(use_threads=False)
        names = [name for name in COLUMNS if name in table.column_names or name in NEEDED]
        columns = [_plain(table.column(name)) for name in names]
        rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        for row in rows:
            row["options"], row["libraries"] = json.loads(row["options"]), json.loads(row["libraries"])
        runs = [Run(**row) for row in rows]
        sound = len(runs) > 0 and all(digest_of(vars(run)) == run.digest for run in runs)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise DamagedError(path, str(error).splitlines()[0] if str(error) else type(error).__name__) from error
    if not sound:
        raise DamagedError(path, "its contents do not match their checksum")
    return runs


def _plain(column: Any) -> list[Any]:
    """Lists as NumPy arrays, the rest as Python values."""
    if str(column.type).startswith("list"):
        return [chunk[i].values.to_numpy(zero_copy_only=False) for chunk in column.chunks for i in range(len(chunk))]
    values: list[Any] = column.to_pylist()
    return values


class DamagedError(SpaqlError):
    """A result file that cannot be used."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is damaged ({why}): run again with --repair to compute it anew, or delete it")
        self.path = path
