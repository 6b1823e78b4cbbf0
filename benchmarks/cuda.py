"""A graphics card: steps per second, certificates, and how far laws get with a thousand times the samples.

    python benchmarks/cuda.py                                     the tables of docs/speed.md
    python benchmarks/cuda.py laws pendulum --leaves 8 --effort 8 ten seeds of a search, several at a time

Each command says which card it has used. Seeds from 1000 on.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import numpy as np

import spaql

CERTIFIED = 10**9


def speed():
    from spaql.cuda.card_speed import measure_card

    figures = measure_card()
    print(f"{figures['device']}\n\n| plant | G steps/s | times one core | same bits |\n|---|---|---|---|")
    for name, figure in figures["problems"].items():
        same = "yes" if figure["same"] else "no"
        print(f"| {name} | {figure['card'] / 1e9:.1f} | {figure['card'] / figure['core']:,.0f} | {same} |")


def certificate(episodes):
    from spaql.cuda.card_speed import tree_of
    from spaql.policy.policy import Policy

    problem = spaql.make("cartpole-500")
    policy = Policy(problem, tree_of(problem), "law tree", "by hand")
    begin = time.perf_counter()
    certified = policy.certify(episodes, device="cuda")
    print(f"\ncartpole-500, {time.perf_counter() - begin:.1f} s:\n{certified.certificate}")


def searched(job):
    name, leaves, effort, samples, seed = job
    agent = spaql.Laws(spaql.make(name), max_leaves=leaves, seed=seed, effort=effort, device="cuda")
    begin = time.perf_counter()
    agent.learn(samples=samples, progress=False)
    policy, wall = agent.policy(), time.perf_counter() - begin
    return seed, policy.evaluate(10_000, 10**6 + seed).mean, policy.rules.n_leaves, policy.knowledge.samples.training, wall


def laws(name, leaves, effort, samples, seeds, jobs):
    asked = [(name, leaves, effort, samples, 1000 + seed) for seed in range(seeds)]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        rows = []
        for row in (done.result() for done in as_completed([pool.submit(searched, job) for job in asked])):
            rows.append(row)
            print("seed {}: {:.2f}, {} leaves, {:.3g} samples, {:.0f} s".format(*row), flush=True)
    means = np.array([row[1] for row in rows])
    print(f"{name}, {leaves} leaves, effort {effort:g}: mean {means.mean():.2f}, worst {means.min():.2f} of {seeds} seeds")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=["speed", "laws"], default="speed")
    parser.add_argument("problem", nargs="?", default="pendulum")
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--effort", type=float, default=8.0)
    parser.add_argument("--samples", type=float, default=3e11)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--certified", type=float, default=CERTIFIED)
    given = parser.parse_args()
    if given.what == "speed":
        speed()
        certificate(int(given.certified))
    else:
        laws(given.problem, given.leaves, given.effort, int(given.samples), given.seeds, given.jobs)
