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
from spaql.plants.axes import box_of
from spaql.plants.compile import names as letters
from spaql.plants.equations import Between
from spaql.plants.featured import bare_plant
from spaql.plants.features import FeatureEnv
from spaql.plants.loop_plant import Surroundings, loop_functions, loop_state
from spaql.plants.make import make_from_catalog
from spaql.plants.plant import Plant, PlantFunction, advance_code, loop_of
from spaql.plants.problem import Problem
from spaql.plants.references import chances
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

ASKED = PlantFunction("step", lambda: None)  # in the place of equations that nobody knows


class LoopEnv(gymnasium.Wrapper[Array, Any, Any, Any]):
    """The environment of a problem, seen and acted on through the signals of a loop."""

    def __init__(self, problem: Problem, signals: Signals, around: Surroundings) -> None:
        super().__init__(problem.open_env())
        self.stated, self.signals, self.around = (problem, signals, around), signals, around
        self.native = problem.native_one()
        self.observation_space = gymnasium.spaces.Box(*box_of(signals.state), dtype=np.float64)
        if signals.increments:
            self.action_space = gymnasium.spaces.Box(*signals.actions.bounds, dtype=np.float64)
        self.depth, self.rng = _loops_in(self.env), np.random.default_rng(0)
        d = len(signals.measured)
        self.inner = Plant(ASKED, ASKED, None, d, signals.actuator.axes, d, 0, 0)
        self.functions = loop_functions(self.inner, signals, around, ("start", "act", "pay"))
        self.state: tuple[float, ...] = ()
        self.answer: Any = None  # of the environment, before the loop
        self.truncated = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        self.answer = self.env.reset(seed=seed, options=options)
        begun(self.answer)
        if seed is not None:
            self.rng = np.random.default_rng([seed, LOOP, self.depth])
        draws = self._draws(True)
        self.state = self.functions[0](*self._hooks(), *self._noise(), *draws)
        return self._seen(), self.answer[1]

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        a = np.atleast_1d(np.asarray(action, float)).tolist()
        numbers = *self._noise(), *self._draws(False)
        move = self.functions[1]
        self.state, reward, terminated = move(*self._hooks(), *self.state, *a, *numbers)
        return self._seen(), float(reward), terminated, self.truncated, self.answer[4]

    def _hooks(self) -> tuple[Any, ...]:
        return lambda: self._numbers(self.answer[0]), self._act, self._pay

    def _act(self, *numbers: float) -> tuple[list[float], float, bool]:
        """A step of the environment, whose state nobody knows, with what is applied."""
        self.answer = self.env.step(self.native(np.array(numbers[self.inner.state_dim :])))
        observation, reward, terminated, self.truncated = outcome(self.answer)
        return self._numbers(observation), float(reward), terminated

    def _pay(self, *values: float) -> float:
        assert self.around.reward is not None
        reward = self.around.reward.of(*values)
        if not math.isfinite(reward):
            raise SpaqlError(f"the reward of the loop is {reward}: it must be a finite number")
        return reward

    def _numbers(self, observation: Any) -> list[float]:
        seen = vector(self.inner.state_dim, np.ravel(observation), "in its loop")
        return [float(value) for value in seen]

    def _noise(self) -> list[float]:
        numbers: list[float] = self.rng.random(2 * len(self.around.noise)).tolist()
        return numbers

    def _draws(self, begins: bool) -> list[float]:
        """For references; those that never change draw at every step all the same."""
        references = self.signals.references
        drawn = [self.rng.random(len(chances(0, reference))).tolist() for reference in references]
        pairs = zip(references, drawn, strict=True)
        return [u for reference, numbers in pairs for u in numbers if begins or reference.changes]

    def _seen(self) -> Array:
        return np.array(self.functions[2](*self.state), float)


def _loops_in(env: Any) -> int:
    """Loops around the plant so far: each has random numbers of its own."""
    count = 0
    while isinstance(env, gymnasium.Wrapper):
        count += isinstance(env, LoopEnv)
        env = env.env
    return count


# -- what a loop has inside at a moment: more than the controller sees of it -------------------------------------------

class LoopInside(NamedTuple):
    """One moment of a loop, in physical units."""

    outputs: tuple[float, ...]  # the measured variables as the plant has them, before noise and delay of the sensors
    measured: tuple[float, ...]  # the same as they reach the controller
    references: tuple[float, ...]
    registers: tuple[float, ...]  # of the memory


def inside(env: Any) -> LoopInside | None:
    """Of an environment, now; None if it is in no loop."""
    env = env.env if isinstance(env, FeatureEnv) else env
    if isinstance(env, LoopEnv):
        plant, (_, signals, around), state = env.inner, env.stated, env.state
    elif isinstance(env, PlantEnv) and loop_of(env) is not None:
        plant, signals, around = loop_of(env)
        state = tuple(env.table[: env.plant.state_dim, 0].tolist())
    else:
        return None
    layout = loop_state(plant, signals, around)
    values = dict(zip(layout.names, state, strict=True))
    references = letters("r", len(signals.references))
    s, y, r, z = (
        tuple(values[name] for name in part) for part in (layout.plant, layout.queue[0], references, layout.registers)
    )
    outputs = plant.observe.python(*s) if plant.observe is not None else s
    return LoopInside(tuple(map(float, outputs)), y, r, z)


def applied(env: Any, now: LoopInside, action: Sequence[float]) -> tuple[float, ...]:
    """What a decision of the controller becomes: after increments, rate limits and interlocks, before delay."""
    stated: Any = env.stated if isinstance(env, LoopEnv | FeatureEnv) else loop_of(env)
    signals = stated[1]
    u: tuple[float, ...] = signals.functions.applied(*now.measured, *now.references, *now.registers, *action)
    return tuple(map(float, u))


def drawn_parameters(env: Any) -> dict[str, float]:
    """By name: the parameters that the present episode of a compiled plant has drawn; they end its state."""
    if not isinstance(env, PlantEnv):
        return {}
    plant = (loop_of(env) or (bare_plant(env.plant),))[0]
    given = plant.origin[1][-1] if plant.origin is not None else {}
    names = [name for name, value in given.items() if isinstance(value, Between)] if isinstance(given, Mapping) else []
    hidden = env.table[plant.state_dim - len(names) : plant.state_dim, 0].tolist()
    return dict(zip(names, hidden, strict=True))
