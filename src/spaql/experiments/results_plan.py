"""Every learner on every problem, as data: what each of them may use.

Seeds from 1000 on; whatever was tuned was tuned on seeds below 100. The learners of the paper and AQL's relatives get the paper's
protocol and their defaults, Atlas so many samples in all.
"""

from dataclasses import replace

from spaql.experiments.atlas_plan import FIRST_SEED, XI
from spaql.experiments.spec import Option, Spec
from spaql.plants.catalog import CATALOG

ITERATED = ("AQL", "NBQL", "ZoomRL", "SPAQL", "SPAQL-TS")
ENTRANTS = ("Random", *ITERATED, "Atlas")
PUBLISHED = ("TRPO", "SAC", "DQN", "PPO")  # shown beside them where the package has their runs
SAMPLES = {
    "pendulum": 5_000, "pendulum-scaled": 5_000, "pendulum-5": 5_000, "cartpole": 2_000, "cartpole-fitted": 2_000, "cartpole-500": 5_000,
    "mountain-car": 10_000, "mountain-car-continuous": 5_000, "acrobot": 20_000, "oil-laplace": 1_000, "oil-quadratic": 1_000,
    "ambulance": 1_000, "ambulance-uniform": 1_000,
}  # fmt: skip
FEWEST_SAMPLES = 200  # of a quick look: Atlas begins with 100 random ones
SHORT = 20  # steps: shorter episodes need a discount of their own (docs/atlas.md, Limits)
RESULTS_PARTS = tuple(f"results-{problem}" for problem in CATALOG)


def results_specs(part: str, seeds: int, fresh: int, iterations: int, share: float = 1.0) -> list[Spec]:
    """All runs of a part; `share`: of the samples of Atlas."""
    problem = part.removeprefix("results-")
    entry = CATALOG[problem]
    kinds = [Spec(problem, "Random", 0, 1, 1, fresh)]  # it learns nothing: one iteration of one rollout, for the form
    for name in ITERATED:
        kinds.append(Spec(problem, name, 0, iterations, entry.rollouts, fresh, (("xi", xi_of(problem, name)),)))
    discount: tuple[tuple[str, Option], ...] = (("gamma", 1.0 - 1.0 / entry.horizon),) if entry.horizon < SHORT else ()
    samples = max(int(share * SAMPLES[problem]), FEWEST_SAMPLES)
    kinds.append(Spec(problem, "Atlas", 0, 0, 0, fresh, discount, (samples,)))
    return [replace(kind, seed=seed) for kind in kinds for seed in range(FIRST_SEED, FIRST_SEED + seeds)]


def xi_of(problem: str, algorithm: str) -> float:
    """The published or tuned scale of the bonus; NBQL and ZoomRL have AQL's, as they have by default."""
    known = CATALOG[problem].xi or XI[problem]
    return float(known.get(algorithm, known["AQL"]))
