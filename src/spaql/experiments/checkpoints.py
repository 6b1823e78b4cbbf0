"""Runs that are looked at while they learn: what the agent is worth after so many samples, all of them counted, and what it has cost."""

import math
import time
from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.experiments.atlas_plan import CONTESTS
from spaql.experiments.spec import RIVALS, Spec

WITH_TREE = 1  # the last checkpoints, at which a small tree is made too
WARM_SAMPLES = 400


def checked(spec: Spec) -> dict[str, Any]:
    """The figures and curves of a run with checkpoints."""
    return _rival(spec) if spec.algorithm in RIVALS else _learner(spec)


def _learner(spec: Spec) -> dict[str, Any]:
    warm_up(spec)
    agent = agent_of(spec)
    looks: list[tuple[int, float, int, float, float, float]] = []
    used, fresh, counts = 0.0, np.zeros(0), (0, 0)
    for place, samples in enumerate(spec.checkpoints):
        begin = time.process_time()
        counts = _learn(agent, spec, samples, counts)
        used += time.process_time() - begin  # looking is not learning
        begin = time.process_time()
        if spec.algorithm == "Atlas":
            agent.current_plan()  # made when it is first asked for, and part of learning; whoever goes on does without it
        planned = time.process_time() - begin
        fresh = agent.evaluate(spec.fresh, seed=spec.seed).returns
        tree = _tree(agent, spec) if spec.leaves and place >= len(spec.checkpoints) - WITH_TREE else (0, math.nan, math.nan)
        looks.append((sum(counts), _mean(fresh), tree[0], tree[1], used + planned, tree[2]))
    return _row(looks, fresh, int(agent.arms), *counts)


def agent_of(spec: Spec) -> Any:
    import spaql
    from spaql.files import ALGORITHMS
    from spaql.plants.catalog import make_from_catalog

    found: Any = ALGORITHMS.get(spec.algorithm) or getattr(spaql, spec.algorithm, None)
    if found is None:
        raise SpaqlError(f"unknown algorithm {spec.algorithm!r}: this spaql has {', '.join(ALGORITHMS)}")
    return found(make_from_catalog(spec.problem), seed=spec.seed, **dict(spec.options))


def _learn(agent: Any, spec: Spec, samples: int, counts: tuple[int, int]) -> tuple[int, int]:
    """On to so many samples; takes and returns training and evaluation samples. SPAQL ends with the iteration that reaches them."""
    most = agent.problem.horizon * (spec.rollouts + 1)  # samples of an iteration: episodes may end early
    while (left := samples - sum(counts)) > 0:
        history = agent.learn(samples=left) if spec.algorithm == "Atlas" else agent.learn(max(1, left // most), spec.rollouts)
        if history.interrupted:
            raise KeyboardInterrupt
        counts = int(history.train_samples[-1]), int(history.eval_samples[-1])
    return counts


def _tree(agent: Any, spec: Spec) -> tuple[int, float, float]:
    """Leaves, fresh return and CPU seconds of the small tree found in what the agent has learned: no further samples."""
    begin = time.process_time()
    tree = agent.policy().compress(max_leaves=spec.leaves, oblique=CONTESTS[spec.problem].oblique)
    used = time.process_time() - begin
    return int(tree.n_leaves), _mean(tree.evaluate(spec.fresh, seed=spec.seed).returns), used


_warm: set[tuple[str, str]] = set()


def warm_up(spec: Spec) -> None:
    """Compiling is done once per machine, not once per run: it is not in the seconds of the first."""
    if (spec.problem, spec.algorithm) not in _warm:
        agent = agent_of(spec)
        agent.learn(samples=WARM_SAMPLES) if spec.algorithm == "Atlas" else agent.learn(2, 2)
        _warm.add((spec.problem, spec.algorithm))


def _rival(spec: Spec) -> dict[str, Any]:
    from spaql.experiments.rivals import train_rival

    found = train_rival(spec.problem, spec.algorithm, spec.seed, spec.checkpoints, spec.fresh)
    looks = [(int(n), float(r), 0, math.nan, float(s), math.nan) for n, r, s in zip(*found[:3], strict=True)]
    return _row(looks, found.fresh, None, looks[-1][0], 0)


def _mean(returns: Array) -> float:
    return math.fsum(returns) / len(returns)


def _row(
    looks: list[tuple[int, float, int, float, float, float]], fresh: Array, arms: int | None, train: int, evaluation: int
) -> dict[str, Any]:
    names = ("checkpoints", "checkpoint_returns", "tree_leaves", "tree_returns", "cpu_curve", "tree_cpu_curve")
    columns = dict(zip(names, map(np.array, zip(*looks, strict=True)), strict=True))
    none = ("evaluation", "best_seen", "arms", "train_samples", "eval_samples", "temperature")
    empty = dict.fromkeys([f"{name}_curve" for name in none] + ["episode_states", "episode_actions"], np.zeros(0))
    figures = {"best_seen": looks[-1][1], "fresh": looks[-1][1], "arms": arms, "train_samples": train, "eval_samples": evaluation}
    return figures | {"fresh_returns": fresh} | empty | columns
