"""What Atlas has seen and made of it, and when it plans."""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spaql.gp.model import Model
from spaql.ground.arrays import Array
from spaql.ground.checks import FAR
from spaql.learners.agent import Learned
from spaql.learners.atlas.experience import CURIOUS, FOLLOWED, LED, Experience
from spaql.learners.atlas.plan import Plan
from spaql.learners.law_files import ScoredTree, packed, unpacked
from spaql.plants.chart import EDGE, LINEAR
from spaql.plants.problem import Continuous, Finite, Problem
from spaql.policy.knowledge import KnownRows, KnownTable
from spaql.trees.tree import LEAF, NODE, make_tree

if TYPE_CHECKING:
    from spaql.laws.trust import Trust

FIRST_PLAN_SAMPLES = 100
FIRST_MODEL_SAMPLES = 40  # and samples between two models, at least
FIRST_LAWS_SAMPLES = 160
REFIT_GROWTH = 0.25  # share by which the data must have grown for a new plan, or a new model
LAWS_GROWTH = 0.5  # the same for other laws, up to
DOUBLING_SAMPLES = 400  # from here on laws are searched for when the data has doubled


class Grown(NamedTuple):
    """Laws that were found in the model of the first samples, with the model's word about them."""

    samples: int
    entry: ScoredTree


@dataclass
class AtlasState(Learned):
    """The data of Atlas, and the plans made from it."""

    memory: Experience
    plan: Plan | None = None  # the last plan during training: its actions are applied in training
    # numbers of samples at which plans during training were made
    planned: list[int] = field(default_factory=list)
    final: Plan | None = None  # made from all data; its table may be the controller
    table: KnownTable | None = None  # that table, of a loaded agent perhaps without its plan
    table_samples: int = 0  # of that table
    episodes: int = 0  # begun so far
    followed: int = 0  # samples whose action followed the plan
    curious: int = 0  # samples whose action explored
    models: dict[int, Model] = field(default_factory=dict)  # by samples: each is learned once
    modelled: int = 0  # samples of the model in which training looks ahead; 0: none yet
    grown: list[Grown] = field(default_factory=list)  # laws on the way
    laws: Grown | None = None  # made from all data: the controller, if laws are
    trust: "Trust | None" = None  # in the controller of all data
    tabled: int = 0  # samples with which a table was found better than laws; 0: never


def due(n: int, last: int) -> bool:
    """Whether to plan at `n` samples, after a plan at `last` (0: none yet)."""
    wanted = max(FIRST_PLAN_SAMPLES / 2, REFIT_GROWTH * last)
    return n >= FIRST_PLAN_SAMPLES if last == 0 else n - last >= wanted  # (33)


def model_due(n: int, last: int) -> bool:
    """Whether to learn a model at `n` samples, after one of the first `last`."""
    return n - last >= max(FIRST_MODEL_SAMPLES, REFIT_GROWTH * last)


def growth_at(last: int) -> int:
    """Samples at which to search for laws, after a search at `last` (0: none yet)."""
    if last == 0:
        return FIRST_LAWS_SAMPLES
    soon = math.ceil((1.0 + LAWS_GROWTH) * last)
    return soon if soon < DOUBLING_SAMPLES else max(DOUBLING_SAMPLES, 2 * last)


# -- what a file holds of Atlas: its data, when it planned, and its controller, laws or a table ----
#
# Plans and models are made again from the data where they are needed, so that nothing in a file
# must be trusted. Laws and tables are checked.

TABLE_ARRAYS = ("table_nodes", "table_cells")
MEMORY_ARRAYS = ("states", "actions", "rewards", "nexts", "flags")


def arrays_of(state: AtlasState, laws: bool) -> dict[str, Array]:
    """`laws`: with what was found on the way to laws."""
    memory, n = state.memory, state.memory.n
    data = {name: getattr(memory, name)[:n] for name in MEMORY_ARRAYS}
    data["planned"] = np.array([*state.planned, state.episodes], np.int32)
    if state.table is not None and state.table_samples == n and (not laws or state.tabled == n):
        data |= _packed_table(state.table)
    if not laws:
        return data
    kept = [*state.grown, *([] if state.laws is None else [state.laws])]
    counts = {"trials": np.array([state.modelled, len(state.grown), state.tabled], np.int32)}
    return data | packed([(laws.samples, laws.entry) for laws in kept]) | counts


def _packed_table(table: KnownTable) -> dict[str, Array]:
    """By node cut, variable, both children and the row of its cell; by cell what is known of it."""
    nodes, rows = table.rules.nodes, table.rows
    columns = [nodes["cut"], nodes["feature"], nodes["low"], nodes["high"], table.row_of_node]
    known = [rows.action, rows.q, rows.visits, rows.runner_up, rows.runner_up_q]
    tables = (np.column_stack(part).astype(float) for part in (columns, known))
    return dict(zip(TABLE_ARRAYS, tables, strict=True))


