"""Theorems about learned laws, a row each: share, bounds, CPU seconds of learning, proving and checking. For docs/proofs.md.

python benchmarks/proofs.py [problems] [seeds, such as 1000 1001 1002 1003 1004]
"""

import math
import sys
import tempfile
import time

import spaql

MASSES = {"cart_mass": (0.9, 1.1), "pole_mass": (0.09, 0.11), "half_length": (0.45, 0.55)}
ANYWHERE = {"angle": (-math.pi, math.pi), "velocity": (-8.0, 8.0)}
EVERYWHERE = {"pendulum": {"velocity": spaql.Between(-8.0, 8.0)}}  # learned from where the theorem shall hold
PROBLEMS = {  # leaves, samples, whether laws that are easier to prove are preferred, and what is asked
    "cartpole-500": (1, 2_000_000, True, {"500 steps": {"steps": 500}, "for ever": {"steps": math.inf}, "sensors 0.006": {"sensors": 0.006}, "sensors 0.01": {"sensors": 0.01}, "cart mass 10 %": {"parameters": {"cart_mass": (0.9, 1.1)}}, "masses and length 10 %": {"parameters": MASSES}}),
    "pendulum": (4, 30_000_000, False, {"upright for ever": {"reach": {"angle": (-0.2, 0.2)}, "start": ANYWHERE}}),
    "mountain-car": (2, 20_000_000, False, {"arrives": {}}),
    "mountain-car-continuous": (2, 20_000_000, False, {"arrives": {}}),
}  # fmt: skip


def measured(call):
    begin = time.process_time()
    result = call()
    return result, time.process_time() - begin


def rows(name, seed):
    leaves, samples, provable, asked = PROBLEMS[name]
    agent = spaql.Laws(spaql.make(name, start=EVERYWHERE.get(name, {})), max_leaves=leaves, seed=seed, provable=provable)
    _, learning = measured(lambda: agent.learn(samples=samples))
    policy = agent.policy()
    for title, options in asked.items():
        proof, proving = measured(lambda options=options: policy.prove(**options))
        checking = math.nan
        if proof.evidence:
            with tempfile.NamedTemporaryFile(suffix=".json") as file:
                proof.save(file.name)
                _, checking = measured(lambda file=file: spaql.check_proof(file.name, policy))
        bound = f"{max(abs(x) for x in proof.bound['angle']):.3f}" if "angle" in proof.bound else ""
        yield f"| {name} | {seed} | {title} | {100 * proof.share:.2f} % | {bound} | {proof.within} | {proof.worst_return:.4g} | {learning:.1f} | {proving:.1f} | {checking:.1f} |"


def main():
    print("| problem | seed | theorem | proven | angle | steps | return at least | learned, s | proven, s | checked, s |\n|---|---|---|---|---|---|---|---|---|---|")
    seeds = [int(word) for word in sys.argv[1:] if word.isdigit()]
    for name in [word for word in sys.argv[1:] if not word.isdigit()] or PROBLEMS:
        for seed in seeds or range(1000, 1005):
            for row in rows(name, seed):
                print(row, flush=True)


if __name__ == "__main__":
    main()
