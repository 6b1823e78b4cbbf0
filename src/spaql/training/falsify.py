"""Falsification: a search for the worst of the episodes that a controller can have.

On a compiled plant an episode is a point: the uniform numbers of its start, and the keys of the random streams of its
parts. An evolution strategy begins with points that are known to be bad, with random ones, and with some on the edges
of the cube, where ranges end; then it mixes and moves the worst. How far it moves them is drawn anew for every child,
over three orders of magnitude, so that nothing must be tuned.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.checks import choice, whole
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work, working
from spaql.plants.answers import begun
from spaql.plants.environment import PlantEnv
from spaql.policy.controller import Controller
from spaql.policy.evaluation import Evaluation
from spaql.policy.policy import Policy
from spaql.policy.words import variable_names, variable_units
from spaql.policy.worst import Changes, Worst
from spaql.training.closed_loop import Decides, count_episode, run_compiled
from spaql.training.episode import Episode, Watched, watch
from spaql.training.lanes import OK, Episodes, bad_reward, new_lanes, stage_of
from spaql.training.tally import Counter, Tally, counted, excesses_of, new_tally
from spaql.training.tree_rollouts import run_tree

if TYPE_CHECKING:
    from spaql.plants.problem import Problem

TRIED = 2000  # episodes of a search
TRIED_IN_PYTHON = 50  # the same, in an environment that is not compiled
SEARCHED = "searching for the worst episode"
GENERATION = 128  # episodes at a time: as many as run side by side
PARTS = 8  # of an episode, each with random numbers of its own
KEPT = 16  # of the worst episodes, from which the next ones are made
EXPLORED = 0.25  # share of the episodes that do not come from others
NEW = 0.1  # share of a generation that does not come from others
EDGE = 0.001  # numbers stay so far from 0 and 1: what is normal is then at most 3.7 standard deviations away
SMALLEST, LARGEST = 0.001, 0.5  # standard deviations of moves
LIKELY = 0.5  # chances where one thing is as good as another


class Points(NamedTuple):
    """Episodes on a compiled plant, a row each."""

    starts: Array  # (n, numbers of a start) uniform numbers
    blocks: Array  # uint64 (n, parts) keys of streams

    def take(self, rows: Any) -> "Points":
        return Points(self.starts[rows], self.blocks[rows])


class Outcomes(NamedTuple):
    """What came of them."""

    returns: Array
    rows: Array  # of the tally
    badness: Array  # what is searched for: the higher, the worse

    def take(self, rows: Any) -> "Outcomes":
        return Outcomes(*(column[rows] for column in self))


Trial = Callable[[Points], Outcomes]


def search(
    trial: Trial, known: Points, noisy: bool, episodes: int, rng: np.random.Generator
) -> tuple[Points, Outcomes]:
    """The worst point, and what came of it. `known`: where to begin; `noisy`: steps are random too, not only starts."""
    size, parts = known.starts.shape[1], known.blocks.shape[1]
    kept, outcomes, tried = known.take(slice(0, 0)), None, 0
    while tried < episodes:
        at_work(SEARCHED, tried, episodes)
        n = min(GENERATION, episodes - tried)
        if outcomes is None:
            points = _together(known.take(slice(0, n)), _random(max(0, n - len(known.starts)), size, parts, rng))
        elif tried < EXPLORED * episodes:
            points = _random(n, size, parts, rng)
        else:
            new = int(NEW * n)
            points = _together(_children(kept, n - new, noisy, rng), _random(new, size, parts, rng))
        came = trial(points)
        points = _together(kept, points)
        if outcomes is not None:
            came = Outcomes(*(np.concatenate(pair) for pair in zip(outcomes, came, strict=True)))
        order = _worst_different(points, came.badness)
        kept, outcomes, tried = points.take(order), came.take(order), tried + n
    assert outcomes is not None
    return kept.take(slice(0, 1)), outcomes.take(slice(0, 1))


def _worst_different(points: Points, badness: Array) -> list[int]:
    """Which are kept: the worst, each once, or copies of one would soon be all."""
    different: dict[tuple[bytes, bytes], int] = {}
    for row in np.argsort(-badness, kind="stable").tolist():
        different.setdefault((points.starts[row].tobytes(), points.blocks[row].tobytes()), row)
        if len(different) == KEPT:
            break
    return list(different.values())


def _together(first: Points, other: Points) -> Points:
    return Points(np.concatenate([first.starts, other.starts]), np.concatenate([first.blocks, other.blocks]))


def _random(n: int, size: int, parts: int, rng: np.random.Generator) -> Points:
    """Half of them anywhere, half of them with some numbers at the ends of their ranges."""
    starts = rng.uniform(EDGE, 1.0 - EDGE, (n, size))
    ends = np.where(rng.random((n, size)) < LIKELY, EDGE, 1.0 - EDGE)
    at_end = (rng.random((n, size)) < LIKELY) & (rng.random((n, 1)) < LIKELY)
    return Points(np.where(at_end, ends, starts), _keys((n, parts), rng))


def _keys(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    return rng.integers(0, 2**64, shape, np.uint64)


def _children(kept: Points, n: int, noisy: bool, rng: np.random.Generator) -> Points:
    """Each from one of the worst: mixed with another one or not, its start moved, or another part of it drawn anew."""
    size, parts = kept.starts.shape[1], kept.blocks.shape[1]
    parent, other = kept.take(rng.integers(0, len(kept.starts), n)), kept.take(rng.integers(0, len(kept.starts), n))
    mixed = rng.random((n, 1)) < LIKELY
    starts = np.where(mixed & (rng.random((n, size)) < LIKELY), other.starts, parent.starts)
    later = np.arange(parts) >= rng.integers(0, parts + 1, (n, 1))  # from some part on the other one's
    blocks = np.where(mixed & later, other.blocks, parent.blocks)
    redraw = (rng.random((n, 1)) < LIKELY) & noisy | (size == 0)
    drawn = np.arange(parts) == rng.integers(0, parts, (n, 1))
    blocks = np.where(redraw & drawn, _keys((n, parts), rng), blocks)
    scale = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), (n, 1)))
    alone = np.arange(size) == rng.integers(0, max(size, 1), (n, 1))
    moves = ~redraw & (alone | (rng.random((n, 1)) < LIKELY))  # one number of the start, or all
    moved = np.clip(starts + scale * rng.normal(size=(n, size)), EDGE, 1.0 - EDGE)
    return Points(np.where(moves, moved, starts), blocks)


# -- what it is a search of --------------------------------------------------------------------------------------------


class Falsifiable(Decides, Protocol):
    """A policy, or a controller of one's own."""

    def evaluate(self, episodes: int = 1000, seed: int = 0) -> Evaluation: ...

    def episode(self, seed: int = 0, rollout: int = 0) -> Episode: ...


