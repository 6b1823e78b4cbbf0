"""One episode, step by step, of a policy, a controller or an agent; and step responses, which are such episodes."""

import textwrap
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.checks import flag, real, text, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.answers import begun, steps, vector
from spaql.plants.chart import HUGE
from spaql.plants.environment import applied as applied_action
from spaql.plants.environment import drawn_parameters, inside, open_environment
from spaql.plants.loop import restated
from spaql.plants.problem_text import HARD, WIDTH
from spaql.plants.references import Reference
from spaql.policy.probe_results import StepResponse, measured
from spaql.policy.words import action_names, action_units, different, number, variable_names, variable_units, with_unit
from spaql.training.lanes import bad_reward

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spaql.plants.problem import Problem
    from spaql.training.closed_loop import Decides


class Traces(NamedTuple):
    """What a loop has inside and the controller does not see all of, in physical units."""

    applied: Array  # (steps, axes of the actuator): after increments, rate limits and interlocks, before delay
    outputs: Array  # (steps + 1, measured variables): before noise and delay of the sensors
    references: Array  # (steps + 1, references)


@dataclass(frozen=True, eq=False)
class Episode:
    """One episode, in physical units; print it, plot it.

    `observations` has one row more than `actions` and `rewards`: the state after the last step.
    """

    observations: Array
    actions: Array
    rewards: Array
    terminated: bool
    problem: "Problem | None" = None
    traces: Traces | None = None  # of a policy or a controller in a loop

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def total(self) -> float:
        """The return: all rewards together."""
        return float(self.rewards.sum())

    def to_pandas(self) -> Any:
        """A pandas DataFrame with one row per step, and one for the state after the last, which has no action.

        Columns are the observed variables, the action and `reward`, the index is `step`; `attrs["units"]` has the unit
        of every column.
        """
        import pandas

        names, units = self.columns()
        d, after = self.observations.shape[1], np.full((1, self.actions.shape[1] + 1), np.nan)
        done = np.concatenate([np.column_stack([self.actions, self.rewards]), after])
        frame = pandas.DataFrame(np.column_stack([self.observations, done]), columns=[*names, "reward"])
        frame.index.name = "step"
        frame.attrs |= {"units": dict(zip(frame.columns, [*units, ""], strict=True)), "observed": names[:d]}
        return frame

    def plot(self, path: str | PathLike[str] | None = None) -> "Figure":
        """Observed variables, action and reward over the steps, with limits and reference as lines.

        `path`: where to write it, a name that ends with png, svg or pdf.
        """
        from spaql.analysis.episode_figure import episode_figure

        return episode_figure(self, path)

    def columns(self) -> tuple[list[str], list[str]]:
        """Names and units of the observed variables and of the action; numbers where the problem is not known."""
        problem, d, k = self.problem, self.observations.shape[1], self.actions.shape[1]
        if problem is None:
            applied = [f"action {j + 1}" if k > 1 else "action" for j in range(k)]
            return [*(f"x{j}" for j in range(d)), *applied], [""] * (d + k)
        names = different([*variable_names(problem), *action_names(problem)])
        return names, [*variable_units(problem), *action_units(problem)]

    def __repr__(self) -> str:
        ended = "terminated" if self.terminated else "cut"
        return f"<Episode: {len(self):,} steps, return {number(self.total)}, {ended}>"

    def __str__(self) -> str:
        names, units = self.columns()
        how = "the plant ended it" if self.terminated else "cut by the horizon"
        where = "" if self.problem is None else f" on {self.problem.name}"
        lines = [f"Episode{where}: {len(self):,} steps, return {number(self.total)}, {how}"]
        for name, row in (("first", self.observations[0]), ("last", self.observations[-1])):
            seen = zip(names, row.tolist(), units, strict=False)
            parts = [f"{label} = {with_unit(number(value), unit)}".replace(" ", HARD) for label, value, unit in seen]
            lines += textwrap.wrap(", ".join(parts), WIDTH, initial_indent=f"  {name:<6} ", subsequent_indent=" " * 9)
        return "\n".join(lines).replace(HARD, " ")


def open_at(problem: "Problem", seed: int, rollout: int) -> tuple[Any, Any]:
    """An environment and the first observation of rollout number `rollout` of an evaluation with this seed."""
    if not problem.can_run:
        raise SpaqlError(f"{problem.name} has no plant to run on (a loaded agent gets one with problem=...)")
    first = int(streams.plant_seed(seed, streams.FRESH_PLANT, 0))
    if problem.plant is None and rollout > 0:
        raise SpaqlError("in a Gymnasium environment only rollout 0 can be repeated without running those before it")
    env = open_environment(problem)
    observation = begun(env.reset(seed=first))
    if rollout > 0:
        env.episode = rollout - 1  # start states are counted, not drawn: the rollouts in between need not be made
        observation = begun(env.reset())
    return env, observation


# -- episodes of any policy or controller ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Watched:
    """An episode, and what it has drawn."""

    episode: Episode
    parameters: dict[str, float]

    @property
    def total(self) -> float:
        """The return, added up in the order of the steps, as all loops do: the same bits."""
        return float(np.cumsum(self.episode.rewards)[-1])


