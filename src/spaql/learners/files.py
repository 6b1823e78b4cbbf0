"""Agent files: one zip with `meta.json` and plain `.npy` arrays, stored uncompressed.

No pickle; nothing in a file is trusted. Depths, arm counts and action keys are not stored but recomputed on load, so
that compiled code only ever sees a sound partition.
"""

import io
import json
import math
import zipfile
from dataclasses import asdict, replace
from os import PathLike
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import checked_path, whole
from spaql.ground.errors import SpaqlError, echoed, one_line
from spaql.ground.writing import write_whole
from spaql.learners.agent import Agent
from spaql.learners.history import COLUMN, COLUMNS, COUNTS
from spaql.learners.outer import BEST_RETURN
from spaql.learners.registry import learner_class, learners
from spaql.plants.catalog import CATALOG, ends_of
from spaql.plants.equations import plain
from spaql.plants.featured import attached, of_file
from spaql.plants.make import make_from_catalog, parameters_of_file
from spaql.plants.problem import Axis, Problem, completed
from spaql.plants.problem_text import (
    actions_of_file,
    check_loop,
    limits_for_file,
    limits_of_file,
    signals_for_file,
    signals_of_file,
)

FORMAT = "spaql agent"
VERSION = 1
MAX_MEMBERS = 16  # of the zip
MOST_NOTES = 20


# -- writing -----------------------------------------------------------------------------------------------------------


def save(agent: Agent, path: str | PathLike[str]) -> None:
    """Write the agent; the file appears whole or not at all."""
    state, target = agent.state, checked_path(path)
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "algorithm": agent.algorithm,
        "options": agent.options,
        "seed": agent.seed,
        "draws": state.draws,
        "notes": state.notes,
        "problem": _describe(agent.problem),
    }
    arrays = {"outer": state.outer, "history": state.history} | agent.arrays()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("meta.json"), json.dumps(meta, indent=1, default=plain))
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data.getvalue())
    write_whole(target, lambda file: file.write(buffer.getvalue()), lasting=True)


def _describe(problem: Problem) -> dict[str, Any]:
    kind = "finite" if problem.actions.values else "continuous"
    actions = {"kind": kind} | asdict(problem.actions)
    entry = CATALOG.get(problem.name)
    published = entry is not None and problem.env_id == entry.env_id
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
        **({"has_known": True} if problem.known is not None and problem.known.origin is None else {}),
        **({"parameters": problem.parameters} if problem.parameters else {}),
        **({"dt": problem.dt} if problem.dt is not None else {}),
        **({"limits": limits_for_file(problem.limits)} if problem.limits else {}),
        **({"ends": problem.ends} if problem.ends else {}),
        **({"signals": signals_for_file(problem.signals)} if problem.signals is not None else {}),
        **({"features": problem.features.texts} if problem.features is not None else {}),
        "catalog": published and problem.plant is not None and problem.signals is None,
    }


def _without_infinities(axis: dict[str, Any]) -> dict[str, Any]:
    finite = {key: value for key, value in axis.items() if not (isinstance(value, float) and math.isinf(value))}
    return finite if finite["period"] is not None else {key: value for key, value in finite.items() if key != "period"}


# -- reading -----------------------------------------------------------------------------------------------------------


