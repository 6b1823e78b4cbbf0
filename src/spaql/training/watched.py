"""An episode of any policy or controller, step by step: what it saw and did, and what the loop had inside."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spaql.arrays import Array
from spaql.plants.answers import outcome
from spaql.plants.chart import HUGE
from spaql.plants.loop_inside import applied as applied_action
from spaql.plants.loop_inside import drawn_parameters, inside
from spaql.training.episode import Episode, Traces, open_at
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
    """An episode, and what it has drawn."""

    episode: Episode
    parameters: dict[str, float]

    @property
    def total(self) -> float:
        """The return, added up in the order of the steps, as all loops do: the same bits."""
        return float(np.cumsum(self.episode.rewards)[-1])


def watch(controller: Decides, problem: "Problem", env: Any, observation: Any, where: str) -> Watched:
    """The episode that begins with this observation. `problem`: of the environment; `where`: for messages."""
    native, seen = problem.native_one(), [np.array(observation, float).reshape(-1)]
    now, parameters = inside(env), drawn_parameters(env)
    moments, applied, actions, rewards, terminated = [] if now is None else [now], [], [], [], False
    for _ in range(problem.horizon):
        action = controller.decide(seen[-1][None])[0]
        actions.append(action)
        if now is not None:
            applied.append(applied_action(env, now, action.tolist()))
        observation, reward, terminated, truncated = outcome(env.step(native(action)))
        if not abs(float(reward)) <= HUGE:
            raise bad_reward(problem, where)
        seen.append(np.array(observation, float).reshape(-1))
        rewards.append(float(reward))
        now = inside(env)
        moments += [] if now is None else [now]
        if terminated or truncated:
            break
    outputs, references = [moment.outputs for moment in moments], [moment.references for moment in moments]
    traces = Traces(np.array(applied), np.array(outputs), np.array(references)) if moments else None
    episode = Episode(np.array(seen), np.array(actions), np.array(rewards), bool(terminated), problem, traces)
    return Watched(episode, parameters)


def record(controller: Decides, seed: int, rollout: int) -> Episode:
    """Rollout number `rollout` of `evaluate(seed=seed)`."""
    where = f"rollout {rollout}"
    return watch(controller, controller.problem, *open_at(controller.problem, seed, rollout), where).episode
