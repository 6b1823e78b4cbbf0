"""An episode of any policy or controller, step by step: what it saw and did, and what the loop had inside."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.checks import flag, real, text, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.answers import begun, outcome
from spaql.plants.chart import HUGE
from spaql.plants.environment import PlantEnv, drawn_parameters, inside
from spaql.plants.environment import applied as applied_action
from spaql.plants.loop import restated
from spaql.plants.references import Reference
from spaql.policy.step_response import StepResponse, measured
from spaql.training.episode import Episode, Traces, open_at
from spaql.training.viewer import bad_reward

if TYPE_CHECKING:
    from spaql.plants.problem import Problem

class Decides(Protocol):
    """A policy, or a controller of one's own."""

    @property
    def problem(self) -> "Problem": ...

    def decide(self, states: Any) -> Array: ...


@dataclass(frozen=True, eq=False)
class Watched:
    """An episode, and what it has drawn."""

    episode: Episode
    parameters: dict[str, float]

    @property
    def total(self) -> float:
        """The return, added up in the order of the steps, as all loops do: the same bits."""
        return float(np.cumsum(self.episode.rewards)[-1])


def watch(controller: Decides, problem: "Problem", env: Any, observation: Any, where: str) -> Watched:
    """The episode that begins with this observation. `problem`: of the environment; `where`: for messages."""
    native, seen = problem.native_one(), [np.array(observation, float).reshape(-1)]
    now, parameters = inside(env), drawn_parameters(env)
    moments, applied, actions, rewards, terminated = [] if now is None else [now], [], [], [], False
    for _ in range(problem.horizon):
        action = controller.decide(seen[-1][None])[0]
        actions.append(action)
        if now is not None:
            applied.append(applied_action(env, now, action.tolist()))
        observation, reward, terminated, truncated = outcome(env.step(native(action)))
        if not abs(float(reward)) <= HUGE:
            raise bad_reward(problem, where)
        seen.append(np.array(observation, float).reshape(-1))
        rewards.append(float(reward))
        now = inside(env)
        moments += [] if now is None else [now]
        if terminated or truncated:
            break
    outputs, references = [moment.outputs for moment in moments], [moment.references for moment in moments]
    traces = Traces(np.array(applied), np.array(outputs), np.array(references)) if moments else None
    episode = Episode(np.array(seen), np.array(actions), np.array(rewards), bool(terminated), problem, traces)
    return Watched(episode, parameters)


def record(controller: Decides, seed: int, rollout: int) -> Episode:
    """Rollout number `rollout` of `evaluate(seed=seed)`."""
    where = f"rollout {rollout}"
    return watch(controller, controller.problem, *open_at(controller.problem, seed, rollout), where).episode


# -- runs the episodes of step responses: the same loop, its references as asked ---------------------------------------

FROM, TO = 0.2, 0.8  # of the range of a reference, where nothing else is asked for


def respond(
    controller: Decides, reference: Any, start: Any, to: Any, at: Any, noise: bool, tolerance: float, episodes: int,
    seed: int,
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
        replace(one, values=(first, last), hold=jump, rate=None) if one is followed
        else replace(one, values=(one.middle,), hold=None, rate=None)
        for one in problem.signals.references
    ]  # fmt: skip
    quiet = restated(problem, asked, flag("noise", noise))
    env: Any = PlantEnv(quiet) if quiet.plant is not None else quiet.open_env()
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
        problem.name, followed.name, str(followed.of), problem.signals.measured[place].unit, first, last, jump,
        problem.signals.dt, tolerance, tuple(each), outputs, traces.outputs, traces.applied, shown[0],
    )  # fmt: skip


def _followed(problem: "Problem", name: Any) -> Reference:
    """The reference that is asked for; the only one, if none is named."""
    references = () if problem.signals is None else problem.signals.references
    choices = [one for one in references if one.of is not None]
    listed = ", ".join(one.name for one in choices)
    if not choices:
        raise SpaqlError(
            f"{problem.name} has no reference that a variable follows: state it with spaql.loop(problem, "
            "references=[spaql.Reference(..., of=...)])"
        )
    if name is not None:
        text("reference", name)
    if name is None and len(choices) > 1:
        raise SpaqlError(f"reference=... names the one to step: {listed}")
    found = [one for one in choices if name in (None, one.name)]
    if not found:
        raise SpaqlError(f"{echoed(name)} is no reference that a variable follows: choose {listed}")
    return found[0]


def _within(reference: Reference, what: str, value: Any) -> float:
    given = real(what, value)
    if not reference.low <= given <= reference.high:
        beyond = f"{what} = {given:g} is outside the range of {reference.name}"
        raise SpaqlError(f"{beyond}, {reference.low:g} to {reference.high:g}")
    return given
