"""Atlas with laws as its controller after a few thousand samples of plants that are not in the catalog.

    python benchmarks/few_samples.py                     # hours
    python benchmarks/few_samples.py --only CSTR --seeds 5 --jobs 2

The problems of the catalog, of MuJoCo and of Box2D: `spaql reproduce --only few`. As there, seeds from 1000 on, every
sample counts, 1,000 fresh episodes, and the model's word is `trust().mean`. What others reach: process_plants.py.
"""

import argparse
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

import spaql
from spaql_studies.runs.compute import worst_part

HERE = Path(__file__).parent


class Row(NamedTuple):
    """One problem, and how it is learned."""

    name: str
    problem: str  # file:name
    samples: tuple[int, ...]


ROWS = (
    Row("DC motor", f"{HERE.parent / 'examples' / 'dc_motor.py'}:problem", (4000, 10_000, 20_000)),
    Row("CSTR", f"{HERE / 'process_plants.py'}:cstr", (3000,)),
    Row("four tanks", f"{HERE / 'process_plants.py'}:four_tanks", (3000,)),
    Row("double integrator, noise", f"{HERE / 'process_plants.py'}:double_integrator_noise", (300,)),
)


def problem_of(row: Row) -> spaql.Problem:
    file, name = row.problem.rsplit(":", 1)
    sys.path.insert(0, str(Path(file).parent))  # its neighbours
    found = getattr(import_module(Path(file).stem), name)
    return found() if callable(found) else found


def run(row: Row, seed: int) -> list[tuple[str, int, int, float, float, float, int, float]]:
    """A line per number of samples: name, samples, seed, mean, worst 5 % of episodes, model's word, leaves, CPU seconds."""
    warnings.simplefilter("ignore")
    problem, found, used, cpu = problem_of(row), [], 0, 0.0
    agent = spaql.Atlas(problem, seed=seed, controller="laws", use_known=False)
    for samples in row.samples:
        begin = time.process_time()
        agent.learn(samples=samples - used)
        leaves, used = agent.arms, samples
        cpu += time.process_time() - begin
        returns = agent.evaluate(1000, seed=1).returns
        low = worst_part(returns)
        found.append((row.name, samples, seed, float(returns.mean()), low, agent.trust().mean, leaves, cpu))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="the row of this name")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1000, help="first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--up-to", type=int, default=10**9, help="samples")
    given = parser.parse_args()
    rows = [row for row in ROWS if not given.only or given.only.lower() == row.name.lower()]
    rows = [row._replace(samples=tuple(n for n in row.samples if n <= given.up_to)) for row in rows]
    print("| problem | samples | seeds | mean | worst seed | worst 5 % of episodes | model minus plant | laws | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    with ProcessPoolExecutor(given.jobs) as pool:
        for row in (row for row in rows if row.samples):
            seeds = range(given.first, given.first + given.seeds)
            done = list(pool.map(run, [row] * len(seeds), seeds))
            for i, samples in enumerate(row.samples):
                lines = [one[i] for one in done]
                mean, low, word, leaves, cpu = (np.array([line[k] for line in lines]) for k in (3, 4, 5, 6, 7))
                wrong = word - mean
                error = f"{wrong.mean():+.3g} (at most {np.abs(wrong).max():.3g})"
                ends = f"{mean.mean():.4g} | {mean.min():.4g} | {low.mean():.4g}"
                sizes = f"{leaves.min()} to {leaves.max()}"
                told = f"| {row.name} | {samples:,} | {len(seeds)} | {ends} | {error} | {sizes} | {cpu.mean():.0f} |"
                print(told, flush=True)


if __name__ == "__main__":
    main()
