"""A plant from recorded steps: `spaql.from_data`."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.data.log import read_log
from spaql.gp.hidden import Advice, advice_of, unpredicted
from spaql.gp.learned_problem import FEWEST, POOR, imagined, model_of, range_of, starts_of
from spaql.gp.model import FITTED, Model
from spaql.gp.transitions import Data, inputs_of, thinned
from spaql.ground.arrays import Array
from spaql.ground.checks import FAR, depth, flag, numbers, whole
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.progress import working
from spaql.plants.problem import Problem

DOUBTED = 60  # inputs at which functions are drawn
MOST_FUNCTIONS = 64


@working("learning a model of the data")
def from_data(
    problem: Problem, observations: Any, actions: Any = None, rewards: Any = None, next_observations: Any = None,
    terminated: Any = None, *, functions: int = 6, seed: int = 0, gaps: bool = False,
) -> Problem:  # fmt: skip
    """The problem with a plant that is learned from recorded steps, in physical units.

    `from_data(problem, log)` takes a log, a file or a data frame, as `Agent.replay` does (docs/data.md; `gaps` as
    there); it needs no reward if `spaql.loop` will state one. Else arrays: a row per step, in their order.

    Gaussian processes of every variable and, where `problem.known` does not tell them, of the reward and of the end of
    an episode. Every episode takes place in one of `functions` functions: the mean of what is known, and others that
    agree with the data and differ where there is none. What is good in all of them does not rest on a guess. A variable
    that cannot be predicted brings a `SpaqlWarning`.

    Episodes begin like those in the data: an episode begins where an observation is not the next observation of the row
    before.
    """
    if not isinstance(problem, Problem):
        raise SpaqlError(f"from_data takes a problem, such as spaql.make('pendulum'), not {type(problem).__name__}")
    whole("functions", functions, 1, MOST_FUNCTIONS)
    whole("seed", seed, 0, 2**40)
    if actions is None:
        data = _of_log(problem, observations, gaps)
    else:
        data = _checked(problem, observations, actions, rewards, next_observations, terminated)
    rng = np.random.default_rng(seed)
    model = model_of(problem, data)
    with threadpool_limits(1, "blas"):
        _warn(problem, unpredicted(model, data), advice_of(problem, model, data))
    at = doubted_inputs(model, data, *range_of(problem), rng)
    learned = imagined(problem, model, data, starts_of(problem, data, rng), rng, functions, at)
    both = np.concatenate([data.states, data.nexts])
    ends = zip(both.min(axis=0).tolist(), both.max(axis=0).tolist(), strict=True)
    # ranges are as declared: where the model goes a little beyond, it is at the edge
    return replace(learned, seen=tuple(ends), state=problem.state, clip=True)


def _of_log(problem: Problem, log: Any, gaps: bool) -> Data:
    """Episodes one behind the other, each in its order."""
    data = read_log(problem, log, flag("gaps", gaps), paid=False)
    if len(data) < FEWEST:
        raise SpaqlError(f"{data.name}: {len(data)} steps are too few for a model: give at least {FEWEST}")
    return Data(data.states, data.actions, data.rewards, data.nexts, data.terminated)


def _checked(problem: Problem, states: Any, actions: Any, rewards: Any, nexts: Any, ended: Any) -> Data:
    d, axes = len(problem.state), problem.actions.axes
    before = numbers("observations", states, (-1, d))
    n = len(before)
    flat = depth("actions", actions) == 1 and len(actions) == n * axes
    applied = numbers("actions", np.reshape(actions, (n, axes)) if flat else actions, (n, axes))
    paid, after = numbers("rewards", rewards, (n,)), numbers("next_observations", nexts, (n, d))
    ends = np.zeros(n, bool) if ended is None else numbers("terminated", ended, (n,)).astype(bool)
    if n < FEWEST:
        raise SpaqlError(f"{n} steps are too few for a model: give at least {FEWEST}")
    for name, part in (("observations", before), ("actions", applied), ("rewards", paid), ("next_observations", after)):
        bad = np.argwhere(~(np.abs(part) <= FAR))
        if len(bad):
            raise SpaqlError(f"{name}, row {bad[0][0]}: numbers must be finite, and below {FAR:g}")
    return Data(before, applied, paid, after, ends)


def _warn(problem: Problem, missed: Mapping[int, float], advice: Advice) -> None:
    """What is found in a model that cannot predict is worth little, and the model itself would not say so."""
    poor = [
        f"{'the reward' if j < 0 else problem.state[j].name} ({100 * part:.0f} %)"
        for j, part in missed.items()
        if part > POOR
    ]
    if advice.memory:
        said = f"{advice}. Add such columns to the log, and variables to the problem: {', '.join(advice.memory)}"
    elif poor:
        cause = "noise, too few steps, or something that is not observed"
        said = f"of {', '.join(poor)} the model misses so much in steps it has not seen: {cause}"
    else:
        return
    warnings.warn(f"{said}. Do not rely on a controller found in it.", SpaqlWarning, stacklevel=3)


def doubted_inputs(model: Model, data: Data, low: Array, high: Array, rng: np.random.Generator) -> Array:
    """Inputs in units at which functions are drawn: states of the data, with any action."""
    states = thinned(data, FITTED).states
    chosen = states[rng.integers(len(states), size=DOUBTED)]
    applied = rng.uniform(low, high, (DOUBTED, len(low)))
    return inputs_of(model.units, chosen, applied)
