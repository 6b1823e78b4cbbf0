"""What Laws finds in slow simulators: MuJoCo and Box2D through Gymnasium (pip install 'spaql[mujoco,box2d]').

    python benchmarks/slow_laws.py                                  # all problems, seeds 1000 ... 1009: days
    python benchmarks/slow_laws.py InvertedDoublePendulum-v5 --seeds 3
    python benchmarks/slow_laws.py LunarLanderContinuous-v3 --seeds 2 --first 0 --jobs 2

Returns are means over 100 fresh episodes per seed. Every step of the search, tidying and confirmation included, is in
the samples. Settings were chosen on seeds below 100.
"""

import argparse
import time
from statistics import fmean

import numpy as np

import spaql

FRESH = 100
# problem, leaves at most, samples
CASES = (
    ("InvertedPendulum-v5", 1, 20_000),
    ("InvertedDoublePendulum-v5", 1, 20_000),
    ("LunarLanderContinuous-v3", 1, 1_500_000),
    ("LunarLander-v3", 1, 1_500_000),
    ("Swimmer-v5", 1, 300_000),
    ("Hopper-v5", 1, 3_000_000),
    ("HalfCheetah-v5", 1, 3_000_000),
    ("Walker2d-v5", 1, 3_000_000),
    ("BipedalWalker-v3", 1, 3_000_000),
)


def measured(problem, leaves, samples, seeds, jobs):
    """One line of the table."""
    rows = []
    for seed in seeds:
        agent = spaql.Laws(spaql.from_gym(problem), max_leaves=leaves, seed=seed, jobs=jobs)
        begin = time.process_time()
        agent.learn(samples=samples)
        used, policy = time.process_time() - begin, agent.policy()
        returns = policy.evaluate(FRESH, seed=seed).returns
        low = np.sort(returns)[: FRESH // 20].mean()
        rows.append((returns.mean(), low, policy.n_leaves, policy.numbers, used))
        said = f"{returns.mean():.2f}, worst 5 % {low:.1f}, {policy.numbers} numbers, {used:.0f} s"
        print(f"  seed {seed}: {said}\n{policy.to_text(share=False)}", flush=True)
    means, lows, sizes, numbers, used = zip(*rows, strict=True)
    sizes, numbers = (f"{min(some)}–{max(some)}" if min(some) < max(some) else f"{some[0]}" for some in (sizes, numbers))
    figures = f"{fmean(means):.1f} | {min(means):.1f} | {fmean(lows):.1f} | {sizes} | {numbers} | {samples} | {fmean(used):.0f} s"
    return f"| {problem} | {leaves} | {figures} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", nargs="*", help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes; CPU seconds are then those of the coordinator alone")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    cases = [case for case in CASES if not given.problem or case[0] in given.problem]
    lines = [measured(*case, seeds, given.jobs) for case in cases]
    print("| problem | at most | mean | worst seed | worst 5 % of episodes | leaves | numbers | samples | CPU |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))
