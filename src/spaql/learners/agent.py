"""What every learner can do: learn, evaluate, predict, update, show its leaves, be saved."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spaql import streams
from spaql.arrays import Array
from spaql.checks import numbers, observations, whole
from spaql.errors import SpaqlError
from spaql.learners.predicting import predict_batch
from spaql.learners.state import State
from spaql.learners.update import NET, Rule
from spaql.partition.forest import ARMS, step_room
from spaql.partition.leaves import leaf_table
from spaql.plants.chart import HUGE, Chart, to_cube
from spaql.plants.problem import Finite, Problem
from spaql.training.history import Evaluation, History

if TYPE_CHECKING:
    from spaql.data.replay import Replayed
    from spaql.explain.policy import Policy
    from spaql.training.recording import Episode

Callback = Callable[["Agent"], bool | None]
Callbacks = Callback | Sequence[Callback]


class Agent:
    """Base of all learners. `options` are the keyword arguments the agent was made with."""

    algorithm: ClassVar[str]
    per_step: ClassVar[bool] = False  # one partition per step of the episode, greedy while training, no best agent kept
    problem: Problem
    chart: Chart
    rule: Rule
    state: State
    seed: int
    options: dict[str, Any]

    def _set_up(self, problem: Problem, seed: int, options: dict[str, Any]) -> None:
        if not isinstance(problem, Problem):
            raise SpaqlError(f"the problem must come from spaql.make, from_gym, from_plant or cube, not {type(problem).__name__}")
        self.problem, self.chart = problem, problem.chart()
        self.seed = whole("seed", seed, 0)
        self.options = options
        self._interrupted, self._seconds = False, 0.0

    # -- learning ------------------------------------------------------------------------------------------------------------------

    def learn(self, iterations: int, rollouts: int | None = None, *, progress: bool = False, callback: Callbacks | None = None) -> History:
        """Train for `iterations` more episodes, each followed by `rollouts` evaluation rollouts (default: the problem's).

        `callback(agent)` is called after every iteration; if it returns False, training stops there. `spaql.callbacks` has ready ones;
        several go into a list. Ctrl-C stops too: the agent keeps everything learned up to the last complete iteration. Calling `learn`
        again goes on, as if there had been one call.
        """
        from spaql.training.trainer import train

        with self.state.guard.write():
            return train(self, iterations, rollouts, progress, callback)

    def update(self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int = 0) -> None:
        """One learning step from outside data, in physical units. `step` matters to AQL, NBQL and ZoomRL."""
        raise NotImplementedError  # every learner has its own

    def replay(self, log: Any, *, passes: int = 1, gaps: bool = False) -> "Replayed":
        """Learn from a log: a CSV or Parquet file, or a data frame; columns as in docs/data.md, physical units.

        It is checked first: from a bad log nothing is learned. `passes`: how often the Q-learners go through it. `gaps`: steps may be
        missing (only with next_ columns).
        """
        from spaql.data.replay import replay

        with self.state.guard.write():
            return replay(self, log, passes, gaps)

    def _take(self, obs: Any, action: Any, reward: Any, next_obs: Any, step: int) -> tuple[Array, float, int]:
        """Check one transition; states into the working memory. Returns the action in the cube or as an index, reward and step."""
        d = len(self.problem.state)
        scratch = self.state.make_room(self.room(1))
        self.observation_error(to_cube(self.chart, numbers("obs", obs, (d,)), scratch.x), obs, "obs")
        self.observation_error(to_cube(self.chart, numbers("next_obs", next_obs, (d,)), scratch.next_x), next_obs, "next_obs")
        value = float(numbers("reward", reward, ()))
        if not abs(value) <= HUGE:
            raise SpaqlError(f"the reward is {value}: rewards must be finite")
        at = whole("step", step, 0, self.problem.horizon - 1 if self.per_step else 2**62)
        return self.action_in_cube(action), value, at

    def room(self, steps: int) -> int:
        """Balls that so many learning steps may add, and the choice of an action after the last."""
        return 0 if self.rule.kind == NET else (steps + 1) * step_room(self.state.forest, self.state.space)

    def action_in_cube(self, action: Any) -> Array:
        """A physical action as cube coordinates, or as index of a finite set."""
        actions = self.problem.actions
        if isinstance(actions, Finite):
            value = float(numbers("action", np.squeeze(action), ()))
            index = np.flatnonzero(self.chart.values == value)
            if len(index) == 0:
                raise SpaqlError(f"action {value:g} is not one of {', '.join(f'{v:g}' for v in actions.values[:20])}")
            return index.astype(np.float64)
        given = numbers("action", np.atleast_1d(action), (len(actions.low),))
        a = (given - self.chart.acts["centre"]) / self.chart.acts["scale"]
        if not np.all(np.abs(a) <= 1.0 + 1e-6):
            raise SpaqlError(f"action {given.tolist()} is outside {list(actions.low)} ... {list(actions.high)}")
        clipped: Array = np.clip(a, -1.0, 1.0)
        return clipped

    def observation_error(self, dimension: int, observation: Any, where: str) -> None:
        """Raise if `to_cube` found a bad dimension."""
        if dimension < 0:
            return
        axis, value = self.problem.state[dimension], float(np.asarray(observation, float).ravel()[dimension])
        if not np.isfinite(value):
            raise SpaqlError(f"{where}: {axis.name} is {value}; observations must be finite")
        raise SpaqlError(
            f"{where}: {axis.name} = {value:g} is outside the map {axis.low:g} ... {axis.high:g}: widen the bounds "
            "(state_low, state_high), or let from_gym move it to the edge (clip=True)"
        )

    # -- acting --------------------------------------------------------------------------------------------------------------------

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True) -> tuple[Any, Any]:
        """The greedy action for one observation or a batch, in physical units, and the next `state`, as in Stable-Baselines3.

        `deterministic` plays the centre of the greedy cell's action interval (or the first action of an undecided list); otherwise
        uniformly inside it, as the paper does. `state` counts the steps of the episode: the policies of AQL, NBQL and ZoomRL depend on it,
        the others' do not; give back what the last call returned, or None at the start of an episode.
        """
        d = len(self.problem.state)
        batch, single = observations(observation, d)
        step = np.zeros(len(batch), np.int64)
        if state is not None and not (isinstance(state, tuple) and not state):
            given = state[0] if isinstance(state, tuple) else state
            counted = numbers("state", np.atleast_1d(given), (len(batch),))
            if not np.all((counted >= 0) & (counted < 2**31)):
                raise SpaqlError(f"state counts the steps of the episode: give back what the last predict returned, not {state!r}")
            step[:] = counted
        if episode_start is not None:
            step[numbers("episode_start", np.atleast_1d(episode_start), (len(batch),)) != 0] = 0
        tree = np.minimum(step, self.state.space.trees - 1)
        key = streams.key_of(self.seed, streams.PREDICT, self.state.draws)
        out = np.empty((len(batch), max(self.state.space.k, 1)))
        with self.state.guard.read():
            greedy = self.state.policy(self.chart)
            bad = predict_batch(self.state.space, self.chart, greedy, batch, tree, key, bool(deterministic), np.empty(d), out)
        if bad >= 0:
            self.observation_error(bad % d, batch[bad // d], "observation")
        if not deterministic:
            self.state.draws += 1
        actions = self.native(out)
        return (actions[0] if single else actions), (step + 1 if self.state.space.trees > 1 else state)

    def native(self, actions: Array) -> Array:
        """Physical actions (n, axes) as the environment takes them: integers for a finite set, floats for a box."""
        if isinstance(self.problem.actions, Finite) and not self.problem.actions.box:
            column = actions[:, 0]
            return column.astype(np.int64) if np.all(self.chart.values == np.round(self.chart.values)) else column
        return actions.astype(self.problem.action_dtype)

    def evaluate(self, episodes: int = 1000, seed: int = 0, *, deterministic: bool = False) -> Evaluation:
        """Fresh rollouts of the agent: random streams never used in training or selection.

        As in the paper, the action is uniform inside the greedy cell; `deterministic` plays its centre.
        """
        from spaql.training.evaluation import fresh_rollouts

        with self.state.guard.read():
            return fresh_rollouts(self, whole("episodes", episodes, 1, 10**8), whole("seed", seed, 0), bool(deterministic))

    def episode(self, seed: int = 0, rollout: int = 0, *, deterministic: bool = False) -> "Episode":
        """Rollout number `rollout` of `evaluate(seed=seed)`, step by step: observations, actions and rewards in physical units."""
        from spaql.training.recording import record

        with self.state.guard.read():
            return record(self, whole("seed", seed, 0), whole("rollout", rollout, 0, 10**8), bool(deterministic))

    def policy(self, step: int | None = None) -> "Policy":
        """What is played where, as a table of state cells: look at it, shrink it, ask it why, export it.

        AQL, NBQL and ZoomRL have one per time step.
        """
        from spaql.explain.policy import policy_of

        with self.state.guard.read():
            return policy_of(self, None if step is None else whole("step", step, 0))

    # -- looking inside ------------------------------------------------------------------------------------------------------------

    @property
    def arms(self) -> int:
        """Number of leaves, summed over all partitions."""
        return int(self.state.forest.size[ARMS])

    def leaves(self) -> Array:
        """All leaves as a structured array, in cube coordinates.

        Fields: tree, state (centre), radius, depth, visits, q, and action (centre) or action_mask, action_first, action_count.
        """
        with self.state.guard.read():
            return leaf_table(self.state.forest, self.state.space)

    @property
    def history(self) -> History:
        return History(self.state.history.copy(), self._interrupted, self._seconds)

    def save(self, path: str | PathLike[str]) -> None:
        """One file with problem, parameters, seed, history and partition; `spaql.load` reads it."""
        from spaql.files import save

        with self.state.guard.read():
            save(self, path)

    def __repr__(self) -> str:
        return f"<{self.algorithm} on {self.problem.name}: {self.arms} arms after {len(self.state.history)} iterations, seed {self.seed}>"
