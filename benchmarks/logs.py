"""Learning from a log against learning from samples of one's own choice, on Pendulum: `python benchmarks/logs.py`.

The log is of random torques. Atlas with default settings, and SPAQL and SPAQL-TS, which update once per row; mean of
seeds 1000 to 1002, 500 fresh episodes each.
"""

import warnings

import spaql

SEEDS, SAMPLES, FRESH = (1000, 1001, 1002), (1_000, 5_000), 500


def mean(agents) -> float:
    return sum(agent.evaluate(FRESH, seed=1).mean for agent in agents) / len(SEEDS)


def replayed(learner, samples: int):
    problem = spaql.make("pendulum")
    for seed in SEEDS:
        agent = learner(problem, seed=seed)
        agent.replay(spaql.record(problem, episodes=samples // problem.horizon, seed=seed))
        yield agent


def chosen(samples: int):
    for seed in SEEDS:
        agent = spaql.Atlas(spaql.make("pendulum"), controller="table", seed=seed)
        agent.learn(samples=samples)
        yield agent


def main() -> None:
    warnings.simplefilter("ignore", spaql.SpaqlWarning)
    print("| return on Pendulum | " + " | ".join(f"{samples:,} samples" for samples in SAMPLES) + " |")
    print("|---" * (1 + len(SAMPLES)) + "|")
    rows = {
        "Atlas, a log of random torques": lambda samples: replayed(spaql.Atlas, samples),
        "Atlas, samples of its own choice": chosen,
        "SPAQL, the same log": lambda samples: replayed(spaql.SPAQL, samples),
        "SPAQL-TS, the same log": lambda samples: replayed(spaql.SPAQLTS, samples),
    }
    for name, agents in rows.items():
        print(f"| {name} | " + " | ".join(f"{mean(agents(samples)):.1f}" for samples in SAMPLES) + " |", flush=True)


if __name__ == "__main__":
    main()
