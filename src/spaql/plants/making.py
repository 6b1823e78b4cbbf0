"""Making problems: by name, or from a plant of your own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spaql.errors import SpaqlError
from spaql.plants.between import Between
from spaql.plants.catalog import CATALOG, make_from_catalog
from spaql.plants.own import checked, with_parameters
from spaql.plants.parameters import told
from spaql.plants.plant import PlantFunction, make_plant
from spaql.plants.problem import Axis, Continuous, Finite, Problem


def make(name: str, **parameters: Any) -> Problem:
    """A problem of the catalog by name; `spaql.problems()` lists them.

    - `parameters`: physical ones by name, such as `m=2.0`, and `horizon`, steps per episode (docs/plants.md lists them)
    - `m=spaql.Between(0.8, 1.2)`: a parameter drawn anew at every reset
    - `process_noise={"velocity": 0.1}`: standard deviation of normal noise added to a state variable after every step
    - `observation_noise={"velocity": 0.1}`: of the error with which a variable is observed; a number is a fraction of every range
    """
    return make_from_catalog(name, parameters)


def problems() -> dict[str, str]:
    """The problems by name, with a line each."""
    return {name: entry.summary for name, entry in CATALOG.items()}


def from_plant(
    reset: PlantFunction,
    step: PlantFunction,
    *,
    state: Sequence[Axis],
    actions: Continuous | Finite,
    horizon: int,
    observe: PlantFunction | None = None,
    reference: Sequence[float] | None = None,
    name: str = "own plant",
    rollouts: int = 20,
    parameters: Mapping[str, float | Between] | None = None,
) -> Problem:
    """A problem from your own equations (functions decorated with `@spaql.reset`, `@spaql.step`, `@spaql.observe`).

    `parameters`: numbers, or ranges drawn anew at every reset, for the arguments of these functions that are named like them.
    """
    if isinstance(actions, Finite) and not actions.consecutive:
        actions = replace(actions, box=True)  # as an environment it takes these numbers, not their index
    if not isinstance(actions, Continuous | Finite):
        raise SpaqlError(f"actions is a spaql.Continuous or a spaql.Finite, not {type(actions).__name__}")
    axes = len(actions.low) if isinstance(actions, Continuous) else 1
    given = checked(parameters or {})
    plant = with_parameters(reset, step, observe, axes, given) if given else make_plant(reset, step, observe, axes)
    if len(state) != plant.observation_dim:
        raise SpaqlError(f"the plant shows {plant.observation_dim} variables, but `state` describes {len(state)}")
    return Problem(
        name, "a plant of your own" + (f" with {told(given)}" if given else ""), tuple(state), actions, horizon,
        reference=None if reference is None else tuple(np.atleast_1d(reference).tolist()), plant=plant, rollouts=rollouts,
    )  # fmt: skip
