"""Computing one run. Whoever runs it, and wherever: the same bits."""

import math
import platform
import socket
import time
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from spaql.experiments.checkpoints import agent_of, checked, warm_up
from spaql.experiments.spec import RIVALS, Spec

CURVES = ("evaluation", "best_seen", "arms", "train_samples", "eval_samples", "temperature")
LIBRARIES = {"TRPO": ["torch", "sb3-contrib"]} | {name: ["torch", "stable-baselines3"] for name in RIVALS}


def compute(spec: Spec) -> dict[str, Any]:
    """The row of a run: what it is, its figures, its curves, fresh returns, one recorded episode, and where it came from."""
    begin = time.perf_counter()
    found = (_trpo if spec.algorithm == "TRPO" else checked if spec.checkpoints else _learner)(spec)
    libraries = ["numpy", "numba", "gymnasium", *LIBRARIES.get(spec.algorithm, [])]
    return {
        "key": spec.key, "problem": spec.problem, "algorithm": spec.algorithm, "xi": spec.xi, "options": dict(spec.options),
        "seed": spec.seed, "iterations": spec.iterations, "rollouts": spec.rollouts, "episodes": spec.fresh,
        **found,
        "code": spec.code, "version": version("spaql"), "seconds": time.perf_counter() - begin, "host": socket.gethostname(),
        "finished": datetime.now(UTC).replace(microsecond=0).isoformat(), "python": platform.python_version(),
        "libraries": {name: version(name) for name in libraries},
    }  # fmt: skip


def _learner(spec: Spec) -> dict[str, Any]:
    warm_up(spec)
    agent, begin = agent_of(spec), time.process_time()
    history = agent.learn(spec.iterations, spec.rollouts)
    used = time.process_time() - begin  # playing the fresh episodes is not learning
    if history.interrupted:
        raise KeyboardInterrupt
    fresh = agent.evaluate(spec.fresh, seed=spec.seed).returns
    # The episode with the median return: the figures show what is typical, not what is lucky
    typical = int(np.argsort(fresh, kind="stable")[(len(fresh) - 1) // 2])
    episode = agent.episode(spec.seed, typical)
    curves = {f"{name}_curve": getattr(history, name) for name in CURVES}
    recorded = {"episode_states": episode.observations.ravel(), "episode_actions": episode.actions.ravel()}
    return _figures(curves, fresh) | {"fresh_returns": fresh, "cpu_curve": np.array([used])} | curves | recorded


def _trpo(spec: Spec) -> dict[str, Any]:
    from spaql.experiments.trpo import BATCH, train_trpo

    means, fresh = train_trpo(spec.problem, spec.seed, BATCH * spec.iterations, spec.fresh)
    samples = BATCH * np.arange(1, len(means) + 1)
    none = np.zeros(0)
    curves = {"evaluation": means, "best_seen": means, "arms": none, "train_samples": samples, "eval_samples": 0 * samples}
    named = {f"{name}_curve": values for name, values in (curves | {"temperature": none}).items()}
    return _figures(named, fresh) | {"fresh_returns": fresh} | named | {"episode_states": none, "episode_actions": none}


def _figures(curves: dict[str, Any], fresh: Any) -> dict[str, Any]:
    """The last entries, and the mean of the fresh returns, as plain numbers: what most readers of a table want."""
    counted = {name: curves[f"{name}_curve"] for name in ("arms", "train_samples", "eval_samples")}
    counts = {name: int(curve[-1]) if len(curve) else None for name, curve in counted.items()}
    return {"best_seen": float(curves["best_seen_curve"][-1]), "fresh": math.fsum(fresh) / len(fresh)} | counts
