"""Theorems about learned laws, a row each: share, bounds, CPU seconds of learning, proving and checking. For docs/proofs.md.

python benchmarks/proofs.py [problems] [seeds, such as 1000 1001 1002 1003 1004]
"""

import math
import sys

import numpy as np
from proven import measured, theorem

import spaql
from spaql.proofs.checked_cells import blocks_of, unpacked
from spaql.trees.tree import decide

MASSES = {"cart_mass": (0.9, 1.1), "pole_mass": (0.09, 0.11), "half_length": (0.45, 0.55)}
ANYWHERE = {"angle": (-math.pi, math.pi), "velocity": (-8.0, 8.0)}
EVERYWHERE = {"pendulum": {"velocity": spaql.Between(-8.0, 8.0)}}  # learned from where the theorem shall hold
PROBLEMS = {  # leaves, samples, whether laws that are easier to prove are preferred, and what is asked
    "cartpole-500": (1, 2_000_000, True, {"500 steps": {"steps": 500}, "for ever": {"steps": math.inf}, "sensors 0.006": {"sensors": 0.006}, "sensors 0.01": {"sensors": 0.01}, "cart mass 10 %": {"parameters": {"cart_mass": (0.9, 1.1)}}, "masses and length 10 %": {"parameters": MASSES}}),
    "pendulum": (4, 90_000_000, False, {"upright for ever": {"reach": {"angle": (-0.2, 0.2)}, "start": ANYWHERE, "steps": 200}}),
    "mountain-car": (2, 20_000_000, False, {"arrives": {}}),
    "mountain-car-continuous": (2, 40_000_000, True, {"arrives": {}}),
}  # fmt: skip


def returns_of(policy, states):
    """Of 200 steps of the pendulum from these states."""
    (angle, velocity), total = states.T, np.zeros(len(states))
    for _ in range(200):
        torque = decide(policy.rules, np.stack([np.cos(angle), np.sin(angle), velocity], axis=1))[:, 0]
        total -= angle**2 + 0.1 * velocity**2 + 0.001 * torque**2
        velocity = np.clip(velocity + (15.0 * np.sin(angle) + 3.0 * torque) * 0.05, -8.0, 8.0)
        angle = (angle + 0.05 * velocity + math.pi) % (2.0 * math.pi) - math.pi
    return total


def worst_found(policy, proof):
    """(what 99 % of all starts return at least, and the worst return that is found from these starts)"""
    part, least = proof.evidence[0], dict(proof.return_shares).get(0.99, math.nan)
    cells, corners, sizes, bounds = blocks_of(part, 2)
    value = proof.return_steps * part["pace"] + part["unit"] * unpacked(part["reach"]["value"], len(bounds))
    low, size = (cells.low + corners * cells.step)[value >= least], (sizes * cells.step)[value >= least]
    if len(low) == 0:
        return least, math.nan
    rng = np.random.default_rng(0)
    returns = returns_of(policy, low + rng.random(low.shape) * size)
    worst = np.repeat(np.argsort(returns)[:200], 100)
    return least, min(returns.min(), returns_of(policy, low[worst] + rng.random((len(worst), 2)) * size[worst]).min())


def rows(name, seed):
    leaves, samples, provable, asked = PROBLEMS[name]
    agent = spaql.Laws(spaql.make(name, start=EVERYWHERE.get(name, {})), max_leaves=leaves, seed=seed, provable=provable)
    _, learning = measured(lambda: agent.learn(samples=samples))
    policy = agent.policy()
    for title, options in asked.items():
        proof, proving, checking, refused = theorem(policy, options)
        bound = f"{max(abs(x) for x in proof.bound['angle']):.3f}" if "angle" in proof.bound else ""
        most, found = worst_found(policy, proof) if proof.return_shares else (math.nan, math.nan)
        yield f"| {name} | {seed} | {title} | {100 * proof.share:.2f} % | {bound} | {proof.within} | {proof.worst_return:.4g} | {proof.best_return:.4g} | {most:.4g} | {found:.4g} | {learning:.1f} | {proving:.1f} | {checking:.1f} {refused}|"


def main():
    print("| problem | seed | theorem | proven | angle | steps | return at least | at most | from 99 % at least | worst found of these | learned, s | proven, s | checked, s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    seeds = [int(word) for word in sys.argv[1:] if word.isdigit()]
    for name in [word for word in sys.argv[1:] if not word.isdigit()] or PROBLEMS:
        for seed in seeds or range(1000, 1005):
            for row in rows(name, seed):
                print(row, flush=True)


if __name__ == "__main__":
    main()
