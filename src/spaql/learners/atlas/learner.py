"""Atlas keeps all data, learns a model, and takes its controller from it: a few laws, or a table.

laws         look-ahead in a Gaussian process    laws/atlas_trials.py, laws/in_model.py
table        a plan, made again with more data   training/atlas_loop.py, plan.py
  model      quadratic, and affine in cells      cell_model.py, cell_fit.py, cells.py, endings.py
  values     at support points                   support.py, values.py
controller   found with all data                 atlas_controller.py, imagine.py

Equations of the table: docs/atlas-table.md. What is saved: state.py.
"""

import threading
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spaql.gp.learned_problem import FEWEST
from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.checks import DEVICES, FAR, bit, numbers, whole
from spaql.ground.errors import SpaqlError
from spaql.learners.agent import Agent
from spaql.learners.atlas.atlas_controller import (
    controller_of,
    final_plan,
    find_controller,
    laws_policy,
    table_policy,
    table_visits_of,
    told_problem,
)
from spaql.learners.atlas.experience import BEGAN, TERMINATED, features_of, new_memory
from spaql.learners.atlas.local_model import AtlasModel
from spaql.learners.atlas.plan import MOST_ACTIONS, Plan, Settings, make_plan, planned_actions
from spaql.learners.atlas.remembering import remembering
from spaql.learners.atlas.state import TABLE_ARRAYS, AtlasState, arrays_of, due, restore
from spaql.learners.options import count, learner, number, one_of, option, switch
from spaql.learners.outer import TRAIN_SAMPLES, new_outer
from spaql.plants.chart import to_cube
from spaql.plants.problem import Finite, Problem
from spaql.policy.digits import counted
from spaql.policy.evaluation import Evaluation
from spaql.policy.memory import observed
from spaql.trees.regions import rows_of
from spaql.trees.tree import decide

if TYPE_CHECKING:
    from spaql.laws.trust import Trust
    from spaql.policy.policy import Policy

DRAFT_PART = 4  # plans during training have the n-th part of the cells
DEFAULT_CELLS = (8000, 16_000)  # of the final plan by default: at least, at most
CELLS_PER_SAMPLE = 0.8  # of the final plan by default, between these two
MOST_NEIGHBOURS = 100  # of a state, between which its value is interpolated
NOTHING = "nothing was learned yet: it always applies the same action"


