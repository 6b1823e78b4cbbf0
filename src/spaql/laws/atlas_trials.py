"""The loop of Atlas where laws are its controller: trials on the plant, each by the best that is
known by then.

    the first 40 samples         random actions, each held for a while
    a model, whenever the data has grown by a quarter                                             gp/model.py
    look-ahead in a drawn        as long as it sees a way to earn more than by doing nothing;
    function                     else the plan of Atlas, which goes where little was seen         planner.py
    from 160 samples on          laws from the model, and every second episode by them; from
                                 1,000 on all, or every second one where the plan is ahead of
                                 look-ahead; none as long as neither sees a way                   in_model.py

Episodes are cut, since new starts tell more about a plant than long episodes.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from spaql.cuda.card import opened
from spaql.gp.learned_problem import imagined, one_function, starts_of
from spaql.gp.model import Model
from spaql.gp.transitions import Data
from spaql.ground.arrays import Array
from spaql.ground.progress import advance
from spaql.ground.streams import LAWS_SEARCHED
from spaql.laws.in_model import DOUBTED_INPUTS, MANY_SAMPLES, doubted, laws_in, search_cost
from spaql.laws.judge import best_constant
from spaql.laws.lessons import Lessons
from spaql.laws.look_ahead import LookAhead
from spaql.laws.trials import Trials, seeds_of
from spaql.learners.atlas.atlas_controller import model_at
from spaql.learners.atlas.experience import AHEAD, LED
from spaql.learners.atlas.state import FIRST_MODEL_SAMPLES, Grown, growth_at, model_due
from spaql.plants.problem import Finite
from spaql.training.atlas_loop import AtlasLoop, ByPlan, Driver
from spaql.trees.tree import Tree, decide

if TYPE_CHECKING:
    import threading

    from spaql.learners.atlas.learner import Atlas

HELD = 3  # steps for which a random action is held, at most
STINT = 50  # steps of an episode at least; a quarter of all samples, if that is more
LOOKED = 16  # beginnings from which look-ahead, or the plan, is asked whether it sees a way
NOTABLE = 1e-3  # of the spread of the rewards, per step: what either must see
SEARCH_SECONDS = 15.0  # of a search after few samples, as long as none was made


def loop_of(agent: "Atlas", rollouts: int, stop: "threading.Event", samples: int | None) -> AtlasLoop:
    """The loop for the agent's kind of controller."""
    return (AtlasLoop if agent.controller == "table" else TrialsLoop)(agent, rollouts, stop, samples)


class TrialsLoop(AtlasLoop):
    """Trains one agent."""

    def __init__(self, agent: "Atlas", rollouts: int, stop: "threading.Event", samples: int | None) -> None:
        super().__init__(agent, rollouts, stop, samples)
        if agent.device == "cuda":
            opened()  # one line before the first sample is taken, not after the last
        self.ahead: LookAhead | None = None
        self.wait = Wait(agent.state.memory.n, samples, agent.state.grown[-1].samples if agent.state.grown else 0)
        if agent.state.modelled:
            self._look(agent.state.modelled)

    def tell(self, done: float = 0.0, note: str | None = None) -> None:
        if self.samples is None or self.left is None:
            super().tell(done, note)
        else:
            self.wait.tell(self.samples - self.left, self.samples, note)

    def _driver(self, key: np.uint64) -> Driver:
        agent, state = self.agent, self.agent.state
        n = state.memory.n
        if n < FIRST_MODEL_SAMPLES:
            return ByChance(agent, key, FIRST_MODEL_SAMPLES - n)
        if model_due(n, state.modelled):
            state.modelled = n
            self._look(n)
        room, last = stint_at(n), state.grown[-1].samples if state.grown else 0
        if self.ahead is None:
            return self._beside_plan(key, n, last, room)
        if n >= growth_at(last):
            return self._trial(self._grow(model_at(agent, n), state.memory.data(n), None))
        room = min(room, growth_at(last) - n)  # samples are few: those that are left are for trials of new laws
        if state.grown and (n >= MANY_SAMPLES or not state.memory.flags[n - 1] & LED):
            return ByLaws(state.grown[-1].entry.tree, room)
        return ByLookAhead(self.ahead, room)

    def _beside_plan(self, key: np.uint64, n: int, last: int, room: int) -> Driver:
        """The plan, which sees further than look-ahead; and laws that follow its table, in every
        second episode.

        What they do on the plant corrects the model where they go: without these trials it promises
        too much.
        """
        state = self.agent.state
        if state.plan is not None and n >= growth_at(last) and self._plan_sees_a_way(n, state.plan.table):
            self._grow(model_at(self.agent, n), state.memory.data(n), state.plan.table)
        led = n > 0 and bool(state.memory.flags[n - 1] & LED)
        if state.grown and not led and state.grown[-1].entry.tree.laws is not None:
            return ByLaws(state.grown[-1].entry.tree, room)
        return ByPlan(self.agent, key)

    def _plan_sees_a_way(self, n: int, table: Tree) -> bool:
        """Whether the plan's table is better than a constant action in the model in which laws
        would be found.

        Before, the best laws do nothing, and trials of them would only take samples from
        exploration.
        """
        agent, data = self.agent, self.agent.state.memory.data(n)
        if not _something_happened(data):
            return False
        rng, problem = np.random.default_rng([agent.seed, n]), agent.problem_told
        trials = Trials(imagined(problem, model_at(agent, n), data, starts_of(problem, data, rng), rng))
        seeds = seeds_of(agent.seed, LAWS_SEARCHED, 2**43, LOOKED)
        gain = float(trials.returns(table, seeds).mean()) - best_constant(trials, seeds).mean
        return gain > NOTABLE * float(data.rewards.std()) * problem.horizon

    def _grow(self, model: Model, data: Data, teacher: Tree | None) -> Tree:
        """Laws from the model of all data."""
        agent, grown = self.agent, self.agent.state.grown
        earlier = [laws.entry.tree for laws in grown[::-1]]
        with self.wait.search(len(data.states), self.tell):
            laws = laws_in(
                agent.problem_told, model, data, agent.seed, earlier, teacher=teacher, last=False,
                stop=self.stop, device=agent.device,
            )  # fmt: skip
        grown.append(Grown(len(data.states), laws))
        return laws.tree

    def _trial(self, tree: Tree) -> Driver:
        """The first episode of new laws; whole where samples are many, to show what laws gain late."""
        n, horizon = self.agent.state.memory.n, self.agent.problem.horizon
        room = horizon if n >= MANY_SAMPLES and horizon <= n else stint_at(n)
        return ByLaws(tree, room)

    def _look(self, n: int) -> None:
        """Look ahead in a function drawn from the model of `n` samples, if that shows a way to earn something.

        What the mean function would do everywhere is tried in few places only; a drawn one hopes
        for something else, and looks whether it is there (Thompson sampling).
        """
        agent, data = self.agent, self.agent.state.memory.data(n)
        rng, problem = np.random.default_rng([agent.seed, n]), agent.problem_told
        starts = starts_of(problem, data, rng)
        model, lessons = model_at(agent, n), Lessons(data.states, data.actions)
        at = doubted(problem, model, lessons, rng, DOUBTED_INPUTS)
        drawn = one_function(imagined(problem, model, data, starts, rng, 2, at, judged=False), 1)
        ahead = LookAhead(drawn, agent.seed + n)
        gains = [ahead.gain(start) for start in starts[:LOOKED]]
        self.ahead = ahead if np.median(gains) > NOTABLE * float(data.rewards.std()) * ahead.steps else None


