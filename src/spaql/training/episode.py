"""One episode of an agent, step by step: what the trajectory figures and the pages show."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql import streams
from spaql.arrays import Array
from spaql.compiling import machine_code
from spaql.errors import SpaqlError
from spaql.learners.act import Actor, act_once
from spaql.plants.environment import PlantEnv
from spaql.training.viewer import Viewer

if TYPE_CHECKING:
    from spaql.learners.forest_agent import ForestAgent
    from spaql.plants.problem import Problem


@dataclass(frozen=True, eq=False)
class Episode:
    """Physical units. `observations` has one row more than `actions` and `rewards`: the state after the last step."""

    observations: Array
    actions: Array
    rewards: Array
    terminated: bool
    problem: "Problem | None" = None

    def __len__(self) -> int:
        return len(self.rewards)


def open_at(problem: "Problem", seed: int, rollout: int) -> tuple[Any, Any]:
    """An environment and the first observation of rollout number `rollout` of an evaluation with this seed."""
    if not problem.can_run:
        raise SpaqlError(f"{problem.name} has no plant to run on (a loaded agent gets one with problem=...)")
    first = int(streams.plant_seed(seed, streams.FRESH_PLANT, 0))
    if problem.plant is None:
        if rollout > 0:
            raise SpaqlError(
                "in a Gymnasium environment only rollout 0 can be repeated without running those before it"
            )
        env = problem.open_env()
        return env, env.reset(seed=first)[0]
    plant = PlantEnv(problem)
    observation, _ = plant.reset(seed=first)
    if rollout > 0:
        plant.episode = rollout - 1  # start states are counted, not drawn: the rollouts in between need not be made
        observation, _ = plant.reset()
    return plant, observation


def record(agent: "ForestAgent", seed: int, rollout: int, deterministic: bool) -> Episode:
    """See `Agent.episode`."""
    env, observation = open_at(agent.problem, seed, rollout)
    space = agent.state.space
    actor = Actor(space, agent.chart, agent.state.policy(agent.chart))
    native, view = agent.problem.native_one(), Viewer(agent, f"rollout {rollout}")
    x, action = np.zeros(space.d), np.zeros(max(space.k, 1))
    key = streams.sub_key(streams.key_of(seed, streams.FRESH_ACTION, 0), rollout)
    observations, actions, rewards, terminated = [np.array(view.check(observation, 0), float)], [], [], False
    act = machine_code(act_once, actor, observations[0], key, 0, deterministic, x, action)
    for h in range(agent.problem.horizon):
        view.complain(act(actor, observations[-1], key, h, deterministic, x, action), observations[-1], h)
        actions.append(action.copy())
        observation, reward, terminated, truncated, _ = env.step(native(action))
        observations.append(np.array(view.check(observation, h + 1), float))
        rewards.append(view.reward(reward, h))
        if terminated or truncated:
            break
    return Episode(np.array(observations), np.array(actions), np.array(rewards), bool(terminated), agent.problem)
