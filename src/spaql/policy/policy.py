"""A policy: a partition of the states with an action, or a law for it, in every cell.

Tables, exact trees, compressed trees and trees of laws are all of this kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground import checks
from spaql.ground.arrays import Array
from spaql.ground.checks import choice, numbers, whole
from spaql.ground.errors import SpaqlError
from spaql.plants.problem import Problem
from spaql.policy.certificate import Certificate
from spaql.policy.digits import counted
from spaql.policy.evaluation import Evaluation
from spaql.policy.knowledge import Knowledge, policy_table
from spaql.policy.law_words import count_numbers
from spaql.policy.memory import Memory, finite_states, predict_in_loop
from spaql.policy.probes import Probes, tolerance_table
from spaql.policy.why import Why, explain_action
from spaql.policy.words import Words
from spaql.trees.edits import merged
from spaql.trees.tree import Tree, bounds_of, decide

if TYPE_CHECKING:
    from spaql.compress.frontier import FrontierPoint
    from spaql.proofs.proof import Proof
    from spaql.training.closed_loop import Usage

USAGE_EPISODES = 200  # of rollouts that tell where the closed loop goes
USAGE_IN_PYTHON = 5  # the same, in an environment that is not compiled
USAGE_SEED = 2**40  # far from the seeds people evaluate with
CERTIFIED_SEED = 1_000_000  # the same, short enough to be read in a certificate


@dataclass(frozen=True, eq=False)
class Policy(Probes):
    """A function from observation to action. Nothing in a policy is random.

    `kind`: "table" (the cells of a learned partition), "exact tree" (the same, smaller), "compressed tree", "law tree".
    """

    problem: Problem
    rules: Tree
    kind: str
    origin: str  # what it was made from, for people
    knowledge: Knowledge = Knowledge()  # noqa: RUF009  (what learning knew when the table was made)
    table_policy: "Policy | None" = None  # the table a tree was made from
    samples: int = 0  # plant steps used to make it, after learning
    frontier: "tuple[FrontierPoint, ...]" = field(default=())  # of a compressed tree: all sizes that were found
    notes: tuple[str, ...] = ()  # warnings, a line each: what it is worse than, and what to do
    certificate: Certificate | None = None  # how often these rules fail at most; none goes over to other rules
    proof: "Proof | None" = None  # a theorem about these rules; none goes over to other rules

    # -- acting --------------------------------------------------------------------------------------------------------

    @property
    def n_leaves(self) -> int:
        return self.rules.n_leaves

    @property
    def has_laws(self) -> bool:
        """Whether leaves are laws, which follow the observation, instead of constant actions."""
        return self.rules.laws is not None

    @cached_property
    def numbers(self) -> int:
        """How many the printed controller contains; a gain of one (`clip(2·angle + rate, ...)`) is not printed."""
        return count_numbers(self.rules)

    def decide(self, states: Any) -> Array:
        """The actions (n, axes) for states (n, variables), physical units."""
        return decide(self.rules, finite_states(self.problem, states))

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """The action for one observation or a batch, as in Stable-Baselines3.

        Of a controller in a loop, `state=policy.memory()` begins an episode: `observation` is then what is measured,
        followed by the references, and the memory is carried along as the second value.
        """
        if isinstance(state, Memory):
            begins = episode_start is not None and bool(np.all(episode_start))
            return predict_in_loop(self, observation, Memory() if begins else state)
        return super().predict(observation, state, episode_start, deterministic)

    def memory(self) -> Memory:
        """The memory of a controller in a loop before its first step, for `predict`."""
        if self.problem.signals is None:
            raise SpaqlError(f"{self.problem.name} is not in a loop (spaql.loop): its controllers have no memory")
        return Memory()

    def evaluate(self, episodes: int = 1000, seed: int = 0, device: str = "cpu") -> Evaluation:
        """Fresh rollouts, from the start states of `Agent.evaluate` with the same seed. `device="cuda"`: on a card."""
        from spaql.training.closed_loop import evaluated

        counts = whole("episodes", episodes, 1, 10**8), whole("seed", seed, 0)
        return evaluated(self.problem, self.rules, *counts, checks.device(device))

    def certify(
        self, episodes: int = 1000, seed: int = CERTIFIED_SEED, *, confidence: float = 0.95, date: str | None = None,
        device: str = "cpu",
    ) -> "Policy":  # fmt: skip
        """The same policy with a certificate: how often it fails at most. `device="cuda"`: of up to 10^12 episodes."""
        from spaql.training.closed_loop import certified

        return replace(self, certificate=certified(self, episodes, seed, confidence, date, checks.device(device)))

    @property
    def assurances(self) -> list[str]:
        """What its certificate and its proof say, a line each."""
        return [*(self.certificate.lines if self.certificate else ()), *(self.proof.lines if self.proof else ())]

    def with_proof(self, proof: "Proof | str | PathLike[str]") -> "Policy":
        """The same policy with what `prove` returned, or a file of it, checked first: shown where it is shown."""
        from spaql.proofs.check_proof import proof_about

        return replace(self, proof=proof_about(self, proof))

    # -- looking inside ------------------------------------------------------------------------------------------------

    @cached_property
    def usage(self) -> "Usage | None":
        """Rollouts of the closed loop: how often each leaf is in charge, and some states; None without a plant."""
        from spaql.training.closed_loop import run_episodes

        if not self.problem.can_run:
            return None
        episodes = USAGE_EPISODES if self.problem.plant is not None else USAGE_IN_PYTHON
        return run_episodes(
            self.problem, self.rules, episodes, USAGE_SEED, states=episodes * min(self.problem.horizon, 200)
        )

    @cached_property
    def share(self) -> Array:
        """By node: the share of time a leaf is in charge; NaN without a plant."""
        used = self.usage
        return np.full(len(self.rules.nodes), np.nan) if used is None else used.visits / max(used.visits.sum(), 1)

    def bounds(self) -> tuple[Array, Array]:
        """By node: the box of its region, physical.

        Open ends are infinite, and bounded variables end at their bounds.
        """
        low, high = bounds_of(self.rules)
        for j, axis in enumerate(self.problem.state):
            if axis.slope is None:
                low[:, j], high[:, j] = np.maximum(low[:, j], axis.low), np.minimum(high[:, j], axis.high)
        return low, high

    @cached_property
    def words(self) -> Words:
        """How tests, rules and actions of this policy are said."""
        return Words(self.problem, self.rules)

    @property
    def is_table(self) -> bool:
        """Whether the rules are the table as it was learned, so that every leaf is one of its cells."""
        return self.knowledge.table is not None and self.knowledge.table.rules is self.rules

    def table(self) -> Any:
        """A pandas DataFrame with one row per region: bounds, action, and what is known about it."""
        return policy_table(self)

    def why(self, observation: Any) -> Why:
        """Why this action is applied here: path, rule, alternatives, distance to another action, experience."""
        return explain_action(self, observation)

    def tolerance(self, fall: float = 0.01, episodes: int | None = None, seed: int = 0, device: str = "cpu") -> Any:
        """How much each number may be changed, alone, before the mean return falls by `fall` of its size.

        A pandas DataFrame with one row per number: place, number, value, and the interval `from` ... `to` in which the
        return stays; infinite where no change up to ten times the number did harm. On `episodes` fresh episodes (200;
        5 in environments that are not compiled), the same for all; `attrs` has the returns and the steps taken.
        """
        fall = numbers("fall", fall, ()).item()
        if not 0.0 < fall <= 1.0:
            raise SpaqlError(f"fall must be above 0 and at most 1, it is {fall:g}")
        count = None if episodes is None else whole("episodes", episodes, 1, 10**8)
        return tolerance_table(self, fall, count, whole("seed", seed, 0), device)

    # -- other forms ---------------------------------------------------------------------------------------------------

    def tree(self) -> "Policy":
        """A smaller tree with exactly the same action in every state."""
        rules = self.knowledge.exact() if self.is_table else merged(self.rules)
        if self.has_laws:  # what prints as laws is called by them, in whatever form
            return replace(self, rules=rules, proof=None)
        return replace(self, rules=rules, kind="exact tree", table_policy=self.table_policy or self, proof=None)

    def compress(self, max_leaves: int | None = None, **options: Any) -> "Policy":
        """A tree that may differ where it does not matter.

        The smallest not significantly worse than the table, or the best with at most `max_leaves`.
        """
        from spaql.laws.law_compression import OPTIONS, compress

        for name in options:
            choice("the option", name, OPTIONS)
        return compress(self, max_leaves, **options)

    def draw_frontier(self, path: str | PathLike[str], baselines: Mapping[str, Any] | None = None) -> None:
        """Of a compressed tree: leaves against fresh return, with the table.

        `baselines`: controllers by name: policies, agents, `spaql.Controller`. What has no leaves is a line.
        """
        from spaql.compress.frontier import frontier_figure

        frontier_figure(self, path, {} if baselines is None else baselines)

    # -- exports -------------------------------------------------------------------------------------------------------

    def export(self, to: str, **options: Any) -> str:
        """The controller as text, in one of the forms of `spaql.export.FORMATS`: code, data, drawing or words."""
        from spaql.export import export

        return export(self, to, **options)

    def to_c(self, **options: Any) -> str:
        """C99: `void controller(const double *obs, double *action)`.

        Options: precision, name, form, main, sizes, monitor.
        """
        return self.export("c", **options)

    def to_python(self, **options: Any) -> str:
        """A Python function without imports. Options: name, monitor."""
        return self.export("python", **options)

    def to_st(self, **options: Any) -> str:
        """A function block in IEC 61131-3 Structured Text. Options: name, monitor."""
        return self.export("st", **options)

    def save_fmu(
        self, path: str | PathLike[str], version: int = 2, *, name: str = "controller", monitor: Any = None,
        dt: float | None = None,
    ) -> None:  # fmt: skip
        """A source-code FMU of FMI 2 or 3 for co-simulation. `dt`: seconds between samples."""
        from spaql.export.packages import package, write_package

        write_package(path, package(self, f"fmu{whole('version', version, 2, 3)}", name=name, monitor=monitor, dt=dt))

    def save_arduino(
        self, folder: str | PathLike[str], *, name: str = "controller", monitor: Any = None, dt: float | None = None
    ) -> None:
        """A library for Arduino and PlatformIO, in single precision."""
        from spaql.export.packages import package, write_package

        write_package(folder, package(self, "arduino", name=name, monitor=monitor, dt=dt))

    def to_json(self) -> str:
        """Loads back with `Policy.from_json`; the schema is in docs/exports.md."""
        return self.export("json")

    @staticmethod
    def from_json(text: str, problem: Problem | None = None) -> "Policy":
        """The policy written by `to_json`. `problem`: where to run it, if it is not one of `spaql.problems()`."""
        from spaql.export.json_form import policy_from_json

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
        if self.has_laws:
            laws, numbers = counted(self.n_leaves, "law"), counted(self.numbers, "number")
            return f"<{self.kind} of {self.origin}: {laws}, {numbers}, depth {self.rules.depth}>"
        return f"<{self.kind} of {self.origin}: {self.n_leaves:,} leaves, depth {self.rules.depth}>"
