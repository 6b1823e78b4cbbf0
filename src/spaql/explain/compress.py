"""Smaller trees that may differ where it does not matter, and the frontier of size against return."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import whole
from spaql.errors import SpaqlError
from spaql.explain.arena import arena_of
from spaql.explain.distill import distilled
from spaql.explain.rolling import play_episodes
from spaql.explain.search import search
from spaql.explain.tree import Tree, leaf_of
from spaql.plants.problem import Finite

if TYPE_CHECKING:
    from spaql.explain.policy import Policy

ALPHA = 0.05
FRESH = 1000  # episodes of the comparison with the table
FRESH_SEED = 2**41  # start states that neither search nor usage have seen
OPTIONS = ("oblique", "budget", "episodes", "seed", "progress")
MOST = 64  # leaves on the frontier, unless more are asked for
COMPILED, SLOW, MODEL = 400_000_000, 20_000, 90_000_000  # steps of a search: of a compiled plant, an environment, a model (over d)
STARTS, STARTS_IN_MODEL = 128, 96
SEEN, LARGEST = 8000, 64  # states that the table's behaviour is distilled from, leaves of these trees


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """The best tree found with so many leaves, on fresh episodes."""

    leaves: int
    mean: float
    ci95: tuple[float, float]
    fidelity: float  # share of the table's time in which it plays what the table plays (continuous actions: within a tenth of their range)
    worse: float  # p of the one-sided paired test that it is worse than the table
    tree: Tree


def compress(
    policy: "Policy", max_leaves: int | None = None, *, oblique: bool = False, budget: int | None = None, episodes: int | None = None,
    seed: int = 0, progress: bool = False,
) -> "Policy":  # fmt: skip
    """The smallest tree not significantly worse than the table, or the best with at most `max_leaves`.

    Of Atlas: searched for and chosen in the learned model, without a step of the plant; the frontier is confirmed on the plant, and
    counted in `samples`.

    - `oblique`: tests may weigh two variables against each other;
    - `budget`: plant steps after which the search ends (400 million on compiled plants, 20 thousand in Gymnasium environments); judging
      what it has found on fresh episodes comes on top, and is counted too;
    - `episodes`: start states every candidate is judged on (128; in a model 32 to 96, fewer if episodes are long);
    - `seed`: of the search.
    """
    problem, table = policy.problem, policy.table_policy or policy
    if max_leaves is not None:
        whole("max_leaves", max_leaves, 1, 100_000)
    if table.plan is not None:
        from spaql.explain.planned import compress_in_model

        return compress_in_model(policy, table, max_leaves, oblique, budget, episodes, seed, progress)
    compiled = problem.plant is not None
    budget = whole("budget", (COMPILED if compiled else SLOW) if budget is None else budget, 0)
    episodes, seed = (
        whole("episodes", STARTS if episodes is None else episodes, 8, 100_000) if compiled else 3,
        whole("seed", seed, 0, 2**40),
    )
    if not problem.can_run or table.usage is None:
        raise SpaqlError(f"{problem.name} has no plant to try trees on: use tree(), which plays exactly the same")
    most = min(max_leaves or MOST, max(table.n_leaves, 2))
    states = table.usage.states
    seen = states[:: max(1, len(states) // SEEN)]
    arena = arena_of(problem, episodes, seed)
    with shown(progress, budget) as report:
        begin = distilled(seen, table.decide(seen), max(most, LARGEST) if compiled else most)
        pool = search(arena, problem.actions, begin, most, budget, known=palette_of(table), seed=seed, oblique=oblique, report=report)
    points, judged = frontier_of(table, pool.frontier(most), FRESH if compiled else 20)
    chosen = _choice(points, max_leaves)
    used = table.usage.samples + arena.samples + judged
    small = replace(policy, rules=chosen.tree, kind="compressed tree", cells=None, cell_of_node=None, table_policy=table)
    return replace(small, samples=used, frontier=tuple(points))


def palette_of(table: "Policy") -> Array:
    """The actions a leaf may play: those the table plays, the finite set, or the ends and middle of a continuous range."""
    played = [table.rules.actions[table.rules.leaves()]]
    actions = table.problem.actions
    if isinstance(actions, Finite):
        played.append(np.array(actions.values, float)[:, None])
    else:
        low, high = np.array(actions.low), np.array(actions.high)
        played.append(np.array([low, (low + high) / 2, high]))
    return np.unique(np.concatenate(played), axis=0)


def frontier_of(table: "Policy", trees: dict[int, Tree], episodes: int) -> tuple[list[FrontierPoint], int]:
    """Every size on fresh episodes, with the table on the same start states; and the plant steps this took."""
    from scipy.stats import ttest_1samp

    from spaql.training.history import Evaluation

    played = play_episodes(table.problem, table.rules, episodes, FRESH_SEED)
    reference, steps = played.returns, played.samples
    assert table.usage is not None
    states, span = table.usage.states, np.ptp(palette_of(table), axis=0)
    wanted = table.decide(states)
    points = []
    for leaves in sorted(trees):
        played = play_episodes(table.problem, trees[leaves], episodes, FRESH_SEED)
        returns, steps = played.returns, steps + played.samples
        lost = reference - returns
        worse = float(ttest_1samp(lost, 0.0, alternative="greater").pvalue) if np.ptp(lost) > 0 else float(lost[0] <= 0)
        near = np.all(np.abs(trees[leaves].actions[leaf_of(trees[leaves], states)] - wanted) <= 0.1 * span, axis=1)
        found = Evaluation(returns, 0)
        points.append(FrontierPoint(leaves, found.mean, found.ci95, float(near.mean()), worse, trees[leaves]))
    return points, steps


def _choice(points: list[FrontierPoint], max_leaves: int | None) -> FrontierPoint:
    if max_leaves is not None:
        return max((point for point in points if point.leaves <= max_leaves), key=lambda point: (point.mean, -point.leaves))
    good = [point for point in points if point.worse >= ALPHA]
    return min(good, key=lambda point: point.leaves) if good else max(points, key=lambda point: point.mean)


class shown:  # noqa: N801  (used as a context)
    """A progress bar over the steps of the search, on demand."""

    def __init__(self, wanted: bool, budget: int) -> None:
        self.wanted, self.budget = wanted, budget

    def __enter__(self) -> Callable[[int], None]:
        if not self.wanted:
            return lambda steps: None
        from rich.console import Console
        from rich.progress import Progress

        self.bar = Progress(console=Console(stderr=True)).__enter__()
        task = self.bar.add_task("searching for small trees", total=self.budget)
        return lambda steps: self.bar.update(task, completed=steps)

    def __exit__(self, *error: Any) -> None:
        if self.wanted:
            self.bar.__exit__(*error)
