"""Memory of an agent against its arms: AQL on pendulum, the largest partition of the paper.

Run: .venv/bin/python benchmarks/memory.py
"""

import resource

import spaql


def kept_bytes(agent: spaql.AQL) -> int:
    """Partition, working memory and merged policy."""
    state = agent.state
    groups = [state.forest, state.scratch or (), state.policy(agent.chart)]
    return sum(array.nbytes for group in groups for array in group) + state.history.nbytes


def main() -> None:
    agent = spaql.AQL(spaql.make("pendulum"))
    agent.learn(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{'iterations':>10} {'arms':>9} {'MB kept':>9} {'bytes per arm':>14}")
    for iterations in (124, 125, 250, 500, 1000):
        agent.learn(iterations)
        kept = kept_bytes(agent)
        print(f"{len(agent.history):10} {agent.arms:9,} {kept / 1e6:9.1f} {kept / agent.arms:14.0f}")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"growth of the whole process: {grown:.0f} MB at its peak")


if __name__ == "__main__":
    main()