def _unpacked_table(arrays: dict[str, Array], problem: Problem) -> KnownTable:
    """What `_packed_table` has written."""
    places, known = (arrays[name] for name in TABLE_ARRAYS)
    d, axes, space = len(problem.state), problem.actions.axes, problem.actions
    shaped = places.ndim == known.ndim == 2
    shaped = shaped and places.shape[1] == 5 and known.shape[1] == 2 * axes + 3
    if not shaped or places.dtype != np.float64 or known.dtype != np.float64:
        raise ValueError("its table is malformed")
    whole = places[:, 1:]
    most = max(len(places), d)  # no node, variable or row has a larger number
    wrong = (whole != np.round(whole)) | (np.abs(whole) > most)
    if not np.isfinite(places).all() or wrong.any():
        raise ValueError("its table is malformed")
    nodes, row_of_node = np.zeros(len(places), NODE), places[:, 4].astype(np.int64)
    for name, column in zip(("cut", "feature", "low", "high"), places.T, strict=False):
        nodes[name] = column
    leaf = nodes["feature"] == LEAF
    each_once = np.array_equal(np.sort(row_of_node[leaf]), np.arange(len(known)))
    if not each_once or (nodes["feature"] == d).any():
        raise ValueError("its table is malformed")
    action, q, visits = known[:, :axes], known[:, axes], known[:, axes + 1]
    rows = KnownRows(action, q, visits, known[:, axes + 2 : -1], known[:, -1])
    finite = np.isfinite(known[:, : axes + 2]).all() and not np.isinf(known).any()
    if not finite or not inside(space, rows.action):
        raise ValueError("its table is malformed")
    actions = np.zeros((len(nodes), axes))
    actions[leaf] = rows.action[row_of_node[leaf]]
    return KnownTable(make_tree(nodes, actions, d), np.where(leaf, row_of_node, -1), rows)


def inside(space: Continuous | Finite, actions: Array) -> bool:
    """Whether these are actions of the problem."""
    low, high = space.bounds
    reach = 1e-6 * (high - low)
    within = bool(np.all((actions >= low - reach) & (actions <= high + reach)))
    return within and (not isinstance(space, Finite) or bool(np.isin(actions, space.values).all()))


def restore(state: AtlasState, problem: Problem, arrays: dict[str, Array]) -> None:
    """Take over what `arrays_of` has written; ValueError if it cannot come from this problem."""
    d, axes, n = len(problem.state), state.memory.actions.shape[1], len(arrays["rewards"])
    shapes = {"states": (n, d), "actions": (n, axes), "rewards": (n,), "nexts": (n, d)}
    for name, shape in shapes.items():
        array = arrays[name]
        if array.dtype != np.float64 or array.shape != shape or not np.all(np.abs(array) <= FAR):
            raise ValueError(f"its {name} are malformed")
    _within(problem, arrays["states"], arrays["nexts"])
    flags, planned = arrays["flags"], arrays["planned"]
    shaped = flags.dtype == np.int32 and flags.shape == (n,)
    if not shaped or not np.all((flags >= 0) & (flags < 2 * LED)):
        raise ValueError("its flags are malformed")
    if not inside(problem.actions, arrays["actions"]):
        raise ValueError("its actions are not those of the problem")
    counts = planned[:-1]
    if planned.dtype != np.int32 or planned.ndim != 1 or len(planned) == 0 or planned[-1] < 0:
        raise ValueError("its plans are malformed")
    # as training would have planned: a file cannot ask for more plans than that
    plans = pairwise([0, *counts.tolist()])
    if np.any(counts > n) or not all(due(after, before) for before, after in plans):
        raise ValueError("its plans are malformed")
    if n:
        states, actions, rewards, nexts = (arrays[name] for name in MEMORY_ARRAYS[:-1])
        state.memory = Experience(states, actions, rewards, nexts, flags, n)
    state.planned, state.episodes = counts.tolist(), int(planned[-1])
    if "trials" in arrays:
        _restore_trials(state, problem, arrays, n)
    if TABLE_ARRAYS[0] in arrays:
        state.table, state.table_samples = _unpacked_table(arrays, problem), n
    state.followed = int(((flags & FOLLOWED) != 0).sum())
    state.curious = int(((flags & CURIOUS) != 0).sum())


def _within(problem: Problem, *parts: Array) -> None:
    """As training sees to it: what is declared holds for all samples; the planner counts on it."""
    axes = problem.chart().axes
    for states in parts:
        places = (states - axes["centre"]) * axes["scale"]
        outside = (np.abs(places) > EDGE) & (axes["kind"] == LINEAR)
        if outside.any():
            i, j = np.argwhere(outside)[0]
            axis = problem.state[j]
            declared = f"{axis.low:g} ... {axis.high:g}"
            value = f"{axis.name} is {states[i, j]:g}"
            raise ValueError(f"in one of its samples {value}, outside its range {declared}")


def _restore_trials(state: AtlasState, problem: Problem, arrays: dict[str, Array], n: int) -> None:
    trials = arrays["trials"]
    # once, some tables were made in a model
    shaped = trials.dtype == np.int32 and trials.shape in ((3,), (4,))
    if not shaped or (trials < 0).any() or (trials[[0, 2]] > n).any():
        raise ValueError("its trials are malformed")
    kept = [Grown(samples, entry) for samples, entry in unpacked(arrays, problem)]
    counts = [laws.samples for laws in kept]
    if not len(kept) - 1 <= trials[1] <= len(kept) or any(not 0 < count <= n for count in counts):
        raise ValueError("its trials are malformed")
    state.modelled, state.grown = int(trials[0]), kept[: trials[1]]
    state.tabled = int(trials[2])
    state.laws = kept[-1] if len(kept) > trials[1] else None
