"""The loop of Atlas: training episodes, on compiled plants and in Gymnasium environments."""

import threading
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.checks import FAR
from spaql.ground.compiling import kernel
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import advance
from spaql.ground.streams import uniform
from spaql.learners.atlas.atlas_controller import controller_of
from spaql.learners.atlas.experience import BEGAN, CURIOUS, FOLLOWED, TERMINATED
from spaql.learners.atlas.plan import Plan
from spaql.learners.atlas.support import HELD_STEPS
from spaql.learners.atlas.values import look_ahead, new_work
from spaql.learners.history import add_row
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.plants.answers import begun, steps
from spaql.plants.chart import to_cube
from spaql.plants.environment import open_environment
from spaql.training.closed_loop import run_episodes
from spaql.training.gym_loop import Viewer

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas

# Steps after which a long episode may change between following the plan and exploring.
PERIOD_STEPS = 500


class AtlasLoop:
    """Half of the samples follow the plan, half go where little was seen."""

    def __init__(self, agent: "Atlas", rollouts: int, stop: threading.Event, samples: int | None) -> None:
        self.agent, self.rollouts, self.stop = agent, rollouts, stop
        self.left, self.samples = samples, samples
        self.env = open_environment(agent.problem)
        agent.replay_plans()

    @property
    def finished(self) -> bool:
        return self.left == 0

    def run(self, iterations: int) -> int:
        state, done = self.agent.state, 0
        while done < iterations and not self.finished and not self.stop.is_set():
            earned = self._episode()
            if self.rollouts > 0:
                earned = self._evaluate(len(state.history) + 1)
            # the plan that trained; one that somebody looked at in between leaves no trace
            plan = state.final if self.rollouts > 0 else state.plan
            arms, samples = 1.0 if plan is None else float(plan.cells), state.outer[[TRAIN_SAMPLES, EVAL_SAMPLES]]
            add_row(state, earned, earned, arms, *samples.tolist(), 0.0)
            done += 1
        return done

    def _episode(self) -> float:
        """One training episode; every step of it is kept. Returns its return."""
        agent, state = self.agent, self.agent.state
        view, native = Viewer(agent, f"episode {state.episodes + 1}"), agent.problem.native_one()
        driver = self._driver(streams.key_of(agent.seed, streams.TRAIN_ACTION, state.episodes))
        seed = int(streams.plant_seed(agent.seed, streams.TRAIN_PLANT, state.episodes))
        observation = begun(self.env.reset(seed=seed))
        state.episodes += 1
        here, kind, total = self._seen(view, observation, 0), 0, 0.0

        def act(_: Any, h: int) -> Array:
            nonlocal kind
            action, kind = driver.act(here, h)
            return action

        episode = steps(self.env, act, observation, agent.problem.horizon, native)
        for h, (_, action, observation, reward, terminated) in enumerate(episode):
            state.outer[TRAIN_SAMPLES] += 1
            self.left = None if self.left is None else self.left - 1
            after, earned = self._seen(view, observation, h + 1), view.reward(reward, h)
            if abs(earned) > FAR:
                where = f"{view.where}, step {h}"
                raise SpaqlError(f"the environment returned the reward {earned:g} ({where}): scale it down")
            flags = TERMINATED * terminated + BEGAN * (h == 0) + kind
            state.memory.add(here, action, earned, after, flags)
            state.followed += kind == FOLLOWED
            state.curious += kind == CURIOUS
            here, total = after, total + earned
            self.tell()
            if driver.over(h) or self.finished or self.stop.is_set():
                break
        return total

    def tell(self, done: float = 0.0, note: str | None = None) -> None:
        """How far it is: `done` episodes, if samples are not counted."""
        if self.samples is not None and self.left is not None:
            advance(self.samples - self.left, note)
        elif note is not None:
            advance(done, note)

    def _driver(self, key: np.uint64) -> "Driver":
        """What acts in the next episode."""
        return ByPlan(self.agent, key)

    def _seen(self, view: Viewer, observation: Any, step: int) -> Array:
        seen = np.array(view.check(observation, step), np.float64)
        bad = to_cube(self.agent.chart, seen, np.empty(len(seen)))
        far = ~(np.abs(seen) <= FAR)
        if bad < 0 and far.any():
            j, where = int(np.flatnonzero(far)[0]), f"{view.where}, step {step}"
            wrong = f"{self.agent.problem.state[j].name} is {seen[j]:g}; observations must be finite"
            raise SpaqlError(f"the environment's observation ({where}): {wrong}")
        view.complain(bad, seen, step)  # the planner counts on declared bounds
        return seen

    def _evaluate(self, at: int) -> float:
        agent = self.agent
        tree, seed = controller_of(agent), agent.seed + at
        episodes = run_episodes(agent.problem, tree, self.rollouts, seed, streams.SELECT_PLANT)
        agent.state.outer[EVAL_SAMPLES] += episodes.samples
        return float(episodes.returns.mean())


class Driver(Protocol):
    """What acts in a training episode."""

    def act(self, here: Array, h: int) -> tuple[Array, int]:
        """The physical action of step h, and the flag of its kind."""

    def over(self, h: int) -> bool:
        """Called after step h, when its transition is in memory; whether the episode ends there."""


class ByPlan:
    """Follows the plan, or goes where little was seen. Plans anew when it is time."""

    def __init__(self, agent: "Atlas", key: np.uint64) -> None:
        self.agent, self.key = agent, key
        self.actor: AtlasActor | None = None
        self.action, self.held = 0, 0

    def act(self, here: Array, h: int) -> tuple[Array, int]:
        agent, plan = self.agent, self.agent.state.plan
        if plan is not None and (self.actor is None or h % PERIOD_STEPS == 0):
            self.actor = AtlasActor(plan, self._curious(), agent.chance)
        if self.actor is None:  # nothing is known yet: random actions, each held for a while
            if self.held == 0:
                self.action = int(random_number(self.key, 2 * h) * len(agent.actions))
                self.held = 1 + int(random_number(self.key, 2 * h + 1) * HELD_STEPS)
            self.held -= 1
            return agent.actions[self.action], 0
        action = agent.actions[self.actor.act(here, self.key, h)]
        return action, CURIOUS if self.actor.curious else FOLLOWED

    def over(self, h: int) -> bool:
        agent = self.agent
        if agent.plan_due():
            agent.plan_at(agent.state.memory.n)
            assert agent.state.plan is not None
            curious = self._curious() if self.actor is None else self.actor.curious
            self.actor = AtlasActor(agent.state.plan, curious, agent.chance)
        return False

    def _curious(self) -> bool:
        """Whether to go where little was seen: so that half of the samples do."""
        return self.agent.settings.explore and self.agent.state.curious < self.agent.state.followed


class AtlasActor:
    """A plan in use in training."""

    def __init__(self, plan: Plan, curious: bool, chance: float) -> None:
        self.plan, self.curious, self.chance = plan, curious, chance
        self.outlook, self.work = plan.outlook(curious), new_work(plan.support, plan.neighbours)
        self.q, self.after = plan.new_outcomes()

    def act(self, observation: Array, key: np.uint64, h: int) -> int:
        """The action of step h: by look-ahead, or with the probability `chance` a random action."""
        if random_number(key, 2 * h) < self.chance:
            return int(random_number(key, 2 * h + 1) * len(self.q))
        state = self.plan.into_metric(observation)
        return int(look_ahead(self.outlook, state, self.q, self.after, self.work))


@kernel
def random_number(key: np.uint64, index: int) -> float:
    """Between 0 and 1."""
    return uniform(key, index)
