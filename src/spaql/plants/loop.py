"""A problem as engineers state it: a plant, and what its loop has around it.

    motor = spaql.from_plant(...)
    problem = spaql.loop(
        motor,
        references=[spaql.Reference("target", 0.0, 200.0, of="speed", hold=(30, 80))],
        noise={"speed": 0.5},
        delay={"actuator": 1},
        memory=["integral(speed_error)"],
        observe=["speed_error", "integral(speed_error)", "current"],
        reward=lambda speed_error, voltage: -abs(speed_error) / 200 - 0.01 * abs(voltage) / 24,
        dt=0.01,
    )

`loop` gives another problem, on which everything works. It takes compiled plants and Gymnasium environments alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spaql.ground.checks import FAR, real, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import NARROWEST
from spaql.plants.environment import LoopEnv
from spaql.plants.featured import attached, bare, with_features
from spaql.plants.limits import Interlock, Limit
from spaql.plants.loop_plant import Surroundings, least_paid, loop_known, looped, payment_of
from spaql.plants.plant import loop_of
from spaql.plants.problem import Problem
from spaql.plants.problem_text import IN_LOOP, UNPAID, loop_line
from spaql.plants.references import Reference
from spaql.plants.signals import Signals, signals_of
from spaql.plants.statements import check_starts, check_statements, dt_of, warn_beyond

DELAYS = ("sensor", "actuator")


def loop(
    problem: Problem,
    *,
    references: Sequence[Reference] = (),
    memory: Sequence[str] = (),
    observe: Sequence[str] = (),
    noise: Mapping[str, float] | None = None,
    delay: Mapping[str, int] | None = None,
    increments: float | Mapping[str, float] | None = None,
    rates: float | Mapping[str, float] | None = None,
    interlocks: Sequence[Interlock] = (),
    limits: Sequence[Limit] = (),
    trips: Sequence[Limit] = (),
    trip_cost: float | None = None,
    reward: Callable[..., float] | None = None,
    dt: float | None = None,
    name: str | None = None,
    features: Any = None,
) -> Problem:
    """The problem with its plant in a loop.

    - `references`: signals to follow; each is a variable of its own, and so is the error of the variable it is `of`
    - `memory`: variables computed from past values, by name, such as "integral(speed_error)": docs/loop.md lists them
    - `observe`: names of the variables that the controller sees, in this order; all, if none is given
    - `noise`: standard deviation of the sensor noise, by variable. Of a plant that was learned
      from a log, what was found there is the default; `noise={}`: none
    - `delay`: steps, `{"sensor": 1, "actuator": 2}`
    - `increments`: actions are changes of what is applied, at most this much per step
    - `rates`: what is applied changes by at most this much per step
    - `interlocks`: rules that restrict actions
    - `limits`: counted in every evaluation, and respected by the search for laws
    - `trips`: limits on measured variables that end the episode, at a cost of `trip_cost`: a failure
    - `reward`: a function whose arguments are named like variables and actions: measured variables after the step, what
      was applied, references and memory as the controller saw them. Without it, the plant's own or, with references,
      minus the squared errors, each in halves of the reference's range
    - `dt`: seconds per step, for integrals. By default that of the plant (an FMU, an environment with `dt`, a problem
      by name), which no other may contradict; else 1
    - `features`: variables that are formulas of what the controller sees, by name (docs/features.md)
    """
    if not isinstance(problem, Problem):
        raise SpaqlError(f"loop takes a problem (spaql.make, from_plant, from_gym), not {type(problem).__name__}")
    if problem.signals is not None:
        raise SpaqlError(f"{problem.name} is in a loop already: state everything in one call of spaql.loop")
    if not problem.can_run:
        raise SpaqlError(f"{problem.name} has no plant to put into a loop")
    if problem.features is not None:
        raise SpaqlError(f"{problem.name} has features: state them in spaql.loop, of what the controller sees there")
    given = _list("references", references, Reference)
    signals = signals_of(
        measured=problem.state, actuator=problem.actions, references=given, memory=_texts("memory", memory),
        shown=_texts("observe", observe), dt=dt_of(problem, dt), horizon=problem.horizon,
        increments=_per_action("increments", increments, problem), rates=_per_action("rates", rates, problem),
        interlocks=_list("interlocks", interlocks, Interlock),
    )  # fmt: skip
    ends = _list("trips", trips, Limit)
    around = _around(problem, signals, noise, delay, reward, ends, trip_cost)
    called = f"{problem.name} loop" if name is None else name
    about = problem.summary if around.reward is None else problem.summary.removesuffix(UNPAID)
    summary = f"{about}{IN_LOOP}{loop_line(signals, around)}"
    kept = _list("limits", limits, Limit)
    for limit in kept:
        seen = {*(axis.name for axis in signals.state), *(features if isinstance(features, Mapping) else ())}
        if limit.variable in signals.axes and limit.variable not in seen:
            raise SpaqlError(f"a limit on {echoed(limit.variable)}, which is not observed: add it to observe=[...]")
    check_statements(signals, kept, ends)
    warn_beyond(problem, given)
    # what trips has failed; where the plant's own ends are successes, an end may be either
    meaning = problem.ends if not ends else "" if problem.ends == "success" else "failure"
    in_loop = _in_loop(problem, signals, around, name=called, summary=summary, ends=meaning)
    in_loop = replace(with_features(in_loop, features), limits=kept)
    check_starts(in_loop, in_loop.limits)
    check_starts(problem, ends, trip=True)
    return in_loop


def _in_loop(base: Problem, signals: Signals, around: Surroundings, **kept: Any) -> Problem:
    parts: dict[str, Any] = {
        "state": signals.state, "actions": signals.actions, "signals": signals, "reference": _held(base, signals),
        "known": loop_known(signals, around), "xi": {}, "env_id": None, "env_options": {}, "parameters": {}, "seen": (),
    }  # fmt: skip
    if base.plant is not None:
        plant = looped(base.plant.in_functions(), signals, around)
        return replace(base, plant=plant, env=None, **parts, **kept)
    return replace(base, env=LoopEnv(base, signals, around), **parts, **kept)


def _again(problem: Problem, base: Problem, signals: Signals, around: Surroundings, **changed: Any) -> Problem:
    """The problem in a changed loop; with its features, where all they are made of is still seen in its place."""
    about = {name: getattr(problem, name) for name in ("name", "summary", "ends")} | changed
    in_loop, features = _in_loop(base, signals, around, limits=(), **about), problem.features
    if features is not None and signals.state == problem.measured:
        in_loop = attached(in_loop, features, problem.state[features.raw :])
    return replace(in_loop, limits=problem.limits)


def extended(problem: Problem, memory: Sequence[str], observe: Sequence[str], **more: Any) -> Problem:
    """The same plant in the same loop, with more memory, for a controller that sees these variables.

    `more`: references and, of a problem that is in no loop yet, dt; the reward stays as it was.
    """
    if problem.features is not None:
        problem = bare(problem)
    if problem.signals is None:
        base, around = problem, Surroundings()
        signals = replace(signals_around(problem), **more)
    else:
        base, signals, around = stated(problem)
        signals = replace(signals, references=(*signals.references, *more.get("references", ())))
    own = [f"previous({name})" for name in signals.action_names] if signals.increments else []
    kept = tuple(dict.fromkeys([*signals.memory, *own, *memory]))  # a reward knows what is remembered by its place
    limited = [limit.variable for limit in problem.limits if limit.variable not in signals.action_names]
    shown = tuple(dict.fromkeys([*observe, *limited]))  # what is limited is seen, so that it can be counted
    wanted = signals_of(**signals.parts() | {"memory": kept, "shown": shown})
    about = problem.summary if problem.signals is not None else f"{problem.summary}{IN_LOOP}{loop_line(wanted, around)}"
    return _again(problem, base, wanted, around, summary=about)


def with_previous(problem: Problem) -> Problem:
    """The same loop for a controller that also sees what was applied before, if that can only change slowly.

    Then it is a part of the state: a controller that knows it can be a filter, or change its output little by little.
    """
    signals = problem.signals
    if signals is None or not signals.rates or problem.features is not None:  # whose place is behind the others
        return problem
    seen = [axis.name for axis in problem.state]
    own = [f"previous({name})" for name in signals.action_names if f"previous({name})" not in seen]
    if not own:
        return problem
    if can_restate(problem):
        return extended(problem, own, [*seen, *own])
    memory = tuple(dict.fromkeys([*signals.memory, *own]))
    wanted = signals_of(**signals.parts() | {"memory": memory, "shown": (*seen, *own)})  # of a file, without a plant
    return replace(problem, state=wanted.state, signals=wanted, reference=None)


def signals_around(problem: Problem) -> Signals:
    """Those of its loop; or of one in which nothing is between plant and law."""
    return problem.signals or Signals(problem.measured, problem.actions, dt=dt_of(problem), horizon=problem.horizon)


def restated(problem: Problem, references: Sequence[Reference], noise: bool = True) -> Problem:
    """The same plant in the same loop with other references of the same names; without sensor noise, if asked for."""
    base, signals, around = stated(problem)
    wanted = replace(signals, references=tuple(references))
    return _again(problem, base, wanted, around if noise else replace(around, noise=()))


def can_restate(problem: Problem) -> bool:
    """Whether it is known how the problem was put in a loop: not of one from a file, nor of a learned model."""
    return loop_of(problem) is not None


def stated(problem: Problem) -> tuple[Problem, Signals, Surroundings]:
    """How a problem in a loop was stated: the problem without it, the signals, and what is around."""
    loop = loop_of(problem)
    if loop is None:
        raise SpaqlError(f"{problem.name} comes from a file: its plant is not known here; give the problem itself")
    inner, signals, around = loop
    if isinstance(inner, Problem):
        return inner, signals, around
    alone: dict[str, Any] = {"state": signals.measured, "actions": signals.actuator, "signals": None, "known": None}
    return replace(problem, plant=inner, reference=None, limits=(), features=None, **alone), signals, around


def _held(problem: Problem, signals: Signals) -> tuple[float, ...] | None:
    """The state to hold of the problem, as the controller would see it while it is held."""
    if problem.reference is None:
        return None
    values = {axis.name: value for axis, value in zip(problem.state, problem.reference, strict=True)}
    values |= {reference.name: reference.middle for reference in signals.references}
    values |= dict.fromkeys(signals.errors, 0.0)
    for item in signals.items:
        if item.of in signals.action_names:
            values[item.name] = signals.neutral[signals.action_names.index(item.of)]
        else:
            values[item.name] = values[item.of] if item.kind in ("average", "past", "lag") else 0.0
    return tuple(values[axis.name] for axis in signals.state)


def _around(
    problem: Problem, signals: Signals, noise: Any, delay: Any, reward: Any, trips: tuple[Limit, ...], cost: Any
) -> Surroundings:
    names = [axis.name for axis in problem.state]
    spreads = []
    if noise is None and problem.plant is not None:  # what was found in the data of a learned plant
        noise = {name: spread for name, spread in zip(names, problem.plant.sensor_noise, strict=False) if spread > 0.0}
    for variable, spread in _mapping("noise", noise).items():
        if variable not in names:
            raise SpaqlError(f"noise: {echoed(variable)} is not measured: choose {', '.join(names)}")
        axis = problem.state[names.index(variable)]
        most = FAR if axis.slope is not None else axis.high - axis.low  # more would be no measurement
        spreads.append((names.index(variable), real(f"noise of {variable}", spread, 0.0, most)))
    steps = _mapping("delay", delay)
    for what in steps:
        if what not in DELAYS:
            raise SpaqlError(f"delay: {echoed(what)} is not known: choose {' or '.join(DELAYS)}")
    late = {what: whole(f"delay of the {what}", steps.get(what, 0), 0) for what in DELAYS}
    if sum(late.values()) >= problem.horizon:
        longer = f"{sum(late.values())} steps of delay are as long as the episode ({problem.horizon} steps)"
        raise SpaqlError(f"{longer}: no effect of an action would be observed")
    for trip in trips:
        if trip.variable not in names:
            raise SpaqlError(f"trips: {echoed(trip.variable)} is not measured: choose {', '.join(names)}")
    if cost is not None and not trips:
        raise SpaqlError("trip_cost without trips: say what trips, trips=[spaql.Limit(...)], or leave the cost out")
    if trips and cost is None:
        raise SpaqlError(
            "trips need trip_cost=..., more than a whole episode can cost; otherwise ending it early would pay"
        )
    paid, learned = payment_of(signals, reward), problem.plant is not None and len(problem.plant.sensor_noise) > 0
    return Surroundings(
        tuple(blur for blur in sorted(spreads) if blur[1] > 0.0), late["sensor"], late["actuator"],
        paid, tuple((names.index(trip.variable), trip.low, trip.high) for trip in trips),
        0.0 if cost is None else real("trip_cost", cost, 0.0),
        least_paid(paid, signals) if learned and paid is not None else None,
    )  # fmt: skip


def _per_action(what: str, given: Any, problem: Problem) -> tuple[float, ...]:
    if given is None:
        return ()
    if problem.actions.values:
        raise SpaqlError(f"{what} are for continuous actions, not for a finite set")
    names, (low, high) = signals_around(problem).action_names, problem.actions.bounds
    by_name = given if isinstance(given, Mapping) else dict.fromkeys(names, given)
    if set(by_name) != set(names):
        raise SpaqlError(f"{what}: give a number, or one for each of {', '.join(names)}, not {echoed(list(by_name))}")
    least = (NARROWEST * (high - low)).tolist()  # a smaller change is lost in the rounding of what is applied
    return tuple(real(f"{what} of {name}", by_name[name], least[j], FAR) for j, name in enumerate(names))


def _list(what: str, given: Any, kind: type[Any]) -> tuple[Any, ...]:
    many = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    for item in many:
        if not isinstance(item, kind):
            raise SpaqlError(f"{what} is a list of spaql.{kind.__name__}, not {echoed(item)}")
    return many


def _texts(what: str, given: Any) -> tuple[str, ...]:
    many = (given,) if isinstance(given, str) else given
    if not isinstance(many, Sequence) or not all(isinstance(item, str) for item in many):
        raise SpaqlError(f"{what} is a list of names, not {echoed(given)}")
    return tuple(many)


def _mapping(what: str, given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        such = {"delay": "{'actuator': 1}"}.get(what, "{'speed': 0.5}")
        raise SpaqlError(f"{what} is given by name, such as {such}, not {echoed(given)}")
    return given
