"""Policies as JSON: written exactly, read with distrust. The schema is in docs/exports.md."""

import json
import math
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import FAR, choice, flag, real, whole
from spaql.ground.errors import SpaqlError
from spaql.plants.catalog import CATALOG
from spaql.plants.equations import plain
from spaql.plants.featured import attached, of_file
from spaql.plants.make import make_from_catalog, parameters_of_file
from spaql.plants.problem import MOST_VARIABLES, Axis, Continuous, Finite, Problem, completed
from spaql.plants.problem_text import check_loop, limits_for_file, limits_of_file, signals_for_file, signals_of_file
from spaql.policy.certificate import certificate_of_file
from spaql.policy.knowledge import Knowledge
from spaql.policy.outputs import make_laws
from spaql.policy.policy import Policy
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.tree import LEAF, NODE, Tree, make_tree
from spaql.version import __version__

FORMAT, VERSION = "spaql policy", 1
MOST_NODES = 10**7  # that are read
MOST_LETTERS = 2**28  # of the whole text
LONGEST_NAME = 1000  # letters
CHANGES = ("parameters", "limits", "ends", "signals", "features")  # keys that only some problems have
KINDS = {CLIP: "clip", ORDERED: "ordered", SCORES: "scores", THRESHOLD: "threshold"}  # of laws


# -- writing -----------------------------------------------------------------------------------------------------------

