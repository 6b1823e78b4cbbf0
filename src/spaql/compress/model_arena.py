"""A learned model as the arena of a search: trees are tried in it without a step of the plant."""

from collections.abc import Sequence
from typing import NamedTuple

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

DOUBT_SHARE = 0.05  # of the way from the worst to the best: by so much may one be worse than another
SPREAD_SHARE = 0.1  # and by so much of the standard deviation of its returns may the table be worse in a trusted model
CAUTION = 0.25  # of the standard deviation of its returns is taken from a tree's mean when it is judged


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
        self._nothing = self.room(0, 0, 0.0)

    def returns(self, tree: Tree, first: int, last: int) -> Array:
        begin = self.begin[first:last]
        controller = self.controller(tree)
        returns, steps = imagined_returns(self.worlds, controller, begin, first, self.horizon, self._tracks)
        self.steps += steps
        return returns

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        begin, before, controller, all_kept = self.begin[:MOMENT_EPISODES], self.steps, self.controller(tree), []
        self.returns(tree, 0, len(begin))
        share, room = count / (self.steps - before), 2 * count // len(self.worlds)
        for which in range(len(self.worlds)):
            kept = self.room(room, seed + which, share)
            self.run(which, controller, self.begun(begin[which :: len(self.worlds)]), kept, self.horizon)
            used = ~np.isnan(kept.places[:, 0])
            all_kept.append((kept.places[used], kept.times[used], np.full(used.sum(), which)))
        memory = tuple(np.concatenate(parts) for parts in zip(*all_kept, strict=True))
        return Moments(self.plan.out_of_metric(memory[0]), memory)

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        trials = features_of(self.problem.actions, np.ascontiguousarray(actions, float))
        controller = self.controller(tree)
        places, times, models = moments.memory
        returns = np.zeros((len(places), len(actions) + 1))
        for which in range(len(self.worlds)):
            mine = models == which
            episodes = ModelEpisodes(np.ascontiguousarray(places[mine]), times[mine], trials, hold)
            futures = self.run(which, controller, episodes, self._nothing, self.horizon)
            returns[mine] = futures.reshape(-1, len(actions) + 1)
        return returns

    def run(self, which: int, controller: CompiledTree, episodes: ModelEpisodes, kept: Kept, horizon: int) -> Array:
        """The returns of episodes in one of the models."""
        returns = np.zeros(len(episodes.places) * (len(episodes.features) + 1))
        if len(returns):
            self.steps += rehearse(self.worlds[which], controller, episodes, horizon, returns, kept, self._tracks)
        return returns

    def begun(self, places: Array) -> ModelEpisodes:
        """Whole episodes from these places on."""
        none = np.zeros((0, self.plan.model.features.shape[1]))
        return ModelEpisodes(np.ascontiguousarray(places), np.zeros(len(places), np.int64), none, 0)

    def room(self, rows: int, seed: int, share: float) -> Kept:
        return Kept(np.uint64(seed), share, np.full((rows, self.variables), np.nan), np.zeros(rows, np.int64))

    def controller(self, tree: Tree) -> CompiledTree:
        return controller_of(self.plan, tree, self.problem.actions)


# -- trees judged in learned models ------------------------------------------------------------------------------------


def trusted(problem: Problem, plan: Plan, models: Sequence[CellModel], starts: Array) -> list[CellModel]:
    """The models in which the plan's table does about as well as in the first, the model of all data.

    The others lack data that was needed, and would judge trees by their own ignorance. A constant added to all rewards
    changes nothing here.
    """
    arenas = [ModelArena(problem, plan, starts, [model], fair=True) for model in models]
    returns = [arena.returns(plan.table, 0, len(starts)) for arena in arenas]
    means = np.array([part.mean() for part in returns])
    least = means[0] - DOUBT_SHARE * np.ptp(means) - SPREAD_SHARE * returns[0].std()
    return [model for model, mean in zip(models, means, strict=True) if mean >= least]


class JudgedTree(NamedTuple):
    """A tree, and what it earns by a cautious judge."""

    score: float
    tree: Tree


def judged_in_models(
    trees: Sequence[Tree], problem: Problem, plan: Plan, starts: Array, models: Sequence[CellModel]
) -> dict[int, JudgedTree]:
    """By leaves, where something is gained: what trees earn from other start states, and in models of other data.

    The judge looks twice as far as the episode, because what fails soon after its end is not sound; but nothing is
    gained there: an episode counts as twice its return, or less. To end early is thus not preferred.
    """
    once, twice = (ModelArena(problem, plan, starts, models, times * problem.horizon, True) for times in (1, 2))
    best: dict[int, JudgedTree] = {}
    for tree in trees:
        returns = np.minimum(2.0 * once.returns(tree, 0, len(starts)), twice.returns(tree, 0, len(starts)))
        score = float(returns.mean() - CAUTION * returns.std())
        if tree.n_leaves not in best or score > best[tree.n_leaves].score:
            best[tree.n_leaves] = JudgedTree(score, tree)
    gaining: dict[int, JudgedTree] = {}
    for leaves in sorted(best):
        if not gaining or best[leaves].score > max(entry.score for entry in gaining.values()):
            gaining[leaves] = best[leaves]
    return gaining


def leaves_of_choice(judged: dict[int, JudgedTree], max_leaves: int | None) -> int:
    """The best, or without a wanted number of leaves the smallest that is about as good."""
    scores = [entry.score for entry in judged.values()]
    reach = max(scores) - (DOUBT_SHARE * (max(scores) - min(scores)) if max_leaves is None else 0.0)
    return next(leaves for leaves, entry in judged.items() if entry.score >= reach)
