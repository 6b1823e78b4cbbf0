"""What is drawn of an episode, one below the other: the same in figures and on the page of an explanation."""

from typing import TYPE_CHECKING, NamedTuple

from spaql.arrays import Array
from spaql.plants.axes import Continuous, Finite
from spaql.plants.limits import limit_table

if TYPE_CHECKING:
    from spaql.plants.signals import Signals
    from spaql.training.episode import Episode


class Panel(NamedTuple):
    """A variable, or an axis of the action, over the steps, in physical units."""

    name: str
    unit: str
    values: Array  # (steps + 1) of a variable, (steps) of an action
    seen: int | None = None  # the place of the variable in the observation; None: the controller does not see it
    action: int | None = None  # the place of the axis in what the controller decides; None: it decides something else
    among: tuple[Continuous | Finite, int] | None = None  # of an action: the set it is one of, and its axis there
    reference: Array | None = None  # (steps + 1) what the variable shall follow
    followed: str = ""  # the name of this reference
    asked: Array | None = None  # (steps) the action that the controller wanted, where a loop may apply another one
    limit: tuple[float, float] | None = None


def panels_of(episode: "Episode") -> list[Panel]:
    """First what follows a reference and is seen as an error only, then what is seen, then the actions."""
    names, units = episode.columns()
    d, k, problem, traces = episode.observations.shape[1], episode.actions.shape[1], episode.problem, episode.traces
    table = [] if problem is None else limit_table(problem.limits, problem.state, problem.actions).tolist()
    limits = {int(place): (low, high) for place, low, high in table}
    seen = [Panel(names[j], units[j], episode.observations[:, j], seen=j, limit=limits.get(j)) for j in range(d)]
    actions = [
        Panel(names[d + j], units[d + j], episode.actions[:, j], action=j, limit=limits.get(d + j),
              among=None if problem is None else (problem.actions, j))
        for j in range(k)
    ]  # fmt: skip
    signals = None if problem is None else problem.signals
    if traces is None or signals is None:
        return [*seen, *actions]
    behind, measured = [], [axis.name for axis in signals.measured]
    for reference, trace in zip(signals.references, traces.references.T, strict=True):
        if reference.of is None:
            continue
        shown = next((panel for panel in seen if panel.name == reference.of), None)
        if shown is not None and shown.seen is not None:
            seen[shown.seen] = shown._replace(reference=trace, followed=reference.name)
        else:
            place = measured.index(reference.of)
            output, unit = traces.outputs[:, place], signals.measured[place].unit
            behind.append(Panel(reference.of, unit, output, reference=trace, followed=reference.name))
    return [*behind, *seen, *_applied(actions, signals, traces.applied)]


def _applied(actions: list[Panel], signals: "Signals", applied: Array) -> list[Panel]:
    """What reaches the plant: beside the changes that a controller asks for, or instead of what it asks for."""
    units = (*signals.actuator.units, *[""] * signals.actuator.axes)
    if signals.increments:
        named = enumerate(signals.action_names)
        return [*(Panel(name, units[j], applied[:, j], among=(signals.actuator, j)) for j, name in named), *actions]
    if not signals.rates and not signals.interlocks:
        return actions
    return [panel._replace(values=applied[:, j], asked=panel.values) for j, panel in enumerate(actions)]
