"""A learned model as functions of plain numbers: the equations of model_equations.py for one episode, as text.

    def value0(M, S, k, z0, z1, z2):                  one output: the sum over its kernels, and its linear part
    def step(M, S, s0, s1, x0, x1, f, a0, c0, c1, c2, c3):
        k = int(f)
        z0, z1 = float32((s0 - M[3]) / M[5]), ...
        n0 = z0 + value0(M, S, k, z0, z1, z2) + M[31] * (c0 - 0.5), ...
        ...

M and S are the model's numbers of double and of single precision; what the text says is which inputs an output looks
at, and which variables are angles or memory. The state is the observation without noise (s), with noise (x), and the
function f that was drawn from the posterior. Sums have their order, hence the same bits on a card. Without a card the
functions are for whatever is put together from functions, such as loops.
"""

import math
import types
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spaql.gp import kernel_sums
from spaql.gp.kernel_sums import BLOCK, CHUNK, FIRST, F, exponential, filled
from spaql.gp.model_equations import LAST, LEAST, MOST, STRAY, Places, Sizes, places
from spaql.gp.model_plant import ModelPlant
from spaql.ground import fastmath
from spaql.plants.compile import function_of, listed, names
from spaql.plants.known import KnownOutcome
from spaql.plants.plant import Plant, PlantFunction, make_plant


class Structure(NamedTuple):
    """What the text of the functions depends on; all else are numbers."""

    sizes: Sizes
    at: Places
    used: tuple[tuple[int, ...], ...]  # by output: the inputs that matter
    angle: tuple[int, ...]  # 0, or +-(1 + sine): see `gp.model_plant.Numbers`
    turn: tuple[int, ...]
    shift: tuple[int, ...]
    round: tuple[bool, ...]  # variables that jump back by a turn
    of_next: bool  # the reward is a function of the next state
    logarithm: bool
    known: KnownOutcome | None


