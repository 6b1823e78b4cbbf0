"""Computing one run: the same bits on every machine."""

import functools
import json
import math
import platform
import re
import socket
import threading
import time
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlWarning
from spaql.ground.progress import quietly
from spaql.learners.history import COLUMNS, COUNTS
from spaql.learners.registry import card_of, learner_class, resolve
from spaql_studies.runs.rows import JUDGED
from spaql_studies.runs.spec import Spec

GYM_ID = re.compile(r"-v\d+$")  # what is no name of the catalog, but an id of Gymnasium
WITH_TREE = 1  # number of last checkpoints at which a small tree is made too
WARM_SAMPLES = 400  # of an agent that is trained only to compile
WARM_TRIALS = 60  # the same where laws are searched for in a model: a whole search would take longer than compiling
WORST = 0.05  # of the episodes


def compute(spec: Spec) -> dict[str, Any]:
    """The row of a run: what it is, figures, curves, fresh returns, one recorded episode, and where it came from."""
    begin = time.perf_counter()
    card = card_of(spec.algorithm, rivals_too=True)
    with quietly(), warnings.catch_warnings():
        warnings.simplefilter("ignore", SpaqlWarning)  # whoever looks at the results is told
        result = (resolve(card.home) if card.rival else checked if spec.checkpoints else _learner)(spec)
    libraries = ["numpy", "numba", "gymnasium", *card.libraries]
    return {
        "key": spec.key, "problem": spec.problem, "algorithm": spec.algorithm, "xi": spec.xi,
        "options": dict(spec.options), "seed": spec.seed, "iterations": spec.iterations, "rollouts": spec.rollouts,
        "episodes": spec.fresh, "parameters": spec.parameters,
        **result,
        "code": spec.code, "version": _version("spaql"), "seconds": time.perf_counter() - begin,
        "host": socket.gethostname(), "finished": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in libraries},
    }  # fmt: skip


@functools.cache
def _version(library: str) -> str:
    """Read from the disk once per process, not once per run."""
    return version(library)


