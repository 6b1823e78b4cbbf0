"""A plant of your own with parameters: arguments of its functions that are named like a parameter receive it.

    def fall(angle, rate, torque, u, mass):       # from_plant(..., parameters={"mass": spaql.Between(0.4, 0.6)})
        ...

What `reset` draws is kept as a hidden variable behind the state, so that it stays the same for a whole episode.
"""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spaql.checks import real
from spaql.errors import SpaqlError, echoed
from spaql.plants.between import Between, Value, drawn
from spaql.plants.plant import Plant, PlantFunction, make_plant

Parameters = Mapping[str, Value]


def checked(parameters: Any) -> dict[str, Value]:
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) for name in parameters):
        such = "{'mass': spaql.Between(0.4, 0.6)}"
        raise SpaqlError(f"parameters are names with numbers or ranges, such as {such}, not {echoed(parameters)}")
    return {name: value if isinstance(value, Between) else real(name, value) for name, value in parameters.items()}


def with_parameters(
    reset: PlantFunction, step: PlantFunction, observe: PlantFunction | None, action_dim: int, given: Parameters
) -> Plant:
    """The plant with its parameters put in; ranges are drawn by `reset`, from the plant's own random stream.

    def reset(x0, x1, r0):                      def step(x0, x1, d0, x2, x3):
        d0 = drawn(0.4, 0.6, r0)                    after, reward, terminated = act(x0, x1, x2, x3, d0)
        return act(x0, x1, d0) + (d0,)              return after + (d0,), reward, terminated
    """
    functions = [function for function in (reset, step, observe) if isinstance(function, PlantFunction)]
    for name in given:
        if not any(name in _arguments(function) for function in functions):
            told = ", ".join(function.python.__name__ for function in functions)
            raise SpaqlError(
                f"no function of the plant takes the parameter {echoed(name)}: name an argument of {told} like it"
            )
    middle = {name: _middle(value) for name, value in given.items()}
    seen_by = None if observe is None else _filled(observe, middle)
    plant = make_plant(_filled(reset, middle), _filled(step, middle), seen_by, action_dim)
    ranges = [value for value in given.values() if isinstance(value, Between)]
    if ranges:
        size, hidden, r = plant.state_dim, [f"d{k}" for k in range(len(ranges))], [f"r{k}" for k in range(len(ranges))]
        kept = f"({', '.join(hidden)},)"
        free, call = _call(reset, given)
        draws = [f"d{k} = drawn({value.low!r}, {value.high!r}, r{k})" for k, value in enumerate(ranges)]
        started = _made(reset, [*free, *r], *draws, f"return {call} + {kept}")
        free, call = _call(step, given)
        acted = [f"after, reward, terminated = {call}", f"return after + {kept}, reward, terminated"]
        stepped = _made(step, [*free[:size], *hidden, *free[size:]], *acted)
        free, call = ([f"x{j}" for j in range(size)], "") if observe is None else _call(observe, given)
        seen = PlantFunction("observe", drawn) if observe is None else observe  # of the former, only the kind
        observed = _made(seen, [*free, *hidden], f"return {call or '(' + ', '.join(free) + ',)'}")
        plant = make_plant(started, stepped, observed, action_dim)
    return replace(plant, origin=(with_parameters, (reset, step, observe, action_dim, dict(given))))


def _middle(value: Value) -> float:
    return 0.5 * (value.low + value.high) if isinstance(value, Between) else value


def _arguments(function: PlantFunction) -> list[str]:
    return list(inspect.signature(function.python).parameters)


def _filled(function: Any, given: Parameters) -> Any:
    """The function of the arguments that are no parameters. What is no plant function `make_plant` will refuse."""
    if not isinstance(function, PlantFunction):
        return function
    free, call = _call(function, given)
    return _made(function, free, f"return {call}")


def _call(function: PlantFunction, given: Parameters) -> tuple[list[str], str]:
    """The arguments that are no parameters, and the call with numbers in the place of the parameters."""
    free: list[str] = []
    values: list[str] = []
    hidden = [name for name, value in given.items() if isinstance(value, Between)]
    for name in _arguments(function):
        if name not in given:
            free.append(f"x{len(free)}")
            values.append(free[-1])
        else:
            values.append(f"d{hidden.index(name)}" if name in hidden else repr(given[name]))
    return free, f"act({', '.join(values)})"


def _made(function: PlantFunction, arguments: list[str], *lines: str) -> PlantFunction:
    """The text is ours; messages shall name the user's function."""
    scope: dict[str, Any] = {"act": function.python, "drawn": drawn, "__name__": __name__}
    exec(compile("\n    ".join([f"def made({', '.join(arguments)}):", *lines]), __file__, "exec"), scope)
    made = scope["made"]
    made.__name__ = made.__qualname__ = function.python.__name__
    return PlantFunction(function.kind, made)
