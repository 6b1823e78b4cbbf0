"""A loop in words: one line for files and exported code, and the parts that `print(problem)` shows."""

from typing import TYPE_CHECKING

from spaql.plants.limits import Limit
from spaql.plants.loop_plant import Surroundings
from spaql.plants.signals import Signals

if TYPE_CHECKING:
    from spaql.plants.problem import Problem

FEW = 8  # variables of the memory that are told in one line
UNPAID = "; it pays nothing yet: state a reward in spaql.loop"  # at the end of the summary of an FMU without a reward
IN_LOOP = "; in a loop: "  # in a summary, between what the plant is and what is around it


def told(signals: Signals, around: Surroundings) -> str:
    """In one line."""
    parts = [str(one) for one in signals.references]
    kept = [item.name for item in signals.items]
    parts += [f"memory {', '.join(kept[:FEW])}{', ...' * (len(kept) > FEW)}"] if kept else []
    parts += [f"noise on {', '.join(signals.measured[j].name for j, _ in around.noise)}"] if around.noise else []
    for what, steps in (("sensor", around.sensor_delay), ("actuator", around.actuator_delay)):
        parts += [f"{what} delay {steps}"] if steps else []
    parts += ["increments"] if signals.increments else []
    parts += ["rate limit"] if signals.rates else []
    parts += [str(one) for one in signals.interlocks]
    return "; ".join(parts) or "as it is"


def loop_parts(problem: "Problem") -> dict[str, list[str]]:
    """By name of the part: its lines. What stands on the plant's side is not known of a problem from a file."""
    signals, around = problem.signals, _around(problem)
    if signals is None:
        return {}
    seen = {axis.name for axis in signals.state}
    named = signals.errors.items()
    errors = [f"{name} = {signals.references[k].name} - {signals.measured[j].name}" for name, (k, j) in named]
    names, units = signals.action_names, signals.actuator.axis_units
    changes = {
        kind: [
            f"{name}: at most {_with(most, unit)} per step"
            for name, most, unit in zip(names, given, units, strict=False)
        ]
        for kind, given in (("increments", signals.increments), ("rates", signals.rates))
    }
    parts = {
        "references": [str(one) for one in signals.references],
        "errors": errors,
        "memory": _joined([item.name for item in signals.items]),
        "not seen": _joined([name for name in signals.axes if name not in seen]),
        "noise": [],
        "delay": [],
        **changes,
        "interlocks": [str(one) for one in signals.interlocks],
        "trips": [],
        "step": [f"{signals.dt:g} s"] if any(item.kind == "integral" for item in signals.items) else [],
    }
    if around is not None:
        measured = signals.measured
        parts["noise"] = _joined(
            [f"{measured[j].name} {_with(spread, measured[j].unit)}" for j, spread in around.noise]
        )
        late = {"sensor": around.sensor_delay, "actuator": around.actuator_delay}
        parts["delay"] = _joined([f"{what} {n} step{'s' * (n > 1)}" for what, n in late.items() if n])
        ends = [Limit(measured[j].name, low, high).text(measured[j].unit) for j, low, high in around.trips]
        parts["trips"] = [f"{end}, or the episode ends at a cost of {around.trip_cost:g}" for end in ends]
    return parts


def _around(problem: "Problem") -> Surroundings | None:
    """What stands on the plant's side of the loop, where the plant is there."""
    if problem.plant is not None:
        stated = problem.plant.origin[1] if problem.plant.origin is not None else ()
    else:
        stated = getattr(problem.env, "stated", ())
    return next((one for one in stated if isinstance(one, Surroundings)), None)


def _joined(texts: list[str]) -> list[str]:
    return [", ".join(texts)] if texts else []


def _with(value: float, unit: str) -> str:
    return f"{value:g} {unit}" if unit else f"{value:g}"
