"""What a controller in a loop may know of the reward: whatever of it can be computed from what it sees."""

from spaql.plants.known import KnownOutcome
from spaql.plants.loop_plant import Surroundings
from spaql.plants.signals import Signals
from spaql.plants.text import made


def loop_known(signals: Signals, around: Surroundings) -> KnownOutcome | None:
    """The reward as a function of observation, action and next observation; None if it depends on more.

    def reward(o0, o1, a0, n0, n1):
        return pay(o1 - n0, a0)
    """
    if around.reward is None or around.trips:
        return None
    places = _places(signals, around)
    arguments = []
    for symbol in around.reward.symbols:
        one, minus, other = symbol.partition(" - ")
        if one not in places or (minus and other not in places):
            return None
        arguments.append(f"{places[one]}{minus}{places[other] if minus else ''}")
    d, axes = len(signals.state), signals.actions.axes
    names = [*(f"o{j}" for j in range(d)), *(f"a{j}" for j in range(axes)), *(f"n{j}" for j in range(d))]
    paid = made({"pay": around.reward.function}, f"reward({', '.join(names)})", [f"return pay({', '.join(arguments)})"])
    return KnownOutcome(paid, None, d, axes, origin=(loop_known, (signals, around)))


def _places(signals: Signals, around: Surroundings) -> dict[str, str]:
    """Where the symbols of a reward stand: o in the observation, n in the next one, a in the action."""
    shown = {axis.name: j for j, axis in enumerate(signals.state)}
    blurred = {j for j, _ in around.noise}
    found = {}
    for j, axis in enumerate(signals.measured):
        if axis.name in shown and j not in blurred and around.sensor_delay == 0:
            found[f"t{j}"] = f"n{shown[axis.name]}"
    for name, symbol in signals.symbols.items():
        if name in shown and symbol[0] in "rm":
            found[symbol] = f"o{shown[name]}"
    for j, name in enumerate(signals.action_names):
        if f"previous({name})" in shown:
            found[f"u{j}"] = f"n{shown[f'previous({name})']}"
        elif not (signals.increments or signals.rates or signals.interlocks):
            found[f"u{j}"] = f"a{j}"
    return found
