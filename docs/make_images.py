"""Draws the pictures of the README: `python docs/make_images.py`.

Trains 20 agents per algorithm on CartPole and Pendulum with the paper's settings, and evaluates the kept agents on fresh rollouts.
"""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.special import stdtrit

import spaql
from spaql.analysis.curves import COLOURS

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parent / "images"
AGENTS, ITERATIONS = 20, 2000
TITLES = {"cartpole": "CartPole", "pendulum": "Pendulum"}
MARKERS = {"AQL": "s", "SPAQL": "o", "SPAQL-TS": "D"}


def half_width(values: Any) -> Any:
    """Of Student's 95 % interval of the mean over agents."""
    return stdtrit(len(values) - 1, 0.975) * values.std(axis=0, ddof=1) / np.sqrt(len(values))


def draw(axis: Any, name: str) -> None:
    problem = spaql.make(name)
    iteration = np.arange(1, ITERATIONS + 1)
    for place, learner in enumerate((spaql.SPAQLTS, spaql.SPAQL, spaql.AQL)):
        agents = [learner(problem, seed=seed) for seed in range(AGENTS)]
        histories = spaql.learn_all(agents, ITERATIONS, progress=False)
        seen = np.array([history.best_seen for history in histories])
        fresh = np.array([agent.evaluate(1000).mean for agent in agents])
        algorithm, colour = learner.algorithm, COLOURS[learner.algorithm]
        mean, half = seen.mean(axis=0), half_width(seen)
        axis.fill_between(iteration, mean - half, mean + half, color=colour, alpha=0.25, linewidth=0)
        axis.plot(iteration, mean, color=colour, linewidth=1.8, label=algorithm)
        axis.errorbar(
            ITERATIONS * (1.05 + 0.045 * place), fresh.mean(), half_width(fresh), color=colour, marker=MARKERS[algorithm],
            markersize=5, capsize=3, linewidth=1.2, markeredgecolor="black", markeredgewidth=0.5,
        )  # fmt: skip
        print(f"{name:9} {algorithm:9} best seen {mean[-1]:9.2f} ± {half[-1]:6.2f}   fresh {fresh.mean():9.2f} ± {half_width(fresh):6.2f}")
    chance = spaql.Random(problem).evaluate(1000).mean
    axis.axhline(chance, color="0.35", linestyle="--", linewidth=1.2, label="Random")
    axis.axvspan(ITERATIONS, ITERATIONS * 1.19, color="0.93", zorder=0)
    axis.text(ITERATIONS * 1.095, 1.02, "fresh", transform=axis.get_xaxis_transform(), ha="center", fontsize=9, color="0.3")
    axis.set(xlim=(0, ITERATIONS * 1.19), xlabel="training episode", ylabel="return", xticks=range(0, ITERATIONS + 1, 500))
    axis.set_title(TITLES[name], loc="left", fontweight="bold")
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, name in zip(axes, TITLES, strict=True):
        draw(axis, name)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(IMAGES / "learning_curve.png", dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