@working("searching for the worst episode")
def falsify(controller: Falsifiable, episodes: Any, seed: Any, by: Any, fresh: Any) -> Worst:
    """See `Policy.falsify`."""
    problem = controller.problem
    if not problem.can_run:
        raise SpaqlError(f"{problem.name} has no plant to run on")
    usual = TRIED if problem.plant is not None else TRIED_IN_PYTHON
    count, seed = whole("episodes", usual if episodes is None else episodes, 1, 10**8), whole("seed", seed, 0)
    fresh = whole("fresh", fresh, 1, 10**8)
    sought = ("limits" if problem.limits else "return") if by is None else choice("by", by, ("return", "limits"))
    if sought == "limits" and not problem.limits:
        raise SpaqlError(f"{problem.name} has no limits to search for: state them with limits=[spaql.Limit(...)]")
    if problem.plant is None:
        return _over_seeds(controller, count, seed, sought)
    ordinary, plant = controller.evaluate(fresh, seed), problem.plant
    rng = np.random.default_rng(int(streams.key_of(seed, streams.FALSIFIED, 0)))
    parts = min(PARTS, problem.horizon)
    count = count if plant.reset_noise + plant.step_noise > 0 else 1  # of which nothing is random, one is as all
    # of ordinary episodes without excess it is not known how near to a limit they came
    order = np.argsort(_badness(problem, sought, ordinary.returns, ordinary.excess), kind="stable")[::-1]
    known = _points_of(problem, seed, order[:KEPT], parts)
    point, outcome = search(_trial(controller, sought), known, plant.step_noise > 0, count, rng)
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
            for j in range(n):
                count_episode(controller, env, env.begin(points.starts[j], points.blocks[j]), counter, j, returns)
        return Outcomes(
            returns, tally.rows, _badness(problem, by, returns, excesses_of(tally.rows, len(problem.limits)))
        )

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
    spans = [2.0 / axis.slope if axis.slope is not None else axis.high - axis.low for axis in problem.state]
    spans += (high - low).tolist()
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
        count_episode(controller, env, begun(env.reset(seed=drawn)), counter, j, returns)
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