class Wait:
    """How long learning takes: samples, and searches for laws between and after them."""

    def __init__(self, resumed: int, samples: int | None, last: int) -> None:
        self.begun, self.seconds, self.searched, self.now = time.monotonic(), 0.0, 0.0, 0.0
        n = resumed + (samples or 0)
        self.cost = search_cost(n)
        while (last := max(growth_at(last), resumed)) <= n and samples is not None:
            self.cost += search_cost(last)

    @contextlib.contextmanager
    def search(self, n: int, tell: Callable[[], None]) -> Iterator[None]:
        """A search in a model of so many samples."""
        begun, self.now = time.monotonic(), search_cost(n)
        tell()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - begun
            self.searched, self.now = self.searched + self.now, 0.0

    def tell(self, used: int, samples: int, note: str | None) -> None:
        each = (time.monotonic() - self.begun - self.seconds) / max(used, 1)  # seconds of a sample
        unit = self.seconds / self.searched if self.searched else SEARCH_SECONDS
        cost = max(self.cost, self.searched + self.now)
        whole = each * samples + unit * cost
        # after the last sample comes the last search, which nobody can tell from outside
        now = self.now if used < samples or self.now else cost - self.searched
        done = (each * used + unit * self.searched) / whole
        advance(samples * done, note, (used, samples), samples * unit * now / whole)


def _something_happened(data: Data) -> bool:
    """Whether anything but the same reward was ever seen: a goal, or an end."""
    return bool(data.ended.any() or np.ptp(data.rewards) > 0.0)


def stint_at(n: int) -> int:
    """Steps of an episode that begins after so many samples, as long as nothing speaks for more."""
    return max(STINT, n // 4)


class Stint:
    """A driver whose episodes end after so many steps."""

    def __init__(self, room: int) -> None:
        self.room = room

    def over(self, h: int) -> bool:
        return h + 1 >= self.room


class ByChance(Stint):
    """Random actions, each held for a while."""

    def __init__(self, agent: "Atlas", key: np.uint64, room: int) -> None:
        super().__init__(room)
        self.actions, self.rng = agent.problem.actions, np.random.default_rng(int(key))
        self.action, self.held = np.zeros(agent.problem.actions.axes), 0

    def act(self, here: Array, h: int) -> tuple[Array, int]:
        if self.held == 0:
            self.held = int(self.rng.integers(1, HELD + 1))
            if isinstance(self.actions, Finite):
                self.action = np.array([float(self.rng.choice(self.actions.values))])
            else:
                self.action = self.rng.uniform(*self.actions.bounds)
        self.held -= 1
        return self.action, 0


class ByLookAhead(Stint):
    """Look-ahead in the model."""

    def __init__(self, ahead: LookAhead, room: int) -> None:
        super().__init__(room)
        self.ahead = ahead

    def act(self, here: Array, h: int) -> tuple[Array, int]:
        return self.ahead.act(here, h), AHEAD


class ByLaws(Stint):
    """Laws that were found in the model."""

    def __init__(self, tree: Tree, room: int) -> None:
        super().__init__(room)
        self.tree = tree

    def act(self, here: Array, h: int) -> tuple[Array, int]:
        action: Array = decide(self.tree, here[None])[0]
        return action, LED
