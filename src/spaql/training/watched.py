"""An episode of any controller, watched from inside: what it saw and did, and what the loop had around it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spaql.arrays import Array
from spaql.plants.answers import outcome
from spaql.plants.chart import HUGE
from spaql.plants.loop_inside import Inside, applied, drawn_parameters, inside
from spaql.training.episode import Episode
from spaql.training.plant_errors import bad_reward

if TYPE_CHECKING:
    from spaql.plants.problem import Problem


class Decides(Protocol):
    """A policy, or a controller of one's own."""

    @property
    def problem(self) -> "Problem": ...

    def decide(self, states: Any) -> Array: ...


@dataclass(frozen=True, eq=False)
class Watched:
    """An episode; of a loop, also what was inside before every step and after the last, and what was applied."""

    episode: Episode
    moments: list[Inside]
    inputs: Array  # (steps, action axes)
    parameters: dict[str, float]  # that it has drawn

    @property
    def total(self) -> float:
        """The return, added up in the order of the steps, as all loops do: the same bits."""
        return float(np.cumsum(self.episode.rewards)[-1])


def watch(controller: Decides, problem: "Problem", env: Any, observation: Any, where: str) -> Watched:
    """The episode that begins with this observation. `problem`: of the environment; `where`: for messages."""
    native, seen = problem.native_one(), [np.array(observation, float).reshape(-1)]
    now, parameters = inside(env), drawn_parameters(env)
    moments, inputs, actions, rewards, terminated = [] if now is None else [now], [], [], [], False
    for _ in range(problem.horizon):
        action = controller.decide(seen[-1][None])[0]
        actions.append(action)
        inputs.append(action if now is None else np.array(applied(env, now, action.tolist())))
        observation, reward, terminated, truncated = outcome(env.step(native(action)))
        if not abs(float(reward)) <= HUGE:
            raise bad_reward(problem, where)
        seen.append(np.array(observation, float).reshape(-1))
        rewards.append(float(reward))
        now = inside(env)
        moments += [] if now is None else [now]
        if terminated or truncated:
            break
    episode = Episode(np.array(seen), np.array(actions), np.array(rewards), bool(terminated), problem)
    return Watched(episode, moments, np.array(inputs), parameters)
