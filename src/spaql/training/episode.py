"""One episode of an agent, step by step: what the trajectory figures and the pages show."""

import textwrap
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.compiling import machine_code
from spaql.ground.errors import SpaqlError
from spaql.learners.act import Actor, act_once
from spaql.plants.answers import begun, outcome
from spaql.plants.chart import HUGE
from spaql.plants.environment import PlantEnv
from spaql.plants.problem_text import HARD, WIDTH
from spaql.policy.words import action_names, action_units, different, number, variable_names, variable_units, with_unit
from spaql.training.forest_loop import plant_error
from spaql.training.kernels import greedy_rollouts
from spaql.training.lanes import OK, Episodes, new_lanes, stage_of
from spaql.training.viewer import Viewer, bad_reward

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spaql.learners.forest_agent import ForestAgent
    from spaql.plants.problem import Problem


class Traces(NamedTuple):
    """What a loop has inside and the controller does not see all of, in physical units."""

    applied: Array  # (steps, axes of the actuator): after increments, rate limits and interlocks, before delay
    outputs: Array  # (steps + 1, measured variables): before noise and delay of the sensors
    references: Array  # (steps + 1, references)


@dataclass(frozen=True, eq=False)
class Episode:
    """One episode, in physical units; print it, plot it.

    `observations` has one row more than `actions` and `rewards`: the state after the last step.
    """

    observations: Array
    actions: Array
    rewards: Array
    terminated: bool
    problem: "Problem | None" = None
    traces: Traces | None = None  # of a policy or a controller in a loop

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def total(self) -> float:
        """The return: all rewards together."""
        return float(self.rewards.sum())

    def to_pandas(self) -> Any:
        """A pandas DataFrame with one row per step, and one for the state after the last, which has no action.

        Columns are the observed variables, the action and `reward`, the index is `step`; `attrs["units"]` has the unit
        of every column.
        """
        import pandas

        names, units = self.columns()
        d, after = self.observations.shape[1], np.full((1, self.actions.shape[1] + 1), np.nan)
        done = np.concatenate([np.column_stack([self.actions, self.rewards]), after])
        frame = pandas.DataFrame(np.column_stack([self.observations, done]), columns=[*names, "reward"])
        frame.index.name = "step"
        frame.attrs |= {"units": dict(zip(frame.columns, [*units, ""], strict=True)), "observed": names[:d]}
        return frame

    def plot(self, path: str | PathLike[str] | None = None) -> "Figure":
        """Observed variables, action and reward over the steps, with limits and reference as lines.

        `path`: where to write it, a name that ends with png, svg or pdf.
        """
        from spaql.analysis.episode_figure import episode_figure

        return episode_figure(self, path)

    def columns(self) -> tuple[list[str], list[str]]:
        """Names and units of the observed variables and of the action; numbers where the problem is not known."""
        problem, d, k = self.problem, self.observations.shape[1], self.actions.shape[1]
        if problem is None:
            applied = [f"action {j + 1}" if k > 1 else "action" for j in range(k)]
            return [*(f"x{j}" for j in range(d)), *applied], [""] * (d + k)
        names = different([*variable_names(problem), *action_names(problem)])
        return names, [*variable_units(problem), *action_units(problem)]

    def __repr__(self) -> str:
        ended = "terminated" if self.terminated else "cut"
        return f"<Episode: {len(self):,} steps, return {number(self.total)}, {ended}>"

    def __str__(self) -> str:
        names, units = self.columns()
        how = "the plant ended it" if self.terminated else "cut by the horizon"
        where = "" if self.problem is None else f" on {self.problem.name}"
        lines = [f"Episode{where}: {len(self):,} steps, return {number(self.total)}, {how}"]
        for name, row in (("first", self.observations[0]), ("last", self.observations[-1])):
            seen = zip(names, row.tolist(), units, strict=False)
            parts = [f"{one} = {with_unit(number(value), unit)}".replace(" ", HARD) for one, value, unit in seen]
            lines += textwrap.wrap(", ".join(parts), WIDTH, initial_indent=f"  {name:<6} ", subsequent_indent=" " * 9)
        return "\n".join(lines).replace(HARD, " ")


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
        return env, begun(env.reset(seed=first))
    plant = PlantEnv(problem)
    observation = begun(plant.reset(seed=first))
    if rollout > 0:
        plant.episode = rollout - 1  # start states are counted, not drawn: the rollouts in between need not be made
        observation = begun(plant.reset())
    return plant, observation


def record(agent: "ForestAgent", seed: int, rollout: int, deterministic: bool) -> Episode:
    """See `Agent.episode`."""
    if agent.problem.plant is not None:
        return _record_compiled(agent, seed, rollout, deterministic)
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
        observation, reward, terminated, truncated = outcome(env.step(native(action)))
        observations.append(np.array(view.check(observation, h + 1), float))
        rewards.append(view.reward(reward, h))
        if terminated or truncated:
            break
    return Episode(np.array(observations), np.array(actions), np.array(rewards), bool(terminated), agent.problem)


def _record_compiled(agent: "ForestAgent", seed: int, rollout: int, deterministic: bool) -> Episode:
    """On a compiled plant, without leaving compiled code: a hundred times as fast."""
    problem, state, plant = agent.problem, agent.state, agent.problem.plant
    assert plant is not None
    rows, stage, lanes = plant.rows, stage_of(plant, problem.horizon), new_lanes(plant, trace=problem.horizon + 1)
    actor = Actor(state.space, agent.chart, state.policy(agent.chart))
    key, first = streams.key_of(seed, streams.FRESH_ACTION, 0), streams.plant_seed(seed, streams.FRESH_PLANT, 0)
    returns = np.zeros(rollout + 1)  # of which only the last is touched, so that they take no memory
    episodes = Episodes(np.uint64(first), returns, rollout, rollout + 1, action_key=key)
    steps = greedy_rollouts(*plant.batch, stage, actor, lanes, episodes, deterministic)
    trace = lanes.trace[: steps + 1]
    trace[steps] = lanes.table[:, 0]
    observations, rewards = trace[:, rows.observation : rows.action].copy(), trace[1:, rows.reward].copy()
    bad = np.flatnonzero(~(np.abs(rewards) <= HUGE))
    if len(bad):
        raise bad_reward(problem, f"rollout {rollout}, step {bad[0]}")
    if lanes.fault[0] != OK:
        raise plant_error(agent, lanes)
    actions = trace[:-1, rows.action : rows.noise].copy()
    return Episode(observations, actions, rewards, bool(trace[steps, rows.done]), problem)
