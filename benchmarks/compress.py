"""Constant actions against laws in the leaves of compressed trees: returns with equally many leaves.

    python benchmarks/compress.py                          # all problems, on the plant and in Atlas's model, seeds 0 and 1
    python benchmarks/compress.py pendulum --seeds 1 --where model

The table is Atlas's. Returns are means over 1000 fresh episodes per seed, from start states that neither search nor choice has seen.
"""

import argparse
import time
import warnings
from dataclasses import replace
from statistics import fmean

import spaql
from spaql.policy.knowledge import Knowledge

FRESH = 1000
LEAVES = 4
ON_PLANT = 60_000_000  # steps of a search
# problem, samples of Atlas
CASES = (
    ("pendulum", 2000),
    ("cartpole-500", 2000),
    ("mountain-car", 2000),
    ("mountain-car-continuous", 2000),
    ("acrobot", 5000),
)


def measured(problem, samples, where, seeds):
    """One line of the table."""
    tables, found = [], {False: [], True: []}
    for seed in range(seeds):
        agent = spaql.Atlas(spaql.make(problem), controller="table", seed=seed)
        agent.learn(samples=samples)
        table, options = agent.policy(), {}
        tables.append(table.evaluate(FRESH, seed=seed).mean)
        if where == "plant":
            table, options = replace(table, knowledge=Knowledge()), {"budget": ON_PLANT}
        for laws in (False, True):
            begin = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", spaql.SpaqlWarning)
                tree = table.compress(max_leaves=LEAVES, laws=laws, seed=seed, **options)
            used = time.process_time() - begin
            found[laws].append((tree.evaluate(FRESH, seed=seed).mean, tree.n_leaves, tree.numbers, used))
            print(f"  {problem} {where} seed {seed} laws={laws}: {found[laws][-1]}", flush=True)
    cells = [problem, where, f"{samples:,}", f"{fmean(tables):.1f}"]
    for laws in (False, True):
        means, sizes, numbers, used = zip(*found[laws], strict=True)
        cells += [f"{fmean(means):.1f}", f"{fmean(sizes):.1f} / {fmean(numbers):.0f}", f"{fmean(used):.0f} s"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", nargs="*", help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--where", choices=("plant", "model"), help="both, if not given")
    given = parser.parse_args()
    places = [given.where] if given.where else ["plant", "model"]
    cases = [case for case in CASES if not given.problem or case[0] in given.problem]
    lines = [measured(*case, where, given.seeds) for where in places for case in cases]
    print("| problem | searched | samples of Atlas | table | constants | leaves / numbers | CPU | laws | leaves / numbers | CPU |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))
