"""Episodes in which laws are tried in a learned model: no step of the plant is made, steps of the model are counted."""

from collections.abc import Callable, Sequence

import numpy as np

from spaql.compress.model_arena import ModelArena
from spaql.ground.arrays import Array
from spaql.laws.trials import Trials
from spaql.learners.atlas.imagine import Kept, controller_of, new_tracks, rehearse
from spaql.learners.atlas.imagine import ModelEpisodes as Episodes
from spaql.learners.atlas.model import CellModel
from spaql.learners.atlas.plan import Plan
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem
from spaql.trees.tree import Tree, leaf_of


def fair_arena(
    problem: Problem, plan: Plan, starts: Array, models: Sequence[CellModel], horizon: int | None = None
) -> ModelArena:
    """Where no episode ever ended, whoever leaves the data gets the worst reward seen, even if that is positive.

    So a constant added to all rewards changes nothing. Where episodes end, a lost one earns nothing more.
    """
    arena = ModelArena(problem, plan, starts, models, horizon)
    arena.worlds = [
        world if (world.model.ending == 1).any() else world._replace(worst=float(world.model.rewards[0]))
        for world in arena.worlds
    ]
    return arena


class ModelTrials(Trials):
    """An episode's seed says where it begins, and in which of the models it goes on."""

    def __init__(
        self, problem: Problem, plan: Plan, starts: Array, models: Sequence[CellModel], left: int | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self.plan, self.arena = plan, fair_arena(problem, plan, starts, models)
        super().__init__(problem, left, stopped)

    def open(self, jobs: int) -> None:
        self.low, self.high = np.full(self.variables, -HUGE), np.full(self.variables, HUGE)
        self.width = self.plan.model.features.shape[1]
        self.tracks = new_tracks(self.variables, self.width)

    def _run(self, tree: Tree, seeds: Array, horizon: int, returns: Array, visits: Array, seen: Array) -> int:
        controller = controller_of(self.plan, tree, self.problem.actions)
        begin, worlds, steps, full = seeds % self.arena.starts, self.arena.worlds, 0, 0
        for which, world in enumerate(worlds):
            mine = np.flatnonzero(begin % len(worlds) == which)
            if len(mine) == 0:
                continue
            room = len(seen) and min(len(seen) - full, len(mine) * horizon)
            kept = Kept(np.uint64(0), 2.0, np.full((room, self.variables), np.nan), np.zeros(room, np.int64))
            places = np.ascontiguousarray(self.arena.begin[begin[mine]])
            episodes = Episodes(places, np.zeros(len(mine), np.int64), np.zeros((0, self.width)), 0)
            found = np.zeros(len(mine))
            steps += rehearse(world, controller, episodes, horizon, found, kept, self.tracks)
            returns[mine] = found
            states = self.plan.out_of_metric(kept.places[~np.isnan(kept.places[:, 0])]) if room else kept.places
            seen[full : full + len(states)] = states
            full += len(states)
        if len(visits):
            visits += np.bincount(leaf_of(tree, seen[:full]), minlength=len(visits))
        return steps

    def alternatives(
        self, tree: Tree, at: Tree, actions: Array, count: int, hold: int, seed: int
    ) -> tuple[Array, Array] | None:
        self._check(2 * count * (len(actions) + 2) * self.problem.horizon)
        before = self.arena.steps
        moments = self.arena.moments(at, count, seed)
        futures = self.arena.futures(tree, moments, actions, hold)
        self.count(self.arena.steps - before)
        return moments.states, futures
