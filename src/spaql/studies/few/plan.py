"""Laws after few samples, as data: Atlas with laws as its controller on ten problems, and after how many samples.

Seeds from 1000 on; whatever was tuned was tuned on seeds below 100. One setting for all problems. Plants that are not
in the catalog (pc-gym's, a noisy motor): benchmarks/few_samples.py.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from spaql.analysis.numbers import NOTHING, span
from spaql.learners.registry import learners
from spaql.plants.catalog import CATALOG
from spaql.runs.rows import Run
from spaql.runs.spec import Option, Spec
from spaql.studies.atlas.plan import fresh_of, seeds_of
from spaql.studies.laws.plan import FRESH_IN_PYTHON
from spaql.studies.parts import Effort
from spaql.studies.study import Experiment, Extra, Finished

QUICK_SAMPLES = 120  # of a quick look, which has one agent of the first kind: a search takes 10 to 60 s
MODEL_BASED = next(card.name for card in learners() if card.model_based)


@dataclass(frozen=True)
class Task:
    """How a problem is learned, and after how many samples it is looked at."""

    samples: tuple[int, ...]
    label: str = ""  # what is special about it, beside other tasks on the problem
    controller: str = "laws"
    known: bool = False  # reward and end of episodes are known
    noise: float = 0.0  # standard deviation of the noise on all that is observed

    @property
    def options(self) -> tuple[tuple[str, Option], ...]:
        return (("controller", self.controller), ("use_known", self.known))

    def parameters(self, problem: str) -> str:
        """Of the problem, as JSON."""
        names = [axis.name for axis in CATALOG[problem].interface(CATALOG[problem].parameters)[0]] if self.noise else []
        return json.dumps({"observation_noise": dict.fromkeys(names, self.noise)}) if names else ""

    def owns(self, run: Run) -> bool:
        """Whether a run on the problem is one of this task."""
        return run.options == dict(self.options) and run.parameters == self.parameters(run.problem)


TASKS: dict[str, tuple[Task, ...]] = {
    "cartpole-swing-up": (
        Task((280, 320), "reward known", known=True),
        Task((400,), "reward learned"),
        Task((400,), "noise 0.01", noise=0.01),
    ),
    "pendulum": (Task((300, 1_000), "laws"), Task((1_000, 5_000), "laws or table", "best")),
    "cartpole-500": (Task((300,)),),
    "mountain-car": (Task((5_000,), controller="best"),),
    "mountain-car-continuous": (Task((3_000,), controller="best"),),
    "acrobot": (Task((10_000,), controller="best"),),
    "InvertedPendulum-v5": (Task((200,)),),
    "InvertedDoublePendulum-v5": (Task((5_000,)),),
    "Reacher-v5": (Task((10_000,)),),
    "LunarLanderContinuous-v3": (Task((50_000,)),),
}
COMPILED = tuple(name for name in TASKS if name in CATALOG)
ELSEWHERE = tuple(name for name in TASKS if name not in CATALOG)


def few_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """All tasks on a problem."""
    fresh = fresh_of(effort) if problem in COMPILED else FRESH_IN_PYTHON
    return [
        Spec(
            problem, MODEL_BASED, seed, 0, 0, fresh, task.options,
            (min(QUICK_SAMPLES, task.samples[0]),) if effort.quick else task.samples,
            parameters=task.parameters(problem),
        )
        for task in TASKS[problem][: 1 if effort.quick else None]
        for seed in seeds_of(effort, 1 if effort.quick and effort.seeds is None else None)
    ]  # fmt: skip


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    return f"{span(int(run.checkpoints[-1]) for run in runs)} samples", NOTHING


TITLE = "laws after few samples"
BOX2D, MUJOCO = Extra("Box2D", "box2d"), Extra("mujoco", "mujoco")
FEW = Experiment(
    "few",
    TITLE,
    COMPILED,
    few_specs,
    other_parts={name: f"{name}: {TITLE}" for name in ELSEWHERE},
    extras={name: BOX2D if name.startswith("Lunar") else MUJOCO for name in ELSEWHERE},
    lengths=_lengths,
)
