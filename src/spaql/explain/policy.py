"""A policy: a partition of the states with an action in every cell. Tables, exact trees and compressed trees are all of this kind."""

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import choice, numbers, observations, whole
from spaql.errors import SpaqlError
from spaql.explain.cells import Cells, cells_of, refuse_time, table_tree
from spaql.explain.rolling import Played, play_episodes, record_episode
from spaql.explain.tree import Tree, bounds_of, leaf_of
from spaql.partition.forest import USED, Forest, resized
from spaql.plants.chart import HUGE
from spaql.plants.problem import Finite, Problem
from spaql.training.history import Evaluation
from spaql.training.recording import Episode

if TYPE_CHECKING:
    from spaql.learners.agent import Agent
    from spaql.learners.atlas.planning import Plan

USAGE_EPISODES = 200
USAGE_SEED = 2**40  # of rollouts that tell where the closed loop goes; far from the seeds people evaluate with


@dataclass(frozen=True, eq=False)
class Policy:
    """What is played where. `decide` of an observation is `rules.actions[leaf]`; nothing in it is random.

    `kind`: "table" (the cells of a learned partition), "exact tree" (the same, smaller) or "compressed tree".
    """

    problem: Problem
    rules: Tree
    kind: str
    origin: str  # what it was made from, for people
    cells: Cells | None = None  # of a table
    cell_of_node: Array | None = None  # of a table: the cell of each leaf
    table_policy: "Policy | None" = None  # the table a tree was made from
    agent: "Agent | None" = None  # who learned it
    forest: Forest | None = None  # what had been learned when the policy was made; the agent may learn on
    plan: "Plan | None" = None  # of Atlas: model, values and table
    step: int = 0  # of a policy that changes with time: which one this is
    samples: int = 0  # plant steps used to make it, after learning
    frontier: tuple[Any, ...] = field(default=())  # of a compressed tree: all sizes that were found

    # -- acting --------------------------------------------------------------------------------------------------------------------

    @property
    def n_leaves(self) -> int:
        return self.rules.n_leaves

    def decide(self, states: Any) -> Array:
        """The actions (n, axes) for states (n, variables), physical units."""
        batch = numbers("observation", states, (-1, len(self.problem.state)))
        if not np.all(np.abs(batch) <= HUGE):
            raise SpaqlError("observations must be finite")
        return self.rules.actions[leaf_of(self.rules, batch)]

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True) -> tuple[Any, Any]:
        """The action for one observation or a batch, as in Stable-Baselines3."""
        batch, single = observations(observation, len(self.problem.state))
        actions = self.decide(batch)
        if isinstance(self.problem.actions, Finite) and not self.problem.actions.box:
            whole_numbers = all(value == round(value) for value in self.problem.actions.values)
            actions = actions[:, 0].astype(np.int64) if whole_numbers else actions[:, 0]
        else:
            actions = actions.astype(self.problem.action_dtype)
        return (actions[0] if single else actions), state

    def evaluate(self, episodes: int = 1000, seed: int = 0) -> Evaluation:
        """Fresh rollouts, from the start states of `Agent.evaluate` with the same seed."""
        played = play_episodes(self.problem, self.rules, whole("episodes", episodes, 1, 10**8), whole("seed", seed, 0))
        return Evaluation(played.returns, played.samples)

    def episode(self, seed: int = 0, rollout: int = 0) -> Episode:
        """Rollout number `rollout` of `evaluate(seed=seed)`, step by step."""
        return record_episode(self.problem, self.rules, whole("seed", seed, 0), whole("rollout", rollout, 0, 10**8))

    # -- looking inside ------------------------------------------------------------------------------------------------------------

    @cached_property
    def usage(self) -> Played | None:
        """Rollouts of the closed loop: how often each leaf is in charge, and some thousand states. None without a plant."""
        if not self.problem.can_run:
            return None
        episodes = USAGE_EPISODES if self.problem.plant is not None else 5
        return play_episodes(self.problem, self.rules, episodes, USAGE_SEED, states=episodes * min(self.problem.horizon, 200))

    @cached_property
    def share(self) -> Array:
        """By node: the share of time a leaf is in charge; NaN without a plant."""
        used = self.usage
        return np.full(len(self.rules.nodes), np.nan) if used is None else used.visits / max(used.visits.sum(), 1)

    def bounds(self) -> tuple[Array, Array]:
        """By node: the box of its region, physical; open ends are infinite, and bounded variables end at their bounds."""
        low, high = bounds_of(self.rules)
        for j, axis in enumerate(self.problem.state):
            if axis.slope is None:
                low[:, j], high[:, j] = np.maximum(low[:, j], axis.low), np.minimum(high[:, j], axis.high)
        return low, high

    def table(self) -> Any:
        """A pandas DataFrame with one row per region: bounds, action, and what is known about it."""
        from spaql.explain.tables import policy_table

        return policy_table(self)

    def why(self, observation: Any) -> Any:
        """Why this action is played here: path, rule, alternatives, distance to another action, experience."""
        from spaql.explain.why import explain_action

        return explain_action(self, observation)

    # -- other forms ---------------------------------------------------------------------------------------------------------------

    def tree(self) -> "Policy":
        """A small tree that plays exactly the same everywhere."""
        from dataclasses import replace

        from spaql.explain.exact import exact_tree, merged

        if self.cells is None or self.plan is not None:
            tree = merged(self.rules)
        else:
            assert self.agent is not None
            tree = exact_tree(self.agent.chart, self.cells)
        return replace(self, rules=tree, kind="exact tree", cells=None, cell_of_node=None, table_policy=self.table_policy or self)

    def compress(self, max_leaves: int | None = None, **options: Any) -> "Policy":
        """A tree that may differ where it does not matter: the smallest not significantly worse than the table, or at most `max_leaves`."""
        from spaql.explain.compress import OPTIONS, compress

        for name in options:
            choice("the option", name, OPTIONS)
        result: Policy = compress(self, max_leaves, **options)
        return result

    def draw_frontier(self, path: str | PathLike[str]) -> None:
        """Of a compressed tree: a picture of leaves against fresh return, with the table and controllers made by hand."""
        from pathlib import Path

        from spaql.explain.frontier_figure import frontier_figure

        frontier_figure(self, Path(path))

    # -- exports -------------------------------------------------------------------------------------------------------------------

    def export(self, to: str, **options: Any) -> str:
        """The controller as text: to c, python, st, json, dot, svg, md, txt, tex, csv or dtcontrol."""
        from spaql.explain.export import export

        return export(self, to, **options)

    def to_c(self, **options: Any) -> str:
        """C99: `void controller(const double *obs, double *action)`. Options: precision, name, form, main."""
        return self.export("c", **options)

    def to_python(self, **options: Any) -> str:
        """A Python function without imports."""
        return self.export("python", **options)

    def to_st(self, **options: Any) -> str:
        """A function block in IEC 61131-3 Structured Text."""
        return self.export("st", **options)

    def to_json(self) -> str:
        """Loads back with `Policy.from_json`; the schema is in docs/exports.md."""
        return self.export("json")

    @staticmethod
    def from_json(text: str, problem: Problem | None = None) -> "Policy":
        """The policy written by `to_json`. `problem`: where to play it, if it is not one of `spaql.problems()`."""
        from spaql.explain.export.json_form import policy_from_json

        return policy_from_json(text, problem)

    def to_dot(self, **options: Any) -> str:
        """Graphviz."""
        return self.export("dot", **options)

    def to_svg(self, **options: Any) -> str:
        """A drawing of the tree."""
        return self.export("svg", **options)

    def to_markdown(self, **options: Any) -> str:
        """One rule per line."""
        return self.export("md", **options)

    def to_text(self, **options: Any) -> str:
        """An indented tree."""
        return self.export("txt", **options)

    def to_latex(self, **options: Any) -> str:
        """A table for a paper."""
        return self.export("tex", **options)

    def to_csv(self, **options: Any) -> str:
        """One row per region."""
        return self.export("csv", **options)

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.origin}: {self.n_leaves} leaves, depth {self.rules.depth}>"


def policy_of(agent: "Agent", step: int | None = None) -> Policy:
    """See `Agent.policy`."""
    if agent.algorithm == "Random":
        raise SpaqlError("Random has no policy to show: it plays anything anywhere")
    if agent.algorithm == "Atlas":
        from spaql.explain.planned import policy_of_plan

        return policy_of_plan(agent, step)  # type: ignore[arg-type]
    at = refuse_time(agent, step)
    cells = cells_of(agent, at)
    tree, cell_of_node = table_tree(agent.chart, cells, cells.action.shape[1])
    origin = f"{agent.algorithm} on {agent.problem.name}, seed {agent.seed}" + (f", step {at}" if agent.state.space.trees > 1 else "")
    used, live = int(agent.state.forest.size[USED]), agent.state.forest
    forest = resized(live, agent.state.space, used)
    return Policy(agent.problem, tree, "table", origin, cells, cell_of_node, agent=agent, forest=forest, step=at)
