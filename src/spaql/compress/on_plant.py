"""Small trees found on the plant itself, or in the environment: every step is counted."""

from dataclasses import replace
from typing import TYPE_CHECKING

from spaql.checks import whole
from spaql.compress.arena import arena_of
from spaql.compress.cart import distilled
from spaql.compress.frontier import FRESH, FRESH_IN_PYTHON, chosen_of, frontier_of, monotone, notes_on, palette_of
from spaql.compress.search import LARGEST, MOST, SEARCH, SEEN, Wanted, search
from spaql.errors import SpaqlError
from spaql.progress import advance, working

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

COMPILED = 400_000_000  # steps of a search on a compiled plant
SLOW = 20_000  # the same, in an environment
STARTS = 128  # start states every candidate is judged on
STARTS_IN_PYTHON = 3  # the same, in an environment


def compress_on_plant(policy: "Policy", wanted: Wanted) -> "Policy":
    """See `compress`."""
    problem, table = policy.problem, policy.table_policy or policy
    compiled = problem.plant is not None
    budget = whole("budget", (COMPILED if compiled else SLOW) if wanted.budget is None else wanted.budget, 0)
    given = STARTS if wanted.episodes is None else wanted.episodes
    episodes = whole("episodes", given, 8, 100_000) if compiled else STARTS_IN_PYTHON
    seed = whole("seed", wanted.seed, 0, 2**40)
    if not problem.can_run or table.usage is None:
        raise SpaqlError(
            f"{problem.name} has no plant to try trees on: use tree(), which applies exactly the same actions"
        )
    most = min(wanted.max_leaves or MOST, max(table.n_leaves, 2))
    states = table.usage.states
    seen = states[:: max(1, len(states) // SEEN)]
    arena = arena_of(problem, episodes, seed)
    with working(SEARCH, wanted.progress, budget, "steps"):
        begin = distilled(seen, table.decide(seen), max(most, LARGEST) if compiled else most)
        known = palette_of(table)
        pool = search(
            arena, problem.actions, begin, most, budget, known=known, seed=seed, oblique=wanted.oblique, report=advance
        )
    judged = frontier_of(table, pool.frontier(most), FRESH if compiled else FRESH_IN_PYTHON)
    points = monotone(judged.points)
    chosen, used = chosen_of(points, wanted.max_leaves), table.usage.samples + arena.samples + judged.samples
    notes = notes_on(chosen, judged, "allow more leaves (max_leaves), a larger budget, or laws in them (laws=True)")
    return replace(
        policy, rules=chosen.tree, kind="compressed tree", table_policy=table, samples=used, frontier=tuple(points),
        notes=notes, certificate=None,
    )  # fmt: skip
