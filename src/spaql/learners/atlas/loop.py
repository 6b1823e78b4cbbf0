"""Training episodes of Atlas, on compiled plants and in Gymnasium environments alike."""

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql import streams
from spaql.arrays import Array
from spaql.compiling import kernel
from spaql.errors import SpaqlError
from spaql.learners.atlas.memory import BEGAN, CURIOUS, FAR, FOLLOWED, TERMINATED
from spaql.learners.atlas.model import Model
from spaql.learners.atlas.planning import Plan
from spaql.learners.atlas.support import HELD, Support
from spaql.learners.atlas.values import Work, look_ahead, new_work
from spaql.plants.chart import to_cube
from spaql.plants.environment import PlantEnv
from spaql.streams import uniform
from spaql.training.gym_loop import Viewer, action_maker
from spaql.training.history import COLUMNS
from spaql.training.outer import EVAL_SAMPLES, TRAIN_SAMPLES

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas


STINT = 500  # steps after which a long episode may change from following the plan to going where little was seen, or back


class AtlasLoop:
    """Episodes that follow the plan, and episodes that go where little was seen, so that both get half of the samples."""

    def __init__(self, agent: "Atlas", rollouts: int, stop: threading.Event, samples: int | None) -> None:
        self.agent, self.rollouts, self.stop, self.left = agent, rollouts, stop, samples
        self.env: Any = PlantEnv(agent.problem) if agent.problem.plant is not None else agent.problem.open_env()
        agent.replay_plans()

    @property
    def finished(self) -> bool:
        return self.left == 0

    def run(self, iterations: int) -> Array:
        rows = np.zeros((iterations, len(COLUMNS)))
        done = 0
        while done < iterations and not self.finished and not self.stop.is_set():
            try:
                earned = self._episode()
                if self.rollouts > 0:
                    earned = self._evaluate(len(self.agent.state.history) + done + 1)
            except BaseException:  # whatever it is: the episodes before it were played
                self.agent.state.history = np.concatenate([self.agent.state.history, rows[:done]])
                raise
            outer = self.agent.state.outer
            # the plan that trained; a plan that somebody looked at in between leaves no trace in the history
            plan = self.agent.state.final if self.rollouts > 0 else self.agent.state.plan
            rows[done] = earned, earned, 1 if plan is None else plan.cells, outer[TRAIN_SAMPLES], outer[EVAL_SAMPLES], 0.0
            done += 1
        return rows[:done]

    def _episode(self) -> float:
        """One training episode; every step of it is kept. Returns what it earned."""
        agent, state = self.agent, self.agent.state
        view, native = Viewer(agent, f"episode {state.episodes + 1}"), action_maker(agent)
        key, number = streams.key_of(agent.seed, streams.TRAIN_ACTION, state.episodes), state.episodes
        observation, _ = self.env.reset(seed=int(streams.plant_seed(agent.seed, streams.TRAIN_PLANT, number)))
        state.episodes += 1
        mind: Mind | None = None
        here, total, action, held = self._seen(view, observation, 0), 0.0, 0, 0
        for h in range(agent.problem.horizon):
            if state.plan is not None and (mind is None or h % STINT == 0):
                mind = Mind(state.plan, self._curious(), agent.chance)
            if mind is None:  # nothing is known yet: random actions, each held for a while
                if held == 0:
                    action, held = draw(key, 2 * h, len(agent.actions)), 1 + draw(key, 2 * h + 1, HELD)
                held -= 1
            else:
                action = mind.act(here, key, h)
            observation, reward, terminated, truncated, _ = self.env.step(native(agent.actions[action]))
            state.outer[TRAIN_SAMPLES] += 1
            self.left = None if self.left is None else self.left - 1
            after, earned = self._seen(view, observation, h + 1), view.reward(reward, h)
            if abs(earned) > FAR:
                raise SpaqlError(f"the environment returned the reward {earned:g} ({view.where}, step {h}): scale it down")
            kind = 0 if mind is None else CURIOUS if mind.curious else FOLLOWED
            state.memory.add(here, agent.actions[action], earned, after, TERMINATED * bool(terminated) + BEGAN * (h == 0) + kind)
            state.followed, state.curious = state.followed + (kind == FOLLOWED), state.curious + (kind == CURIOUS)
            here, total = after, total + earned
            if agent.plan_due():
                agent.plan_on_the_way()
                assert state.plan is not None
                mind = Mind(state.plan, self._curious() if mind is None else mind.curious, agent.chance)
            if terminated or truncated or self.finished or self.stop.is_set():
                break
        return total

    def _curious(self) -> bool:
        """Whether to go where little was seen: half of the samples do."""
        return self.agent.settings.explore and self.agent.state.curious < self.agent.state.followed

    def _seen(self, view: Viewer, observation: Any, step: int) -> Array:
        seen = np.array(view.check(observation, step), np.float64)
        if not np.all(np.abs(seen) <= FAR):
            j = int(np.flatnonzero(~(np.abs(seen) <= FAR))[0])
            name = self.agent.problem.state[j].name
            raise SpaqlError(
                f"the environment's observation ({view.where}, step {step}): {name} is {seen[j]:g}; observations must be finite"
            )
        bad = to_cube(self.agent.chart, seen, np.empty(len(seen)))
        if bad >= 0:  # the planner counts on declared bounds
            view.complain(bad, seen, step)
        return seen

    def _evaluate(self, at: int) -> float:
        from spaql.explain.rolling import play_episodes

        agent = self.agent
        played = play_episodes(agent.problem, agent.current_plan().table, self.rollouts, agent.seed + at, streams.SELECT_PLANT)
        agent.state.outer[EVAL_SAMPLES] += played.samples
        return float(played.returns.mean())


class Mind:
    """A plan in use."""

    def __init__(self, plan: Plan, curious: bool, chance: float) -> None:
        self.curious = curious
        d, actions = len(plan.centre), len(plan.actions)
        self.fixed: Any = (plan.model, plan.support, plan.curiosity if curious else plan.value, plan.gamma, not curious, chance)
        self.metric: Any = (plan.centre, plan.inverse)
        self.room: Any = (np.zeros(d), np.zeros(actions), np.zeros((actions, d)), new_work(plan.neighbours, d))

    def act(self, observation: Array, key: np.uint64, h: int) -> int:
        given: Any = (*self.fixed, *self.metric, observation, key, h, *self.room)
        return int(choose(*given))


@kernel
def choose(
    model: Model, support: Support, value: Array, gamma: float, rewarded: bool, chance: float, centre: Array, inverse: Array,
    observation: Array, key: np.uint64, h: int, z: Array, q: Array, after: Array, work: Work,
) -> int:  # fmt: skip
    """The action of step h: by look-ahead, with a chance of a random one."""
    if uniform(key, 2 * h) < chance:
        return int(uniform(key, 2 * h + 1) * len(q))
    for j in range(len(z)):
        z[j] = (observation[j] - centre[j]) * inverse[j]
    return look_ahead(model, support, value, gamma, rewarded, z, q, after, work)


@kernel
def draw(key: np.uint64, index: int, n: int) -> int:
    """A number from 0 to n - 1."""
    return int(uniform(key, index) * n)
