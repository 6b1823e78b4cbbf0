"""Laws in the model of a machine, and what to expect of them: return, reach, and the chance of touching a limit, in
episodes of six functions that agree with the logs."""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from spaql.ground.errors import SpaqlWarning
from spaql.ground.progress import at_work
from spaql.learners.laws import Laws
from spaql.plants.problem import Problem
from spaql.policy.law import one_law
from spaql.policy.policy import Policy
from spaql.rig.description import Description
from spaql.rig.machine_model import RigModel
from spaql.trees.laws import CLIP

SAMPLES = 12_000_000  # steps of the model in a search: with a tenth of them laws of six gains are not found
EPISODES = 2000  # that tell what to expect
WATCHED = 10  # that tell how far it goes
TOWARDS = (0.75, 0.5, 0.25)  # of the way from the fallback to a law
INSIDE = 0.95  # of the outcomes lie in the interval


@dataclass(frozen=True)
class Promise:
    """What a trial of a law is expected to bring."""

    mean: float
    low: float
    high: float
    chance: float  # of touching a limit
    reach: dict[str, tuple[float, float]]  # lowest and highest values, by variable and action


def laws_of(described: Description, model: RigModel, seed: int) -> Policy:
    """The best laws in the model."""
    at_work("searching for laws in the model")
    agent = Laws(model.problem, max_leaves=described.laws, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpaqlWarning)
        agent.learn(samples=SAMPLES)
    return agent.policy()


def on(problem: Problem, policy: Policy) -> Policy | None:
    """One law on another problem of this machine, by the names of its variables; None where some are not there."""
    names, seen = [axis.name for axis in problem.state], [axis.name for axis in policy.problem.state]
    laws = policy.rules.laws
    if laws is None or policy.n_leaves > 1:
        return replace(policy, problem=problem) if names == seen else None
    gains = np.zeros((laws.outputs, len(names)))
    for j, name in enumerate(seen):
        if name in names:
            gains[:, names.index(name)] = laws.gains[-1][:, j]
        elif laws.gains[-1][:, j].any():
            return None
    return one_law(problem, gains, laws.offsets[-1], CLIP, policy.kind)


def between(fallback: Policy, policy: Policy, way: float) -> Policy | None:
    """A step from the fallback towards one law."""
    a, b = fallback.rules.laws, policy.rules.laws
    if a is None or b is None or max(fallback.n_leaves, policy.n_leaves) > 1:
        return None
    gains = (1.0 - way) * a.gains[-1] + way * b.gains[-1]
    return one_law(policy.problem, gains, (1.0 - way) * a.offsets[-1] + way * b.offsets[-1], CLIP, policy.kind)


def promise_of(described: Description, model: RigModel, policy: Policy, wider: float, seed: int) -> Promise:
    """What episodes in the model say. `wider`: times as wide, as earlier trials ask for."""
    evaluation = policy.evaluate(EPISODES, seed)
    ended = np.asarray(evaluation.terminated, bool)
    kept = evaluation.returns[~ended] if (~ended).any() else evaluation.returns
    rng, errors = np.random.default_rng([seed, WATCHED]), []
    columns: dict[str, list[float]] = {}
    for number in range(WATCHED):
        episode = policy.episode(seed, number)
        assert episode.traces is not None
        outputs = episode.traces.outputs
        y = outputs + np.array(model.noise) * rng.standard_normal(outputs.shape)
        if not episode.terminated:  # what is paid for what is measured, and for what is
            paid = described.paid(y, episode.traces.references[:-1], episode.traces.applied)
            errors.append(float(paid.sum() - episode.rewards.sum()))
        for name, values in zip(described.names, [*y.T, *episode.traces.applied.T], strict=True):
            columns.setdefault(name, []).extend([float(values.min()), float(values.max())])
    shift, blur = (float(np.mean(errors)), float(np.std(errors))) if errors else (0.0, 0.0)
    tail = 0.5 * (1.0 - INSIDE)
    low, high = np.quantile(kept, (tail, 1.0 - tail)) + shift
    mean = float(kept.mean()) + shift
    low, high = min(low, mean - 2.0 * blur), max(high, mean + 2.0 * blur)
    reach = {name: (min(values), max(values)) for name, values in columns.items()}
    return Promise(
        mean, mean - wider * (mean - float(low)), mean + wider * (float(high) - mean), float(ended.mean()), reach
    )
