"""Falsification: a search for the worst of the episodes that a controller can have.

On a compiled plant an episode is a point (worst_points.py); elsewhere all that can be searched are seeds.
"""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spaql.ground import checks, streams
from spaql.ground.arrays import Array
from spaql.ground.checks import choice, whole
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work, working
from spaql.plants.answers import begun
from spaql.plants.chart import HUGE
from spaql.plants.environment import PlantEnv
from spaql.policy.controller import Controller
from spaql.policy.evaluation import Evaluation
from spaql.policy.policy import Policy
from spaql.policy.probe_results import Changes, Worst
from spaql.policy.words import variable_names, variable_units
from spaql.training.closed_loop import Decides, count_episode, deciding, run_compiled
from spaql.training.episode import Episode, Watched, watch
from spaql.training.lanes import OK, Episodes, bad_reward, new_lanes, stage_of
from spaql.training.tally import Counter, Tally, counted, excesses_of, new_tally
from spaql.training.tree_rollouts import run_tree
from spaql.training.worst_points import KEPT, SEARCHED, Outcomes, Points, Trial, search

if TYPE_CHECKING:
    from spaql.plants.problem import Problem

TRIED = 2000  # episodes of a search
TRIED_IN_PYTHON = 50  # the same, in an environment that is not compiled
PARTS = 8  # of an episode, each with random numbers of its own


class Falsifiable(Decides, Protocol):
    """A policy, or a controller of one's own."""

    def evaluate(self, episodes: int = 1000, seed: int = 0) -> Evaluation: ...

    def episode(self, seed: int = 0, rollout: int = 0) -> Episode: ...


