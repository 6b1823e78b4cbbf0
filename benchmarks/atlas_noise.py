"""Atlas with noise in the plant: trained in noise against trained without it, both tested in noise.

Pendulum, the velocity disturbed by 0.1 rad/s after every step, 5,000 samples, seeds from 1000 on, 1,000 fresh episodes each.

Run: .venv/bin/python benchmarks/atlas_noise.py [SEEDS]
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

import spaql

SAMPLES, EPISODES, FIRST = 5_000, 1_000, 1000
NOISE = {"process_noise": {"velocity": 0.1}}


def returns_of(seed: int) -> tuple[float, float]:
    """Mean returns in noise of an agent trained without it and of one trained in it."""
    calm, noisy = spaql.make("pendulum"), spaql.make("pendulum", **NOISE)
    made = [spaql.Atlas(problem, controller="table", seed=seed) for problem in (calm, noisy)]
    for agent in made:
        agent.learn(samples=SAMPLES)
    first, second = (replace(agent.policy(), problem=noisy).evaluate(EPISODES, seed=seed).mean for agent in made)
    return float(first), float(second)


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with ThreadPoolExecutor(2) as pool:
        found = np.array(list(pool.map(returns_of, range(FIRST, FIRST + seeds))))
    for name, column in zip(("trained without noise", "trained in noise"), found.T, strict=True):
        print(f"{name:22} {column.mean():8.1f}, worst seed {column.min():8.1f}")
    change = (found[:, 1].mean() - found[:, 0].mean()) / abs(found[:, 0].mean())
    print(f"{seeds} seeds, both tested in noise: {100 * change:+.1f} %")


if __name__ == "__main__":
    main()
