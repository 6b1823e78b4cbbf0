"""Beyond the paper, as data: Atlas against SPAQL and common algorithms for comparison, over all samples; and Atlas
without its parts.

Whatever was tuned was tuned on seeds below 100; what is reported uses seeds from 1000 on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spaql.analysis.numbers import NOTHING, span
from spaql.learners.registry import learners
from spaql.plants.catalog import CATALOG
from spaql.runs.rows import Run
from spaql.runs.spec import Option, Spec
from spaql.studies.parts import Effort, Part
from spaql.studies.study import Experiment, Finished, Published

FIRST_SEED = 1000
MOST_SEEDS = {"SAC": 10}  # a run of SAC takes minutes


@dataclass(frozen=True)
class Contest:
    """A problem: where Atlas is looked at, how small its tree shall be, and who else takes part, looked at where."""

    atlas: tuple[int, ...]
    leaves: int
    rivals: dict[str, tuple[int, ...]]
    spaql: tuple[int, ...]
    oblique: bool = False  # tests of the tree may weigh two variables


_SPAQL = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000)
_DQN = (1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000, 20_000, 30_000, 40_000, 50_000)
_PPO = (1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)
CONTESTS = {
    "pendulum": Contest(
        (500, 1_000, 2_000, 5_000, 20_000),
        64,
        {"SAC": (500, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000)},
        _SPAQL,
        oblique=True,
    ),
    "cartpole": Contest((500, 1_000, 2_000), 8, {"DQN": _DQN, "PPO": _PPO}, _SPAQL),
    "cartpole-500": Contest((1_000, 2_000, 5_000), 8, {"DQN": _DQN, "PPO": _PPO}, _SPAQL),
    "mountain-car": Contest(
        (2_000, 5_000, 10_000),
        8,
        {"DQN": (1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000, 120_000)},
        _SPAQL,
    ),
    "mountain-car-continuous": Contest(
        (1_000, 2_000, 5_000),
        16,
        {"SAC": (1_000, 2_000, 3_000, 5_000, 10_000, 15_000, 20_000)},
        _SPAQL[3:],
    ),
    "acrobot": Contest(
        (5_000, 20_000),
        8,
        {"DQN": (1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)},
        _SPAQL[3:],
    ),
}
ABLATION_SAMPLES = {"pendulum": 5_000, "cartpole-500": 5_000}
TABLE: tuple[tuple[str, Option], ...] = (("controller", "table"),)  # what this study is about; laws: the study few
ABLATIONS: dict[str, tuple[tuple[str, Option], ...]] = {
    "as it is": (),
    "no interpolation": (("neighbours", 1),),
    "one affine model": (("model_cells", 1),),
    "250 cells": (("cells", 250),),
    "500 cells": (("cells", 500),),
    "no exploring episodes": (("explore", False),),
    "no holding in planning": (("hold", 1),),
    "three levels of torque": (("levels", 3),),
}
ABLATION = Part("atlas", "ablation")


def _count(effort: Effort) -> int:
    return effort.seeds or (3 if effort.quick else 20)


def fresh_of(effort: Effort) -> int:
    """Episodes of the fresh evaluation of an agent."""
    return 400 if effort.quick else 1000


def share_of(effort: Effort) -> float:
    """Of the samples: a quick look goes only so far."""
    return 0.1 if effort.quick else 1.0


def seeds_of(effort: Effort, most: int | None = None) -> range:
    """Seeds of the reported agents."""
    count = _count(effort)
    return range(FIRST_SEED, FIRST_SEED + (count if most is None else min(count, most)))


def atlas_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """Atlas, SPAQL and SPAQL-TS on a problem; or Atlas without its parts."""
    if problem == ABLATION.problem:
        return _ablation_specs(effort)
    contest = CONTESTS[problem]
    base = Spec(problem, "", 0, 0, 0, fresh_of(effort))
    kinds = [
        replace(
            base,
            algorithm="Atlas",
            options=TABLE,
            checkpoints=_first(contest.atlas, effort),
            leaves=contest.leaves,
            oblique=contest.oblique,
        )
    ]
    entry = CATALOG[problem]  # the paper's protocol: as many evaluation rollouts as there, and its xi where it has one
    for name in (card.name for card in learners() if card.keeps_best and card.in_paper):
        xi = (("xi", (entry.xi or entry.study_xi)[name]),)
        at = _first(contest.spaql, effort)
        kinds.append(replace(base, algorithm=name, rollouts=entry.rollouts, checkpoints=at, options=xi))
    return [replace(kind, seed=seed) for kind in kinds for seed in seeds_of(effort)]


def _ablation_specs(effort: Effort) -> list[Spec]:
    return [
        Spec(problem, "Atlas", seed, 0, 0, fresh_of(effort), TABLE + options, (int(share_of(effort) * samples),))
        for problem, samples in ABLATION_SAMPLES.items()
        for options in ABLATIONS.values()
        if problem == "pendulum" or "levels" not in dict(options)  # a finite set of actions has no levels
        for seed in seeds_of(effort)
    ]


def rival_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """What a user would pick instead."""
    return [
        Spec(problem, name, seed, 0, 0, fresh_of(effort), (), _first(at, effort))
        for name, at in CONTESTS[problem].rivals.items()
        for seed in seeds_of(effort, MOST_SEEDS.get(name))
    ]


def _first(checkpoints: Sequence[int], effort: Effort) -> tuple[int, ...]:
    """Those of a quick look: up to its share of the last, the first in any case."""
    return tuple(at for at in checkpoints if at <= max(share_of(effort) * checkpoints[-1], checkpoints[0]))


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    rollouts = span(run.rollouts for run in runs)
    return f"{span(int(run.checkpoints[-1]) for run in runs)} samples", NOTHING if rollouts == "0" else rollouts


ATLAS = Experiment(
    "atlas",
    "the table of Atlas over samples",
    tuple(CONTESTS),
    atlas_specs,
    other_parts={ABLATION.problem: "Atlas with single parts removed"},
    along=("few",),
    lengths=_lengths,
)
RIVALS = Experiment(
    "rivals",
    "common algorithms for comparison",
    tuple(CONTESTS),
    rival_specs,
    published=Published(
        "stable_baselines3", "the rivals need", "rivals as published", beside=("atlas", "results", "few")
    ),
    lengths=_lengths,
)
