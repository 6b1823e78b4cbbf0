"""Results made by hand: figures, tables and pages need runs, not training."""

import numpy as np

from spaql.experiments.plan import PAPER, specs_of
from spaql.experiments.results import Results
from spaql.experiments.rows import run_from

ORIGIN = {"version": "0", "seconds": 1.0, "host": "here", "finished": "2026-01-01T00:00:00+00:00", "python": "3", "libraries": {}}


def made_run(spec, best_seen, fresh, arms=100, samples=None, points=5):
    """A run whose curves rise to the given figures in a straight line."""
    points = min(points, spec.iterations)
    samples = 200 * spec.iterations if samples is None else samples
    curve = np.linspace(best_seen - 50.0, best_seen, points)
    counted = np.linspace(samples / points, samples, points).astype(int)
    trpo = spec.algorithm == "TRPO"
    row = {
        "key": spec.key, "problem": spec.problem, "algorithm": spec.algorithm, "xi": spec.xi, "options": dict(spec.options),
        "seed": spec.seed, "iterations": spec.iterations, "rollouts": spec.rollouts, "episodes": spec.fresh, "best_seen": best_seen,
        "fresh": fresh, "arms": None if trpo else arms, "train_samples": samples, "eval_samples": samples * spec.rollouts,
        "fresh_returns": np.full(4, fresh), "evaluation_curve": curve, "best_seen_curve": curve,
        "arms_curve": np.zeros(0) if trpo else np.linspace(1, arms, points).astype(int), "train_samples_curve": counted,
        "eval_samples_curve": counted * spec.rollouts, "temperature_curve": np.zeros(points), "episode_states": np.zeros(0),
        "episode_actions": np.zeros(0), "code": spec.code,
    }  # fmt: skip
    return run_from(row | ORIGIN)


def made_part(part, figure, protocol=PAPER):
    """All runs of a part; `figure(spec)` gives (best seen, fresh)."""
    return [made_run(spec, *figure(spec)) for spec in specs_of(part, protocol)]


def made_results(figures, protocol=PAPER):
    """Results by part from functions of the spec."""
    return Results({part: made_part(part, figure, protocol) for part, figure in figures.items()})
