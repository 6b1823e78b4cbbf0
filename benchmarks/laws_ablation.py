"""What each part of Atlas with laws is worth: one part taken away at a time, by one constant of the package each.

    python benchmarks/laws_ablation.py                              # 14 variants, 3 problems, 10 seeds: hours
    python benchmarks/laws_ablation.py --only pendulum --seeds 5 --variant "the mean function only"

Seeds from 1000 on, 1,000 fresh episodes each; the difference is to Atlas as it is, seed by seed. The table of Atlas
without its parts: `spaql reproduce --only atlas-ablation`.
"""

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import spaql
from spaql.gp import model
from spaql.laws import atlas_trials, in_model
from spaql.learners.atlas import state
from spaql.runs.checkpoints import worst_part


class Change(NamedTuple):
    """A constant of a module, and what it is without the part."""

    module: Any
    name: str
    value: Any


WHOLE = "as it is"
KNOWN = "reward known, or learned: the other way round"
VARIANTS: dict[str, Change | None] = {
    WHOLE: None,
    KNOWN: None,
    # samples
    "random trials only": Change(atlas_trials, "FIRST", 10**9),
    "no trials led by laws": Change(state, "GROWN", 10**9),
    "from 200 samples on all trials by laws": Change(atlas_trials, "MANY", 0),
    "episodes are not cut": Change(atlas_trials, "STINT", 10**9),
    "no exploring plan": Change(atlas_trials, "NOTABLE", -1e9),
    # model
    "the mean function only": Change(in_model, "FUNCTIONS", 1),
    "no quadratic part of the reward": Change(model, "QUADRATIC", 0.0),
    # search
    "no look-ahead as teacher": Change(in_model, "LOOKED", 0),
    "no regulators among the first laws": Change(in_model, "local_laws", lambda *_: []),
    "one law": Change(in_model, "LAWS", 1),
    "one race": Change(in_model, "ATTEMPTS", 1),
    "no tidying": Change(in_model, "TIDYING", 0.0),
}
PROBLEMS = {"cartpole-swing-up": (320, True), "cartpole-500": (300, False), "pendulum": (300, False)}  # samples, known


@contextmanager
def without(variant: str):
    """The package without a part."""
    change = VARIANTS[variant]
    if change is None:
        yield
        return
    before = getattr(change.module, change.name)
    setattr(change.module, change.name, change.value)
    try:
        yield
    finally:
        setattr(change.module, change.name, before)


def run(name: str, variant: str, seed: int) -> tuple[float, float, float, int, int, float]:
    """Mean return, worst 5 % of the episodes, the model's word, laws, numbers, CPU seconds."""
    warnings.simplefilter("ignore")
    samples, known = PROBLEMS[name]
    with without(variant):
        begin = time.process_time()
        agent = spaql.Atlas(spaql.make(name), seed=seed, controller="laws", use_known=known != (variant == KNOWN))
        agent.learn(samples=samples)
        policy = agent.policy()
        used = time.process_time() - begin
        returns = agent.evaluate(1000, seed=1).returns
        word = agent.trust().mean
    return float(returns.mean()), worst_part(returns), word, policy.n_leaves, policy.numbers, used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PROBLEMS, help="one problem")
    parser.add_argument("--variant", choices=VARIANTS, help="this beside Atlas as it is")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    heads = "problem | Atlas with laws | samples | seeds | mean | difference | worst seed | worst 5 % of episodes"
    print(f"| {heads} | model minus plant | laws | numbers | CPU s |\n|{'---|' * 12}", flush=True)
    seeds = range(1000, 1000 + given.seeds)
    with ProcessPoolExecutor(given.jobs) as pool:
        for name in [given.only] if given.only else PROBLEMS:
            whole = np.zeros(0)
            for variant in dict.fromkeys([WHOLE, given.variant]) if given.variant else VARIANTS:
                n = len(seeds)
                done = np.array(list(pool.map(run, [name] * n, [variant] * n, seeds)))
                mean, low, word, leaves, numbers, cpu = done.T
                whole = mean if variant == WHOLE else whole
                lost = mean - whole
                error = 2.0 * lost.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
                difference = "" if variant == WHOLE else f"{lost.mean():+.3g} ± {error:.2g}"
                cells = [name, variant, f"{PROBLEMS[name][0]}", f"{n}", f"{mean.mean():.4g}", difference]
                cells += [f"{mean.min():.4g}", f"{low.mean():.4g}", f"{(word - mean).mean():+.3g}"]
                cells += [f"{leaves.mean():.2g}", f"{numbers.mean():.3g}", f"{cpu.mean():.0f}"]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
