"""What every learner can do: learn, evaluate, predict, update, show its policy, be saved."""

import re
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import depth, numbers, whole
from spaql.ground.errors import SpaqlError, SpaqlWarning, echoed
from spaql.learners.guard import Guard
from spaql.learners.history import COLUMNS, History
from spaql.learners.options import checked, learner, options_of
from spaql.learners.registry import CARDS, Card
from spaql.plants.chart import Chart
from spaql.plants.problem import Finite, Problem
from spaql.policy.digits import counted
from spaql.policy.evaluation import Evaluation

if TYPE_CHECKING:
    from spaql.data.record import Replayed
    from spaql.policy.policy import Policy
    from spaql.training.episode import Episode

Callback = Callable[["Agent"], bool | None]
Callbacks = Callback | Sequence[Callback]


@dataclass
class Learned:
    """What an agent has learned and where its training stands; every learner adds its own."""

    outer: Array = field(kw_only=True)  # numbers of the outer loop, with the counters of samples: learners/outer.py
    history: Array = field(default_factory=lambda: np.zeros((0, len(COLUMNS))), kw_only=True)  # one row per iteration
    notes: tuple[str, ...] = field(default=(), kw_only=True)  # what the acceptance test after learning has found
    draws: int = field(default=0, kw_only=True)  # random predictions made so far
    guard: Guard = field(default_factory=Guard, kw_only=True)