def load(path: str | PathLike[str], problem: Problem | None = None) -> Agent:
    """Read an agent.

    `problem`: the plant or environment to go on with, where the file cannot hold it (your own plant or environment).
    """
    file = checked_path(path)
    try:
        meta, arrays = _unpack(file.read_bytes())
    except OSError as error:
        raise SpaqlError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a foreign or damaged file can fail in any way; it always ends in this one line
        raise SpaqlError(f"{path} is not a spaql agent, or it is damaged: {error}") from error
    if meta.get("format") != FORMAT:
        raise SpaqlError(f"{path} is not a spaql agent")
    if meta.get("version") != VERSION:
        raise SpaqlError(
            f"{path} has file version {echoed(meta.get('version'))}, this is for version {VERSION}: use another spaql"
        )
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
    card = next((card for card in learners() if card.name == meta["algorithm"]), None)
    if card is None:
        raise ValueError(f"unknown algorithm {meta['algorithm']!r}")
    problem = _problem(meta["problem"], given)
    options = meta["options"]
    if not isinstance(options, dict):
        raise ValueError("options are not an object")
    learner = learner_class(card)
    agent = learner(problem, seed=meta["seed"], **learner.before_it_was_an_option | options)
    state = agent.state
    expected = {"outer", "history", *agent.arrays()}
    full = {name for name in expected if not name.endswith("_forks")}  # earlier versions had no sparse forests
    if set(arrays) - learner.not_in_every_file not in (expected, full):
        raise ValueError(f"it must hold the arrays {', '.join(sorted(expected))}")
    agent.restore(arrays)
    state.outer = _outer(arrays["outer"], len(state.outer))
    history = arrays["history"]
    shaped = history.dtype == np.float64 and history.ndim == 2 and history.shape[1] == len(COLUMNS)
    if not shaped or not np.isfinite(history).all():
        raise ValueError("its history is malformed")
    if len(history) and not (np.abs(history[:, [getattr(COLUMN, name) for name in COUNTS]]) <= 2.0**53).all():
        raise ValueError("its history is malformed")
    state.history = history
    state.draws = whole("draws", meta["draws"], 0)
    state.notes = _notes(meta["notes"]) if "notes" in meta else agent.remarks(hurry=True)
    return agent


def _notes(notes: Any) -> tuple[str, ...]:
    if not isinstance(notes, list) or len(notes) > MOST_NOTES or not all(isinstance(note, str) for note in notes):
        raise ValueError("its notes are malformed")
    return tuple(one_line(note) for note in notes)


def _outer(outer: Array, length: int) -> Array:
    """The numbers of the outer loop, checked: finite, not negative, counters exact; BEST_RETURN may be NaN."""
    if outer.dtype != np.float64 or outer.shape != (length,) or np.isinf(outer[BEST_RETURN]):
        raise ValueError("its training state is malformed")
    rest = np.delete(outer, BEST_RETURN)
    if not np.isfinite(rest).all() or (rest < 0).any() or (rest[2:] > 2.0**53).any():
        raise ValueError("its training state is malformed")
    return outer


def _problem(described: dict[str, Any], given: Problem | None) -> Problem:
    """The problem of a file: the given problem if it fits, that of the catalog, or a description.

    An agent of a description can predict, but neither learn nor be evaluated.
    """
    incomplete = described["has_options"] or described.get("has_known", False)  # a file holds neither
    env_id = None if described["env_id"] is None or incomplete else str(described["env_id"])
    state, actions = tuple(Axis(**axis) for axis in described["state"]), actions_of_file(described["actions"])
    problem = Problem(
        str(described["name"]),
        str(described["summary"]),
        state,
        actions,
        whole("horizon", described["horizon"], 1),
        reference=None if described["reference"] is None else tuple(float(v) for v in described["reference"]),
        xi={str(k): float(v) for k, v in described["xi"].items()},
        rollouts=whole("rollouts", described["rollouts"], 1),
        clip=bool(described["clip"]),
        map_samples=whole("map_samples", described["map_samples"], 0),
        env_id=env_id,
        parameters=parameters_of_file(str(described["name"]), env_id, described.get("parameters", {})),
        limits=limits_of_file(described.get("limits", [])),
        signals=signals_of_file(described.get("signals"), str(described["summary"])),
        dt=described.get("dt"),
        ends=described.get("ends", ""),
        features=of_file(described.get("features"), state, actions),
    )
    same = given
    if given is None and described["catalog"] and problem.signals is None:
        same = make_from_catalog(problem.name, problem.parameters)
        same = attached(same, problem.features, problem.state[len(problem.measured) :])
    if same is None:
        return replace(problem, ends=ends_of(problem))  # earlier versions did not write it
    for what in ("state", "actions", "horizon", "features"):
        if getattr(same, what) != getattr(problem, what):
            raise ValueError(f"its {what} differs from that of {same.name}")
    check_loop(problem.signals, same.signals)
    return completed(same, problem)