def _sum(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _sin_cos(angle: float) -> tuple[float, float]:
    return math.sin(angle), math.cos(angle)


EXPONENTIAL: Any = exponential
OURS: dict[str, Any] = {
    "np": np, "F": F, "fused": fastmath.fused, "exponential": EXPONENTIAL, "sin_cos": fastmath.sin_cos,
    "atan2": fastmath.atan2, "exp": fastmath.exp,
}  # fmt: skip
PLAIN = OURS | {  # what Python can run, too
    "fused": _sum, "exponential": types.FunctionType(EXPONENTIAL.py_func.__code__, vars(kernel_sums) | {"fused": _sum}),
    "sin_cos": _sin_cos, "atan2": math.atan2, "exp": math.exp,
}  # fmt: skip
_forms: dict[Structure, Plant] = {}


def card_form(plant: ModelPlant) -> Plant:
    """The plant whose functions take M and S first."""
    structure = _structure(plant)
    if structure not in _forms:
        _forms[structure] = _card_form(structure)
    return _forms[structure]


def in_python(plant: ModelPlant) -> Plant:
    """The model as a plant of plain functions with its numbers in them, without its sensors' noise.

    The last variable of its state, b, is 1 where a step has left the box of the data.
    """
    (numbers, small), of, d = plant.memory, _structure(plant), plant.sizes.d
    numbers = numbers.copy()
    numbers[0] = 0.0  # an address
    (s, n, c), a = (names(letter, d) for letter in "snc"), names("a", plant.sizes.axes)
    called, lines = _stepped(of, PLAIN)
    scope = called | {"M": numbers, "S": small}
    started = [*_started(of), f"return ({_start(d)}, f, 0.0)"]
    lines = [*lines, f"return ({listed(n)}f, 1.0 if strays else 0.0), reward, done"]
    reset = PlantFunction("reset", function_of(scope, "reset(u0, u1)", started))
    step = PlantFunction("step", function_of(scope, f"step({listed(s)}f, b, {listed(a, c)})", lines))
    seen = PlantFunction("observe", function_of({}, f"observe({listed(s)}f, b)", [f"return ({listed(s)})"]))
    return replace(make_plant(reset, step, seen, plant.sizes.axes), origin=(in_python, (plant,)))


def _card_form(of: Structure) -> Plant:
    d, axes = of.sizes.d, of.sizes.axes
    s, x, n, a, c = names("s", d), names("x", d), names("n", d), names("a", axes), names("c", 2 * d)
    started = [*_started(of), f"return ({_start(d)}, {_start(d)}, f)"]
    called, lines = _stepped(of, OURS)
    lines += [f"x{j} = n{j} + M[{of.at.blur + j}] * (c{d + j} - 0.5)" for j in range(d)]
    lines += [f"reward -= known_cost({listed(a, x)})"] if "known_cost" in called else []
    lines.append(f"return ({listed(n, x)}f), reward, done")
    reset = PlantFunction("reset", function_of(dict(OURS), "reset(M, S, u0, u1)", started))
    step = PlantFunction("step", function_of(called, f"step(M, S, {listed(s, x)}f, {listed(a, c)})", lines))
    seen = PlantFunction("observe", function_of({}, f"observe({listed(s, x)}f)", [f"return ({listed(x)})"]))
    return Plant(reset, step, seen, 2 * d + 1, axes, d, 2, 2 * d)


def _structure(plant: ModelPlant) -> Structure:
    numbers = plant.numbers
    used = tuple(tuple(np.flatnonzero(row > 0.0).tolist()) for row in numbers.inverse)
    angle, turn, shift = (tuple(map(int, row)) for row in (numbers.angle, numbers.turn, numbers.shift))
    kind = numbers.reward.of_next > 0.0, numbers.reward.logarithm > 0.0
    at, turns = places(plant.sizes, plant.rows), tuple((numbers.length > 0.0).tolist())
    return Structure(plant.sizes, at, used, angle, turn, shift, turns, *kind, plant.known)


def _started(of: Structure) -> list[str]:
    """Lines: where the numbers of the start stand, and the function."""
    outputs, inputs = of.sizes.outputs, of.sizes.inputs
    return [
        "at = int(min(u0 * M[2], M[2] - 1.0))",
        f"at = {of.at.linear} + int(M[1]) * {outputs * (inputs + 1) + inputs * inputs} + {of.sizes.d} * at",
        "f = min(np.floor(u1 * M[1]), M[1] - 1.0)",
    ]


def _start(d: int) -> str:
    return ", ".join(f"M[at + {j}]" for j in range(d))


def _stepped(of: Structure, scope: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The lines of a step, and what they call."""
    sizes, at, d = of.sizes, of.at, of.sizes.d
    s, n, z, a = names("s", d), names("n", d), names("z", sizes.inputs), names("a", sizes.axes)
    known = {} if of.known is None else of.known.functions
    called = dict(scope) | {f"value{j}": _value(of, j, scope) for j in range(sizes.outputs)}
    called |= {f"known_{name}": function for name, function in known.items()}

    lines = ["k, strays = int(f), False", *_in_units(of, s)]
    lines += [f"z{d + k} = F((a{k} - M[{at.middle + k}]) / M[{at.half + k}])" for k in range(sizes.axes)]
    for j in range(d):
        lines += _moved(of, j, f"value{j}(M, S, k, {listed(z)})")
    everything = listed(s, a, n)
    if sizes.learned:
        lines += [*(_in_units(of, n) if of.of_next else []), *_turned(of, n if of.of_next else s), *_paid(of, z)]
    else:
        lines.append(f"reward = known_reward({everything})")
    if sizes.ends:
        lines += [*_in_units(of, n), f"done = value{sizes.outputs - 1}(M, S, k, {listed(z)}) > 0.0"]
        if sizes.learned:
            last = f"M[{at.reward + LAST}]"
            lines.append(f"reward = {last} if done and {last} == {last} else reward")
    else:
        lines.append(f"done = bool(known_terminated({everything}))" if "terminated" in known else "done = False")
    lines.append(f"reward = min(reward, M[{at.reward + STRAY}]) if strays else reward")
    return called, lines


def _in_units(of: Structure, state: list[str]) -> list[str]:
    return [f"z{j} = F(({name} - M[{of.at.centre + j}]) / M[{of.at.scale + j}])" for j, name in enumerate(state)]


def _moved(of: Structure, j: int, change: str) -> list[str]:
    """Lines of a variable after a step: `_remembered`, `_turn` or `_move` of model_equations.py."""
    at, d, turn, kept = of.at, of.sizes.d, of.turn[j], of.shift[j] - 1
    if turn < 0:  # a sine comes with its cosine
        return []
    if kept >= 0:
        return [f"n{j} = {f's{kept}' if kept < d else f'a{kept - d}'}"]
    noise = f"M[{at.noise + j}] * (c{j} - 0.5)"
    if turn > 0:
        cosine, sine = f"s{j}", f"s{turn - 1}"
        return [
            f"r = M[{at.radius + j}] / max(np.sqrt({cosine} * {cosine} + {sine} * {sine}), 1e-300)",
            f"up, along = sin_cos({change} + {noise})",
            f"n{j} = r * ({cosine} * along - {sine} * up)",
            f"n{turn - 1} = r * ({sine} * along + {cosine} * up)",
        ]
    begin, length = f"M[{at.begin + j}]", f"M[{at.length + j}]"
    return [
        f"n = {change} + ({noise} + z{j})",
        *([f"n -= {length} * np.floor((n - {begin}) / {length})"] if of.round[j] else []),
        f"held = min(max(n, M[{at.low + j}]), M[{at.high + j}])",
        "strays = strays or held != n",
        f"n{j} = M[{at.centre + j}] + M[{at.scale + j}] * held",
    ]


def _turned(of: Structure, state: list[str]) -> list[str]:
    """Angles in the place of what their cosines were."""
    return [
        f"z{j} = F(atan2({np.sign(angle):.1f} * {state[abs(angle) - 1]}, {np.sign(angle):.1f} * {state[j]}))"
        for j, angle in enumerate(of.angle)
        if angle
    ]


def _paid(of: Structure, z: list[str]) -> list[str]:
    """Lines of a learned reward."""
    sizes, at, inputs = of.sizes, of.at, of.sizes.inputs
    pairs = [(i, j) for i in range(inputs) for j in range(i, inputs)]
    return [
        f"reward = value{sizes.d}(M, S, k, {listed(z)})",
        f"q = {at.linear} + int(M[1]) * {sizes.outputs * (inputs + 1)} + k * {inputs * inputs}",
        *(f"reward += M[q + {i * inputs + j}] * z{i} * z{j}" for i, j in pairs),
        f"reward = min(max(reward, M[{at.reward + LEAST}]), M[{at.reward + MOST}])",
        *(["reward = exp(reward)"] if of.logarithm else []),
    ]


def _value(of: Structure, j: int, scope: Mapping[str, Any]) -> Any:
    """`summed` and `_add_line` for one output: four points at a time, as they lie in S."""
    used, at, inputs, points = of.used[j], of.at, of.sizes.inputs, range(BLOCK)
    rows = filled(len(used))
    lines = ["own = F(0.0)"]
    for place, i in enumerate(used):
        x = f"x{place}"
        lines += [f"{x} = z{i} * (F(M[{at.inverse + j * inputs + i}]) * F(0.25))", f"own += F(-0.5) * {x} * {x}"]
    lines += [
        f"total, p = F(0.0), int(M[{at.first + j}])",
        f"for _ in range(int(M[{at.blocks + j}])):",
        *(f"    y{q} = S[p + {q}] + own" for q in points),
    ]
    for place in _order(len(used)):
        at_input = BLOCK * (1 + place)
        lines += [f"    y{q} = fused(S[p + {at_input + q}], x{place}, y{q})" for q in points]
    weight = BLOCK * (1 + rows)
    lines += [
        "    functions = int(M[1])",
        *(f"    total = fused(S[p + {weight} + {q} * functions + k], exponential(y{q}), total)" for q in points),
        f"    p += {weight} + {BLOCK} * functions",
        f"w = {at.linear} + (k * {of.sizes.outputs} + {j}) * {inputs + 1}",
        f"value = np.float64(total) + M[w + {inputs}]",
        *(f"value += M[w + {i}] * z{i}" for i in range(inputs)),
        "return value",
    ]
    return function_of(dict(scope), f"value{j}(M, S, k, {listed(names('z', inputs))})", lines)


def _order(used: int) -> list[int]:
    """In which a CPU adds inputs to an exponent: the first chunk backwards, then each further one."""
    first = FIRST if used <= FIRST else FIRST + CHUNK
    chunks = [range(first), *(range(begin, begin + CHUNK) for begin in range(first, used, CHUNK))]
    return [place for chunk in chunks for place in reversed(chunk) if place < used]
