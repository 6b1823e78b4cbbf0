"""What features are worth: the pendulum with an energy, with products of its variables, and with neither.

    python benchmarks/features.py --seeds 10         # about five minutes; --samples 60e6

One line per agent: its return in 20,000 fresh episodes, the mean of the worst 5 %, how many numbers it has, its laws.
The figures on docs/features.md are those of seeds 1000 to 1009.
"""

import argparse
import statistics

import spaql

FIRST = 1000  # seeds that nothing was chosen by
EPISODES = 20_000
ENERGY = {"energy": "0.5*velocity**2 + 15*cos - 15"}
PUMP = {"pump": "-velocity * (0.5*velocity**2 + 15*cos - 15)"}
ROWS = {  # features, laws
    "nothing named": (None, 2),
    "energy": (ENERGY, 2),
    "pump": (PUMP, 1),
    "products": ("products", 1),
}


def measured(name, seeds, samples):
    """Returns and numbers of all seeds."""
    features, leaves = ROWS[name]
    returns, numbers = [], []
    for seed in range(FIRST, FIRST + seeds):
        agent = spaql.Laws(spaql.make("pendulum", features=features), max_leaves=leaves, seed=seed)
        agent.learn(samples=samples)
        fresh, policy = agent.evaluate(EPISODES), agent.policy()
        returns.append(fresh.mean)
        numbers.append(policy.numbers)
        law = " | ".join(line for line in policy.to_text().splitlines() if "clip" in line or line.startswith(("if", "else")))
        print(f"{name:14} {seed} {fresh.mean:8.2f} {fresh.worst5:8.1f} {policy.numbers:3}  {law}", flush=True)
    return returns, numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--samples", type=float, default=60e6)
    parser.add_argument("--only", choices=ROWS)
    given = parser.parse_args()
    for name in ROWS if given.only is None else [given.only]:
        returns, numbers = measured(name, given.seeds, int(given.samples))
        print(f"{name:14} mean {statistics.mean(returns):.1f} [{min(returns):.1f}], {min(numbers)} to {max(numbers)} numbers")


if __name__ == "__main__":
    main()
