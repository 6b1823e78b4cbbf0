"""Controllers a person can read: adaptive Q-learning (AQL, SPAQL, SPAQL-TS), compiled.

import spaql

agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
agent.learn(iterations=200, progress=True)
print(agent.evaluate())
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spaql.errors import SpaqlError
from spaql.plants.registration import register

if TYPE_CHECKING:
    from spaql import analysis, callbacks
    from spaql.data.coverage import coverage
    from spaql.data.recording import record
    from spaql.files import load
    from spaql.learners.aql import AQL
    from spaql.learners.atlas.learner import Atlas
    from spaql.learners.nbql import NBQL
    from spaql.learners.random import Random
    from spaql.learners.spaql import SPAQL
    from spaql.learners.spaql_ts import SPAQLTS
    from spaql.learners.zoomrl import ZoomRL
    from spaql.plants.between import Between
    from spaql.plants.checking import check
    from spaql.plants.gym import from_gym
    from spaql.plants.making import from_plant, make, problems
    from spaql.plants.plant import observe, reset, step
    from spaql.plants.problem import Axis, Continuous, Finite, Problem, cube
    from spaql.training.history import Evaluation, History
    from spaql.training.recording import Episode
    from spaql.training.trainer import learn_all
    from spaql.training.vectors import evaluate_vector

__version__ = "0.1.0"
__all__ = [
    "AQL", "NBQL", "SPAQL", "SPAQLTS", "Atlas", "Axis", "Between", "Continuous", "Episode", "Evaluation", "Finite", "History", "Problem",
    "Random", "SpaqlError", "ZoomRL", "analysis", "callbacks", "check", "coverage", "cube", "evaluate_vector", "from_gym", "from_plant",
    "learn_all", "load", "make", "observe", "problems", "record", "reset", "step",
]  # fmt: skip

register()

# Importing spaql compiles nothing and does not load numba: each name is fetched when it is first used.
_HOMES = {
    "AQL": "spaql.learners.aql",
    "Atlas": "spaql.learners.atlas.learner",
    "SPAQL": "spaql.learners.spaql",
    "SPAQLTS": "spaql.learners.spaql_ts",
    "NBQL": "spaql.learners.nbql",
    "Random": "spaql.learners.random",
    "coverage": "spaql.data.coverage",
    "record": "spaql.data.recording",
    "ZoomRL": "spaql.learners.zoomrl",
    "load": "spaql.files",
    "Between": "spaql.plants.between",
    "check": "spaql.plants.checking",
    "from_gym": "spaql.plants.gym",
    "learn_all": "spaql.training.trainer",
    "evaluate_vector": "spaql.training.vectors",
    "History": "spaql.training.history",
    "Evaluation": "spaql.training.history",
    "Episode": "spaql.training.recording",
    **dict.fromkeys(("observe", "reset", "step"), "spaql.plants.plant"),
    **dict.fromkeys(("Axis", "Continuous", "Finite", "Problem", "cube"), "spaql.plants.problem"),
    **dict.fromkeys(("from_plant", "make", "problems"), "spaql.plants.making"),
}


def __getattr__(name: str) -> Any:
    if name in ("analysis", "callbacks"):
        return import_module(f"spaql.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'spaql' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
