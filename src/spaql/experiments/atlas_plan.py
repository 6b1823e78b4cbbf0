"""Beyond the paper, as data: Atlas against SPAQL and what a user would pick instead, over all samples; and Atlas without its parts.

Whatever was tuned was tuned on seeds below 100; what is reported uses seeds from 1000 on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spaql.experiments.spec import Option, Spec
from spaql.plants.catalog import CATALOG

FIRST_SEED = 1000
MOST_SAC_SEEDS = 10  # a run of SAC takes minutes


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
        (500, 1_000, 2_000, 5_000, 20_000), 64, {"SAC": (500, 1_000, 2_000, 3_000, 5_000, 7_000, 10_000)}, _SPAQL, oblique=True,
    ),
    "cartpole": Contest((500, 1_000, 2_000), 8, {"DQN": _DQN, "PPO": _PPO}, _SPAQL),
    "cartpole-500": Contest((1_000, 2_000, 5_000), 8, {"DQN": _DQN, "PPO": _PPO}, _SPAQL),
    "mountain-car": Contest(
        (2_000, 5_000, 10_000), 8,
        {"DQN": (1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000, 120_000)}, _SPAQL,
    ),
    "mountain-car-continuous": Contest(
        (1_000, 2_000, 5_000), 16, {"SAC": (1_000, 2_000, 3_000, 5_000, 10_000, 15_000, 20_000)}, _SPAQL[3:],
    ),
    "acrobot": Contest(
        (5_000, 20_000), 8, {"DQN": (1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 50_000, 70_000, 100_000)},
        _SPAQL[3:],
    ),
}  # fmt: skip
# Where the paper has none: the best of 0.4, 4, 10, 20, 40, 80, 160 on seeds 0 to 3 after 300 iterations, Acrobot 100; of equals the first
XI = {
    "mountain-car": {"AQL": 0.4, "SPAQL": 10.0, "SPAQL-TS": 20.0},
    "mountain-car-continuous": {"AQL": 0.4, "SPAQL": 80.0, "SPAQL-TS": 4.0},
    "acrobot": {"AQL": 0.4, "SPAQL": 80.0, "SPAQL-TS": 20.0},
}

ABLATION_SAMPLES = {"pendulum": 5_000, "cartpole-500": 5_000}
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
ABLATION = "atlas-ablation"
ATLAS_PARTS = (*(f"atlas-{problem}" for problem in CONTESTS), ABLATION)
RIVAL_PARTS = tuple(f"rivals-{problem}" for problem in CONTESTS)


def atlas_specs(part: str, seeds: int, fresh: int, share: float = 1.0) -> list[Spec]:
    """All runs of a part of the groups `atlas` and `rivals`; with `share` below one only as far as that part of the samples."""
    if part == ABLATION:
        return _ablation_specs(seeds, fresh, share)
    group, problem = part.split("-", 1)
    contest = CONTESTS[problem]
    base = Spec(problem, "", 0, 0, 0, fresh)
    if group == "rivals":
        kinds = [replace(base, algorithm=name, checkpoints=_first(at, share)) for name, at in contest.rivals.items()]
        return [
            replace(kind, seed=seed) for kind in kinds for seed in _seeds(min(seeds, MOST_SAC_SEEDS) if kind.algorithm == "SAC" else seeds)
        ]
    kinds = [replace(base, algorithm="Atlas", checkpoints=_first(contest.atlas, share), leaves=contest.leaves)]
    entry = CATALOG[problem]  # the paper's protocol: as many evaluation rollouts as there, and its xi where it has one
    for name in ("SPAQL", "SPAQL-TS"):
        xi = (("xi", (entry.xi or XI[problem])[name]),)
        kinds.append(replace(base, algorithm=name, rollouts=entry.rollouts, checkpoints=_first(contest.spaql, share), options=xi))
    return [replace(kind, seed=seed) for kind in kinds for seed in _seeds(seeds)]


def _ablation_specs(seeds: int, fresh: int, share: float) -> list[Spec]:
    return [
        Spec(problem, "Atlas", seed, 0, 0, fresh, options, (int(share * samples),))
        for problem, samples in ABLATION_SAMPLES.items()
        for options in ABLATIONS.values()
        if problem == "pendulum" or "levels" not in dict(options)  # a finite set of actions has no levels
        for seed in _seeds(seeds)
    ]


def _seeds(count: int) -> range:
    return range(FIRST_SEED, FIRST_SEED + count)


def _first(checkpoints: Sequence[int], share: float) -> tuple[int, ...]:
    """Those up to this share of the last, the first in any case."""
    return tuple(at for at in checkpoints if at <= max(share * checkpoints[-1], checkpoints[0]))
