"""A learned model as the arena of a search: trees are tried in it without a step of the plant."""

from collections.abc import Sequence

import numpy as np

from spaql.compress.arena import MOMENT_EPISODES, Moments
from spaql.ground.arrays import Array
from spaql.learners.atlas.cell_model import CellModel
from spaql.learners.atlas.experience import features_of
from spaql.learners.atlas.imagine import (
    Kept,
    ModelEpisodes,
    controller_of,
    imagined_returns,
    new_tracks,
    rehearse,
    world_of,
)
from spaql.learners.atlas.plan import Plan
from spaql.plants.problem import Problem
from spaql.trees.tree import CompiledTree, Tree


class ModelArena:
    """Episodes of learned models from start states that were seen. A moment's memory: state, time, and which model.

    Start states take turns between the models, so that a tree cannot live on the mistakes of one of them.

    `fair`: where no episode ever ended, whoever leaves the data gets the worst reward seen, even if that is positive.
    So a constant added to all rewards changes nothing. Where episodes end, a lost one earns nothing more.
    """

    branches, samples = True, 0

    def __init__(
        self, problem: Problem, plan: Plan, starts: Array, models: Sequence[CellModel], horizon: int | None = None,
        fair: bool = False,
    ) -> None:  # fmt: skip
        self.horizon = problem.horizon if horizon is None else horizon
        self.problem, self.plan, self.begin = problem, plan, np.ascontiguousarray(plan.into_metric(starts))
        self.variables, self.starts, self.steps = len(problem.state), len(starts), 0
        self.worlds = [world_of(problem, plan, model) for model in models]
        if fair:
            self.worlds = [
                world if (world.model.ending == 1).any() else world._replace(worst=float(world.model.rewards[0]))
                for world in self.worlds
            ]
        self._tracks = new_tracks(self.variables, plan.model.features.shape[1])
        self._no_trials = np.zeros((0, plan.model.features.shape[1]))
        self._nothing = self._keep(0, 0, 0.0)

    def returns(self, tree: Tree, first: int, last: int) -> Array:
        begin = self.begin[first:last]
        found, steps = imagined_returns(self.worlds, self._controller(tree), begin, first, self.horizon, self._tracks)
        self.steps += steps
        return found

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        begin, before, controller, all_kept = self.begin[:MOMENT_EPISODES], self.steps, self._controller(tree), []
        self.returns(tree, 0, len(begin))
        share, room = count / (self.steps - before), 2 * count // len(self.worlds)
        for which in range(len(self.worlds)):
            kept = self._keep(room, seed + which, share)
            self._run(which, controller, begin[which :: len(self.worlds)], None, self._no_trials, 0, kept)
            used = ~np.isnan(kept.places[:, 0])
            all_kept.append((kept.places[used], kept.times[used], np.full(used.sum(), which)))
        memory = tuple(np.concatenate(parts) for parts in zip(*all_kept, strict=True))
        return Moments(self.plan.out_of_metric(memory[0]), memory)

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        trials = features_of(self.problem.actions, np.ascontiguousarray(actions, float))
        controller = self._controller(tree)
        places, times, models = moments.memory
        found = np.zeros((len(places), len(actions) + 1))
        for which in range(len(self.worlds)):
            mine = models == which
            found[mine] = self._run(which, controller, places[mine], times[mine], trials, hold, self._nothing).reshape(
                -1, len(actions) + 1
            )
        return found

    def _run(
        self, which: int, controller: CompiledTree, places: Array, times: Array | None, features: Array, hold: int,
        kept: Kept,
    ) -> Array:  # fmt: skip
        found = np.zeros(len(places) * (len(features) + 1))
        if len(found):
            begun = np.zeros(len(places), np.int64) if times is None else times
            trials = ModelEpisodes(np.ascontiguousarray(places), begun, features, hold)
            self.steps += rehearse(self.worlds[which], controller, trials, self.horizon, found, kept, self._tracks)
        return found

    def _keep(self, room: int, seed: int, share: float) -> Kept:
        return Kept(np.uint64(seed), share, np.full((room, self.variables), np.nan), np.zeros(room, np.int64))

    def _controller(self, tree: Tree) -> CompiledTree:
        return controller_of(self.plan, tree, self.problem.actions)