def watch(controller: "Decides", problem: "Problem", env: Any, observation: Any, where: str) -> Watched:
    """The episode that begins with this observation. `problem`: of the environment; `where`: for messages."""
    d = len(problem.state)
    seen, now = [vector(d, np.ravel(observation), where)], inside(env)
    parameters = drawn_parameters(env)
    moments, applied, actions, rewards, ended = [] if now is None else [now], [], list[Array](), [], False

    def act(_: Any, step: int) -> Array:
        actions.append(controller.decide(seen[-1][None])[0])
        if moments:
            applied.append(applied_action(env, moments[-1], actions[-1].tolist()))
        return actions[-1]

    for _, _, after, reward, terminated in steps(env, act, observation, problem.horizon, problem.native_one()):
        if not abs(float(reward)) <= HUGE:
            raise bad_reward(problem, where)
        seen.append(vector(d, np.ravel(after), f"{where}, step {len(seen)}"))
        rewards.append(float(reward))
        ended, now = terminated, inside(env)
        moments += [] if now is None else [now]
    outputs, references = [moment.outputs for moment in moments], [moment.references for moment in moments]
    traces = Traces(np.array(applied), np.array(outputs), np.array(references)) if moments else None
    episode = Episode(np.array(seen), np.array(actions), np.array(rewards), ended, problem, traces)
    return Watched(episode, parameters)


def record(controller: "Decides", seed: int, rollout: int) -> Episode:
    """Rollout number `rollout` of `evaluate(seed=seed)`."""
    where = f"rollout {rollout}"
    return watch(controller, controller.problem, *open_at(controller.problem, seed, rollout), where).episode


# -- step responses: the same loop, its references as asked ------------------------------------------------------------

FROM, TO = 0.2, 0.8  # of the range of a reference, where nothing else is asked for


def respond(
    controller: "Decides", *, reference: Any, start: Any, to: Any, at: Any,
    noise: bool, tolerance: float, episodes: int, seed: int,
) -> StepResponse:  # fmt: skip
    """See `Policy.step_response`."""
    problem = controller.problem
    followed = _followed(problem, reference)
    span = followed.high - followed.low
    first = followed.low + FROM * span if start is None else _within(followed, "start", start)
    last = followed.low + TO * span if to is None else _within(followed, "to", to)
    if first == last:
        raise SpaqlError(f"start and to are both {first:g}: that is no step")
    if problem.horizon < 2:
        raise SpaqlError(f"{problem.name}: an episode of one step has no step response")
    jump = problem.horizon // 2 if at is None else whole("at", at, 1, problem.horizon - 1)
    tolerance, count = real("tolerance", tolerance, 0.0, 1.0, above=True), whole("episodes", episodes, 1, 10**6)
    first_seed = int(streams.plant_seed(whole("seed", seed, 0), streams.FRESH_PLANT, 0))

    assert problem.signals is not None
    asked = [
        replace(signal, values=(first, last), hold=jump, rate=None) if signal is followed
        else replace(signal, values=(signal.middle,), hold=None, rate=None)
        for signal in problem.signals.references
    ]  # fmt: skip
    quiet = restated(problem, asked, flag("noise", noise))
    env = open_environment(quiet)
    place = [axis.name for axis in problem.signals.measured].index(str(followed.of))
    outputs, each, shown = np.full((count, problem.horizon + 1), np.nan), [], list[Episode]()
    for j in range(count):
        observation = begun(env.reset(seed=first_seed) if j == 0 else env.reset())
        episode = watch(controller, quiet, env, observation, f"step response, episode {j}").episode
        assert episode.traces is not None
        y = episode.traces.outputs[:, place]
        shown += [episode] if j == 0 else []
        outputs[j, : len(y)] = y
        uncut = len(y) > problem.horizon
        each.append(measured(y[jump:], first, last, problem.signals.dt, tolerance, uncut))
    traces = shown[0].traces
    assert traces is not None
    return StepResponse(
        problem=problem.name,
        reference=followed.name,
        output=str(followed.of),
        unit=problem.signals.measured[place].unit,
        start=first,
        to=last,
        at=jump,
        dt=problem.signals.dt,
        tolerance=tolerance,
        each=tuple(each),
        outputs=outputs,
        variables=traces.outputs,
        inputs=traces.applied,
        episode=shown[0],
    )


def _followed(problem: "Problem", name: Any) -> Reference:
    """The reference that is asked for; the only one, if none is named."""
    references = () if problem.signals is None else problem.signals.references
    choices = [reference for reference in references if reference.of is not None]
    listed = ", ".join(reference.name for reference in choices)
    if not choices:
        raise SpaqlError(
            f"{problem.name} has no reference that a variable follows: state it with spaql.loop(problem, "
            "references=[spaql.Reference(..., of=...)])"
        )
    if name is not None:
        text("reference", name)
    if name is None and len(choices) > 1:
        raise SpaqlError(f"reference=... names the one to step: {listed}")
    named = [reference for reference in choices if name in (None, reference.name)]
    if not named:
        raise SpaqlError(f"{echoed(name)} is no reference that a variable follows: choose {listed}")
    return named[0]


def _within(reference: Reference, what: str, value: Any) -> float:
    given = real(what, value)
    if not reference.low <= given <= reference.high:
        beyond = f"{what} = {given:g} is outside the range of {reference.name}"
        raise SpaqlError(f"{beyond}, {reference.low:g} to {reference.high:g}")
    return given
