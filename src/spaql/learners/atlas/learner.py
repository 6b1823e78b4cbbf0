"""Atlas: an adaptive tree of local affine systems. It keeps what it has seen, learns a model of it, plans in the model, and plays a table.

every so many samples:                                                    planning.py
    fit a model: a quadratic system, corrected in cells by affine ones      model.py, fitting.py, growing.py, endings.py
    place support points where data fell and where the model leads          support.py
    iterate values at them, interpolated in between                         values.py
in between: episodes that follow the plan, and episodes that go where little was seen    loop.py
in the end: a plan with all data and all cells; what it plays in each cell is the controller
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql import streams
from spaql.arrays import Array
from spaql.checks import flag, numbers, observations, real, whole
from spaql.errors import SpaqlError
from spaql.learners.agent import Agent, Callbacks
from spaql.learners.atlas.memory import BEGAN, FAR, TERMINATED, Memory, features_of, levels_of, new_memory
from spaql.learners.atlas.model import Model
from spaql.learners.atlas.planning import Plan, Settings, make_plan, models_in_doubt
from spaql.learners.guard import Guard
from spaql.plants.chart import to_cube
from spaql.plants.problem import Finite, Problem
from spaql.training.history import COLUMNS, Evaluation, History
from spaql.training.outer import TRAIN_SAMPLES, new_outer

if TYPE_CHECKING:
    from spaql.training.recording import Episode

FIRST, EVERY, GROWTH = 100, 50, 0.25  # the first plan after so many samples, then every so many or when the data has grown by so much
ON_THE_WAY = 4  # plans on the way have the n-th part of the cells
CELLS, CELLS_PER_SAMPLE = (8000, 16_000), 0.8  # of the final plan: at least and at most, and in between by samples
MOST_ACTIONS, MOST_NEIGHBOURS, MOST_LINKS = 256, 100, 2**27  # a link takes 12 bytes


@dataclass
class AtlasState:
    """What Atlas has seen, and what it made of it."""

    memory: Memory
    outer: Array
    history: Array
    plan: Plan | None = None  # the last plan on the way: decides how training goes on
    planned: list[int] = field(default_factory=list)  # samples at which plans on the way were made
    final: Plan | None = None  # of all data: what is played, shown and exported
    episodes: int = 0  # begun so far
    followed: int = 0  # samples played by plan
    curious: int = 0  # samples played where little was seen
    draws: int = 0
    guard: Guard = field(default_factory=Guard)


def due(n: int, last: int) -> bool:
    """Whether to plan at `n` samples, after a plan at `last` (0: none yet)."""
    return n >= FIRST if last == 0 else n - last >= max(EVERY, GROWTH * last)


class Atlas(Agent):
    """Model-based, for problems where samples are dear: thousands, not hundreds of thousands. No evaluation rollouts.

    - `cells`: of the table; more are finer and slower (default: 8000, and with more than 10,000 samples up to 16,000)
    - `model_cells`: cells with a system of their own, at most
    - `neighbours`: support points between which values are interpolated (default: four per observed variable); 1: none
    - `levels`: per continuous action (default: 5, or 3 if there are several); a finite set has none
    - `hold`: steps an action is held in planning until its cell is left, at most
    - `explore`: half of the samples go where little was seen
    - `chance`: of a random action in training
    - `gamma`: discount
    """

    algorithm = "Atlas"
    state: AtlasState  # type: ignore[assignment]

    def __init__(
        self, problem: Problem, *, cells: int | None = None, model_cells: int = 2000, neighbours: int | None = None,
        levels: int | None = None, hold: int = 5, explore: bool = True, chance: float = 0.1, gamma: float = 0.995, seed: int = 0,
    ) -> None:  # fmt: skip
        options = {
            "cells": cells, "model_cells": model_cells, "neighbours": neighbours, "levels": levels, "hold": hold, "explore": explore,
            "chance": chance, "gamma": gamma,
        }  # fmt: skip
        self._set_up(problem, seed, options)
        d, space = len(problem.state), problem.actions
        axes = 1 if isinstance(space, Finite) else len(space.low)
        self.settings = Settings(
            whole("cells", CELLS[0] if cells is None else cells, 1, 100_000), whole("model_cells", model_cells, 1, 100_000),
            whole("neighbours", 4 * d if neighbours is None else neighbours, 1, MOST_NEIGHBOURS), whole("hold", hold, 1, 1000),
            real("gamma", gamma, 0.0, 0.9999, above=True), flag("explore", explore),
        )  # fmt: skip
        self.chance = real("chance", chance, 0.0, 1.0)
        if levels is not None and isinstance(space, Finite):
            raise SpaqlError(f"levels divide a continuous action; {problem.name} has a finite set of {len(space.values)}: leave levels out")
        levels = whole("levels", (5 if axes == 1 else 3) if levels is None else levels, 2, MOST_ACTIONS)
        actions = len(space.values) if isinstance(space, Finite) else levels**axes
        if actions > MOST_ACTIONS:
            raise SpaqlError(f"Atlas tries every action: {actions} are more than {MOST_ACTIONS}; use fewer actions or levels")
        if self.settings.cells * actions * self.settings.neighbours > MOST_LINKS:
            told = f"{self.settings.cells} cells with {actions} actions and {self.settings.neighbours} neighbours"
            raise SpaqlError(f"{told} are too many: use fewer cells")
        self.actions = levels_of(space, levels)
        self.state = AtlasState(new_memory(d, axes), new_outer(0.0, 0.0), np.zeros((0, len(COLUMNS))))

    # -- learning ------------------------------------------------------------------------------------------------------------------

    def learn(
        self, iterations: int | None = None, rollouts: int | None = None, *, samples: int | None = None, progress: bool = False,
        callback: Callbacks | None = None,
    ) -> History:  # fmt: skip
        """Train for `iterations` more episodes, or for exactly `samples` more steps (the last episode ends there).

        Atlas needs no evaluation: `evaluation` in the history is the return of the training episode, its exploration included. With
        `rollouts` (default 0) it is the mean return of so many rollouts of the table instead; they are counted.
        """
        from spaql.training.trainer import train

        if (iterations is None) == (samples is None):
            raise SpaqlError("say how long to learn: learn(samples=...) or learn(iterations=...)")
        with self.state.guard.write():
            return train(self, iterations, rollouts, progress, callback, samples=samples)

    def update(self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int | None = None) -> None:
        """One transition from outside data, in physical units.

        `step` 0 marks the first of an episode; without it, an episode begins where `obs` is not the `next_obs` of the call before.
        """
        d = len(self.problem.state)
        before, after = numbers("obs", obs, (d,)), numbers("next_obs", next_obs, (d,))
        played, value = self._played(action), float(numbers("reward", reward, ()))
        for name, given in (("obs", before), ("next_obs", after), ("reward", np.array(value))):
            if not np.all(np.abs(given) <= FAR):
                raise SpaqlError(f"{name} is {np.asarray(given).tolist()}: numbers must be finite, and below {FAR:g}")
        for name, given in (("obs", before), ("next_obs", after)):
            self.observation_error(to_cube(self.chart, given, np.empty(d)), given, name)
        ended = flag("terminated", terminated)
        with self.state.guard.write():
            memory, n = self.state.memory, self.state.memory.n
            goes_on = n > 0 and not memory.flags[n - 1] & TERMINATED and np.array_equal(memory.nexts[n - 1], before)
            began = not goes_on if step is None else whole("step", step, 0) == 0
            memory.add(before, played, value, after, TERMINATED * ended + BEGAN * began)
            self.state.outer[TRAIN_SAMPLES] += 1

    def _played(self, action: Any) -> Array:
        """A physical action (axes,), checked."""
        if isinstance(self.problem.actions, Finite):
            played: Array = self.actions[int(self.action_in_cube(action)[0])]
            return played
        self.action_in_cube(action)
        return numbers("action", np.atleast_1d(action), (self.actions.shape[1],))

    def plan_on_the_way(self) -> None:
        """Plan with the data so far: training goes on by it."""
        state = self.state
        state.plan = self._plan(state.memory.n, self._smaller(), state.plan)
        state.planned.append(state.memory.n)

    def plan_due(self) -> bool:
        return due(self.state.memory.n, self.state.planned[-1] if self.state.planned else 0)

    def _plan(self, n: int, settings: Settings, last: Plan | None, salt: int = 0) -> Plan:
        data = self.state.memory.transitions(self.problem.actions, n)
        key = int(streams.key_of(self.seed, streams.PLAN, n) >> np.uint64(2)) ^ salt
        choices = features_of(self.problem.actions, self.actions)
        return make_plan(data, choices, self.actions, self.problem.horizon, settings, last, key)

    def visits(self, plan: Plan) -> Array:
        """How much of a plan's data fell into the cell of every support point."""
        from spaql.explain.tree import leaf_of

        cell = leaf_of(plan.table, self.state.memory.states[: plan.samples])
        counts: Array = np.bincount(plan.support.of_cell[cell], minlength=len(plan.support.points))
        return counts

    def models(self, plan: Plan, others: bool = False) -> list[Model]:
        """Of a plan, and those that know less: to judge in. `others`: that know less of other things."""
        data = self.state.memory.transitions(self.problem.actions, plan.samples)
        return [plan.model, *models_in_doubt(data, plan, self.settings.model_cells, others)]

    def _smaller(self) -> Settings:
        return self.settings._replace(cells=max(1, self.settings.cells // ON_THE_WAY))

    def _finest(self, n: int) -> Settings:
        chosen = self.options["cells"]
        return self.settings if chosen is not None else self.settings._replace(cells=int(np.clip(CELLS_PER_SAMPLE * n, *CELLS)))

    def replay_plans(self) -> None:
        """A loaded agent knows its data and when it planned: make those plans again, before learning goes on."""
        state = self.state
        if state.plan is None and state.planned:
            counts, state.planned = state.planned, []
            for n in counts:
                state.plan = self._plan(n, self._smaller(), state.plan)
                state.planned.append(n)

    def current_plan(self) -> Plan:
        """The plan of all data."""
        from spaql.explain.planned import rehearsed

        state = self.state
        n = state.memory.n
        if n == 0:
            raise SpaqlError("nothing was seen yet: learn(samples=...) or update(...) first")
        if state.final is None or state.final.samples != n:
            # made from the data alone, not from the plans on the way, so that it is the same for a loaded agent
            draft = self._plan(n, self._smaller(), None)
            # two sets of support points: the table that does better in the models, which are the same for both
            made, models = [self._plan(n, self._finest(n), draft, salt) for salt in (0, 1)], self.models(draft)
            state.final = max(made, key=lambda plan: rehearsed(self, plan, models))
        return state.final

    # -- acting --------------------------------------------------------------------------------------------------------------------

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True) -> tuple[Any, Any]:
        """The table's action for one observation or a batch, in physical units, as in Stable-Baselines3. Nothing in it is random.

        Before anything was seen, the middle one of the actions.
        """
        from spaql.explain.tree import leaf_of

        batch, single = observations(observation, len(self.problem.state))
        if not np.all(np.abs(batch) <= FAR):
            raise SpaqlError("observations must be finite")
        with self.state.guard.read():
            if self.state.memory.n == 0:
                played = np.repeat(self.actions[[len(self.actions) // 2]], len(batch), axis=0)
            else:
                table = self.current_plan().table
                played = table.actions[leaf_of(table, batch)]
        actions = self.native(played)
        return (actions[0] if single else actions), state

    def evaluate(self, episodes: int = 1000, seed: int = 0, *, deterministic: bool = True) -> Evaluation:
        """Fresh rollouts of the table: random streams never used in training."""
        episodes, seed = whole("episodes", episodes, 1, 10**8), whole("seed", seed, 0)  # before planning, which takes seconds
        return self.policy().evaluate(episodes, seed)

    def episode(self, seed: int = 0, rollout: int = 0, *, deterministic: bool = True) -> "Episode":
        """Rollout number `rollout` of `evaluate(seed=seed)`, step by step."""
        seed, rollout = whole("seed", seed, 0), whole("rollout", rollout, 0, 10**8)
        return self.policy().episode(seed, rollout)

    # -- looking inside ------------------------------------------------------------------------------------------------------------

    @property
    def arms(self) -> int:
        """Cells of the table."""
        if self.state.memory.n == 0:
            return 1
        with self.state.guard.read():
            return self.current_plan().cells

    def leaves(self) -> Array:
        """The cells of the table as a structured array: state (of the support point), action, q, visits (data in it)."""
        with self.state.guard.read():
            plan = self.current_plan()
        alive = np.flatnonzero(plan.support.ended == 0)
        d, axes = len(plan.centre), plan.actions.shape[1]
        rows = np.zeros(len(alive), np.dtype([("state", "f8", (d,)), ("action", "f8", (axes,)), ("q", "f8"), ("visits", "i8")]))
        rows["state"], rows["action"] = plan.out_of_metric(plan.support.points[alive]), plan.actions[plan.best[alive]]
        rows["q"], rows["visits"] = plan.q[alive].max(axis=1), self.visits(plan)[alive]
        return rows

    def __repr__(self) -> str:
        n, plan = self.state.memory.n, self.state.final  # planning would take too long for a name
        cells = "" if plan is None or plan.samples != n else f"{plan.cells} cells after "
        return f"<Atlas on {self.problem.name}: {cells}{n} samples, seed {self.seed}>"
