"""Agent files: one zip with `meta.json` and plain `.npy` arrays, stored uncompressed. No pickle; nothing in a file is trusted.

Depths, arm counts and action keys are not stored but recomputed on load, so that compiled code only ever sees a sound partition.
"""

import io
import json
import math
import os
import tempfile
import zipfile
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import whole
from spaql.errors import SpaqlError
from spaql.learners.agent import Agent
from spaql.learners.aql import AQL
from spaql.learners.atlas.filing import ATLAS_ARRAYS, arrays_of, restore_memory
from spaql.learners.atlas.learner import Atlas
from spaql.learners.nbql import NBQL
from spaql.learners.random import Random
from spaql.learners.spaql import SPAQL
from spaql.learners.spaql_ts import SPAQLTS
from spaql.learners.state import State
from spaql.learners.update import NET
from spaql.learners.zoomrl import ZoomRL
from spaql.partition.forest import USED
from spaql.partition.restoring import forest_arrays, forest_from
from spaql.plants.catalog import CATALOG, make_from_catalog
from spaql.plants.parameters import of_a_file, plain
from spaql.plants.problem import Axis, Continuous, Finite, Problem
from spaql.training.history import COLUMNS
from spaql.training.outer import BEST_RETURN

FORMAT, VERSION = "spaql agent", 1
ALGORITHMS: dict[str, type[Agent]] = {cls.algorithm: cls for cls in (AQL, SPAQL, SPAQLTS, NBQL, ZoomRL, Random, Atlas)}
MAX_MEMBERS = 16


# -- writing -------------------------------------------------------------------------------------------------------------------------


def save(agent: Agent, path: str | PathLike[str]) -> None:
    """Write the agent; the file appears whole or not at all."""
    state = agent.state
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "algorithm": agent.algorithm,
        "options": agent.options,
        "seed": agent.seed,
        "draws": state.draws,
        "problem": _describe(agent.problem),
    }
    arrays = {"outer": state.outer, "history": state.history} | (arrays_of(agent) if isinstance(agent, Atlas) else _partitions(state))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("meta.json"), json.dumps(meta, indent=1, default=plain))
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data.getvalue())
    try:
        target = Path(path)
    except TypeError as error:
        raise SpaqlError(f"cannot write to {path!r}: give a file name") from error
    write_atomically(target, buffer.getvalue())


