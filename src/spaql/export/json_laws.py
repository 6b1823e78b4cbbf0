"""Laws in JSON: written exactly, read with distrust."""

from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import FAR, choice, real
from spaql.plants.axes import Continuous, Finite
from spaql.policy.outputs import make_laws
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws

KINDS = {CLIP: "clip", ORDERED: "ordered", SCORES: "scores", THRESHOLD: "threshold"}


def told_law(laws: LeafLaws, leaf: int) -> dict[str, Any]:
    """What a leaf is in the file."""
    return {"gains": laws.gains[leaf].tolist(), "offsets": laws.offsets[leaf].tolist()}


def read_laws(told: Any, rows: list[Any], variables: int, actions: Continuous | Finite) -> LeafLaws:
    """The laws of a tree whose nodes are checked already, but for the numbers in their laws."""
    named = {name: kind for kind, name in KINDS.items()}
    kind = named[choice("laws", told, named)]
    if (kind == CLIP) != isinstance(actions, Continuous):
        raise ValueError(f"laws of kind {told!r} do not fit the actions")
    outputs = len(actions.values) if kind == SCORES and isinstance(actions, Finite) else actions.axes
    read = {i: _law(row["law"], outputs, variables) for i, row in enumerate(rows) if "law" in row}
    gains, offsets = np.zeros((len(rows), outputs, variables)), np.zeros((len(rows), outputs))
    for i, (own_gains, own_offsets) in read.items():
        gains[i], offsets[i] = own_gains, own_offsets
    return make_laws(gains, offsets, actions, kind)


def _law(told: dict[str, Any], outputs: int, variables: int) -> tuple[Array, Array]:
    gains, offsets = told["gains"], told["offsets"]
    if not _is_list(gains, outputs) or not all(_is_list(row, variables) for row in gains):
        raise ValueError(f"the gains of a law must be {outputs} lists of {variables} numbers")
    if not _is_list(offsets, outputs):
        raise ValueError(f"the offsets of a law must be {outputs} numbers")
    return np.array([[_number("a gain", gain) for gain in row] for row in gains], float).reshape(
        outputs, variables
    ), np.array([_number("an offset", offset) for offset in offsets], float)


def _is_list(told: Any, length: int) -> bool:
    return isinstance(told, list) and len(told) == length


def _number(name: str, told: Any) -> float:
    """Larger ones would be infinite as soon as they are multiplied by an observation."""
    return real(f"{name} of a law", told, -FAR, FAR)