def _learner(spec: Spec) -> dict[str, Any]:
    warm_up(spec)
    agent, begin = agent_of(spec), time.process_time()
    history = agent.learn(spec.iterations, spec.rollouts)
    used = time.process_time() - begin  # the fresh episodes are not learning
    if history.interrupted:
        raise KeyboardInterrupt
    fresh = agent.evaluate(spec.fresh, seed=spec.seed).returns
    # The episode with the median return: the figures show a typical episode, not a lucky one
    typical = int(np.argsort(fresh, kind="stable")[(len(fresh) - 1) // 2])
    episode = agent.episode(spec.seed, typical)
    curves = {f"{name}_curve": getattr(history, name) for name in COLUMNS}
    recorded = {"episode_states": episode.observations.ravel(), "episode_actions": episode.actions.ravel()}
    return last_figures(curves, fresh) | {"fresh_returns": fresh, "cpu_curve": np.array([used])} | curves | recorded


def last_figures(curves: dict[str, Any], fresh: Any) -> dict[str, Any]:
    """The last entries, and the mean of the fresh returns, as plain numbers: what most readers of a table want."""
    counted = {name: curves[f"{name}_curve"] for name in COUNTS}
    counts = {name: int(curve[-1]) if len(curve) else None for name, curve in counted.items()}
    return {"best_seen": float(curves["best_seen_curve"][-1]), "fresh": math.fsum(fresh) / len(fresh)} | counts


# -- runs that are evaluated while they learn: the return at each checkpoint, and what it has cost ---------------------
#
# A checkpoint is a number of samples, those of training and of evaluation.


def checked(spec: Spec) -> dict[str, Any]:
    """The figures and curves of a run with checkpoints."""
    warm_up(spec)
    agent = agent_of(spec)
    looks: list[tuple[int, float, int, float, float, float]] = []
    judged: list[tuple[float, int, int, float, int]] = []
    used, fresh, counts = 0.0, np.zeros(0), (0, 0)
    for place, samples in enumerate(spec.checkpoints):
        begin = time.process_time()
        counts = _learn(agent, spec, samples, counts)
        used += time.process_time() - begin  # the evaluation is not learning
        begin = time.process_time()
        agent.conclude(threading.Event())  # the controller is part of learning; training goes on without it
        planned = time.process_time() - begin
        fresh = agent.evaluate(spec.fresh, seed=spec.seed).returns
        with_tree = spec.leaves and place >= len(spec.checkpoints) - WITH_TREE
        tree = _tree(agent, spec) if with_tree else (0, math.nan, math.nan)
        looks.append((sum(counts), _mean(fresh), tree[0], tree[1], used + planned, tree[2]))
        judged += [_judged(agent, fresh)] if in_model(spec) else []
    columns = dict(zip(JUDGED, map(np.array, zip(*judged, strict=True)), strict=False))
    return row_of(looks, fresh, int(agent.arms), *counts) | columns | {"controller": _controller(agent, spec)}


def agent_of(spec: Spec) -> Any:
    learner: Any = learner_class(card_of(spec.algorithm))
    return learner(_problem_of(spec), seed=spec.seed, **dict(spec.options))


def _problem_of(spec: Spec) -> Any:
    from spaql.plants.gym import from_gym, open_ended

    parameters = json.loads(spec.parameters or "{}")
    if not GYM_ID.search(spec.problem):
        return _of_catalog(spec.problem, spec.parameters)
    if in_model(spec):
        # laws need no map of the variables: nothing is measured, so that every sample is one of learning
        unbounded = open_ended(spec.problem, parameters.get("flatten", False))
        parameters |= {"clip": True, "slopes": [1.0 if endless else None for endless in unbounded]}
    return from_gym(spec.problem, **parameters)


@functools.cache
def _of_catalog(name: str, parameters: str) -> Any:
    """Made once per process: to load the code of a plant takes as long as a hundred iterations of a learner."""
    from spaql.plants.make import make_from_catalog
    from spaql_studies.runs.double_pendulum import BOARD, board_problem

    if name.startswith(BOARD):
        return board_problem(name.removeprefix(f"{BOARD}-"))
    return make_from_catalog(name, json.loads(parameters or "{}"))


def in_model(spec: Spec) -> bool:
    """Whether the controller is searched for, and judged, in a model of its own: that of Atlas without a table."""
    return card_of(spec.algorithm).model_based and dict(spec.options).get("controller") != "table"


def _judged(agent: Any, fresh: Array) -> tuple[float, int, int, float, int]:
    """The columns `JUDGED`."""
    trust, policy = agent.trust(), None if agent.tabled else agent.policy()
    size = (0, 0) if policy is None else (policy.n_leaves, policy.numbers)
    return worst_part(fresh), *size, trust.mean, len(trust.doubts)


def worst_part(returns: Array) -> float:
    """Mean of the worst twentieth of the episodes."""
    return float(np.sort(returns)[: max(1, round(WORST * len(returns)))].mean())


def _controller(agent: Any, spec: Spec) -> str:
    """The policy as JSON, if it is a few laws; tables are too large to be kept with every run."""
    laws = agent.card.simulator or (in_model(spec) and not agent.tabled)
    policy = agent.policy() if laws else None
    return policy.to_json() if policy is not None else ""


def _learn(agent: Any, spec: Spec, samples: int, counts: tuple[int, int]) -> tuple[int, int]:
    """Learn on up to `samples` samples; takes and returns the counts of training and of evaluation samples.

    A learner that counts iterations ends with the iteration that reaches `samples`.
    """
    most = agent.problem.horizon * (spec.rollouts + 1)  # samples of an iteration: episodes may end early
    while (left := samples - sum(counts)) > 0:
        if agent.card.learns_by == "samples":
            agent.train(left, threading.Event())
        else:
            agent.learn(max(1, left // most), spec.rollouts)
        if (history := agent.history).interrupted:
            raise KeyboardInterrupt
        counts = int(history.train_samples[-1]), int(history.eval_samples[-1])
    return counts


def _tree(agent: Any, spec: Spec) -> tuple[int, float, float]:
    """Leaves, fresh return and CPU seconds of the small tree of what the agent has learned, without further samples."""
    begin = time.process_time()
    tree = agent.policy().compress(max_leaves=spec.leaves, oblique=spec.oblique, laws=False)
    used = time.process_time() - begin
    return int(tree.n_leaves), _mean(tree.evaluate(spec.fresh, seed=spec.seed).returns), used


_warm: set[tuple[Any, ...]] = set()


def warm_up(spec: Spec) -> None:
    """Compiling is done once per machine, not once per run: it is not part of the seconds of the first run."""
    kind = (spec.problem, spec.parameters, spec.algorithm, spec.options if in_model(spec) else ())
    if kind not in _warm:
        agent, samples = agent_of(spec), WARM_TRIALS if in_model(spec) else WARM_SAMPLES
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpaqlWarning)  # so few samples find nothing
            agent.learn(samples=samples) if agent.card.learns_by == "samples" else agent.learn(2, 2)
        _warm.add(kind)


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
