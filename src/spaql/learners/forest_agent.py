"""What the Q-learners share: a forest of balls, acted on greedily, as arrays that files hold and kernels work on."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.checks import bit, depth, numbers, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.learners.act import predict_batch
from spaql.learners.agent import Agent, Learned
from spaql.learners.forest_policy import forest_policy
from spaql.learners.options import learner
from spaql.learners.outer import BEST_RETURN, TRAIN_SAMPLES, Cooling
from spaql.learners.update import NET, Rule
from spaql.partition.forest import ARMS, USED, Forest, grown, new_forest, resized, step_room
from spaql.partition.forest_tables import forest_arrays, forest_from, leaf_table
from spaql.partition.greedy import Greedy, Scratch, new_greedy, new_scratch, scratch_width
from spaql.partition.merge import merge_all
from spaql.plants.axes import Space
from spaql.plants.chart import HUGE, Chart, to_cube
from spaql.policy.evaluation import Evaluation
from spaql.policy.memory import observed

if TYPE_CHECKING:
    from spaql.policy.policy import Policy
    from spaql.training.episode import Episode


MAX_BALLS = 2**28  # 6 GB for agent and trainee each


@dataclass
class State(Learned):
    """The agent, the trainee that is to become better, and where training stands."""

    space: Space
    forest: Forest  # the agent: what is kept, applied and saved
    trainee: Forest  # SPAQL: the copy in training; AQL: the agent itself
    scratch: Scratch | None = None  # working memory, as large as the forests
    greedy: Greedy | None = None  # the merged policy of `forest`, None after a change

    def make_room(self, room: int) -> Scratch:
        """Room for `room` more balls in agent and trainee, and working memory to match."""
        alone = self.trainee is self.forest
        self._check_size(room)
        used = int(self.forest.size[USED])
        ahead = used - int(self.trainee.size[USED])  # update() makes the agent grow, learn() the trainee
        self.trainee = grown(self.trainee, self.space, room + max(ahead, 0))
        self.forest = self.trainee if alone else grown(self.forest, self.space, len(self.trainee.balls) - used)
        if self.scratch is None or len(self.scratch.q) != scratch_width(self.space, self.trainee):
            self.scratch = new_scratch(self.space, self.trainee)
        return self.scratch

    def policy(self, chart: Chart) -> Greedy:
        """The greedy policy of the agent, merged anew if something has changed."""
        greedy = self.greedy
        if greedy is None:
            greedy = self.greedy_of(self.forest, chart)
            self.greedy = greedy  # only when it is complete: another thread may look at it
        return greedy

    def greedy_of(self, forest: Forest, chart: Chart) -> Greedy:
        """The greedy policy of the agent or of the trainee, merged."""
        greedy = new_greedy(self.space, forest)
        merge_all(forest, self.space, chart, greedy, new_scratch(self.space, forest))
        return greedy

    def _check_size(self, room: int) -> None:
        needed = int(max(self.forest.size[USED], self.trainee.size[USED])) + room
        if needed > MAX_BALLS // (self.space.d if len(self.forest.forks) else 1):
            raise SpaqlError(
                f"this partition needs room for {needed:,} cells ({room:,} for one episode): "
                "use a shorter horizon or fewer variables"
            )

    def touched(self) -> None:
        """The agent was changed from outside: the next training goes on from it, and evaluates it anew first."""
        self.greedy = None
        self.outer[BEST_RETURN] = np.nan
        self.outer[TRAIN_SAMPLES] += 1


def new_state(space: Space, outer: Array, alone: bool, forest: Forest | None = None) -> State:
    """An agent that has learned nothing.

    `alone`: the agent itself is trained, there is no best copy to keep. `forest`: the partition to begin with, if not
    one ball per tree.
    """
    forest = new_forest(space) if forest is None else forest
    return State(space, forest, forest if alone else copied(forest, space), outer=outer)


def copied(forest: Forest, space: Space) -> Forest:
    """A copy with as much room."""
    return resized(forest, space, len(forest.balls))


@learner
class ForestAgent(Agent):
    """Base of the learners that keep a partition of the state-action cube."""

    rule: Rule = field(init=False)
    cooling: Cooling | None = field(init=False, default=None)  # of the outer loop; None where no best agent is kept
    state: State = field(init=False)

    @property
    def per_step(self) -> bool:
        """One partition per step of the episode, greedy while training; no best agent is kept."""
        return self.card.per_step

    # -- learning ------------------------------------------------------------------------------------------------------

    def before_training(self) -> None:
        """An agent that `update` has changed is what training goes on from."""
        if np.isnan(self.state.outer[BEST_RETURN]) and self.state.trainee is not self.state.forest:
            self.state.trainee = copied(self.state.forest, self.state.space)

    def update(
        self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int | None = 0
    ) -> None:
        """One learning step from external data, in physical units, at step `step` of its episode."""
        if not self.card.learns:
            raise SpaqlError(f"{self.card.name} does not learn")
        ended = bit("terminated", terminated)
        with self.state.guard.write():
            inner, value, at = self._take(obs, action, reward, next_obs, step)
            self._learn(inner, at, value, ended)
            self.state.touched()

    def _learn(self, action: Array, step: int, reward: float, terminated: bool) -> None:
        """Learn from `scratch.x` to `scratch.next_x`; `action` is a point of the cube or an index."""
        raise SpaqlError(f"{self.card.name} does not learn from external data")

    def _take(self, obs: Any, action: Any, reward: Any, next_obs: Any, step: int | None) -> tuple[Array, float, int]:
        """Check one transition, and put its states into the working memory.

        Returns the action in the cube or as an index, reward and step.
        """
        d = len(self.problem.state)
        scratch = self.state.make_room(self.room(1))
        self.observation_error(to_cube(self.chart, numbers("obs", obs, (d,)), scratch.x), obs, "obs")
        after = numbers("next_obs", next_obs, (d,))
        self.observation_error(to_cube(self.chart, after, scratch.next_x), next_obs, "next_obs")
        value = float(numbers("reward", reward, ()))
        if not abs(value) <= HUGE:
            raise SpaqlError(f"the reward is {value}: rewards must be finite")
        at = whole("step", step, 0, self.problem.horizon - 1 if self.per_step else 2**62)
        return self.action_in_cube(action), value, at

    def room(self, steps: int) -> int:
        """Balls that `steps` learning steps may add, and the choice of an action after the last step."""
        return 0 if self.rule.kind == NET else (steps + 1) * step_room(self.state.forest, self.state.space)

    # -- acting --------------------------------------------------------------------------------------------------------

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """The greedy action for one observation or a batch, in physical units, and the next `state`; as in SB3.

        `deterministic` applies the centre of the greedy cell's action interval (or the first action of an undecided
        list); otherwise the action is uniform inside it, as in the paper. `state` counts the steps of the episode:
        policies of learners with one partition per step depend on it, other policies do not. Give back what the last
        call returned, or None at the start of an episode.
        """
        d, certain = len(self.problem.state), bit("deterministic", deterministic)
        batch, single = observed(self.problem, observation, state)
        step = np.zeros(len(batch), np.int64)
        if state is not None and not (isinstance(state, tuple) and not state):
            given = state[0] if isinstance(state, tuple) else state
            counted = numbers("state", given if depth("state", given) else [given], (len(batch),))
            if not np.all((counted >= 0) & (counted < 2**31)):
                raise SpaqlError(
                    "state counts the steps of the episode: give back what the last predict returned, "
                    f"not {echoed(state)}"
                )
            step[:] = counted
        if episode_start is not None:
            began = episode_start if depth("episode_start", episode_start) else [episode_start]
            step[numbers("episode_start", began, (len(batch),)) != 0] = 0
        tree = np.minimum(step, self.state.space.trees - 1)
        key = streams.key_of(self.seed, streams.PREDICT, self.state.draws)
        out = np.empty((len(batch), max(self.state.space.k, 1)))
        with self.state.guard.read():
            greedy = self.state.policy(self.chart)
            space, x = self.state.space, np.empty(d)
            bad = predict_batch(space, self.chart, greedy, batch, tree, key, certain, x, out)
        if bad >= 0:
            self.observation_error(bad % d, batch[bad // d], "observation")
        if not certain:
            self.state.draws += 1
        actions = self.problem.native(out)
        return (actions[0] if single else actions), (step + 1 if self.state.space.trees > 1 else state)

    def evaluate(self, episodes: int = 1000, seed: int = 0, *, deterministic: bool = False) -> Evaluation:
        """Fresh rollouts of the agent: random streams never used in training or selection.

        As in the paper, the action is uniform inside the greedy cell; `deterministic` applies its centre.
        """
        from spaql.training.forest_loop import fresh_rollouts

        with self.state.guard.read():
            count = whole("episodes", episodes, 1, 10**8)
            return fresh_rollouts(self, count, whole("seed", seed, 0), bit("deterministic", deterministic))

    def episode(self, seed: int = 0, rollout: int = 0, *, deterministic: bool = False) -> "Episode":
        from spaql.training.forest_loop import record

        with self.state.guard.read():
            return record(
                self, whole("seed", seed, 0), whole("rollout", rollout, 0, 10**8), bit("deterministic", deterministic)
            )

    def _policy(self, step: int | None) -> "Policy":
        if not self.card.learns:
            raise SpaqlError(f"{self.card.name} has no policy to show: its actions are random")
        return forest_policy(self, step)

    # -- looking inside ------------------------------------------------------------------------------------------------

    @property
    def arms(self) -> int:
        """Number of leaves, summed over all partitions."""
        return int(self.state.forest.size[ARMS])

    def leaves(self) -> Array:
        """All leaves as a structured array, in cube coordinates.

        Fields: tree, state (centre), radius, depth, visits, q, and action (centre) or action_mask, action_first,
        action_count.
        """
        with self.state.guard.read():
            return leaf_table(self.state.forest, self.state.space)

    # -- files ---------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        state = self.state
        trainee = {} if state.trainee is state.forest else forest_arrays(state.trainee, "trainee")
        return forest_arrays(state.forest, "forest") | trainee

    def restore(self, arrays: dict[str, Array]) -> None:
        state, lipschitz = self.state, self.rule.lipschitz
        alone = state.trainee is state.forest
        state.forest = forest_from(arrays, "forest", state.space, lipschitz)
        state.trainee = state.forest if alone else forest_from(arrays, "trainee", state.space, lipschitz)