@learner
class Atlas(Agent):
    """Model-based, for problems where samples are expensive. No evaluation rollouts."""

    algorithm = "Atlas"
    advice = "give it more samples"
    not_in_every_file = frozenset(TABLE_ARRAYS)
    before_it_was_an_option: ClassVar = {"controller": "table"}
    controller: str = option(
        '"laws" (a few affine laws), "table" (a table of cells), or "best": '
        "laws, or a table where it earns notably more in the learned model",
        one_of("best", "laws", "table"),
        default="best",
    )
    use_known: bool = option(
        "laws use the reward and the end of episodes where the problem knows them, instead of learning them",
        switch,
        default=True,
    )
    cells: int | None = option(
        "number of cells of the table; more are finer and slower "
        "(default: 8000, and with more than 10,000 samples up to 16,000; "
        "plans during training have a quarter)",
        count(1, 100_000),
        default=None,
    )
    model_cells: int = option("largest number of cells with a local model", count(1, 100_000), default=2000)
    neighbours: int | None = option(
        "support points between which values are interpolated "
        "(default: four per observed variable; 1: none)",
        count(1, MOST_NEIGHBOURS),
        default=None,
    )
    levels: int | None = option(
        "levels of each continuous action in planning (default: 5, or 3 with several actions)",
        count(2, MOST_ACTIONS),
        default=None,
    )
    hold: int = option("most steps an action is held in planning, within one cell", count(1, 1000), default=5)
    explore: bool = option("half of the samples explore states with few data", switch, default=True)
    chance: float = option("probability of a random action in training", number(0.0, 1.0), default=0.1)
    gamma: float = option("discount", number(0.0, 0.9999, above=True), default=0.995)
    device: str = option("where laws are tried in the model: cpu, or cuda: a card", one_of(*DEVICES), default="cpu")
    state: AtlasState = field(init=False)
    settings: Settings = field(init=False)
    actions: Array = field(init=False)  # (n, axes), physical: the actions among which plans choose

    def _begin(self) -> None:
        d, axes = len(self.problem.state), self.problem.actions.axes
        near = min(4 * d, MOST_NEIGHBOURS) if self.neighbours is None else self.neighbours
        near = whole("neighbours", near, 1, MOST_NEIGHBOURS)
        cells = DEFAULT_CELLS[0] if self.cells is None else self.cells
        self.settings = Settings(cells, self.model_cells, near, self.hold, self.gamma, self.explore)
        self.actions = planned_actions(self.problem, self.levels, self.settings)
        self.state = AtlasState(new_memory(d, axes), outer=new_outer(0.0, 0.0))

    # -- learning ----------------------------------------------------------------------------------

    def update(
        self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False,
        step: int | None = None
    ) -> None:
        """One transition from external data, in physical units.

        `step` 0 marks the first transition of an episode; without `step`, an episode begins where
        `obs` is not the `next_obs` of the call before.
        """
        d = len(self.problem.state)
        before, after = numbers("obs", obs, (d,)), numbers("next_obs", next_obs, (d,))
        applied, value = self._applied(action), float(numbers("reward", reward, ()))
        for name, given in (("obs", before), ("next_obs", after), ("reward", np.array(value))):
            if not np.all(np.abs(given) <= FAR):
                value = np.asarray(given).tolist()
                raise SpaqlError(f"{name} is {value}: numbers must be finite, and below {FAR:g}")
        for name, given in (("obs", before), ("next_obs", after)):
            self.observation_error(to_cube(self.chart, given, np.empty(d)), given, name)
        ended = bit("terminated", terminated)
        with self.state.guard.write():
            memory, n = self.state.memory, self.state.memory.n
            open_end = n > 0 and not memory.flags[n - 1] & TERMINATED
            goes_on = open_end and np.array_equal(memory.nexts[n - 1], before)
            began = not goes_on if step is None else whole("step", step, 0) == 0
            memory.add(before, applied, value, after, TERMINATED * ended + BEGAN * began)
            self.state.outer[TRAIN_SAMPLES] += 1

    def _applied(self, action: Any) -> Array:
        """A physical action (axes,), checked."""
        if isinstance(self.problem.actions, Finite):
            applied: Array = self.actions[int(self.action_in_cube(action)[0])]
            return applied
        self.action_in_cube(action)
        return numbers("action", np.atleast_1d(action), (self.actions.shape[1],))

    def plan_at(self, n: int) -> None:
        """Plan with the first `n` samples: training goes on by it."""
        self.state.plan = self.plan_of(n, self.state.plan)
        self.state.planned.append(n)

    def plan_due(self) -> bool:
        return due(self.state.memory.n, self.state.planned[-1] if self.state.planned else 0)

    def plan_of(self, n: int, last: Plan | None, *, fine: bool = False, salt: int = 0) -> Plan:
        """Of the first `n` samples, after another plan. `salt`: with other support points."""
        cells = self.settings.cells if fine else max(1, self.settings.cells // DRAFT_PART)
        if fine and self.cells is None:
            cells = int(np.clip(CELLS_PER_SAMPLE * n, *DEFAULT_CELLS))
        data = self.state.memory.transitions(self.problem.actions, n)
        key = int(streams.key_of(self.seed, streams.PLAN, n) >> np.uint64(2)) ^ salt
        choices = features_of(self.problem.actions, self.actions)
        settings = self.settings._replace(cells=cells)
        return make_plan(data, choices, self.actions, self.problem, settings, last, key)

    def replay_plans(self) -> None:
        """Of a loaded agent, which has its data and the times of its plans."""
        state = self.state
        if state.plan is None and state.planned:
            counts, state.planned = state.planned, []
            for n in counts:
                self.plan_at(n)

    @property
    def problem_told(self) -> Problem:
        return told_problem(self)

    def conclude(self, stop: threading.Event) -> None:
        if self.state.memory.n:
            find_controller(self, stop)

    def _check_data(self) -> None:
        if not self.state.memory.n:
            raise SpaqlError("there are no data yet: learn(samples=...) or update(...) first")

    def current_plan(self) -> Plan:
        self._check_data()
        return self.plan_after(self.state.memory.n)

    def plan_after(self, n: int) -> Plan:
        """That of the first `n` samples; the plan of all is kept."""
        final = self.state.final
        if final is None or final.samples != n:
            final = final_plan(self, n)
        if n == self.state.memory.n:
            self.state.final = final
        return final

    # -- acting ------------------------------------------------------------------------------------

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None,
        deterministic: bool = True
    ) -> tuple[Any, Any]:
        """The controller's action, as in Stable-Baselines3; at first the middle one of all."""
        batch, single = observed(self.problem, observation, state)
        if not np.all(np.abs(batch) <= FAR):
            raise SpaqlError("observations must be finite")
        with self.state.guard.read():
            middle = np.repeat(self.actions[[len(self.actions) // 2]], len(batch), axis=0)
            applied = decide(controller_of(self), batch) if self.state.memory.n > 0 else middle
        actions = self.problem.native(applied)
        return (actions[0] if single else actions), state

    def _policy(self, step: int | None) -> "Policy":
        if step is not None:
            raise SpaqlError("the policy of Atlas is the same at every step: leave `step` out")
        return table_policy(self) if self.tabled else laws_policy(self)

    @property
    def tabled(self) -> bool:
        """Whether the controller is the table; what is not decided yet is computed."""
        if self.controller != "table" and self.state.memory.n > 0:
            controller_of(self)
        return self.controller == "table" or 0 < self.state.tabled == self.state.memory.n

    @property
    def notes(self) -> tuple[str, ...]:
        return self.state.notes if self.state.memory.n else (NOTHING,)

    def remarks(self, hurry: bool = False, fresh: Evaluation | None = None) -> tuple[str, ...]:
        if hurry or self.controller == "table" or self.state.memory.n < FEWEST:
            return ()
        return self.trust().in_short(fresh)

    @property
    def model(self) -> AtlasModel:
        """What was learned of the plant: `model.predict(...)`, and `model.linear(at)` with intervals."""
        return AtlasModel(self)

    def trust(self) -> "Trust":
        """What the model says of the controller, what the plant said, where they disagree."""
        from spaql.laws.trust import trust_in

        with self.state.guard.read():
            if self.state.trust is None or self.state.trust.samples != self.state.memory.n:
                self.state.trust = trust_in(self)
            return self.state.trust

    def with_memory(self, memory: Sequence[str] = ()) -> "Atlas":
        """Another agent with the same data, which also sees what was observed and applied some
        steps before.

        For plants of which something is not observed. `memory`: as for `spaql.loop`; by default
        what `trust` advises.
        """
        self._check_data()
        with self.state.guard.read():
            return remembering(self, memory)

    # -- looking inside ----------------------------------------------------------------------------

    @property
    def arms(self) -> int:
        """Cells of the table, or laws."""
        if self.state.memory.n == 0:
            return 1
        with self.state.guard.read():
            return controller_of(self).n_leaves

    def leaves(self) -> Array:
        """The cells of the table (state, action, q, visits) as a structured array; or the laws."""
        with self.state.guard.read():
            self._check_data()
            plan = self.current_plan() if self.tabled else None
            if plan is None:
                return rows_of(controller_of(self))
            return plan.rows(table_visits_of(self, plan))

    # -- files -------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        return arrays_of(self.state, self.controller != "table")

    def restore(self, arrays: dict[str, Array]) -> None:
        restore(self.state, self.problem, arrays)

    def __repr__(self) -> str:  # without a search, which would take too long for a name
        state, n, size = self.state, self.state.memory.n, ""
        if state.laws is not None and state.laws.samples == n:
            size = f"{counted(state.laws.entry.tree.n_leaves, 'law')} after "
        elif state.table is not None and state.table_samples == n:
            size = f"{counted(len(state.table.rows.q), 'cell')} after "
        return f"<Atlas on {self.problem.name}: {size}{counted(n, 'sample')}, seed {self.seed}>"