def to_json(policy: Policy) -> str:
    """One line per variable and node, so that two policies can be compared line by line."""
    problem = policy.problem
    fields = {"name": problem.name, "summary": problem.summary, "horizon": int(problem.horizon), "clip": problem.clip}
    head = {
        "format": FORMAT,
        "version": VERSION,
        "spaql": __version__,
        "kind": policy.kind,
        "origin": policy.origin,
        "step": policy.knowledge.step,
        "problem": fields | _changes(problem),
    }
    parts = [f" {_line(key)}: {_line(value)}" for key, value in head.items()]
    parts.append(' "variables": ' + _lines([_variable(axis) for axis in problem.state]))
    parts.append(f' "actions": {_line(_actions(problem.actions))}')
    if policy.rules.laws is not None:  # only then, so that other policies are written as they always were
        parts.append(f' "laws": {_line(KINDS[policy.rules.laws.kind])}')
    if policy.certificate is not None:
        parts.append(f' "certificate": {_line(policy.certificate.to_dict())}')
    parts.append(' "nodes": ' + _lines(_nodes(policy.rules)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _changes(problem: Problem) -> dict[str, Any]:
    """Keys that only some problems have, so that the others are written as they always were."""
    named = problem.name in CATALOG and problem.ends == CATALOG[problem.name].ends
    fields = {
        "parameters": problem.parameters,
        "limits": limits_for_file(problem.limits),
        "ends": "" if named else problem.ends,
        "signals": problem.signals and signals_for_file(problem.signals),
        "features": problem.features and problem.features.texts,
    }
    return {key: value for key, value in fields.items() if value}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=plain)


def _lines(values: list[Any]) -> str:
    return "[\n" + ",\n".join(f"  {_line(value)}" for value in values) + "\n ]"


def _variable(axis: Axis) -> dict[str, Any]:
    ends = {name: getattr(axis, name) for name in ("low", "high", "slope", "centre")}
    numbers = {name: float(end) if end is not None and math.isfinite(end) else None for name, end in ends.items()}
    return {"name": axis.name, "unit": axis.unit} | numbers


def _actions(actions: Continuous | Finite) -> dict[str, Any]:
    said = {"names": actions.names, "units": actions.units}
    if isinstance(actions, Finite):
        return {"kind": "finite", "values": actions.values, "box": actions.box} | said
    return {"kind": "continuous", "low": [*map(float, actions.low)], "high": [*map(float, actions.high)]} | said


def _nodes(tree: Tree) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []
    for i, (cut, feature, low, high) in enumerate(tree.nodes.tolist()):
        if feature == LEAF and tree.laws is not None:
            nodes.append({"law": {"gains": tree.laws.gains[i].tolist(), "offsets": tree.laws.offsets[i].tolist()}})
        elif feature == LEAF:
            nodes.append({"action": tree.actions[i].tolist()})
        elif feature < tree.variables:
            nodes.append({"variable": feature, "at_least": cut, "low": low, "high": high})
        else:
            nodes.append({"weights": tree.weights[i].tolist(), "at_least": cut, "low": low, "high": high})
    return nodes


# -- reading -----------------------------------------------------------------------------------------------------------

def policy_from_json(text: str | bytes, problem: Problem | None = None) -> Policy:
    """A policy written by `to_json`. Nothing in the text is trusted.

    It can be evaluated if `problem` is given, or if it is one of `spaql.problems()`, with the same variables and
    actions.
    """
    if not isinstance(text, str | bytes):
        raise SpaqlError(f"a policy is read from text, not from {type(text).__name__}")
    if len(text) > MOST_LETTERS:
        raise SpaqlError(f"the text of the policy is longer than {MOST_LETTERS} letters")
    try:
        parsed = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
        return _rebuild(parsed, problem)
    except Exception as error:  # foreign or damaged text can fail in any way; it always ends in this one line
        what = " ".join(str(error).split()) or type(error).__name__
        what = "it is nested too deep" if isinstance(error, RecursionError) else what
        raise SpaqlError(f"this is not a spaql policy, or it is damaged: {what[:300]}") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is there twice")
    return fields


def _rebuild(told: Any, given: Problem | None) -> Policy:
    there = [key for key in ("laws", "certificate") if isinstance(told, dict) and key in told]
    keys = "format version spaql kind origin step problem variables actions nodes"
    top = _fields("the policy", told, " ".join([keys, *there]))
    if top["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    if whole("version", top["version"], 0) != VERSION:
        raise ValueError(f"it has version {top['version']}, this is for version {VERSION}: use another spaql")
    _string("spaql", top["spaql"])
    described = _problem(top)
    problem = _with_plant(described, given)
    tree = _tree(top["nodes"], len(described.state), described.actions, top.get("laws"))
    kind, origin = _string("kind", top["kind"]), _string("origin", top["origin"])
    certificate = certificate_of_file(top["certificate"]) if "certificate" in top else None
    return Policy(problem, tree, kind, origin, Knowledge(step=whole("step", top["step"], 0)), certificate=certificate)


def _fields(name: str, told: Any, keys: str) -> dict[str, Any]:
    """An object with exactly these keys."""
    if not isinstance(told, dict):
        raise ValueError(f"{name} is not an object")
    wanted = set(keys.split())
    if told.keys() != wanted:
        missing, foreign = sorted(wanted - told.keys()), sorted(told.keys() - wanted)
        raise ValueError(f"{name} " + (f"has no {missing[0]!r}" if missing else f"has an unknown key {foreign[0]!r}"))
    return told


def _string(name: str, told: Any) -> str:
    if not isinstance(told, str) or len(told) > LONGEST_NAME:
        raise ValueError(f"{name} must be text of at most {LONGEST_NAME} letters")
    told.encode()  # half of a pair of surrogates is no text, and would only fail when the policy is written again
    return told


def _list(name: str, told: Any, most: int) -> list[Any]:
    if not isinstance(told, list) or len(told) > most:
        raise ValueError(f"{name} must be a list of at most {most}")
    return told


def _problem(top: dict[str, Any]) -> Problem:
    """The problem as it is told: it can decide, but not run."""
    there = [key for key in CHANGES if isinstance(top["problem"], dict) and key in top["problem"]]
    fields = _fields("problem", top["problem"], " ".join(["name summary horizon clip", *there]))
    state = tuple(_axis(axis) for axis in _list("variables", top["variables"], MOST_VARIABLES))
    actions, (name, summary) = _told_actions(top["actions"]), (_string(key, fields[key]) for key in ("name", "summary"))
    return Problem(
        name, summary, state, actions, whole("horizon", fields["horizon"], 1), clip=flag("clip", fields["clip"]),
        parameters=parameters_of_file(fields["name"], None, fields.get("parameters", {})),
        limits=limits_of_file(fields.get("limits", [])),
        signals=signals_of_file(fields.get("signals"), fields["summary"]),
        ends=fields.get("ends", ""), features=of_file(fields.get("features"), state, actions),
    )  # fmt: skip


def _axis(told: Any) -> Axis:
    axis = _fields("a variable", told, "name unit low high slope centre")
    numbers = {key: real(key, axis[key]) for key in ("low", "high", "slope") if axis[key] is not None}
    labels = {key: _string(key, axis[key]) for key in ("name", "unit")}
    return Axis(**labels, **numbers, centre=real("centre", axis["centre"]))  # type: ignore[arg-type]


def _told_actions(told: Any) -> Continuous | Finite:
    kind = told.get("kind") if isinstance(told, dict) else None
    if kind not in ("finite", "continuous"):
        raise ValueError("actions must be an object of kind 'finite' or 'continuous'")
    finite = kind == "finite"
    actions = _fields("actions", told, "kind values box names units" if finite else "kind low high names units")
    names, units = (tuple(_string(key, word) for word in _list(key, actions[key], 64)) for key in ("names", "units"))
    if finite:
        values = _list("values", actions["values"], 10**6)
        for value in values:
            real("an action", value)
        return Finite(tuple(values), flag("box", actions["box"]), names, units)
    low, high = (tuple(real(key, value) for value in _list(key, actions[key], 64)) for key in ("low", "high"))
    return Continuous(low, high, names, units)


def _with_plant(described: Problem, given: Problem | None) -> Problem:
    """The given problem, or the one of the catalog if it is the same one, or the description."""
    same = given
    if given is None and described.name in CATALOG and described.signals is None:
        same = make_from_catalog(described.name, described.parameters)
        same = attached(same, described.features, described.state[len(described.measured) :])
    if same is None:
        return described
    for what in ("state", "actions", "horizon", "features"):
        if getattr(same, what) != getattr(described, what):
            if given is None:
                return described
            raise ValueError(f"its {'variables' if what == 'state' else what} are not those of {given.name}")
    check_loop(described.signals, same.signals)
    return completed(same, described)


def _tree(told: Any, variables: int, actions: Continuous | Finite, laws: Any = None) -> Tree:
    """`laws`: the kind of the laws, if leaves are laws."""
    rows = _list("nodes", told, MOST_NODES)
    axes = actions.axes
    nodes, applied, weights = np.zeros(len(rows), NODE), np.zeros((len(rows), axes)), np.zeros((len(rows), variables))
    for i, row in enumerate(rows):
        leaf = "action" if laws is None else "law"
        if isinstance(row, dict) and leaf in row:
            nodes["feature"][i], told_leaf = LEAF, _fields("a leaf", row, leaf)[leaf]
            if laws is None:
                applied[i] = _numbers("an action", told_leaf, axes)
            else:
                _fields("a law", told_leaf, "gains offsets")
            continue
        oblique = isinstance(row, dict) and "weights" in row
        test = _fields("a node", row, ("weights" if oblique else "variable") + " at_least low high")
        feature = variables if oblique else whole("variable", test["variable"], 0, variables - 1)
        if oblique:
            weights[i] = _numbers("weights", test["weights"], variables)
        low, high = (whole(side, test[side], 1, len(rows) - 1) for side in ("low", "high"))
        nodes[i] = (real("at_least", test["at_least"]), feature, low, high)
    tree = make_tree(nodes, applied, variables, weights)
    if laws is not None:
        return make_tree(nodes, applied, variables, weights, _laws(laws, rows, variables, actions))
    if not actions.contain(applied[nodes["feature"] == LEAF]):
        raise ValueError("a leaf applies an action that is not among the actions")
    return tree


def _numbers(name: str, told: Any, length: int, most: float = math.inf) -> list[float]:
    values = _list(name, told, length)
    if len(values) != length:
        raise ValueError(f"{name} must be {length} numbers")
    return [real(name, value, -most, most) for value in values]


def _laws(told: Any, rows: list[Any], variables: int, actions: Continuous | Finite) -> LeafLaws:
    """The laws of a tree whose nodes are checked already, but for the numbers in their laws."""
    named = {name: kind for kind, name in KINDS.items()}
    kind = named[choice("laws", told, named)]
    if (kind == CLIP) != isinstance(actions, Continuous):
        raise ValueError(f"laws of kind {told!r} do not fit the actions")
    outputs = len(actions.values) if kind == SCORES and isinstance(actions, Finite) else actions.axes
    read = {i: _law(row["law"], outputs, variables) for i, row in enumerate(rows) if "law" in row}
    gains, offsets = np.zeros((len(rows), outputs, variables)), np.zeros((len(rows), outputs))
    for i, law in read.items():
        gains[i], offsets[i] = law
    return make_laws(gains, offsets, actions, kind)


def _law(told: dict[str, Any], outputs: int, variables: int) -> tuple[Array, Array]:
    """Larger numbers would be infinite as soon as they are multiplied by an observation."""
    rows = _list("the gains of a law", told["gains"], outputs)
    gains = [_numbers("the gains of a law", row, variables, FAR) for row in rows]
    if len(gains) != outputs:
        raise ValueError(f"the gains of a law must be {outputs} lists of {variables} numbers")
    offsets = _numbers("the offsets of a law", told["offsets"], outputs, FAR)
    return np.array(gains, float).reshape(outputs, variables), np.array(offsets, float)
