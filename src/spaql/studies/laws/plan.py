"""Slides: controllers of a few affine laws for nine problems, as data. How many laws, and how many samples.

Seeds from 1000 on; whatever was tuned was tuned on seeds below 100. The environments of MuJoCo and Box2D need extras;
their runs come with the package.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spaql.analysis.numbers import NOTHING, span
from spaql.learners.registry import learners
from spaql.plants.catalog import CATALOG
from spaql.runs.rows import Run
from spaql.runs.spec import Spec
from spaql.studies.atlas.plan import fresh_of, seeds_of
from spaql.studies.parts import Effort
from spaql.studies.study import Experiment, Finished, Published

SEEDS = 10
FRESH_IN_PYTHON = 100  # episodes of the fresh evaluation in an environment
QUICK = 0.02  # of the samples, for a quick look
SEARCHER = next(card.name for card in learners() if card.simulator)


@dataclass(frozen=True)
class Slide:
    """At most so many laws, after so many samples."""

    leaves: int
    samples: int


SLIDES: dict[str, tuple[Slide, ...]] = {
    "pendulum": (Slide(2, 180_000_000), Slide(8, 1_200_000_000)),
    "cartpole-500": (Slide(1, 100_000_000),),
    "cartpole-swing-up": (Slide(3, 200_000_000),),
    "mountain-car": (Slide(2, 200_000_000),),
    "mountain-car-continuous": (Slide(3, 1_500_000_000),),
    "acrobot": (Slide(2, 300_000_000),),
    "InvertedPendulum-v5": (Slide(1, 20_000),),
    "InvertedDoublePendulum-v5": (Slide(1, 20_000),),
    "LunarLanderContinuous-v3": (Slide(1, 1_500_000),),
    "LunarLander-v3": (Slide(1, 1_500_000),),
}
COMPILED = tuple(name for name in SLIDES if name in CATALOG)
MUJOCO = ("InvertedPendulum-v5", "InvertedDoublePendulum-v5")
BOX2D = ("LunarLanderContinuous-v3", "LunarLander-v3")


def laws_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """The search with every size of the problem."""
    compiled, share = problem in CATALOG, QUICK if effort.quick else 1.0
    fresh = fresh_of(effort) if compiled else FRESH_IN_PYTHON
    return [
        Spec(
            problem, SEARCHER, seed, 0, 0, fresh, (("max_leaves", slide.leaves),),
            (slide.samples if slide.samples < 10**6 else int(share * slide.samples),),
        )
        for slide in SLIDES[problem]
        for seed in seeds_of(effort, SEEDS)
    ]  # fmt: skip


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    return f"{span(int(run.checkpoints[-1]) for run in runs)} samples", NOTHING


LAWS = Experiment("laws", "a few laws", COMPILED, laws_specs, lengths=_lengths)


def _elsewhere(name: str, module: str, problems: tuple[str, ...]) -> Experiment:
    """Environments that need an extra."""
    label = f"{name} as published"
    published = Published(module, f"the environments of {name} need", label, beside=("laws",), extra=name)
    titles = {problem: f"{problem}: a few laws" for problem in problems}
    return Experiment(name, "a few laws", (), laws_specs, titles, published=published, lengths=_lengths)


IN_MUJOCO = _elsewhere("mujoco", "mujoco", MUJOCO)
IN_BOX2D = _elsewhere("box2d", "Box2D", BOX2D)
EXPERIMENTS = (LAWS, IN_MUJOCO, IN_BOX2D)