def _partitions(state: State) -> dict[str, Array]:
    trainee = {} if state.trainee is state.forest else forest_arrays(state.trainee, "trainee")
    return forest_arrays(state.forest, "forest") | trainee


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside the target, then rename: a full disk or a kill never leaves half a file."""
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise SpaqlError(f"cannot write {path}: {error.strerror or error}") from error


def _describe(problem: Problem) -> dict[str, Any]:
    actions = {"kind": "finite" if isinstance(problem.actions, Finite) else "continuous"} | asdict(problem.actions)
    return {
        "name": problem.name,
        "summary": problem.summary,
        "state": [_without_infinities(asdict(axis)) for axis in problem.state],
        "actions": actions,
        "horizon": int(problem.horizon),
        "reference": problem.reference,
        "xi": dict(problem.xi),
        "rollouts": problem.rollouts,
        "clip": problem.clip,
        "map_samples": problem.map_samples,
        "env_id": problem.env_id,
        "has_options": bool(problem.env_options),
        **({"parameters": problem.parameters} if problem.parameters else {}),
        "catalog": problem.name in CATALOG and problem.plant is not None and problem.env_id == CATALOG[problem.name].env_id,
    }


def _without_infinities(axis: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in axis.items() if not (isinstance(value, float) and math.isinf(value))}


# -- reading -------------------------------------------------------------------------------------------------------------------------


def load(path: str | PathLike[str], problem: Problem | None = None) -> Agent:
    """Read an agent. `problem`: the plant or environment to go on with, where the file cannot hold it (own plants, own environments)."""
    try:
        meta, arrays = _unpack(Path(path).read_bytes())
    except OSError as error:
        raise SpaqlError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a foreign or damaged file can fail in any way; it always ends in this one line
        raise SpaqlError(f"{path} is not a spaql agent, or it is damaged: {error}") from error
    if meta.get("format") != FORMAT:
        raise SpaqlError(f"{path} is not a spaql agent")
    if meta.get("version") != VERSION:
        raise SpaqlError(f"{path} has file version {meta.get('version')!r}, this is for version {VERSION}: use another spaql")
    try:
        return _rebuild(meta, arrays, problem)
    except Exception as error:  # as above: whatever is wrong inside
        raise SpaqlError(f"{path} cannot be used: {error}") from error


def _unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Meta data and arrays. Members are stored, not compressed, so no file can unpack to more than its own size."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS or len({m.filename for m in members}) != len(members):
            raise ValueError("too many or repeated members")
        if any(m.compress_type != zipfile.ZIP_STORED for m in members) or sum(m.file_size for m in members) > len(data):
            raise ValueError("members must be stored uncompressed")
        contents = {m.filename: archive.read(m) for m in members}
    meta = json.loads(contents.pop("meta.json").decode("utf-8"))
    if not isinstance(meta, dict):
        raise ValueError("meta.json is not an object")
    return meta, {name.removesuffix(".npy"): _array(content) for name, content in contents.items()}


def _array(content: bytes) -> Array:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f"array format {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if fortran or dtype.hasobject or dtype not in (np.int32, np.float64):
        raise ValueError(f"array of type {dtype}")
    rest = content[stream.tell() :]
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError("array of another size than it says")
    return np.frombuffer(rest, dtype).reshape(shape).copy()


def _rebuild(meta: dict[str, Any], arrays: dict[str, Array], given: Problem | None) -> Agent:
    if meta["algorithm"] not in ALGORITHMS:
        raise ValueError(f"unknown algorithm {meta['algorithm']!r}")
    problem = _problem(meta["problem"], given)
    options = meta["options"]
    if not isinstance(options, dict):
        raise ValueError("options are not an object")
    agent = ALGORITHMS[meta["algorithm"]](problem, seed=meta["seed"], **options)  # type: ignore[call-arg]
    state = agent.state
    parts = ATLAS_ARRAYS if isinstance(agent, Atlas) else _partitions(state)
    expected = {"outer", "history", *parts}
    full = {name for name in expected if not name.endswith("_forks")}  # earlier versions had no sparse forests
    if set(arrays) not in (expected, full):
        raise ValueError(f"it must hold the arrays {', '.join(sorted(expected))}")
    if isinstance(agent, Atlas):
        restore_memory(agent, arrays)
    else:
        alone, fresh, lipschitz = state.trainee is state.forest, state.forest, agent.rule.lipschitz
        state.forest = forest_from(arrays, "forest", state.space, lipschitz)
        state.trainee = state.forest if alone else forest_from(arrays, "trainee", state.space, lipschitz)
        if agent.rule.kind == NET and not np.array_equal(state.forest.balls["first"], fresh.balls["first"][: fresh.size[USED]]):
            raise ValueError("its cells are not the net of its step")
    state.outer = _outer(arrays["outer"], len(state.outer))
    history = arrays["history"]
    if history.dtype != np.float64 or history.ndim != 2 or history.shape[1] != len(COLUMNS) or not np.isfinite(history).all():
        raise ValueError("its history is malformed")
    if len(history) and not (np.abs(history[:, 2:5]) <= 2.0**53).all():
        raise ValueError("its history is malformed")
    state.history = history
    state.draws = whole("draws", meta["draws"], 0)
    return agent


def _outer(outer: Array, length: int) -> Array:
    good = outer.dtype == np.float64 and outer.shape == (length,)
    known = np.delete(outer, BEST_RETURN) if good else outer
    if not good or not np.isfinite(known).all() or (known < 0).any() or np.isinf(outer[BEST_RETURN]) or (known[2:] > 2.0**53).any():
        raise ValueError("its training state is malformed")
    return outer


def _problem(told: dict[str, Any], given: Problem | None) -> Problem:
    """The problem of a file: the given one if it fits, the one of the catalog, or a description that can predict but not run."""
    actions = dict(told["actions"])
    kind = actions.pop("kind")
    actions = {key: tuple(value) if isinstance(value, list) else value for key, value in actions.items()}
    env_id = None if told["env_id"] is None or told["has_options"] else str(told["env_id"])
    described = Problem(
        str(told["name"]),
        str(told["summary"]),
        tuple(Axis(**axis) for axis in told["state"]),
        Finite(**actions) if kind == "finite" else Continuous(**actions),
        whole("horizon", told["horizon"], 1),
        reference=None if told["reference"] is None else tuple(float(v) for v in told["reference"]),
        xi={str(k): float(v) for k, v in told["xi"].items()},
        rollouts=whole("rollouts", told["rollouts"], 1),
        clip=bool(told["clip"]),
        map_samples=whole("map_samples", told["map_samples"], 0),
        env_id=env_id,
        parameters=of_a_file(str(told["name"]), env_id, told.get("parameters", {})),
    )
    same = given
    if given is None and told["catalog"]:
        same = make_from_catalog(described.name, described.parameters)
    if same is None:
        return described
    for what in ("state", "actions", "horizon"):
        if getattr(same, what) != getattr(described, what):
            raise ValueError(f"its {what} differs from that of {same.name}")
    return same
