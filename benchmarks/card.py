"""A graphics card: steps per second, certificates, and how far laws get with a thousand times the samples.

    python benchmarks/card.py                                     the tables of docs/speed.md
    python benchmarks/card.py laws pendulum --leaves 8            ten seeds of a search, several at a time
    python benchmarks/card.py laws pendulum acrobot --leaves 2 4 8  the best of at most so many laws
    python benchmarks/card.py worst                               the worst episode of ten million
    python benchmarks/card.py atlas --seeds 2 --jobs 1            Atlas with its searches on the card

Several processes on one card want its server: `nvidia-cuda-mps-control -d`. Mean and worst of the seeds from 1000 on.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import numpy as np

import spaql
from spaql.policy.policy import Policy

CERTIFIED = 10**9
FRESH = 10**6  # episodes, of each search others


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


def worst_case(episodes):
    from spaql.cuda.card_speed import tree_of

    problem = spaql.make("cartpole-swing-up")
    policy = Policy(problem, tree_of(problem), "law tree", "by hand")
    for device, count in (("cpu", 10_000), ("cuda", 10_000), ("cuda", episodes)):
        begin = time.perf_counter()
        worst = policy.falsify(count, device=device)
        print(f"falsify on {device}, {count:,} episodes, {time.perf_counter() - begin:.1f} s: {worst.total!r}", flush=True)


def learned(job):
    """Seconds of one Atlas, wall and CPU, its laws, and what they earn."""
    name, samples, seed, device = job
    begin, used = time.perf_counter(), time.process_time()
    agent = spaql.Atlas(spaql.make(name), seed=seed, controller="laws", device=device)
    agent.learn(samples=samples, progress=False)
    times = time.perf_counter() - begin, time.process_time() - used
    return device, times, agent.policy().to_text(share=False), agent.evaluate(1000).mean


def atlas(seeds, jobs):
    """Atlas with its searches on the card and without; with one job at a time, seconds may be compared."""
    print("| plant | samples | CPU: wall s, CPU s | card: wall s, CPU s | same laws | return |\n|---|---|---|---|---|---|")
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for name, samples in (("cartpole-swing-up", 320), ("pendulum", 300), ("cartpole", 300)):
            asked = [(name, samples, 1000 + seed, device) for device in ("cpu", "cuda") for seed in range(seeds)]
            rows = list(pool.map(learned, asked))
            cells = ["{:.1f}, {:.1f}".format(*np.mean([row[1] for row in part], 0)) for part in (rows[:seeds], rows[seeds:])]
            same = sum(one[2] == other[2] for one, other in zip(rows[:seeds], rows[seeds:], strict=True))
            returns = [row[3] for row in rows[:seeds]]
            print(f"| {name} | {samples} | {cells[0]} | {cells[1]} | {same} of {seeds} | {np.mean(returns):.2f} [{np.min(returns):.2f}] |", flush=True)


def searched(job):
    """Fresh returns of the best laws of a search with at most so many leaves."""
    from spaql.cuda.card_rollouts import evaluated_on_card

    name, sizes, effort, samples, seed = job
    problem, begin = spaql.make(name), time.perf_counter()
    agent = spaql.Laws(problem, max_leaves=max(sizes), seed=seed, effort=effort, device="cuda")
    agent.learn(samples=samples, progress=False)
    wall, found, row = time.perf_counter() - begin, agent.state.frontier.tidy, []
    for size in sizes:
        best = max((entry for leaves, entry in found.items() if leaves <= size), key=lambda entry: entry.mean)
        numbers = Policy(problem, best.tree, "law tree", "").numbers
        row.append((evaluated_on_card(problem, best.tree, FRESH, 10**6 + seed).mean, best.tree.n_leaves, numbers))
    return seed, wall, agent.policy().knowledge.samples.training, row


def laws(names, sizes, effort, samples, seeds, jobs):
    asked = [(name, sizes, effort, samples, 1000 + seed) for name in names for seed in range(seeds)]
    found = {name: [] for name in names}
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        runs = {pool.submit(searched, job): job[0] for job in asked}
        for run in as_completed(runs):
            seed, wall, used, row = run.result()
            found[runs[run]].append(row)
            shown = ", ".join("{:.2f} ({} leaves, {} numbers)".format(*best) for best in row)
            print(f"{runs[run]}, seed {seed}, {used:.3g} samples, {wall:.0f} s: {shown}", flush=True)
    print("\n| plant | " + " | ".join(f"{size} laws" for size in sizes) + " |\n|---|" + "---|" * len(sizes))
    for name, rows in found.items():
        means = np.array(rows)[:, :, 0]
        cells = [f"{mean:.2f} [{worst:.2f}]" for mean, worst in zip(means.mean(0), means.min(0), strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=["speed", "laws", "worst", "atlas"], default="speed")
    parser.add_argument("problems", nargs="*", default=["pendulum"])
    parser.add_argument("--leaves", type=int, nargs="+", default=[8])
    parser.add_argument("--effort", type=float, default=8.0)
    parser.add_argument("--samples", type=float, default=3e11)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--certified", type=float, default=CERTIFIED)
    given = parser.parse_args()
    if given.what == "worst":
        worst_case(10**7)
    elif given.what == "atlas":
        atlas(given.seeds, given.jobs)
    elif given.what == "speed":
        speed()
        certificate(int(given.certified))
    else:
        laws(given.problems, given.leaves, given.effort, int(given.samples), given.seeds, given.jobs)
