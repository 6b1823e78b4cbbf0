"""The experiments of the paper as data: which runs there are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from spaql.errors import SpaqlError
from spaql.experiments.atlas_plan import ATLAS_PARTS, RIVAL_PARTS, atlas_specs
from spaql.experiments.results_plan import RESULTS_PARTS, results_specs
from spaql.experiments.spec import Spec
from spaql.plants.catalog import CATALOG

LEARNERS = ("AQL", "SPAQL", "SPAQL-TS")
SCALED = ("pendulum", "pendulum-scaled", "cartpole")  # problems of the scaling study
MAIN = ("pendulum", "pendulum-scaled", "pendulum-5", "cartpole")  # problems of the main runs
RIVALS = ("pendulum", "cartpole")  # problems TRPO was run on
STUDY_OF = {"pendulum-5": "pendulum"}  # the paper uses Pendulum's xi with 5 actions too

Tuned = Mapping[tuple[str, str], float]  # xi by problem and algorithm


@dataclass(frozen=True)
class Protocol:
    """The paper's protocol in one look. Seeds of the study and of the reported runs never overlap."""

    seeds: int = 20
    first_seed: int = 0  # of the reported runs
    fresh: int = 1000  # episodes of the fresh evaluation of a reported agent

    study_first_seed: int = 100_000
    study_iterations: int = 100
    study_rollouts: int = 20
    study_fresh: int = 100
    xi: tuple[float, ...] = (0, 0.4, 4, 10, 20, 30, 40, 50, 60, 70, 80, 120, 160)

    iterations: int = 2000  # rollouts: those of the problem, 20 on Pendulum and 100 on CartPole
    random_iterations: int = 100  # nothing is learned: a hundred evaluations give the level
    trpo_iterations: int = 100  # of 4000 samples each

    atlas_seeds: int = 20  # also of every learner on every problem
    atlas_share: float = 1.0  # of the samples of Atlas and those it is compared with


PAPER = Protocol()
QUICK = Protocol(
    seeds=5, fresh=400, study_iterations=40, study_fresh=40, xi=(0, 0.4, 4, 20, 60, 160), iterations=300, random_iterations=40,
    atlas_seeds=3, atlas_share=0.1,
)  # fmt: skip

GROUPS = {
    "scaling": tuple(f"scaling-{name}" for name in SCALED),
    "main": tuple(f"main-{name}" for name in MAIN),
    "tuned": tuple(f"tuned-{name}" for name in MAIN),
    "random": tuple(f"random-{name}" for name in MAIN),
    "trpo": tuple(f"trpo-{name}" for name in RIVALS),
    "atlas": ATLAS_PARTS,
    "rivals": RIVAL_PARTS,
    "results": RESULTS_PARTS,
}
PARTS = tuple(part for parts in GROUPS.values() for part in parts)
TITLES = {
    "scaling": "scaling study",
    "main": "main runs",
    "tuned": "main runs, xi from our study",
    "random": "random policies",
    "trpo": "TRPO",
    "atlas": "Atlas over samples",
    "rivals": "what a user would pick instead",
    "results": "every learner",
}


def chosen_parts(names: Sequence[str], tuned: bool) -> list[str]:
    """The parts meant by `--only`; without names everything that needs no extra: TRPO's published curves are used instead."""
    main = "tuned" if tuned else "main"
    names = names or ("scaling", main, "random")
    parts: dict[str, None] = {}
    for name in names:
        found = GROUPS.get(name, (name,) if name in PARTS else ())
        if not found:
            raise SpaqlError(f"unknown experiment {name!r}: choose from {', '.join(GROUPS)} or one part of them, such as {PARTS[0]}")
        for part in found:
            parts[part.replace("main-", "tuned-", 1) if tuned and part.startswith("main-") else part] = None
    # the study comes before what is chosen by it
    return sorted(parts, key=PARTS.index)


def studies_of(parts: Sequence[str]) -> list[str]:
    """The parts of the scaling study that decide about xi in these parts."""
    problems = [part.removeprefix("tuned-") for part in parts if part.startswith("tuned-")]
    needed = {f"scaling-{STUDY_OF.get(problem, problem)}" for problem in problems}
    return [part for part in GROUPS["scaling"] if part in needed]


def specs_of(part: str, protocol: Protocol, tuned: Tuned | None = None) -> list[Spec]:
    """All runs of a part."""
    group, problem = part.split("-", 1)
    if group in ("atlas", "rivals"):
        return atlas_specs(part, protocol.atlas_seeds, protocol.fresh, protocol.atlas_share)
    if group == "results":
        return results_specs(part, protocol.atlas_seeds, protocol.fresh, protocol.iterations, protocol.atlas_share)
    entry = CATALOG[problem]
    seeds = range(protocol.first_seed, protocol.first_seed + protocol.seeds)
    if group == "scaling":
        base = Spec(problem, "", 0, protocol.study_iterations, protocol.study_rollouts, protocol.study_fresh)
        study_seeds = range(protocol.study_first_seed, protocol.study_first_seed + protocol.seeds)
        return [
            replace(base, algorithm=algorithm, seed=seed, options=(("xi", float(xi)),))
            for algorithm in LEARNERS for xi in protocol.xi for seed in study_seeds
        ]  # fmt: skip
    if group in ("main", "tuned"):
        base = Spec(problem, "", 0, protocol.iterations, entry.rollouts, protocol.fresh)
        xi_of = entry.xi if tuned is None or group == "main" else {name: tuned[problem, name] for name in LEARNERS}
        return [
            replace(base, algorithm=algorithm, seed=seed, options=(("xi", float(xi_of[algorithm])),))
            for algorithm in LEARNERS for seed in seeds
        ]  # fmt: skip
    if group == "random":
        base = Spec(problem, "Random", 0, protocol.random_iterations, entry.rollouts, protocol.fresh)
        # the paper's Random on Pendulum plays torques in [0, 2] only
        kinds = ((), (("low", 0.0),)) if problem in ("pendulum", "pendulum-scaled") else ((),)
        return [replace(base, seed=seed, options=options) for options in kinds for seed in seeds]
    return [Spec(problem, "TRPO", seed, protocol.trpo_iterations, 0, protocol.fresh) for seed in seeds]
