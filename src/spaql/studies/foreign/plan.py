"""Other people's plants, as data: how many samples SPAQL, Laws and Atlas have on each of them.

Default settings throughout, but that Atlas is asked for laws. Seeds from 1000 on, on which nothing was tuned. Samples
are such that a learner takes a minute or two: a step of MuJoCo or Box2D costs 0.1 ms, one of dm_control or an electric
motor 0.3 ms, one of pc-gym 1.2 ms. Laws of Atlas took 32 s on the inverted pendulum, 59 s on the CSTR, and 118 s on the
cart-pole of dm_control, whose episodes have 1,000 steps; the other plants were not timed when this was written.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from spaql.analysis.numbers import NOTHING, span
from spaql.runs.rows import Run
from spaql.runs.spec import Option, Spec
from spaql.studies.atlas.plan import seeds_of
from spaql.studies.foreign.plants import PLANTS
from spaql.studies.parts import Effort
from spaql.studies.study import Experiment, Finished

SEEDS = 10
QUICK_FRESH = 5
ROLLOUTS = 20  # of SPAQL after every training episode: those of `from_gym` by default


class Entrant(NamedTuple):
    """A learner: its settings, the rollouts after every iteration, and the samples of a quick look."""

    options: tuple[tuple[str, Option], ...]
    rollouts: int
    quick: int


ENTRANTS = {
    "SPAQL": Entrant((), ROLLOUTS, 2_000),
    "Laws": Entrant((), 0, 2_000),
    "Atlas": Entrant((("controller", "laws"),), 0, 120),
}


class Task(NamedTuple):
    """Samples of every entrant, and episodes of the fresh evaluation."""

    samples: tuple[int, int, int]  # of the entrants, in their order
    fresh: int


TASKS = {
    "InvertedPendulum-v5": Task((100_000, 20_000, 200), 100),
    "InvertedDoublePendulum-v5": Task((100_000, 50_000, 500), 100),
    "Reacher-v5": Task((100_000, 100_000, 500), 100),
    "LunarLander-v3": Task((100_000, 200_000, 1_000), 100),
    "LunarLanderContinuous-v3": Task((100_000, 200_000, 1_000), 100),
    "dm-cartpole-balance": Task((100_000, 50_000, 1_000), 20),
    "dm-cartpole-swingup": Task((100_000, 100_000, 2_000), 20),
    "dm-pendulum-swingup": Task((100_000, 100_000, 2_000), 20),
    "pcgym-cstr": Task((20_000, 20_000, 300), 50),
    "pcgym-four-tanks": Task((20_000, 20_000, 600), 50),
    "gem-current": Task((50_000, 50_000, 300), 50),
}


def foreign_specs(name: str, effort: Effort, finished: Finished) -> list[Spec]:
    """Every entrant on a plant."""
    plant, task = PLANTS[name], TASKS[name]
    parameters = json.dumps(plant.options, sort_keys=True)
    return [
        Spec(
            plant.env_id, learner, seed, 0, entrant.rollouts, QUICK_FRESH if effort.quick else task.fresh,
            entrant.options, (min(entrant.quick, samples) if effort.quick else samples,), parameters=parameters,
        )
        for (learner, entrant), samples in zip(ENTRANTS.items(), task.samples, strict=True)
        for seed in seeds_of(effort, 1 if effort.quick and effort.seeds is None else SEEDS)
    ]  # fmt: skip


def _lengths(runs: Sequence[Run]) -> tuple[str, str]:
    return f"{span(int(run.checkpoints[-1]) for run in runs)} samples", NOTHING


FOREIGN = Experiment(
    "foreign",
    "other people's plants",
    (),
    foreign_specs,
    other_parts={name: f"{PLANTS[name].title}: default settings" for name in TASKS},
    extras={name: PLANTS[name].extra for name in TASKS},
    lengths=_lengths,
)
