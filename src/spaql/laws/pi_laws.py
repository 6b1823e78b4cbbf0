"""First laws that an engineer would try: P, PI and PD controllers on a coarse grid, of either sign.

A search from random gains may miss that an error and its integral belong together, sensor noise hides a slow plant from
a linear model of a few steps, and a few dozen episodes are too few for any search. In a loop gains follow from the
range of the reference, and times from the length of a step. Elsewhere each variable is tried alone, as if it were an
error, around an action that is good as a constant, and gains follow from the range in which the variable was seen.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_SEARCHED
from spaql.laws.trials import Trials, seeds_of
from spaql.plants.problem import Continuous, Problem
from spaql.plants.signals import Signals
from spaql.policy.outputs import make_laws
from spaql.trees.laws import CLIP
from spaql.trees.tree import LEAF, NODE, Tree

SATURATED = (0.05, 0.15, 0.5, 1.5)  # errors, in ranges of the reference, that ask for the whole action
FACTORS = (0.35, 0.6, 1.7, 3.0)  # of all gains of a law that is good already
SHIFTS = (-0.2, 0.2)  # of its offset, in halves of the range of the action
PROPORTIONAL = (0.03, 0.1, 0.3, 1.0)  # as SATURATED, of any variable, in the range in which it was seen
INTEGRAL = (0.0, 1 / 5, 1 / 15, 1 / 50, 1 / 150)  # 1 / integral time, in steps
DERIVATIVE = (0.0, 1.0, 3.0)  # derivative time, in steps
EPISODES = 8  # of each
KEPT = 3
PART = 0.1  # of the samples that are left: what these laws may take at most


def pi_laws(trials: Trials, problem: Problem, seed: int) -> list[Tree]:
    """The best few on the plant; none without a reference that something follows, or without room to try them."""
    tried = pi_grid(problem)
    steps = EPISODES * problem.horizon * len(tried)
    if not tried or (trials.left is not None and steps > PART * trials.left):
        return []
    seeds = seeds_of(seed, LAWS_SEARCHED, 2**61, EPISODES)
    means = [float(trials.returns(law, seeds).mean()) for law in tried]
    return [tried[int(i)] for i in np.argsort(means)[::-1][:KEPT]]


def pi_grid(problem: Problem) -> list[Tree]:
    """All of them."""
    return [law for error in _errors(problem) for law in _grid(problem, error)]


def p_grid(problem: Problem, still: Sequence[Array], low: Array, high: Array) -> list[Tree]:
    """P controllers of each variable, around each of some constant actions; `low`, `high`: what was seen of variables.

    A variable that was seen on both sides of zero is taken for an error. Others are controlled to the middle.
    """
    if not isinstance(problem.actions, Continuous) or problem.actions.axes > 1:
        return []
    half, laws = float(problem.actions.bounds[1][0] - problem.actions.bounds[0][0]) / 2, []
    target = np.where((low < 0.0) & (high > 0.0), 0.0, (low + high) / 2)
    if problem.reference is not None:
        target = np.array(problem.reference, float)
    for j in np.flatnonzero(high > low).tolist():
        for part, sign, action in itertools.product(PROPORTIONAL, (1.0, -1.0), still):
            gains = np.zeros(len(low))
            gains[j] = sign * half / (part * (high[j] - low[j]))
            laws.append(_law(problem, gains, action - gains @ target))
    return laws


def around(problem: Problem, law: Tree, low: Array, high: Array) -> list[Tree]:
    """Laws near one law: all gains larger or smaller, another offset, and a gain for a variable that has none."""
    assert law.laws is not None
    gains, offset = law.laws.gains[0, 0], law.laws.offsets[0]
    half = float(problem.actions.bounds[1][0] - problem.actions.bounds[0][0]) / 2
    found = [_law(problem, factor * gains, offset) for factor in FACTORS]
    found += [_law(problem, gains, offset + shift * half) for shift in SHIFTS]
    for j in np.flatnonzero((gains == 0.0) & (high > low)).tolist():
        for sign, part in itertools.product((1.0, -1.0), PROPORTIONAL[-2:]):
            more = gains.copy()
            more[j] = sign * half / (part * (high[j] - low[j]))
            found.append(_law(problem, more, offset - more[j] * (low[j] + high[j]) / 2))
    return found


def _errors(problem: Problem) -> list[str]:
    """Errors that a controller with one continuous action sees, as such or as reference and variable."""
    signals = problem.signals
    if signals is None or not isinstance(problem.actions, Continuous) or problem.actions.axes > 1:
        return []
    shown = {axis.name for axis in problem.state}
    return [error for error in signals.errors if set(_parts(signals, error, shown)) <= shown]


def _parts(signals: Signals, error: str, shown: set[str]) -> dict[str, float]:
    """An error as a sum of variables."""
    k, j = signals.errors[error]
    return {error: 1.0} if error in shown else {signals.references[k].name: 1.0, signals.measured[j].name: -1.0}


def _grid(problem: Problem, error: str) -> list[Tree]:
    signals = problem.signals
    assert signals is not None
    names = [axis.name for axis in problem.state]
    followed = signals.references[signals.errors[error][0]]
    wide, half = followed.high - followed.low, float(problem.actions.bounds[1][0] - problem.actions.bounds[0][0]) / 2
    integral = next((name for name in names if name.startswith(f"integral({error}")), None)
    difference = f"difference({error})" if f"difference({error})" in names else None
    found, parts = [], _parts(signals, error, set(names))
    for sign, part, rate, ahead in itertools.product((1.0, -1.0), SATURATED, INTEGRAL, DERIVATIVE):
        if (rate and integral is None) or (ahead and difference is None):
            continue
        gain = sign * half / (part * wide)
        gains = {integral: gain * rate / signals.dt, difference: gain * ahead}
        gains |= {name: gain * weight for name, weight in parts.items()}
        low, high = problem.actions.bounds
        found.append(_law(problem, np.array([gains.get(name, 0.0) for name in names]), (low + high) / 2))
    return found


def _law(problem: Problem, gains: Array, offset: Array) -> Tree:
    nodes = np.zeros(1, NODE)
    nodes["feature"] = LEAF
    laws = make_laws(gains[None, None], offset[None], problem.actions, CLIP)
    return Tree(nodes, np.zeros((1, 1)), np.zeros((1, len(gains))), laws)
