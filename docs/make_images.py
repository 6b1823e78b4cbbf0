"""Draws the picture of the README: `python docs/make_images.py [FOLDER]`.

Trains 20 agents per algorithm on CartPole and Pendulum with the paper's settings, and evaluates the kept agents on fresh rollouts.
"""

import sys
from pathlib import Path

import numpy as np

import spaql
from spaql.analysis.style import letters, mean_and_half, png_of, sheet, write
from spaql_studies.paper.learning import Level, Series, draw_returns, learning_legend

AGENTS, ITERATIONS, EPISODES = 20, 2000, 1000
TITLES = {"cartpole": "CartPole", "pendulum": "Pendulum"}


def series_of(name: str) -> list[Series]:
    """The agents of each algorithm."""
    problem, found = spaql.make(name), []
    for learner in (spaql.SPAQLTS, spaql.SPAQL, spaql.AQL):
        agents = [learner(problem, seed=seed) for seed in range(AGENTS)]
        histories = spaql.learn_all(agents, ITERATIONS, progress=False)
        seen, arms = (np.array([getattr(history, field) for history in histories], float) for field in ("best_seen", "arms"))
        fresh = np.array([agent.evaluate(EPISODES).mean for agent in agents])
        found.append(Series(learner.algorithm, seen, arms, fresh))
        told = (f"{label} {mean:9.2f} ± {half:6.2f}" for label, (mean, half) in
                (("best seen", mean_and_half(seen[:, -1])), ("fresh", mean_and_half(fresh))))  # fmt: skip
        print(f"{name:9} {learner.algorithm:9} {'   '.join(told)}")
    return found


def main(folder: Path) -> None:
    with sheet(3.1) as figure:
        axes = figure.subplots(1, 2)
        for axis, name in zip(axes, TITLES, strict=True):
            series, levels = series_of(name), [Level("Random", spaql.Random(spaql.make(name)).evaluate(EPISODES).mean)]
            draw_returns(axis, series, levels)
        axes[1].set_ylabel("")
        letters(list(axes), list(TITLES.values()))
        learning_legend(figure, series, levels)
        write(folder / "learning_curve.png", png_of(figure))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images")
