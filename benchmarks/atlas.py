"""Atlas on Pendulum: time of learning against samples, of a plan, of a search for small trees; memory.

Planning time is bounded, because a plan looks at 50,000 transitions at most: time per sample falls as samples grow.

Run: .venv/bin/python benchmarks/atlas.py [--long]
"""

import resource
import sys
import time

import spaql

SHORT, LONG = (1_000, 2_000, 5_000, 10_000, 20_000), (50_000, 100_000, 400_000)
BUDGET = 20_000_000  # model steps of the search


def peak() -> float:
    """Of the whole process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    begin = time.process_time()
    warm = spaql.Atlas(spaql.make("pendulum"), controller="table", cells=100)
    warm.learn(samples=300)
    warm.policy().compress(2, budget=10_000, episodes=8, laws=False)
    print(f"compiling, or reading what was compiled: {time.process_time() - begin:.1f} s, {peak():.0f} MB")
    print(
        f"{'samples':>8} {'plans':>6} {'learning s':>11} {'ms/sample':>10} {'last plan s':>12} {'of first':>9} {'peak MB':>8} {'return':>8}"
    )
    first = None
    for samples in SHORT + (LONG if "--long" in sys.argv[1:] else ()):
        agent, begin = spaql.Atlas(spaql.make("pendulum"), controller="table"), time.process_time()
        agent.learn(samples=samples)
        learning, begin = time.process_time() - begin, time.process_time()
        policy = agent.policy()
        planning = time.process_time() - begin
        first = planning if first is None else first
        print(
            f"{samples:8,} {len(agent.state.planned):6} {learning:11.1f} {1000 * learning / samples:10.2f} {planning:12.2f} "
            f"{planning / first:8.1f}x {peak():8.0f} {policy.evaluate(300).mean:8.1f}",
            flush=True,
        )
        if samples == SHORT[2]:
            searched = policy
    begin = time.process_time()
    tree = searched.compress(16, budget=BUDGET, laws=False)
    seconds = time.process_time() - begin
    print(f"search for a tree with 16 leaves, {BUDGET:,} model steps: {seconds:.1f} s, {seconds / BUDGET * 1e9:.0f} ns per step, {tree}")


if __name__ == "__main__":
    main()