@working("searching for the worst episode")
def falsify(controller: Falsifiable, episodes: Any, seed: Any, by: Any, fresh: Any, device: Any) -> Worst:
    """See `Policy.falsify`."""
    problem, on_card = controller.problem, checks.device(device) == "cuda"
    if not problem.can_run:
        raise SpaqlError(f"{problem.name} has no plant to run on")
    usual = TRIED if problem.plant is not None else TRIED_IN_PYTHON
    count, seed = whole("episodes", usual if episodes is None else episodes, 1, 10**8), whole("seed", seed, 0)
    fresh = whole("fresh", fresh, 1, 10**8)
    sought = ("limits" if problem.limits else "return") if by is None else choice("by", by, ("return", "limits"))
    if sought == "limits" and not problem.limits:
        raise SpaqlError(f"{problem.name} has no limits to search for: state them with limits=[spaql.Limit(...)]")
    if problem.plant is None:
        if on_card:
            raise SpaqlError(f'{problem.name} is an environment in Python: leave out device="cuda"')
        return _over_seeds(controller, count, seed, sought)
    ordinary, plant = controller.evaluate(fresh, seed), problem.plant
    rng = np.random.default_rng(int(streams.key_of(seed, streams.FALSIFIED, 0)))
    parts = min(PARTS, problem.horizon)
    count = count if plant.reset_noise + plant.step_noise > 0 else 1  # of which nothing is random, one is as all
    # of ordinary episodes without excess it is not known how near to a limit they came
    order = np.argsort(_badness(problem, sought, ordinary.returns, ordinary.excess), kind="stable")[::-1]
    known = _points_of(problem, seed, order[:KEPT], parts)
    trial = (_trial_on_card if on_card else _trial)(controller, sought)
    point, outcome = search(trial, known, plant.step_noise > 0, count, rng)
    env = PlantEnv(problem)
    watched = watch(controller, problem, env, env.begin(point.starts[0], point.blocks[0]), "the worst episode")
    middle = int(np.argsort(ordinary.returns, kind="stable")[(len(ordinary.returns) - 1) // 2])
    return _worst(problem, sought, watched, outcome, ordinary, controller.episode(seed, middle), count, seed)


def _trial(controller: Falsifiable, by: str) -> Trial:
    """Runs episodes: compiled where the controller is."""
    problem = controller.problem
    assert problem.plant is not None
    plant, env = problem.plant, PlantEnv(problem)

    def trial(points: Points) -> Outcomes:
        n = len(points.starts)
        returns, tally = np.zeros(n), new_tally(problem, n)
        starts, blocks = map(np.ascontiguousarray, points)
        some = Episodes(np.uint64(0), returns, 0, n, starts=starts, blocks=blocks)
        if isinstance(controller, Policy):
            lanes = new_lanes(plant, tally)
            nothing = np.zeros(0, np.int64), np.empty((0, len(problem.state)))
            stage = stage_of(plant, problem.horizon)
            run_tree(*plant.batch, stage, controller.rules.controller, lanes, some, *nothing)
            if lanes.fault[0] != OK:
                raise bad_reward(problem, "in a searched episode")
        elif isinstance(controller, Controller) and controller.compiled is not None:
            run_compiled(controller, some, tally)
        else:
            counter = Counter(problem, tally)
            for j, begin in enumerate(map(env.begin, points.starts, points.blocks)):
                count_episode(problem, deciding(controller), env, begin, counter, j, returns)
        return Outcomes(
            returns, tally.rows, _badness(problem, by, returns, excesses_of(tally.rows, len(problem.limits)))
        )

    return trial


def _trial_on_card(controller: Falsifiable, by: str) -> Trial:
    """The same episodes on a graphics card."""
    from spaql.cuda.card_rollouts import CardRollouts, given_on_card

    problem = controller.problem
    if not isinstance(controller, Policy):
        raise SpaqlError(f'a card runs policies, not other controllers: leave out device="cuda" for {problem.name}')
    policy, rollouts = controller, CardRollouts(problem, controller.rules, watched=True, given=True)

    def trial(points: Points) -> Outcomes:
        returns, rows = given_on_card(rollouts, policy.rules, *map(np.ascontiguousarray, points))
        if not (np.abs(returns) <= HUGE).all():
            raise bad_reward(problem, "in a searched episode")
        return Outcomes(returns, rows, _badness(problem, by, returns, excesses_of(rows, len(problem.limits))))

    return trial


def _points_of(problem: "Problem", seed: int, rollouts: Array, parts: int) -> Points:
    """Ordinary episodes as points: those of `evaluate(seed=seed)` draw everything from one stream each."""
    env, plant = PlantEnv(problem), problem.plant
    assert plant is not None
    starts, blocks = np.empty((len(rollouts), plant.reset_noise)), np.empty((len(rollouts), parts), np.uint64)
    for place, rollout in enumerate(rollouts.tolist()):
        env.base, env.episode = int(streams.plant_seed(seed, streams.FRESH_PLANT, 0)), rollout - 1
        env.reset()
        starts[place] = env.table[plant.rows.noise : plant.rows.noise + plant.reset_noise, 0]
        blocks[place] = env.keys[0]
    return Points(starts, blocks)


def _badness(problem: "Problem", by: str, returns: Array, excess: Array) -> Array:
    """By episode. Excesses are shares of the ranges of their variables, so that they can be compared."""
    if by == "return":
        return -returns
    low, high = problem.actions.bounds
    spans = [*(axis.width for axis in problem.state), *(high - low).tolist()]
    places = new_tally(problem, 0).limits[:, 0].astype(int)
    worst: Array = (excess / np.array([spans[place] or 1.0 for place in places])).max(axis=1)
    return worst


def _over_seeds(controller: Falsifiable, count: int, seed: int, by: str) -> Worst:
    """All that can be searched in an environment that draws its own numbers."""
    problem = controller.problem
    env, seeds = problem.open_env(), [int(streams.plant_seed(seed, streams.FALSIFIED, j)) for j in range(count)]
    returns, tally = np.zeros(count), new_tally(problem, count)
    counter = Counter(problem, tally)
    for j, drawn in enumerate(seeds):
        count_episode(problem, deciding(controller), env, begun(env.reset(seed=drawn)), counter, j, returns)
        at_work(SEARCHED, j + 1, count)
    tried = counted(problem, returns, int(tally.rows[:, 0].sum()), tally, seed)
    badness = _badness(problem, by, returns, excesses_of(tally.rows, len(problem.limits)))
    order = np.argsort(returns, kind="stable")
    at, middle = int(np.argmax(badness)), int(order[(count - 1) // 2])
    watched, typical = (
        watch(controller, problem, env, begun(env.reset(seed=seeds[j])), f"seed {seeds[j]}") for j in (at, middle)
    )
    if watched.total != returns[at]:
        raise SpaqlError(
            f"{problem.name} does not follow its seed: its worst episode returned {returns[at]:g} and, run again with "
            f"the same seed, {watched.total:g} (spaql.check looks for the difference)"
        )
    outcome = Outcomes(returns, tally.rows, badness).take(slice(at, at + 1))
    return _worst(problem, by, watched, outcome, tried, typical.episode, count, seed)


def _worst(
    problem: "Problem", by: str, watched: Watched, outcome: Outcomes, ordinary: Evaluation, typical: Episode,
    tried: int, seed: int,
) -> Worst:  # fmt: skip
    failures = counted(problem, outcome.returns, 0, Tally(outcome.rows, *new_tally(problem, 0)[1:]), seed).failures
    names, units = variable_names(problem), variable_units(problem)
    first, references = dict(zip(names, watched.episode.observations[0].tolist(), strict=True)), dict[str, Changes]()
    said = dict(zip(names, units, strict=True))
    traces, signals = watched.episode.traces, problem.signals
    if traces is not None and signals is not None:
        measured = traces.outputs[0].tolist()
        first = dict(zip((axis.name for axis in signals.measured), measured, strict=True))
        moves = zip(signals.references, traces.references.T, strict=True)
        references = {reference.name: _changes(trace) for reference, trace in moves}
        said |= {axis.name: axis.unit for axis in signals.inputs}
    over = excesses_of(outcome.rows, len(problem.limits))[0].tolist()
    return Worst(
        problem=problem,
        by=by,
        total=float(outcome.returns[0]),
        failed=failures.count > 0,
        rule=failures.rule,
        excess={limit.variable: excess for limit, excess in zip(problem.limits, over, strict=True)},
        start=first,
        parameters=watched.parameters,
        references=references,
        units=said,
        episode=watched.episode,
        typical=typical,
        evaluation=ordinary,
        tried=tried,
        seed=seed,
    )


def _changes(trace: Array) -> Changes:
    """(step, value) of a reference, where it changes."""
    values = trace.tolist()
    return tuple((h, value) for h, value in enumerate(values) if h == 0 or value != values[h - 1])
