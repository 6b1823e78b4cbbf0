"""Memory and time per step against the number of state variables (2 to 10) and of arms (a hundred to a million).

The plant: d leaky integrators, one push. Every row is a process of its own, so that its memory is its own; full and sparse forests
(src/spaql/partition/forest.py) learn the same bits, so their rows differ in memory and time only.

Run: .venv/bin/python benchmarks/dimensions.py
"""

import json
import resource
import subprocess
import sys
import time

import spaql
from spaql.partition import forest as forests
from spaql.partition.forest import FORKS, USED

DIMENSIONS = range(2, 11)
# by variables and kind; with two variables a million would take too long
ARMS = {(2, "full"): (10**3, 10**4, 10**5), (8, "full"): (10**5, 10**6), (8, "sparse"): (10**5, 10**6)}
ITERATIONS, ROLLOUTS, HORIZON = 300, 20, 100


def plant(d: int) -> spaql.Problem:
    """d leaky integrators of different speed that one action in [-1, 1] pushes around; to be held at zero."""
    states = [f"x{j}" for j in range(d)]
    after = ", ".join(f"{1 - rate:g} * {x} + {rate:g} * a" for x, rate in zip(states, [0.1 + 0.05 * j for j in range(d)], strict=True))
    cost = " + ".join(f"{x} * {x}" for x in states)
    starts = ", ".join(f"2.0 * u{j} - 1.0" for j in range(d))
    scope: dict = {}
    exec(  # the signature of a plant names its variables
        f"def start({', '.join(f'u{j}' for j in range(d))}):\n    return ({starts},)\n"
        f"def leak({', '.join(states)}, a):\n    return ({after},), -({cost}), False\n",
        scope,
    )
    axes = [spaql.Axis(x, -1.0, 1.0) for x in states]
    start, leak = spaql.reset(scope["start"]), spaql.step(scope["leak"])
    return spaql.from_plant(start, leak, name=f"leaky {d}", state=axes, horizon=HORIZON, actions=spaql.Continuous((-1.0,), (1.0,)))


def samples(agent) -> int:
    return int(agent.history.train_samples[-1] + agent.history.eval_samples[-1])


def process_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def made(learner: type, d: int, kind: str):
    """An agent in a forest of the kind told, whose code is compiled."""
    forests.SPARSE_FROM = 1 if kind == "sparse" else 99
    learner(plant(d)).learn(2, rollouts=ROLLOUTS)
    return learner(plant(d))


def row_of_dimension(d: int, kind: str) -> dict:
    agent = made(spaql.SPAQL, d, kind)
    before, began = process_mb(), time.process_time()
    agent.learn(ITERATIONS, rollouts=ROLLOUTS)
    seconds = time.process_time() - began
    forest = agent.state.trainee
    return {
        "variables": d, "forest": kind, "arms": agent.arms, "cells kept": int(forest.size[USED]), "forks": int(forest.size[FORKS]) - 1,
        "process grew MB": process_mb() - before, "ns per step": 1e9 * seconds / samples(agent),
    }  # fmt: skip


def row_of_arms(arms: int, d: int, kind: str) -> dict:
    """AQL, which never goes back to a smaller partition: learn until it has so many arms, then time further training episodes."""
    agent = made(spaql.AQL, d, kind)
    before, stretch = process_mb(), 1
    agent.learn(stretch, rollouts=1)
    while agent.arms < arms:
        agent.learn(stretch, rollouts=1)
        stretch = min(2 * stretch, 500)
    reached, steps, began = agent.arms, samples(agent), time.process_time()
    agent.learn(50, rollouts=1)
    seconds = time.process_time() - began
    return {
        "arms": reached, "variables": d, "forest": kind, "cells kept": int(agent.state.forest.size[USED]),
        "process grew MB": process_mb() - before, "ns per step": 1e9 * seconds / (samples(agent) - steps),
    }  # fmt: skip


def told(value: float | str) -> str:
    return f"{value:>17}" if isinstance(value, str) else f"{value:>17,.1f}" if isinstance(value, float) else f"{value:>17,}"


def table(rows: list[list[str]]) -> None:
    """Print rows as they come, each from a process of its own."""
    for at, arguments in enumerate(rows):
        run = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
        row = json.loads(run.stdout)
        if at == 0:
            print("".join(f"{name:>17}" for name in row))
        print("".join(map(told, row.values())), flush=True)


def main() -> None:
    if len(sys.argv) > 1:
        which, first, *rest = sys.argv[1:]
        made_row = row_of_dimension(int(first), *rest) if which == "dimension" else row_of_arms(int(first), int(rest[0]), rest[1])
        print(json.dumps(made_row))
        return
    print(f"SPAQL, {ITERATIONS} iterations of {HORIZON} steps, {ROLLOUTS} rollouts after each (used: sparse from {forests.SPARSE_FROM} on)")
    table([["dimension", str(d), kind] for d in DIMENSIONS for kind in ("full", "sparse")])
    print("\nAQL, training episodes once it has so many arms (one rollout after each)")
    table([["arms", str(arms), str(d), kind] for (d, kind), goals in ARMS.items() for arms in goals])


if __name__ == "__main__":
    main()
