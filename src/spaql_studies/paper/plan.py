"""The experiments of the paper as data: which runs there are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from spaql.learners.registry import learners
from spaql.plants.catalog import CATALOG
from spaql_studies.runs.rows import Run
from spaql_studies.runs.spec import Option, Spec
from spaql_studies.study import Effort, Experiment, Finished, Part, Published, Results
from spaql_studies.tables import NOTHING, span

LEARNERS = tuple(card.name for card in learners() if card.in_paper and card.learns)
SCALED = ("pendulum", "pendulum-scaled", "cartpole")  # problems of the scaling study
MAIN = ("pendulum", "pendulum-scaled", "pendulum-5", "cartpole")  # problems of the main runs
WITH_TRPO = ("pendulum", "cartpole")  # problems TRPO was run on
TORQUES = ("pendulum", "pendulum-scaled")  # where the paper's Random applies torques in [0, 2] only
STUDY_OF = {"pendulum-5": "pendulum"}  # the paper uses Pendulum's xi with 5 actions too

Groups = dict[str, dict[float, list[Run]]]  # runs by algorithm and xi


@dataclass(frozen=True)
class Protocol:
    """The paper's protocol in one look. Seeds of the scaling study and of the reported runs never overlap."""

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

    @property
    def reported(self) -> range:
        """Seeds of the reported runs."""
        return range(self.first_seed, self.first_seed + self.seeds)


PAPER = Protocol()
QUICK = Protocol(
    seeds=5,
    fresh=400,
    study_iterations=40,
    study_fresh=40,
    xi=(0, 0.4, 4, 20, 60, 160),
    iterations=300,
    random_iterations=40,
)


def protocol_of(effort: Effort) -> Protocol:
    base = QUICK if effort.quick else PAPER
    return base if effort.seeds is None else replace(base, seeds=effort.seeds)


# -- runs --------------------------------------------------------------------------------------------------------------


def _learners(base: Spec, xi: Mapping[str, Sequence[float]], seeds: range) -> list[Spec]:
    """Every learner with every scale it has."""
    return [
        replace(base, algorithm=name, seed=seed, options=(("xi", float(scale)),))
        for name in LEARNERS
        for scale in xi[name]
        for seed in seeds
    ]


def scaling_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    protocol = protocol_of(effort)
    base = Spec(problem, "", 0, protocol.study_iterations, protocol.study_rollouts, protocol.study_fresh)
    seeds = range(protocol.study_first_seed, protocol.study_first_seed + protocol.seeds)
    return _learners(base, dict.fromkeys(LEARNERS, protocol.xi), seeds)


def main_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """With the published xi."""
    return _reported(problem, effort, CATALOG[problem].xi)


def tuned_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    """With the best xi of the scaling study."""
    return _reported(problem, effort, best_xi(finished[_study_of(problem)]))


def _reported(problem: str, effort: Effort, xi: Mapping[str, float]) -> list[Spec]:
    protocol = protocol_of(effort)
    base = Spec(problem, "", 0, protocol.iterations, CATALOG[problem].rollouts, protocol.fresh)
    return _learners(base, {name: (xi[name],) for name in LEARNERS}, protocol.reported)


def random_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    protocol = protocol_of(effort)
    base = Spec(problem, "Random", 0, protocol.random_iterations, CATALOG[problem].rollouts, protocol.fresh)
    kinds: tuple[tuple[tuple[str, Option], ...], ...] = ((), (("low", 0.0),)) if problem in TORQUES else ((),)
    return [replace(base, seed=seed, options=options) for options in kinds for seed in protocol.reported]


def trpo_specs(problem: str, effort: Effort, finished: Finished) -> list[Spec]:
    protocol = protocol_of(effort)
    return [Spec(problem, "TRPO", seed, protocol.trpo_iterations, 0, protocol.fresh) for seed in protocol.reported]


def _study_of(problem: str) -> Part:
    return Part("scaling", STUDY_OF.get(problem, problem))


def best_xi(study: Sequence[Run]) -> dict[str, float]:
    """Of each learner the xi with the best mean fresh return in our own study: other seeds than those reported, and
    not the biased best seen."""
    means = {
        name: {xi: sum(run.fresh for run in runs) / len(runs) for xi, runs in by_xi.items()}
        for name, by_xi in groups_of(study).items()
    }
    return {name: max(by_xi, key=lambda xi: by_xi[xi]) for name, by_xi in means.items()}


def groups_of(runs: Sequence[Run]) -> Groups:
    groups: Groups = {}
    for run in runs:
        if run.xi is not None:
            groups.setdefault(run.algorithm, {}).setdefault(run.xi, []).append(run)
    return groups


# -- reading them ------------------------------------------------------------------------------------------------------


def main_runs(results: Results, problem: str, algorithm: str | None = None) -> list[Run]:
    """The main runs of a problem: with the published xi if there are any, else with the tuned one."""
    return results.runs("main", problem, algorithm) or results.runs("tuned", problem, algorithm)


def random_runs(results: Results, problem: str, low: float | None = None) -> list[Run]:
    """Random over the whole action range, or from `low` on."""
    return [run for run in results.runs("random", problem) if run.options.get("low") == low]


SCALING = Experiment("scaling", "scaling study", SCALED, scaling_specs, by_default=True)
MAIN_RUNS = Experiment("main", "main runs", MAIN, main_specs, by_default=True, tuned="tuned")
TUNED_RUNS = Experiment(
    "tuned", "main runs, xi from our study", MAIN, tuned_specs, needs=lambda problem: (_study_of(problem),)
)
RANDOM = Experiment(
    "random", "random policies", MAIN, random_specs, by_default=True,
    lengths=lambda runs: (NOTHING, span(run.rollouts for run in runs)),
)  # fmt: skip
TRPO = Experiment(
    "trpo",
    "TRPO",
    WITH_TRPO,
    trpo_specs,
    published=Published("sb3_contrib", "TRPO needs", "TRPO as published"),
    lengths=lambda runs: (f"{span(run.iterations for run in runs)} batches", NOTHING),
)