@learner
class Agent(ABC):
    """Base of all learners. Their options are fields of their classes: see options.py."""

    algorithm: ClassVar[str]  # the name on its card
    advice: ClassVar[str] = "give it more iterations, or use spaql.Laws or spaql.Atlas"  # where it comes out badly
    not_in_every_file: ClassVar[frozenset[str]] = frozenset()  # arrays of files: some have them, some not
    before_it_was_an_option: ClassVar[dict[str, Any]] = {}  # what agents of files do that do not say otherwise
    problem: Problem = field(kw_only=False)
    seed: int = 0
    chart: Chart = field(init=False)
    state: Learned = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.problem, Problem):
            given = self.problem
            hint = f", not {type(given).__name__}"
            if isinstance(given, str):  # an id of Gymnasium ends with its version
                hint = f": give spaql.{'from_gym' if re.search(r'-v[0-9]+$', given) else 'make'}({echoed(given)})"
            raise SpaqlError(f"the problem must come from spaql.make, from_gym, from_plant or cube{hint}")
        self.chart = self.problem.chart()
        self.seed = whole("seed", self.seed, 0)
        for option in options_of(type(self)):
            setattr(self, option.name, checked(option, getattr(self, option.name)))
        self._interrupted, self._seconds = False, 0.0
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Replace options that are None, and begin with nothing learned. Every learner has its own."""

    @property
    def card(self) -> Card:
        """What kind of learner this is."""
        if self.algorithm not in CARDS:
            raise SpaqlError(f"{self.algorithm} has no card: add it to learners/registry.py")
        return CARDS[self.algorithm]

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments the agent was made with; None was replaced by the value it stands for."""
        return {option.name: getattr(self, option.name) for option in options_of(type(self))}

    # -- learning ------------------------------------------------------------------------------------------------------

    def learn(
        self,
        iterations: int | None = None,
        rollouts: int | None = None,
        *,
        samples: int | None = None,
        progress: bool | None = None,
        callback: Callbacks | None = None,
    ) -> History:
        """Train for `iterations` more episodes, each followed by `rollouts` evaluation rollouts.

        The default of `rollouts` is that of the problem. Learners that count samples can be given exactly `samples`
        more training steps instead; the last episode ends there. These learners need no evaluation: `rollouts` is 0 by
        default, and `evaluation` in the history is then the return of the training episode, its exploration included.

        `progress`: True for a bar from the beginning, False for none, None for one if it takes longer than two seconds;
        a log file gets a line now and then instead.

        `callback(agent)` is called after every iteration; if it returns False, training stops there. `spaql.callbacks`
        has ready callbacks; several callbacks go into a list. Ctrl-C stops too: the agent keeps everything learned up
        to the last complete iteration. Calling `learn` again goes on, as if there had been one call.

        Other threads that look at the agent (`predict`, `evaluate`, `save`) meanwhile get their turn between
        iterations; those that would change it are refused.

        A controller that is no better than a constant action, that loses episodes or breaks a limit, or that its own
        model doubts, brings one `SpaqlWarning`; see `notes`.
        """
        from spaql.training.trainer import learn

        with self.state.guard.write(training=True):
            history = learn(self, iterations, rollouts, samples, progress, callback)
        self.warn(stacklevel=3)
        return history

    def before_training(self) -> None:  # noqa: B027  (most learners have nothing to do here)
        """Called before each stretch of training iterations."""

    def train(self, samples: int, stop: threading.Event) -> None:
        """Only the training of `learn`, for whoever shows how far it is, and asks for the controller."""
        from spaql.training.trainer import train

        with self.state.guard.write(training=True):
            train(self, None, None, samples, None, stop, conclude=False)

    def conclude(self, stop: threading.Event) -> None:  # noqa: B027  (nor here)
        """The last part of learning: a model-based learner finds its controller.

        `stop`: set by Ctrl-C; then the best so far will do.
        """

    def remarks(self, hurry: bool = False, fresh: Evaluation | None = None) -> tuple[str, ...]:
        """What the learner itself knows against its controller, a line each.

        `hurry`: without long thought. `fresh`: what it has earned in fresh episodes, where these are free.
        """
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What speaks against the controller, a line each, with what to do: found after learning, kept in the file."""
        return self.state.notes

    def warn(self, stacklevel: int, others: str = "") -> None:
        """All notes in one warning. `others`: what is said of other agents."""
        if self.notes:
            text = f"{self.algorithm} on {self.problem.name}, seed {self.seed}: {'; '.join(self.notes)}{others}"
            warnings.warn(text, SpaqlWarning, stacklevel=stacklevel)

    def update(
        self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int | None = None
    ) -> None:
        """One learning step from external data, in physical units.

        `step`: of its episode, where the policy depends on it.
        """
        raise SpaqlError(f"{self.algorithm} does not learn from external data, only on the plant")

    def replay(self, log: Any, *, passes: int = 1, gaps: bool = False) -> "Replayed":
        """Learn from a log: a CSV or Parquet file, or a data frame; columns as in docs/data.md, physical units.

        The log is checked first: from a bad log nothing is learned. `passes`: how often the Q-learners go through the
        log. `gaps`: steps may be missing (only with next_ columns).
        """
        from spaql.data.record import replay

        with self.state.guard.write(training=True):
            replayed = replay(self, log, passes, gaps)
        self._interrupted = replayed.interrupted
        self.warn(stacklevel=3)
        return replayed

    # -- acting --------------------------------------------------------------------------------------------------------

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """The action for one observation or a batch, in physical units, as in Stable-Baselines3."""
        return self.policy().predict(observation, state, episode_start, deterministic)

    def evaluate(self, episodes: int = 1000, seed: int = 0, *, deterministic: bool = True) -> Evaluation:
        """Fresh rollouts of the policy: random streams never used in training.

        Nothing in a policy is random: `deterministic` matters only to learners that draw actions inside a cell.
        """
        # checked before the policy is asked for, which may take seconds
        episodes, seed = whole("episodes", episodes, 1, 10**8), whole("seed", seed, 0)
        if not self.problem.can_run:
            lacking = f"{self.problem.name} has no plant to evaluate on"
            raise SpaqlError(f"{lacking} (a loaded agent gets one with problem=...)")
        return self.policy().evaluate(episodes, seed)

    def episode(self, seed: int = 0, rollout: int = 0, *, deterministic: bool = True) -> "Episode":
        """Rollout number `rollout` of `evaluate(seed=seed)`: all observations, actions, rewards, in physical units."""
        seed, rollout = whole("seed", seed, 0), whole("rollout", rollout, 0, 10**8)
        return self.policy().episode(seed, rollout)

    def policy(self, step: int | None = None) -> "Policy":
        """Which action is applied where: look at it, shrink it, ask it why, export it.

        `step` chooses one policy, where there is one per step.
        """
        with self.state.guard.read():
            return self._policy(None if step is None else whole("step", step, 0))

    @abstractmethod
    def _policy(self, step: int | None) -> "Policy":
        """The policy, made while nothing learns. Every learner has its own."""

    # -- looking inside ------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def arms(self) -> int:
        """Size of what was learned, in the unit of the learner: leaves of partitions, cells of a table."""

    @abstractmethod
    def leaves(self) -> Array:
        """What was learned, as a structured array with one row per arm."""

    @property
    def history(self) -> History:
        return History(self.state.history.copy(), self._interrupted, self._seconds)

    # -- files ---------------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """One file with problem, options, seed, history and what was learned; `spaql.load` reads it."""
        from spaql.learners.files import save

        with self.state.guard.read():
            save(self, path)

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """What was learned, for a file: `restore` takes it. Plain float64 and int32 arrays."""

    @abstractmethod
    def restore(self, arrays: dict[str, Array]) -> None:
        """Take over the `arrays` of a file.

        Nothing in them is trusted: ValueError if they cannot be what this learner has learned.
        """

    def __repr__(self) -> str:
        part, piece = ("law", "stage") if self.card.simulator else ("arm", "iteration")
        done = f"{counted(self.arms, part)} after {counted(len(self.state.history), piece)}"
        return f"<{self.algorithm} on {self.problem.name}: {done}, seed {self.seed}>"

    def __str__(self) -> str:
        return "\n".join([repr(self), *(f"warning: {note}" for note in self.notes)])

    # -- checks --------------------------------------------------------------------------------------------------------

    def action_in_cube(self, action: Any) -> Array:
        """A physical action as cube coordinates, or as index of a finite set."""
        actions = self.problem.actions
        if isinstance(actions, Finite):
            value = float(numbers("action", np.squeeze(action) if depth("action", action) else action, ()))
            index = np.flatnonzero(self.chart.values == value)
            if len(index) == 0:
                raise SpaqlError(f"action {value:g} is not one of {', '.join(f'{v:g}' for v in actions.values[:20])}")
            return index.astype(np.float64)
        given = numbers("action", np.atleast_1d(action), (actions.axes,))
        a = (given - self.chart.acts["centre"]) / self.chart.acts["scale"]
        if not np.all(np.abs(a) <= 1.0 + 1e-6):
            raise SpaqlError(f"action {given.tolist()} is outside {list(actions.low)} ... {list(actions.high)}")
        clipped: Array = np.clip(a, -1.0, 1.0)
        return clipped

    def observation_error(self, dimension: int, observation: Any, where: str) -> None:
        """Raise if `to_cube` found a bad dimension."""
        if dimension < 0:
            return
        axis, value = self.problem.state[dimension], float(np.asarray(observation, float).ravel()[dimension])
        if not np.isfinite(value):
            raise SpaqlError(f"{where}: {axis.name} is {value}; observations must be finite")
        raise SpaqlError(
            f"{where}: {axis.name} = {value:g} is outside the map {axis.low:g} ... {axis.high:g}: widen the bounds "
            "(state_low, state_high), or let from_gym move it to the edge (clip=True)"
        )
