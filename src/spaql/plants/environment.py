"""Our compiled plants as Gymnasium environments: `gymnasium.make("spaql/CartPole-v0")`."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import sub_key
from spaql.plants.axes import box_of
from spaql.plants.make import make_from_catalog
from spaql.plants.plant import advance_code
from spaql.plants.problem import Finite, Problem


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
        self.discrete = isinstance(actions, Finite) and not actions.box
        self.action_space: Any = gymnasium.spaces.Box(*actions.bounds, dtype=np.float64)
        if isinstance(actions, Finite) and self.discrete:
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
