"""Computing one run: the same bits on every machine."""

import functools
import math
import platform
import socket
import time
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from spaql.ground.errors import SpaqlWarning
from spaql.ground.progress import quietly
from spaql.learners.history import COLUMNS, COUNTS
from spaql.learners.registry import card_of, resolve
from spaql.runs.checkpoints import agent_of, checked, warm_up
from spaql.runs.spec import Spec


def compute(spec: Spec) -> dict[str, Any]:
    """The row of a run: what it is, figures, curves, fresh returns, one recorded episode, and where it came from."""
    begin = time.perf_counter()
    card = card_of(spec.algorithm, rivals_too=True)
    with quietly(), warnings.catch_warnings():
        warnings.simplefilter("ignore", SpaqlWarning)  # whoever looks at the results is told
        found = (resolve(card.home) if card.rival else checked if spec.checkpoints else _learner)(spec)
    libraries = ["numpy", "numba", "gymnasium", *card.libraries]
    return {
        "key": spec.key, "problem": spec.problem, "algorithm": spec.algorithm, "xi": spec.xi,
        "options": dict(spec.options), "seed": spec.seed, "iterations": spec.iterations, "rollouts": spec.rollouts,
        "episodes": spec.fresh, "parameters": spec.parameters,
        **found,
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
