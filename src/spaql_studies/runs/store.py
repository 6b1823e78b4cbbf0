"""The store of an experiment: a folder with one Parquet file per run, shared by any number of processes and machines.

DIR/store.json          format of the store
DIR/plans/PART.json     which runs belong to a part of the report
DIR/runs/*.parquet      one run each: pandas.read_parquet("DIR/runs"), polars.read_parquet("DIR/runs/*.parquet")
DIR/claims/KEY          somebody is computing this run
"""

import contextlib
import json
import re
import time
import warnings
from pathlib import Path
from typing import Any

from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.writing import CURVE, refusal, write_whole
from spaql_studies.runs.rows import DamagedError, Run, read_rows, run_from, write_rows
from spaql_studies.runs.spec import Spec, spec_from

FORMAT = 1
FOLDERS = ("runs", "plans", "claims")


class Store:
    """Results by key. Nothing in it is ever changed in place, so readers and writers need no locks."""

    def __init__(self, folder: Path, create: bool = True) -> None:
        self.folder, self.runs, self.plans, self.claims = folder, folder / "runs", folder / "plans", folder / "claims"
        self.known: dict[Path, Run] = {}  # read or written by this process: a run never changes
        mark = folder / "store.json"
        if not mark.exists() and self._runs_without_mark(create):
            return
        if create and not mark.exists():
            foreign = folder.is_dir() and not all(_ours(path) for path in folder.iterdir())
            if foreign and not mark.exists():  # by now another process may have made the store, and filled it
                raise SpaqlError(f"{folder} is not empty and not a store: choose another --store")
            self._make_rooms()
            self._write_mark()
        try:
            written = json.loads(mark.read_text("utf-8")).get("format")
        except (OSError, ValueError, AttributeError) as error:
            kept = len(list(self.runs.glob("*.parquet")))
            remedy = f"remove it, and its {kept} runs are found again" if kept else "make one with spaql reproduce"
            wrong = f"{folder} is not a store of results ({mark.name} is missing or damaged)"
            raise SpaqlError(f"{wrong}: {remedy}") from error
        if written != FORMAT or isinstance(written, bool):
            versions = f"of format {written}, this spaql reads format {FORMAT}"
            raise SpaqlError(f"{folder} is a store {versions}: choose another --store")
        if create:
            self._make_rooms()  # git and the like do not keep empty folders

    def _runs_without_mark(self, create: bool) -> bool:
        """Whether only the mark of a store is lost: runs that can be read are those of a store of this format."""
        paths = sorted(self.runs.glob("*.parquet"))
        try:
            if not paths or not read_rows(paths[0]):
                return False
        except (SpaqlError, OSError):
            return False
        if (self.folder / "store.json").exists():  # by now another process has made the store, and filled it
            return False
        warnings.warn(
            f"store.json of {self.folder} was missing; the {len(paths)} runs there are used", SpaqlWarning, stacklevel=3
        )
        if create:
            self._make_rooms()
            self._write_mark()
        return True

    def _write_mark(self) -> None:
        mark = self.folder / "store.json"
        write_whole(mark, lambda file: file.write(json.dumps({"format": FORMAT}).encode()))

    def _make_rooms(self) -> None:
        try:
            for room in (self.runs, self.plans, self.claims):
                room.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refusal(f"cannot make the store {self.folder}", error) from error

    # -- runs ----------------------------------------------------------------------------------------------------------

    def path(self, spec: Spec, code: str | None = None) -> Path:
        """The key tells runs apart: of an id of Gymnasium with a module or a folder, the name is enough for people."""
        key, name = spec.key_by(code or spec.code), re.split("[:/]", spec.problem)[-1]
        return self.runs / f"{name}-{spec.algorithm.lower()}-{spec.seed}-{key}.parquet"

    def read(self, spec: Spec, code: str | None = None) -> Run | None:
        """The run, or None if it is not there. A damaged file is an error, never used and never overlooked."""
        path = self.path(spec, code)
        if path in self.known:
            return self.known[path]
        try:
            (run,) = read_rows(path)
        except FileNotFoundError:
            return None
        except SpaqlError:
            raise
        except ValueError as error:
            raise DamagedError(path, "it holds more than one run") from error
        if run.key != spec.key_by(code or spec.code):
            raise DamagedError(path, "it holds another run")
        self.known[path] = run
        return run

    def has(self, spec: Spec) -> bool:
        return self.path(spec).exists()

    def write(self, spec: Spec, row: dict[str, Any]) -> Run:
        """Keep a computed row."""
        if row["key"] != spec.key:
            raise SpaqlError(
                f"{row['host']} computed {spec} with other code ({row['code']}, here {spec.code}): "
                "install the same spaql there"
            )
        run = run_from(row)
        write_rows(self.path(spec), [run])
        self.known[self.path(spec)] = run
        return run

    def remove(self, path: Path) -> None:
        self.known.pop(path, None)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise refusal(f"cannot remove {path}", error) from error

    # -- claims --------------------------------------------------------------------------------------------------------
    # A claim is only a hint that saves other processes the same work: a claimed run is put off, not left out, so the
    # claim of a process that was killed costs nothing.

    def claim(self, spec: Spec) -> bool:
        """False if another process seems to be computing the run."""
        try:
            (self.claims / spec.key).touch(exist_ok=False)
        except FileExistsError:
            return False
        except OSError:
            pass  # the disk may be full: then writing the run gives the error
        return True

    def release(self, spec: Spec) -> None:
        with contextlib.suppress(OSError):
            (self.claims / spec.key).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove what killed processes have left behind."""
        day_ago = time.time() - 86400
        for old in [*self.runs.glob(".*.part"), *self.claims.iterdir()]:
            with contextlib.suppress(OSError):
                if old.stat().st_mtime < day_ago:
                    old.unlink()

    # -- plans ---------------------------------------------------------------------------------------------------------

    def write_plan(self, part: str, plan: dict[str, Any]) -> None:
        write_whole(self.plans / f"{part}.json", lambda file: file.write(json.dumps(plan, indent=1).encode()))

    def read_plans(self) -> dict[str, dict[str, Any]]:
        """The plans by part."""
        plans = {}
        for path in sorted(self.plans.glob("*.json")):
            try:
                plan = json.loads(path.read_text("utf-8"))
                specs = [spec_from(data) for data in plan["runs"]]
                if not all(isinstance(plan["code"][spec.algorithm], str) for spec in specs):
                    raise ValueError
                plans[path.stem] = plan
            except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
                raise SpaqlError(f"{path} is damaged: run spaql reproduce again to restore it") from error
        return plans


def _ours(path: Path) -> bool:
    """What `spaql train --out` has put there, or a process that makes a store: empty folders, half a mark."""
    if path.suffix == ".spaql" or path.name == CURVE or (path.name.startswith(".") and path.suffix == ".part"):
        return True
    return path.name in FOLDERS and path.is_dir() and not any(path.iterdir())
