"""Results made by hand: figures, tables and pages need runs, not training."""

import numpy as np

from spaql_studies.parts import specs_of
from spaql_studies.runs.rows import run_from
from spaql_studies.study import WHOLE, Results

ORIGIN = {
    "version": "0",
    "seconds": 1.0,
    "host": "here",
    "finished": "2026-01-01T00:00:00+00:00",
    "python": "3",
    "libraries": {},
}


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
        "episode_actions": np.zeros(0), "code": spec.code, "cpu_curve": np.array([0.5]),
    }  # fmt: skip
    return run_from(row | ORIGIN)


def made_part(part, figure, effort=WHOLE):
    """All runs of a part; `figure(spec)` gives (best seen, fresh)."""
    return [made_run(spec, *figure(spec)) for spec in specs_of(part, effort)]


def made_results(figures, effort=WHOLE):
    """Results by part from functions of the spec."""
    return Results({part: made_part(part, figure, effort) for part, figure in figures.items()})


def made_checked(spec, last, first=None, leaves=None, tree=None, controller=""):
    """A run with checkpoints whose fresh return rises from `first` to `last` in a straight line; trees at the last three."""
    points = len(spec.checkpoints)
    first = last - 100.0 if first is None else first
    none = np.zeros(0)
    with_tree = np.arange(points) >= points - 3 if spec.leaves else np.zeros(points, bool)
    returns = np.linspace(first, last, points) if points > 1 else np.array([last])
    row = {
        "key": spec.key, "problem": spec.problem, "algorithm": spec.algorithm, "xi": spec.xi, "options": dict(spec.options),
        "seed": spec.seed, "iterations": 0, "rollouts": spec.rollouts, "episodes": spec.fresh, "best_seen": last, "fresh": last,
        "arms": None, "train_samples": spec.checkpoints[-1], "eval_samples": 0, "fresh_returns": np.full(4, last),
        "evaluation_curve": none, "best_seen_curve": none, "arms_curve": none, "train_samples_curve": none, "eval_samples_curve": none,
        "temperature_curve": none, "episode_states": none, "episode_actions": none, "code": spec.code,
        "checkpoints": np.array(spec.checkpoints), "checkpoint_returns": returns,
        "tree_leaves": np.where(with_tree, spec.leaves if leaves is None else leaves, 0),
        "tree_returns": np.where(with_tree, returns if tree is None else tree, np.nan),
        "cpu_curve": np.array(spec.checkpoints) / 1000, "tree_cpu_curve": np.where(with_tree, 2.0, np.nan),
        "parameters": spec.parameters, "controller": controller,
    }  # fmt: skip
    return run_from(row | ORIGIN)
