"""Runs that are evaluated while they learn: the return at each checkpoint, and what it has cost.

A checkpoint is a number of samples, those of training and of evaluation.
"""

import math
import re
import time
import warnings
from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlWarning
from spaql.learners.history import COLUMNS
from spaql.learners.registry import card_of, learner_class
from spaql.runs.spec import Spec

GYM_ID = re.compile(r"-v\d+$")  # what is no name of the catalog, but an id of Gymnasium
WITH_TREE = 1  # number of last checkpoints at which a small tree is made too
WARM_SAMPLES = 400  # of an agent that is trained only to compile


def checked(spec: Spec) -> dict[str, Any]:
    """The figures and curves of a run with checkpoints."""
    warm_up(spec)
    agent = agent_of(spec)
    looks: list[tuple[int, float, int, float, float, float]] = []
    used, fresh, counts = 0.0, np.zeros(0), (0, 0)
    for place, samples in enumerate(spec.checkpoints):
        begin = time.process_time()
        counts = _learn(agent, spec, samples, counts)
        used += time.process_time() - begin  # the evaluation is not learning
        begin = time.process_time()
        agent.prepare()  # a final plan is part of learning; training goes on without it
        planned = time.process_time() - begin
        fresh = agent.evaluate(spec.fresh, seed=spec.seed).returns
        with_tree = spec.leaves and place >= len(spec.checkpoints) - WITH_TREE
        tree = _tree(agent, spec) if with_tree else (0, math.nan, math.nan)
        looks.append((sum(counts), _mean(fresh), tree[0], tree[1], used + planned, tree[2]))
    return row_of(looks, fresh, int(agent.arms), *counts) | {"controller": _controller(agent)}


def agent_of(spec: Spec) -> Any:
    from spaql.plants.gym import from_gym
    from spaql.plants.make import make_from_catalog

    learner: Any = learner_class(card_of(spec.algorithm))
    problem = (from_gym if GYM_ID.search(spec.problem) else make_from_catalog)(spec.problem)
    return learner(problem, seed=spec.seed, **dict(spec.options))


def _controller(agent: Any) -> str:
    """The policy as JSON, if it is a few laws; tables are too large to be kept with every run."""
    policy = agent.policy() if agent.card.simulator else None
    return policy.to_json() if policy is not None else ""


def _learn(agent: Any, spec: Spec, samples: int, counts: tuple[int, int]) -> tuple[int, int]:
    """Learn on up to `samples` samples; takes and returns the counts of training and of evaluation samples.

    A learner that counts iterations ends with the iteration that reaches `samples`.
    """
    most = agent.problem.horizon * (spec.rollouts + 1)  # samples of an iteration: episodes may end early
    while (left := samples - sum(counts)) > 0:
        by_samples = agent.card.learns_by == "samples"
        history = agent.learn(samples=left) if by_samples else agent.learn(max(1, left // most), spec.rollouts)
        if history.interrupted:
            raise KeyboardInterrupt
        counts = int(history.train_samples[-1]), int(history.eval_samples[-1])
    return counts


def _tree(agent: Any, spec: Spec) -> tuple[int, float, float]:
    """Leaves, fresh return and CPU seconds of the small tree of what the agent has learned, without further samples."""
    begin = time.process_time()
    tree = agent.policy().compress(max_leaves=spec.leaves, oblique=spec.oblique, laws=False)
    used = time.process_time() - begin
    return int(tree.n_leaves), _mean(tree.evaluate(spec.fresh, seed=spec.seed).returns), used


_warm: set[tuple[str, str]] = set()


def warm_up(spec: Spec) -> None:
    """Compiling is done once per machine, not once per run: it is not part of the seconds of the first run."""
    if (spec.problem, spec.algorithm) not in _warm:
        agent = agent_of(spec)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpaqlWarning)  # so few samples find nothing
            agent.learn(samples=WARM_SAMPLES) if agent.card.learns_by == "samples" else agent.learn(2, 2)
        _warm.add((spec.problem, spec.algorithm))


def _mean(returns: Array) -> float:
    return math.fsum(returns) / len(returns)


def row_of(
    looks: list[tuple[int, float, int, float, float, float]],
    fresh: Array,
    arms: int | None,
    train: int,
    evaluation: int,
) -> dict[str, Any]:
    names = ("checkpoints", "checkpoint_returns", "tree_leaves", "tree_returns", "cpu_curve", "tree_cpu_curve")
    columns = dict(zip(names, map(np.array, zip(*looks, strict=True)), strict=True))
    empty = dict.fromkeys([f"{name}_curve" for name in COLUMNS] + ["episode_states", "episode_actions"], np.zeros(0))
    last = looks[-1][1]
    figures = {"best_seen": last, "fresh": last, "arms": arms, "train_samples": train, "eval_samples": evaluation}
    return figures | {"fresh_returns": fresh} | empty | columns
