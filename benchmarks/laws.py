"""What Laws finds: mean and worst return over seeds, leaves, numbers, samples, CPU seconds.

    python benchmarks/laws.py                    # all problems, seeds 1000 ... 1004; writes the table of docs/laws.md
    python benchmarks/laws.py pendulum --seeds 2

Returns are means over 1000 fresh episodes per seed, from start states that neither search nor tidying has seen.
Settings were chosen on seeds below 100.
"""

import argparse
import time
from statistics import fmean

import numpy as np

import spaql

FIRST_SEED = 1000
FRESH = 1000
# problem, leaves at most, samples in millions
CASES = (
    ("cartpole-500", 1, 100),
    ("pendulum", 2, 300),
    ("mountain-car", 2, 200),
    ("mountain-car-continuous", 3, 1500),
    ("acrobot", 2, 300),
)


def measured(problem, leaves, millions, seeds):
    """One line of the table."""
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        agent = spaql.Laws(spaql.make(problem), max_leaves=leaves, seed=seed)
        begin = time.process_time()
        agent.learn(samples=millions * 1_000_000)
        used, policy = time.process_time() - begin, agent.policy()
        returns = policy.evaluate(FRESH, seed=seed).returns
        low = np.sort(returns)[: FRESH // 20].mean()
        rows.append((returns.mean(), low, policy.n_leaves, policy.numbers, used))
        print(f"  seed {seed}: {returns.mean():.2f}\n{policy.to_text(share=False)}", flush=True)
    means, lows, sizes, numbers, used = zip(*rows, strict=True)
    sizes, numbers = (f"{min(some)}–{max(some)}" if min(some) < max(some) else f"{some[0]}" for some in (sizes, numbers))
    figures = f"{fmean(means):.1f} | {min(means):.1f} | {fmean(lows):.1f} | {sizes} | {numbers} | {millions} M | {fmean(used):.0f} s"
    return f"| {problem} | {leaves} | {figures} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", nargs="*", help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    lines = [measured(*case, given.seeds) for case in CASES if not given.problem or case[0] in given.problem]
    print("| problem | at most | mean | worst seed | worst 5 % of episodes | leaves | numbers | samples | CPU |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))
