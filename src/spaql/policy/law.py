"""One affine law by hand, with gains by the names of the variables: P, PI and LQR controllers are of this kind.

spaql.law(problem, {"angle": -3.0, "velocity": -0.5}, offset=0.2)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import numbers, real
from spaql.errors import SpaqlError, echoed
from spaql.plants.problem import Continuous, Finite, Problem
from spaql.policy.outputs import make_laws
from spaql.policy.policy import Policy
from spaql.policy.words import action_names, variable_names
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD
from spaql.trees.tree import LEAF, NODE, make_tree


def law(problem: Problem, gains: Any, offset: Any = 0.0, name: str = "law") -> Policy:
    """The policy of one affine law, `action = gains . observation + offset`, held within the range of the action.

    - `gains`: a number per variable by name, or a vector in the order of `problem.state`; names that are missing have
      none. Where there are several action axes: one of these for each, by the name of the axis or in their order.
    - `offset`: a number for all action axes, or one for each, by name or in their order.
    - `name`: what kind of controller it is, for people: "PI".

    Of two actions the last is applied where the sum is not negative, else the first; of more, the rounded sum is the
    number of the action, counted from 0. One law per action, in their order, makes the highest sum choose.
    """
    actions, axes = checked_problem(problem).actions, action_names(problem)
    rows, outputs = _rows(gains, axes), axes
    kind = CLIP if isinstance(actions, Continuous) else THRESHOLD if len(actions.values) <= 2 else ORDERED
    if isinstance(actions, Finite) and kind == ORDERED and len(rows) == len(actions.values):
        kind, outputs = SCORES, [f"{value:g}" for value in actions.values]
    if len(rows) != len(outputs):
        wanted = f"{len(outputs)} laws, one for each of {', '.join(outputs)}" if len(outputs) > 1 else "one law"
        raise SpaqlError(f"gains must be {wanted}: a number per variable, by name or in the order of the variables")
    if not isinstance(name, str):
        raise SpaqlError(f"name must be a text, not {echoed(name)}")
    offsets = vector("offset", [offset] * len(outputs) if isinstance(offset, int | float) else offset, outputs)
    variables = variable_names(problem)
    told = zip(outputs, rows, strict=True)
    return one_law(
        problem, np.array([vector(f"gains of {one}", row, variables) for one, row in told]), offsets, kind, name
    )


def _rows(gains: Any, axes: Sequence[str]) -> list[Any]:
    """The laws one by one, from a mapping by axis, a list of laws, or one law."""
    if isinstance(gains, Mapping):
        return [gains.get(axis, {}) for axis in _known("gains", gains, axes)] if len(axes) > 1 else [gains]
    several = isinstance(gains, Sequence | np.ndarray) and len(gains) > 0 and not isinstance(gains, str)
    if several and all(isinstance(row, Mapping | Sequence | np.ndarray) for row in gains):
        return list(gains)
    return [gains]


def one_law(problem: Problem, gains: Array, offsets: Array, kind: int, name: str) -> Policy:
    """The policy of one law: gains (outputs, variables) and offsets (outputs,) of a kind of trees/laws.py."""
    nodes = np.zeros(1, NODE)
    nodes["feature"] = LEAF
    laws = make_laws(gains[None], offsets[None], problem.actions, kind)
    tree = make_tree(nodes, np.zeros((1, problem.actions.axes)), len(problem.state), None, laws)
    return Policy(problem, tree, name, problem.name)


def checked_problem(problem: Any) -> Problem:
    if not isinstance(problem, Problem):
        kind = type(problem).__name__
        raise SpaqlError(f"the problem must come from spaql.make, from_gym, from_plant or from_data, not {kind}")
    return problem


def vector(what: str, given: Any, names: Sequence[str], missing: Any = 0.0) -> Array:
    """Finite numbers in the order of `names`, from a mapping by name or from a vector.

    `missing`: what stands for names that a mapping leaves out, one number or one per name; NaN where they must be told.
    """
    if isinstance(given, Mapping):
        found = np.array(np.broadcast_to(np.asarray(missing, float), (len(names),)))
        for j, name in enumerate(_known(what, given, names)):
            if name in given:
                found[j] = real(f"{what}: {name}", given[name])
        lacking = [name for name, value in zip(names, found, strict=True) if np.isnan(value)]
        if lacking:
            raise SpaqlError(f"{what} lacks {', '.join(lacking)}")
        return found
    made = numbers(what, given, (len(names),))
    if not np.isfinite(made).all():
        raise SpaqlError(f"{what} must be finite numbers, not {made.tolist()}")
    return made


def _known(what: str, given: Mapping[Any, Any], names: Sequence[str]) -> Sequence[str]:
    for name in given:
        if name not in names:
            raise SpaqlError(f"{what}: there is no {echoed(name)}, only {', '.join(names)}")
    return names
