"""Controllers a person can read: adaptive Q-learning (AQL, SPAQL, SPAQL-TS), compiled.

import spaql

agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
agent.learn(iterations=200, progress=True)
print(agent.evaluate())
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.learners.registry import class_homes
from spaql.plants.catalog import register
from spaql.version import __version__ as __version__

if TYPE_CHECKING:
    from spaql import analysis, callbacks
    from spaql.analysis.paired import compare
    from spaql.data.coverage import coverage
    from spaql.data.learned import from_data
    from spaql.data.record import record
    from spaql.export.monitor import Monitor
    from spaql.learners.files import load
    from spaql.learners.history import History
    from spaql.learners.registry import *  # noqa: F403  (the classes of the learners)
    from spaql.plants.catalog import problems
    from spaql.plants.check import check
    from spaql.plants.equations import Between
    from spaql.plants.features import Feature
    from spaql.plants.fmu import from_fmu
    from spaql.plants.gym import from_gym
    from spaql.plants.known import check_known
    from spaql.plants.limits import Interlock, Limit
    from spaql.plants.loop import loop
    from spaql.plants.make import from_plant, make
    from spaql.plants.ode import from_ode
    from spaql.plants.plant import observe, reset, step
    from spaql.plants.problem import Axis, Continuous, Finite, Problem, cube
    from spaql.plants.references import Reference
    from spaql.policy.controller import Controller
    from spaql.policy.evaluation import Evaluation
    from spaql.policy.law import law, pid
    from spaql.policy.lqr import lqr
    from spaql.policy.policy import Policy
    from spaql.policy.probe_results import StepResponse, Worst
    from spaql.proofs.check_proof import check_proof
    from spaql.proofs.proof import Proof
    from spaql.rig.rig import Rig
    from spaql.training.episode import Episode
    from spaql.training.trainer import learn_all
    from spaql.training.vectors import evaluate_vector
    from spaql.trees.equality import differences
    from spaql.tuning.tune import tune
    from spaql_studies.sweep import sweep

__all__ = [
    "Axis", "Between", "Continuous", "Controller", "Episode", "Evaluation", "Feature", "Finite", "History", "Interlock",
    "Limit", "Monitor", "Policy", "Problem", "Proof", "Reference", "Rig", "SpaqlError", "SpaqlWarning", "StepResponse",
    "Worst", "analysis", "callbacks", "check", "check_known", "check_proof", "compare", "coverage", "cube",
    "differences", "evaluate_vector", "from_data", "from_fmu", "from_gym", "from_ode", "from_plant", "law",
    "learn_all", "load", "loop", "lqr", "make", "observe", "pid", "problems", "record", "reset", "step", "sweep",
    "tune",
]  # fmt: skip
__all__ += list(class_homes())

register()

# Importing spaql compiles nothing and does not load numba: each name is fetched when it is first used.
_HOMES = {
    **class_homes(),
    "coverage": "spaql.data.coverage",
    "record": "spaql.data.record",
    "load": "spaql.learners.files",
    "sweep": "spaql_studies.sweep",
    "Between": "spaql.plants.equations",
    "check": "spaql.plants.check",
    "check_known": "spaql.plants.known",
    "check_proof": "spaql.proofs.check_proof",
    "Proof": "spaql.proofs.proof",
    "Interlock": "spaql.plants.limits",
    "Limit": "spaql.plants.limits",
    "Reference": "spaql.plants.references",
    "loop": "spaql.plants.loop",
    "Monitor": "spaql.export.monitor",
    "from_data": "spaql.data.learned",
    "Feature": "spaql.plants.features",
    "from_fmu": "spaql.plants.fmu",
    "from_gym": "spaql.plants.gym",
    "learn_all": "spaql.training.trainer",
    "evaluate_vector": "spaql.training.vectors",
    "History": "spaql.learners.history",
    "compare": "spaql.analysis.paired",
    "Controller": "spaql.policy.controller",
    "law": "spaql.policy.law",
    "lqr": "spaql.policy.lqr",
    "pid": "spaql.policy.law",
    "Evaluation": "spaql.policy.evaluation",
    "Episode": "spaql.training.episode",
    "Policy": "spaql.policy.policy",
    "StepResponse": "spaql.policy.probe_results",
    "Worst": "spaql.policy.probe_results",
    "differences": "spaql.trees.equality",
    **dict.fromkeys(("observe", "reset", "step"), "spaql.plants.plant"),
    **dict.fromkeys(("Axis", "Continuous", "Finite", "Problem", "cube"), "spaql.plants.problem"),
    **dict.fromkeys(("from_plant", "make"), "spaql.plants.make"),
    "from_ode": "spaql.plants.ode",
    "problems": "spaql.plants.catalog",
    "Rig": "spaql.rig.rig",
    "tune": "spaql.tuning.tune",
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
