"""Plants as Gymnasium environments: compiled ones (`gymnasium.make("spaql/CartPole-v0")`), and others in a loop."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import sub_key
from spaql.plants.answers import begun, outcome, vector
from spaql.plants.assemble import gaussians
from spaql.plants.axes import box_of
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.equations import Between, drawn
from spaql.plants.loop_plant import Surroundings, loop_state, remembered
from spaql.plants.make import make_from_catalog
from spaql.plants.plant import advance_code, loop_of
from spaql.plants.problem import Problem
from spaql.plants.references import Reference, chances, first_lines, names, next_lines
from spaql.plants.signals import Signals

# A Gymnasium environment has default_rng(seed) itself: with the same generator the first reference would be the start
# state on another scale, and a search whose episodes are all seeded would learn that.
LOOP = 1


def open_environment(problem: Problem) -> Any:
    """The environment of a problem, ours around its plant if that is compiled."""
    return PlantEnv(problem) if problem.plant is not None else problem.open_env()


class PlantEnv(gymnasium.Env[Array, Any]):
    """A plant with Gymnasium's interface, in float64, so that nothing is lost between it and the compiled loop.

    After `reset(seed=s)` the start states and noise of this episode and of all following ones are determined by s.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (Gymnasium's own declaration)
    _spec: EnvSpec | None = None

    def __init__(self, problem: str | Problem, render_mode: None = None, **parameters: Any) -> None:
        if parameters and not isinstance(problem, str):
            names = ", ".join(parameters)
            raise SpaqlError(f"{names}: parameters go with the name of a problem, not with a problem already made")
        self.problem = make_from_catalog(problem, parameters) if isinstance(problem, str) else problem
        plant = self.problem.plant
        if plant is None:
            raise gymnasium.error.Error(f"{self.problem.name} has no compiled plant")
        self.plant, self.dt = plant, self.problem.dt
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(*box_of(self.problem.state), dtype=np.float64)
        actions = self.problem.actions
        self.discrete = not actions.box
        self.action_space: Any = gymnasium.spaces.Box(*actions.bounds, dtype=np.float64)
        if self.discrete:
            self.action_space = gymnasium.spaces.Discrete(len(actions.values), start=int(actions.values[0]))
        self.table = plant.table()
        self.base, self.episode, self.steps = -1, 0, 0
        self.blocks: Array | None = None  # the streams of equal parts of the episode, if it was begun with `begin`

    @property
    def spec(self) -> EnvSpec | None:
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        """Gymnasium would cut every episode at the registered limit, whatever `horizon` was given."""
        if spec is not None:
            spec.max_episode_steps = self.problem.horizon
        self._spec = spec

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.base, self.episode = seed % 2**64, 0
        elif self.base < 0:
            self.base, self.episode = int(self.np_random.integers(2**31)), 0
        else:
            self.episode += 1
        self.steps, self.keys, self.blocks = 0, np.array([sub_key(np.uint64(self.base), self.episode)], np.uint64), None
        plant = self.plant
        advance_code()(plant.batch[0], self.table.reshape(-1), plant.rows.noise, plant.reset_noise, self.keys, 0)
        return self._observation(), {}

    def begin(self, numbers: Array, blocks: Array) -> Array:
        """The first observation of an episode of which everything random is given.

        `numbers`: the uniform numbers that its start takes; `blocks`: the streams of equal parts of its steps.
        """
        rows, plant = self.plant.rows, self.plant
        self.base, self.episode, self.steps = max(self.base, 0), 0, 0
        self.blocks, self.keys = blocks, blocks[:1].copy()
        self.table[rows.noise : rows.noise + len(numbers), 0] = numbers
        advance_code()(plant.batch[0], self.table.reshape(-1), rows.noise, 0, self.keys, 0)
        return self._observation()

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        rows, plant = self.plant.rows, self.plant
        if self.base < 0:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        if self.discrete:
            if not self.action_space.contains(action):
                raise gymnasium.error.InvalidAction(f"{action!r} is not in {self.action_space}")
            self.table[rows.action, 0] = action
        else:
            self.table[rows.action : rows.noise, 0] = np.clip(action, self.action_space.low, self.action_space.high)
        if self.blocks is not None:
            at = self.steps // -(-self.problem.horizon // len(self.blocks))
            self.keys[0] = self.blocks[min(at, len(self.blocks) - 1)]
        counter = plant.reset_noise + self.steps * plant.step_noise
        advance_code()(plant.batch[1], self.table.reshape(-1), rows.noise, plant.step_noise, self.keys, counter)
        self.steps += 1
        truncated = self.steps >= self.problem.horizon
        return self._observation(), float(self.table[rows.reward, 0]), bool(self.table[rows.done, 0]), truncated, {}

    def _observation(self) -> Array:
        rows = self.plant.rows
        return self.table[rows.observation : rows.action, 0].copy()


# -- an environment in a loop: the same signals as in a compiled plant, in Python --------------------------------------

class LoopEnv(gymnasium.Wrapper[Array, Any, Any, Any]):
    """The environment of a problem, seen and acted on through the signals of a loop."""

    def __init__(self, problem: Problem, signals: Signals, around: Surroundings) -> None:
        super().__init__(problem.open_env())
        self.stated, self.signals, self.around, self.f = (problem, signals, around), signals, around, signals.functions
        self.native = problem.native_one()
        self.observation_space = gymnasium.spaces.Box(*box_of(signals.state), dtype=np.float64)
        if signals.increments:
            self.action_space = gymnasium.spaces.Box(*signals.actions.bounds, dtype=np.float64)
        self.depth, self.rng = _loops_in(self.env), np.random.default_rng(0)
        self.moving = [_Moving(reference) for reference in signals.references]
        self.true: list[float] = []  # of the plant, before noise and delay
        self.queue: list[list[float]] = []  # measured, the oldest first
        self.late: list[tuple[float, ...]] = []  # applied, on its way to the plant
        self.z: tuple[float, ...] = ()
        self.asked = _asked(signals, around)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        answer = self.env.reset(seed=seed, options=options)
        observation = begun(answer)
        if seed is not None:
            self.rng = np.random.default_rng([seed, LOOP, self.depth])
        self.r = [reference.first(self.rng) for reference in self.moving]
        self.true = self._numbers(observation)
        now = self._measured(self.true)
        self.queue = [now] * (self.around.sensor_delay + 1)
        self.late = [self.signals.neutral] * self.around.actuator_delay
        self.z = self.f.first(*self.queue[0], *self.r)
        return self._seen(), answer[1]

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        y, a = self.queue[0], np.atleast_1d(np.asarray(action, float))
        u = self.f.applied(*y, *self.r, *self.z, *(float(value) for value in a))
        asked = [*u, *y, *self.r, *self.z]  # a reward knows what the law knew
        self.z = self.f.after(*y, *self.r, *self.z, *u)
        self.late.append(u)
        answer = self.env.step(self.native(np.array(self.late.pop(0))))
        observation, paid, terminated, truncated = outcome(answer)
        true = self.true = self._numbers(observation)
        reward = float(paid)
        if self.around.reward is not None:
            reward = self.around.reward.of(*self.asked(*true, *asked))
            if not math.isfinite(reward):
                raise SpaqlError(f"the reward of the loop is {reward}: it must be a finite number")
        if any(true[j] < low or true[j] > high for j, low, high in self.around.trips):
            reward, terminated = reward - self.around.trip_cost, True
        self.queue = [*self.queue[1:], self._measured(true)]
        self.r = [reference.next(self.rng) for reference in self.moving]
        return self._seen(), reward, terminated, truncated, answer[4]

    def _numbers(self, observation: Any) -> list[float]:
        seen: list[float] = vector(len(self.signals.measured), np.ravel(observation), "in its loop").tolist()
        return seen

    def _measured(self, true: list[float]) -> list[float]:
        seen = list(true)
        for j, spread in self.around.noise:
            axis, error = self.signals.measured[j], gaussians(float(self.rng.random()), float(self.rng.random()))[0]
            seen[j] += spread * error
            if axis.slope is None:
                seen[j] = min(max(seen[j], axis.low), axis.high)
        return seen

    def _seen(self) -> Array:
        return np.array(self.f.seen(*self.queue[0], *self.r, *self.z), float)


def _loops_in(env: Any) -> int:
    """Loops around the plant so far: each has random numbers of its own."""
    count = 0
    while isinstance(env, gymnasium.Wrapper):
        count += isinstance(env, LoopEnv)
        env = env.env
    return count


def _asked(signals: Signals, around: Surroundings) -> Any:
    """The arguments of the reward, from the plant's variables after a step and from what was known before it."""
    if around.reward is None:
        return None
    symbols, y = around.reward.symbols, letters("y", len(signals.measured))
    u, r = letters("u", signals.actuator.axes), letters("r", len(signals.references))
    known = listed(letters("t", len(y)), u, y, r, letters("z", len(signals.registers)))
    lines = remembered(signals, symbols, y)
    return function_of({"inf": math.inf}, f"asked({known})", [*lines, f"return ({listed(symbols)})"])


class _Moving:
    """A reference in time, by the lines that compiled plants have too."""

    def __init__(self, reference: Reference) -> None:
        kept, draws = ", ".join(names(0, reference)) + ",", chances(0, reference)
        scope, self.count = {"drawn": drawn}, len(draws)
        begin, move = ([*lines(0, reference), f"return {kept}"] for lines in (first_lines, next_lines))
        self._first = function_of(scope, f"first({listed(draws)})", begin)
        self._next = function_of(scope, f"after({kept} {listed(draws)})", move)
        self.state: tuple[float, ...] = ()

    def first(self, rng: np.random.Generator) -> float:
        self.state = self._first(*rng.random(self.count).tolist())
        return float(self.state[0])

    def next(self, rng: np.random.Generator) -> float:
        self.state = self._next(*self.state, *rng.random(self.count).tolist())
        return float(self.state[0])


# -- what a loop has inside at a moment: more than the controller sees of it -------------------------------------------

class LoopInside(NamedTuple):
    """One moment of a loop, in physical units."""

    outputs: tuple[float, ...]  # the measured variables as the plant has them, before noise and delay of the sensors
    measured: tuple[float, ...]  # the same as they reach the controller
    references: tuple[float, ...]
    registers: tuple[float, ...]  # of the memory


def inside(env: Any) -> LoopInside | None:
    """Of an environment, now; None if it is in no loop."""
    if isinstance(env, LoopEnv):
        return LoopInside(tuple(env.true), tuple(env.queue[0]), tuple(env.r), env.z)
    loop = loop_of(env) if isinstance(env, PlantEnv) else None
    if loop is None:
        return None
    plant, signals, around = loop
    layout = loop_state(plant, signals, around)
    values = dict(zip(layout.names, env.table[: env.plant.state_dim, 0].tolist(), strict=True))
    references = [f"r{k}" for k in range(len(signals.references))]
    s, y, r, z = (
        tuple(values[name] for name in part) for part in (layout.plant, layout.queue[0], references, layout.registers)
    )
    outputs = plant.observe.python(*s) if plant.observe is not None else s
    return LoopInside(tuple(map(float, outputs)), y, r, z)


def applied(env: Any, now: LoopInside, action: Sequence[float]) -> tuple[float, ...]:
    """What a decision of the controller becomes: after increments, rate limits and interlocks, before delay."""
    signals = env.signals if isinstance(env, LoopEnv) else loop_of(env)[1]
    u: tuple[float, ...] = signals.functions.applied(*now.measured, *now.references, *now.registers, *action)
    return tuple(map(float, u))


def drawn_parameters(env: Any) -> dict[str, float]:
    """By name: the parameters that the present episode of a compiled plant has drawn; they end its state."""
    if not isinstance(env, PlantEnv):
        return {}
    plant = (loop_of(env) or (env.plant,))[0]
    given = plant.origin[1][-1] if plant.origin is not None else {}
    names = [name for name, value in given.items() if isinstance(value, Between)] if isinstance(given, Mapping) else []
    hidden = env.table[plant.state_dim - len(names) : plant.state_dim, 0].tolist()
    return dict(zip(names, hidden, strict=True))
