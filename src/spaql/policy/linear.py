"""A plant near an operating point: the action that holds it there, its linear model, and the regulator of that model.

    x' = x0' + A (x - x0) + B (u - u0)          y = y0 + C (x - x0)

x is the state of the compiled plant, hidden variables included, y what is observed. Noise is averaged out, slopes are
central differences. The regulator solves the discrete Riccati equation; its gains are in what is observed.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are
from scipy.optimize import least_squares

from spaql.gp.model_plant import ModelPlant
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.plants.plant import LANES, Plant, advance_code
from spaql.plants.problem import Problem
from spaql.policy.words import action_names, variable_names

DRAWS = 8  # of noise that are averaged, without those that are made from them
TURNED = 6  # numbers that are turned
STEP = 1e-4  # of a central difference, in deviations of the start states
MODEL_STEP = 0.02  # the same in a learned model, which is in single precision
EXACT = 1e3  # how much more the observation counts than that the state stays, where both cannot be had
DEAD = 1e-9  # of the deviations: what the whole range of an action moves by less does not react to it
STAYS = 1e-3  # of the deviations: what is observed and moves by more in a step does not stay
MODEL_STAYS = 0.1  # the same in a learned model, which is not exact
SAME = 1e-8  # of the largest: a smaller part of a linear model is an error of its differences
NEEDED = 1e-5  # of the gains: so much may be lost where they are told in what is observed
ROUNDED = 1e-7  # of the largest part of an action: less is no part of the law


class Linear(NamedTuple):
    """The linear model, in physical units."""

    state: Array  # (n,) the operating point
    action: Array  # (k,)
    a: Array  # (n, n)
    b: Array  # (n, k)
    c: Array  # (d, n)
    seen: Array  # (d,) what is observed there
    scale: Array  # (n,) by which the variables of the state are measured


class Stepping:
    """A plant as functions of its state: the mean of the next states, and what is observed."""

    def __init__(self, plant: Plant) -> None:
        self.plant, self.learned, self.table = plant, isinstance(plant, ModelPlant), plant.table()
        self.noise = _even(plant.step_noise)
        self.starts = np.concatenate([self._advanced(0, some) for some in _parts(_even(plant.reset_noise))])
        self.middle, spread = self.starts.mean(axis=0), self.starts.std(axis=0)
        if isinstance(plant, ModelPlant):
            self.noise = np.full((1, plant.step_noise), 0.5)  # none, exactly
            self.middle[-1] = 0.0  # the number of the function of an episode: the first is the mean
            spread = np.append(plant.numbers.scale, 0.0)
        self.scale = np.where(spread > 0.0, spread, 0.01 * np.maximum(np.abs(self.middle), 1.0))

    def _advanced(self, which: int, noise: Array) -> Array:
        """States after `reset` (0) or `step` (1) with these uniform numbers, a row each."""
        rows, n = self.plant.rows, len(noise)
        self.table[rows.noise : rows.noise + noise.shape[1], :n] = noise.T
        advance_code()(self.plant.batch[which], self.table.reshape(-1), rows.noise, 0, np.zeros(n, np.uint64), 0)
        return self.table[rows.state : rows.observation, :n].T.copy()

    def step(self, state: Array, action: Array) -> Array:
        """The next state, the mean over the noise. A learned model is stepped without noise."""
        rows, states = self.plant.rows, []
        for some in _parts(self.noise):
            self.table[rows.state : rows.observation] = state[:, None]
            self.table[rows.action : rows.noise] = action[:, None]
            states.append(self._advanced(1, some))
        after: Array = np.concatenate(states).mean(axis=0)
        return after

    def moves(self) -> Array:
        """1.0 for variables that a step changes or that are observed, else 0.0: drawn parameters stay as they are."""
        some, action = self.starts[:8], np.full(self.plant.action_dim, 0.3)
        moving: Array = np.array([self.step(state, action) != state for state in some]).any(axis=0).astype(float)
        for i in np.flatnonzero(moving == 0.0):
            shift = self.scale * (np.arange(len(moving)) == i)
            moving[i] = float(any((self.observe(state + shift) != self.observe(state)).any() for state in some))
        return moving

    def observe(self, state: Array) -> Array:
        if self.plant.observe is None:
            return state[: self.plant.observation_dim]
        return np.array(self.plant.observe.python(*state.tolist()), float)


def _even(count: int) -> Array:
    """(draws, count) uniform numbers over which the mean of noise is zero: of u - 1/2, and of Box and Muller's.

    With every draw comes its mirror image, and half a turn of each of the first numbers.
    """
    root = np.roots([1.0, *[0.0] * (count - 1), -1.0, -1.0][: count + 2]) if count else np.zeros(0)
    draws = np.zeros((1, 0))
    if count:
        golden = float(root[np.isreal(root) & (root.real > 0)][0].real)
        draws = (0.5 + np.arange(1, DRAWS + 1)[:, None] * golden ** -np.arange(1.0, count + 1)) % 1.0
        draws = np.concatenate([draws, 1.0 - draws])
    for j in range(min(count, TURNED)):
        other = draws.copy()
        other[:, j] = (other[:, j] + 0.5) % 1.0
        draws = np.concatenate([draws, other])
    return draws


def _parts(noise: Array) -> list[Array]:
    return [noise[first : first + LANES] for first in range(0, len(noise), LANES)]


def linear_model(problem: Problem, plant: Plant, at: Array, action: Array | None) -> Linear:
    """The linear model around an observation. `action`: None asks for the one that holds the plant there."""
    stepping = Stepping(plant)
    state, applied = _operating_point(problem, stepping, at, action)
    step = (MODEL_STEP if stepping.learned else STEP) * stepping.scale
    low, high = problem.actions.bounds
    moved = STEP * (high - low)
    c = _slopes(stepping.observe, state, step)
    if stepping.learned:
        step[-1] = 0.0  # the number of a function is no number to vary
        moved = MODEL_STEP * (high - low)
    a = _slopes(lambda x: stepping.step(x, applied), state, step)
    if stepping.learned:
        a[-1, -1] = 1.0
    b = _slopes(lambda u: stepping.step(state, u), applied, moved)
    if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(c).all()):
        raise SpaqlError(f"{problem.name} is not finite around the operating point: choose another one with at=...")
    if (np.abs(b) * (high - low) <= DEAD * stepping.scale[:, None]).all():
        held = ", ".join(f"{name} = {u:.4g}" for name, u in zip(action_names(problem), applied, strict=True))
        raise SpaqlError(
            f"around {held} nothing reacts to the action: its gain is zero there (a dead band, or a stop); "
            "choose another operating point, with action=... or at=..."
        )
    _warn_if_it_moves(problem, stepping, state, applied)
    return Linear(state, applied, a, b, c, stepping.observe(state), stepping.scale)


def _slopes(function: Callable[[Array], Array], point: Array, step: Array) -> Array:
    """Central differences; variables with a step of zero are left out."""
    columns = []
    for j, h in enumerate(step.tolist()):
        shift = np.zeros(len(point))
        shift[j] = h
        wide = (point[j] + h) - (point[j] - h)
        up, down = function(point + shift).copy(), function(point - shift)
        columns.append((up - down) / wide if h > 0.0 else np.zeros(len(up)))
    return np.stack(columns, axis=1)


def _operating_point(problem: Problem, stepping: Stepping, at: Array, action: Array | None) -> tuple[Array, Array]:
    """The state that is observed as `at`, and the action under which it stays, as far as there is one.

    Where the state is more than what is observed, or something in `at` is NaN, the rest is such that it stays, too.
    """
    plant, (low, high) = stepping.plant, problem.actions.bounds
    given, width = ~np.isnan(at), high - low
    hidden = plant.observe is not None or not given.all()  # else the state is what is observed
    begin = stepping.middle if hidden else np.concatenate([at, np.zeros(plant.state_dim - len(at))])
    moves = stepping.moves() if hidden else np.zeros(len(begin))
    # how many numbers of the state, and of the action, are looked for
    n, k = len(begin) if hidden else 0, len(low) if action is None else 0

    def parts(z: Array) -> tuple[Array, Array]:
        state = begin + moves * stepping.scale * z[:n] if hidden else begin
        return state, low + width * z[n:] if action is None else action

    def residual(z: Array) -> Array:
        state, applied = parts(z)
        moved = (stepping.step(state, applied) - state) / stepping.scale
        wrong = EXACT * (stepping.observe(state) - at)[given] if hidden else np.zeros(0)
        both: Array = np.nan_to_num(np.concatenate([wrong, moved]), nan=1e9, posinf=1e9, neginf=-1e9)
        return both

    if n + k == 0:
        return parts(np.zeros(0))
    guesses = [np.zeros(n)]
    if hidden:
        near = np.argmin([np.linalg.norm((stepping.observe(start) - at)[given]) for start in stepping.starts])
        guesses.append((stepping.starts[near] - begin) / stepping.scale)
    bounds = np.append(np.full(n, -np.inf), np.zeros(k)), np.append(np.full(n, np.inf), np.ones(k))
    tries = [
        least_squares(residual, np.append(guess, np.full(k, 0.5)), bounds=bounds, xtol=1e-12, ftol=1e-14, gtol=1e-14)
        for guess in guesses
    ]
    state, applied = parts(min(tries, key=lambda fit: float(fit.cost)).x)
    missed = np.where(given, np.abs(stepping.observe(state) - at), 0.0)
    at = np.where(given, at, 0.0)
    if not (missed <= 1e-4 * np.maximum(np.abs(at), 1.0)).all():
        worst = int(np.argmax(missed))
        name, value = variable_names(problem)[worst], stepping.observe(state)[worst]
        raise SpaqlError(
            f"no state of {problem.name} is observed as at=...: {name} would be {value:.4g}, not {at[worst]:g}"
        )
    return state, applied


def _warn_if_it_moves(problem: Problem, stepping: Stepping, state: Array, action: Array) -> None:
    after = stepping.step(state, action)
    seen, then = (stepping.observe(moment).round(9) + 0.0 for moment in (state, after))
    spread = np.std([stepping.observe(start) for start in stepping.starts], axis=0)
    moved = np.abs(then - seen) / np.maximum(spread, 1e-3)
    worst = int(np.argmax(moved))
    if moved[worst] > (MODEL_STAYS if stepping.learned else STAYS):
        applied = ", ".join(f"{name} = {u:.4g}" for name, u in zip(action_names(problem), action, strict=True))
        name = variable_names(problem)[worst]
        change = f"{name} goes from {seen[worst]:.4g} to {then[worst]:.4g} in a step with {applied}"
        warnings.warn(f"the operating point is not an equilibrium: {change}", SpaqlWarning, stacklevel=4)


# -- the regulator of a linear model -----------------------------------------------------------------------------------


def regulator(near: Linear, weights: Array, price: Array, gamma: float, names: Sequence[str]) -> Array:
    """Gains (actions, variables) of what is observed: u - u0 = gains (y - y0)."""
    a, b, c = moving_part(near)
    a, b, basis = _reachable(a, b)
    c = c @ basis
    cost = c.T @ weights @ c
    fade, gain = np.sqrt(gamma), riccati_gain(a, b, (cost + cost.T) / 2.0, price, gamma)
    if gain is None:
        raise SpaqlError(_why_not(fade * a, fade * b, c, weights, gamma, names))
    gains: Array = np.linalg.lstsq(c.T, gain.T, rcond=SAME)[0].T
    if np.abs(gains @ c - gain).max() > NEEDED * np.abs(gain).max():
        raise SpaqlError(
            "the observed variables do not determine the state that the regulator needs: observe more, for instance "
            f"differences from step to step (observed: {', '.join(names)})"
        )
    parts = np.abs(gains) * np.linalg.norm(c, axis=1)
    gains[parts < ROUNDED * parts.max(axis=1, keepdims=True)] = 0.0
    return gains


def riccati_gain(a: Array, b: Array, cost: Array, price: Array, gamma: float = 1.0) -> Array | None:
    """u = gain x, which keeps the sum of x' cost x + u' price u small; None where nothing can hold the model."""
    fade = np.sqrt(gamma)
    try:
        p = solve_discrete_are(fade * a, fade * b, cost, price)
        gain = -np.linalg.solve(price + gamma * b.T @ p @ b, gamma * b.T @ p @ a)
    except (LinAlgError, ValueError):
        return None
    return gain if np.isfinite(gain).all() else None


def moving_part(near: Linear) -> tuple[Array, Array, Array]:
    """The linear model in units of the state's scale, without what stays as it is and is not observed.

    Such are drawn parameters and counters: the law cannot know them.
    """
    scale = near.scale
    a, b, c = near.a * scale / scale[:, None], near.b / scale[:, None], near.c * scale
    own = np.abs(a - np.eye(len(a))).max(axis=1) <= SAME
    constant = own & (np.abs(near.b).max(axis=1) == 0.0) & (np.abs(c).max(axis=0) <= SAME * np.abs(c).max())
    kept = ~constant
    return a[np.ix_(kept, kept)], b[kept], c[:, kept]


def _reachable(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """The model on the states that there are after some steps, and a basis of them.

    What is drawn anew at every step, such as the error of a sensor, and the memory of a start are gone by then.
    """
    basis = np.eye(len(a))
    size = np.abs(b).max(axis=0)
    for _ in range(len(a)):
        spanned = np.concatenate([a @ basis, b / np.where(size > 0.0, size, 1.0)], axis=1)
        left, values, _ = np.linalg.svd(spanned, full_matrices=False)
        basis = left[:, values > SAME * max(float(values[0]), 1.0)]
    return basis.T @ a @ basis, basis.T @ b, basis


def _why_not(a: Array, b: Array, c: Array, weights: Array, gamma: float, names: Sequence[str]) -> str:
    """Which direction keeps the Riccati equation from having a solution."""
    values, left = np.linalg.eig(a.T)
    for value, vector_of in zip(values, left.T, strict=True):
        if abs(value) >= 1.0 - SAME and np.abs(vector_of @ b).max() < 1e-6 * np.linalg.norm(vector_of):
            worst = names[int(np.argmax(np.abs(np.linalg.pinv(c.T) @ vector_of)))]
            if abs(value) < 1.0 + 1e-6 and gamma == 1.0:
                return f"no action brings {worst} back: give a discount below 1, such as discount=0.99, or leave it out"
            return f"the plant cannot be held at the operating point: no action changes what moves {worst}"
    values, right = np.linalg.eig(a)
    for value, vector_of in zip(values, right.T, strict=True):
        seen = c @ vector_of
        if abs(abs(value) - 1.0) < 1e-6 and abs(np.conj(seen) @ weights @ seen) < 1e-9:
            worst = names[int(np.argmax(np.abs(seen)))]
            return f"Q gives no weight to {worst}, which is not stable by itself: give it one, or a discount below 1"
    return "the Riccati equation has no finite solution: weight other variables in Q, or choose Q closer to R"
