"""Laws: a search for small trees of affine laws, for whoever has a fast simulator.

    stage 0          units of the variables, the best constant action, one law          laws/stages.py
    later stages     trees of the sizes up to `max_leaves` in turn, from random and     laws/search.py
                     grown beginnings, then regrown
    after each       what was found is made readable, and confirmed on other episodes   laws/tidy.py

An iteration is a stage. What is saved: the trees found so far, by size, so that stages go on from them.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import DEVICES
from spaql.ground.errors import SpaqlError, echoed
from spaql.learners.agent import Agent, Learned
from spaql.learners.law_files import Frontier, arrays_of, finite, lessons_of_file, restored
from spaql.learners.options import count, learner, names, number, one_of, option, switch
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES, new_outer
from spaql.plants.loop import with_previous
from spaql.plants.problem import Problem
from spaql.policy.evaluation import Evaluation, significantly_less
from spaql.policy.knowledge import Knowledge, Samples
from spaql.policy.outputs import gain_ranges, plain_gains
from spaql.policy.policy import Policy
from spaql.trees.edits import constant, first_variables, uses
from spaql.trees.regions import rows_of
from spaql.trees.tree import Tree

UNNOTICED = 0.02  # of the way from the best constant action to a teacher: less is not worth a warning
TOLERANCE = 0.0015  # of the way from the best constant action to the best tree: less is no difference
COMPARISONS = 3  # of laws of which more can be proven with the one that was found
ENOUGH_EPISODES = 8  # tell their own deviation
PREFERRED = {  # where episodes end in this: of the samples, for laws of which more can be proven; and least episodes
    "failure": (0.1, COMPARISONS * ENOUGH_EPISODES),
    "success": (0.5, 4000),
}


@dataclass
class LawsState(Learned):
    """What the search has found."""

    frontier: Frontier = field(default_factory=Frontier)
    middle: Array = field(default_factory=lambda: np.zeros(0))  # units (laws/vector.py); empty: unknown
    inverse: Array = field(default_factory=lambda: np.zeros(0))
    states: Array = field(default_factory=lambda: np.zeros((0, 0)))  # visited ones, in units: tests go through them
    floor: float = float("nan")  # mean return of the best constant action
    tidying: float = 0.0  # samples that the last tidying took
    taught: Array = field(default_factory=lambda: np.zeros((0, 0)))  # observation and action of a teacher, a row each
    exams: Array = field(default_factory=lambda: np.zeros(0))  # its returns in the first episodes of the confirmation
    own: Array = field(default_factory=lambda: np.zeros(0))  # those of the best tree in the same episodes
    confirmed: Array = field(default_factory=lambda: np.zeros(0))  # in environments: returns of the best tree in
    # episodes by which nothing was chosen
    slow: bool = False  # searched in an environment that is none of our plants

    @property
    def tolerance(self) -> float:
        """A difference of mean returns that does not count."""
        trees = (*self.frontier.tidy.values(), *self.frontier.raw.values())
        best = max((entry.mean for entry in trees), default=self.floor)
        return TOLERANCE * max(best - self.floor, 0.0) if np.isfinite(self.floor) else 0.0


@learner
class Laws(Agent):
    """A few affine laws behind a few tests, found by search on the plant: hundreds of millions of samples.

    Needs a compiled plant, or an environment that makes many steps per second.

    `teacher`: one of our policies or agents, anything with `predict` such as a model of Stable-Baselines3, or a
    function from an observation to an action. What it does is recorded when learning begins, and kept in the agent's
    file; the teacher itself is not.
    """

    algorithm = "Laws"
    advice = "give it more samples, or allow more leaves (max_leaves)"
    max_leaves: int = option("largest number of leaves", count(1, 64), default=4)
    effort: float = option(
        "candidates, generations and episodes of a stage, relative to the default; above 1 samples go with its square",
        number(0.0, 100.0, above=True),
        default=1.0,
    )
    jobs: int = option(
        "worker processes for Gymnasium environments; the laws do not depend on their number",
        count(1, 10_000),
        default=1,
    )
    device: str = option(
        "where the episodes of the search run: cpu, or cuda, a graphics card", one_of(*DEVICES), default="cpu"
    )
    provable: bool = option(
        "prefer a law of which more can be proven: of equal return where episodes fail; else one with which every "
        "start arrives",
        switch,
        default=False,
    )
    observe: tuple[str, ...] | None = option(
        "the variables that laws and tests look at, by name (default: the search finds out)", names, default=None
    )
    gains: dict[str, Any] | None = option(
        "what is known of gains, by variable: `(0, None)` a sign, `(1, 3)` a range, `0`; see docs/features.md",
        plain_gains, default=None,
    )  # fmt: skip
    teacher: Any = field(default=None)
    state: LawsState = field(init=False)
    searched: Problem = field(init=False)  # the problem with what else laws may see: where actions have rates

    def _begin(self) -> None:
        if self.teacher is not None and not callable(getattr(self.teacher, "predict", self.teacher)):
            kind = type(self.teacher).__name__
            raise SpaqlError(f"a teacher has predict(observation), or is a function of an observation, not {kind}")
        # a filter needs to know what was applied before; a teacher and its laws see what they see
        self.searched = with_previous(self.problem) if self.teacher is None else self.problem
        if self.observe is not None:
            seen = [axis.name for axis in self.searched.state]
            for name in self.observe:
                if name not in seen:
                    raise SpaqlError(f"observe: {echoed(name)} is not observed: choose among {', '.join(seen)}")
            self.searched = replace(self.searched, looked_at=self.observe)
        if self.gains is not None:
            self.searched = replace(self.searched, gains=gain_ranges(self.gains, self.searched))
        self.state = LawsState(outer=new_outer(0.0, 0.0))

    def remarks(self, hurry: bool = False, fresh: Evaluation | None = None) -> tuple[str, ...]:
        state, remarks, more = self.state, [], self.advice
        choice = not self.problem.actions.single
        tried = state.frontier.raw
        constant = self.tree.laws is None
        if choice and state.outer[TRAIN_SAMPLES] and constant and self.problem.plant is None:  # else it is tested
            remarks.append(f"no law better than one constant action was found: {more}")
        elif choice and not constant and tried and max(tried) < self.max_leaves:
            sizes = f"no more than {max(tried)} of at most {self.max_leaves} laws were searched for"
            remarks.append(f"{sizes}: give more samples, or lower max_leaves or effort")
        if self.teacher is not None and state.outer[TRAIN_SAMPLES] and choice and not len(state.taught):
            remarks.append("the samples did not suffice to watch the teacher: give more samples")
        share, episodes = PREFERRED.get(self.problem.ends or "", (1.0, 0))
        needed = episodes * self.problem.horizon / share
        if self.provable and 0 < state.outer[TRAIN_SAMPLES] < needed:
            remarks.append(f"no law that is easier to prove was looked for: it takes at least {needed:,.0f} samples")
        remarks += self._doubts()
        n = min(len(state.own), len(state.exams))
        if n and significantly_less(state.own[:n], state.exams[:n]):
            own, teachers = (float(returns[:n].mean()) for returns in (state.own, state.exams))
            if teachers - own > UNNOTICED * (teachers - state.floor):
                against = f"{own:.5g} against {teachers:.5g} on the same {n} episodes"
                remarks.append(f"the laws are significantly worse than their teacher ({against}): {more}")
        return tuple(remarks)

    @property
    def confirmed(self) -> Evaluation | None:
        """The episodes that confirmed what is returned, and by which nothing was chosen; print it, or ask its `.ci95`.

        None where nothing was confirmed, and on compiled plants, which confirm in a thousand episodes and keep the
        mean only (`history`). Limits cost what they cost in the search.
        """
        returns = self.state.confirmed
        return Evaluation(returns, 0) if len(returns) else None

    def _doubts(self) -> list[str]:
        """What the confirmation in an environment leaves open."""
        state = self.state
        searched = np.isfinite(state.floor) and state.frontier.tidy and self.tree.laws is not None
        if not searched or not state.slow:
            return []
        n = len(state.confirmed)
        if n < 2:
            return [f"the samples did not suffice to confirm the laws in other episodes ({n}): give more samples"]
        if Evaluation(state.confirmed, 0).ci95[0] > state.floor:
            return []
        return [f"{n} episodes do not show that the laws are better than a constant action: give more samples"]

    # -- the policy ----------------------------------------------------------------------------------------------------

    @property
    def tree(self) -> Tree:
        """The best tree found; before there is one, the middle of the actions everywhere."""
        trees = self.state.frontier.monotone(self.state.tolerance)
        return trees[-1].tree if trees else constant(len(self.searched.state), middle_action(self))

    def _policy(self, step: int | None) -> Policy:
        used = Samples(int(self.state.outer[TRAIN_SAMPLES]), int(self.state.outer[EVAL_SAMPLES]))
        known = Knowledge(self.algorithm, self.seed, used)
        origin = f"{self.algorithm} on {self.problem.name}, seed {self.seed}"
        tree, d = self.tree, len(self.problem.state)
        if self.searched is not self.problem and not uses(tree, d):  # no filter has paid
            return Policy(self.problem, first_variables(tree, d), "law tree", origin, known, notes=self.notes)
        return Policy(self.searched, tree, "law tree", origin, known, notes=self.notes)

    @property
    def arms(self) -> int:
        """Leaves of the tree."""
        return self.tree.n_leaves

    def leaves(self) -> Array:
        """The laws as a structured array: gains and offset of every output; of a constant leaf its action."""
        with self.state.guard.read():
            return rows_of(self.tree)

    # -- files ---------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        state = self.state
        sizes = {"middle": state.middle, "inverse": state.inverse, "states": state.states}
        levels = [state.floor, state.tidying, *([1.0, *state.confirmed] if state.slow else [])]
        exams = [state.exams, state.own] if len(state.own) else [state.exams]
        taught = {"taught": state.taught, "exams": np.stack(exams)}
        return sizes | {"levels": np.array(levels)} | taught | arrays_of(state.frontier)

    def restore(self, arrays: dict[str, Array]) -> None:
        if len(arrays["middle"]) == len(self.problem.state):  # written before there were filters
            self.searched = replace(self.problem, looked_at=self.searched.looked_at, gains=self.searched.gains)
        state, d = self.state, len(self.searched.state)
        levels = arrays["levels"]
        numbers = levels.dtype == np.float64 and levels.ndim == 1 and len(levels) >= 2 and not np.isinf(levels).any()
        if not numbers or not levels[1] >= 0.0:
            raise ValueError("its best constant return is malformed")
        middle, inverse = (finite(arrays, name, 1, "units are") for name in ("middle", "inverse"))
        states, known = finite(arrays, "states", 2, "states are"), len(middle) > 0
        if len(middle) != len(inverse) or len(middle) not in (0, d):
            raise ValueError("its units are malformed")
        if states.shape[1] != (d if known else 0) or (known and len(states) == 0) or (inverse < 0).any():
            raise ValueError("its states are malformed")
        state.taught, state.exams, state.own = lessons_of_file(arrays, d + self.problem.actions.axes)
        state.frontier = restored(arrays, self.searched)
        state.middle, state.inverse, state.states = middle, inverse, states
        if np.isnan(levels[2:]).any():
            raise ValueError("its returns of the confirmation are malformed")
        state.floor, state.tidying = levels[:2].tolist()
        state.slow, state.confirmed = len(levels) > 2, levels[3:]


def middle_action(agent: Agent) -> Array:
    """An action that does no harm as far as anybody knows."""
    return agent.problem.actions.middle
