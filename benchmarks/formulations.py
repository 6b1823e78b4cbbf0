"""The same motor told well and badly: what Laws make of one plant, stated in several ways, with the same samples.

    python benchmarks/formulations.py                # the table of docs/loop.md: some minutes
    python benchmarks/formulations.py --seeds 1 --samples 2000000

Plant, reference, noise, delay and reward are those of examples/motor_loop.py; only what the controller sees and what it
decides differ. So all returns are of the same measure, on the same 500 fresh episodes. Seeds from 1000 on.
"""

import argparse
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import spaql

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import motor_loop

ERROR, INTEGRAL, BEFORE = "speed_error", "integral(speed_error)", "previous(voltage)"
THREE = spaql.Finite((-24.0, 0.0, 24.0), box=True, names=("voltage",), units=("V",))
# what the controller decides, and what it sees
WAYS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "three voltages; error, current": ({"finite": True}, [ERROR, "current"]),
    "voltage; speed, target": ({}, ["speed", "target"]),
    "voltage; error": ({}, [ERROR]),
    "voltage; error, integral": ({}, [ERROR, INTEGRAL]),
    "voltage; error, integral, target": ({}, [ERROR, INTEGRAL, "target"]),
    "voltage; error, integral, current": ({}, [ERROR, INTEGRAL, "current"]),
    "voltage; error, integral, current, voltage before": ({}, [ERROR, INTEGRAL, "current", BEFORE]),
    "voltage; all six variables": ({}, []),
    "increments; error": ({"increments": 6.0}, [ERROR]),
    "increments; error, current": ({"increments": 6.0}, [ERROR, "current"]),
    "increments; error, its difference": ({"increments": 6.0}, [ERROR, f"difference({ERROR})"]),
}


def stated(way: str) -> spaql.Problem:
    (decided, seen), plant = WAYS[way], motor_loop.motor
    more = [name for name in seen if name.startswith("difference")]
    if decided.get("finite"):
        plant = replace(plant, actions=THREE)
    return spaql.loop(
        plant, memory=[INTEGRAL, BEFORE, *more], observe=seen, increments=decided.get("increments"), **motor_loop.AROUND
    )


def run(way: str, samples: int, seed: int) -> tuple[float, float, str]:
    """Return on fresh episodes, CPU seconds, the law."""
    warnings.simplefilter("ignore")
    begin = time.process_time()
    agent = spaql.Laws(stated(way), max_leaves=1, seed=seed)
    agent.learn(samples=samples)
    seconds = time.process_time() - begin
    return agent.evaluate(500, seed=1).mean, seconds, agent.policy().to_text(share=False).splitlines()[-1]


def by_hand() -> spaql.Policy:
    """The best of 25 PI controllers, on other episodes."""
    gains = [(kp, ki) for kp in (0.08, 0.1, 0.12, 0.14, 0.16) for ki in (0.8, 1.2, 1.6, 2.0, 2.4)]
    tried = (spaql.pid(motor_loop.problem, kp=kp, ki=ki) for kp, ki in gains)
    return max(tried, key=lambda policy: policy.evaluate(200, seed=5).mean)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=20_000_000)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    seeds = range(1000, 1000 + given.seeds)
    print("| the controller decides; sees | median seed | worst seed | law of the median seed | CPU s |")
    print("|---|---|---|---|---|")
    with ProcessPoolExecutor(given.jobs) as pool:
        for way in WAYS:
            found = sorted(pool.map(run, [way] * len(seeds), [given.samples] * len(seeds), seeds))
            median, cpu = found[len(found) // 2], np.mean([one[1] for one in found])
            print(f"| {way} | {median[0]:.1f} | {found[0][0]:.1f} | `{median[2]}` | {cpu:.0f} |", flush=True)
    best = by_hand()
    law = best.to_text(share=False).splitlines()[-1]
    print(f"| PI, the best of 25 | {best.evaluate(500, seed=1).mean:.1f} | | `{law}` | |")


if __name__ == "__main__":
    main()
