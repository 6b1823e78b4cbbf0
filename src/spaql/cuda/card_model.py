"""A learned model on a card: the equations of gp/model_equations.py for one episode, as functions of plain numbers.

    def value0(M, S, k, z0, z1, z2):                  one output: the sum over its kernels, and its linear part
    def step(M, S, s0, s1, x0, x1, f, a0, c0, c1, c2, c3):
        k = int(f)
        z0, z1 = float32((s0 - M[3]) / M[5]), ...
        n0 = z0 + value0(M, S, k, z0, z1, z2) + M[31] * (c0 - 0.5), ...
        ...

M and S are the model's numbers of double and of single precision; what the text says is which inputs an output looks
at, and which variables are angles or memory. The state is the observation without noise (s), with noise (x), and the
function f that was drawn from the posterior. Sums have the order of the CPU, hence the same bits.
"""

from typing import Any, NamedTuple

import numpy as np

from spaql.gp.kernel_sums import BLOCK, CHUNK, FIRST, F, exponential, filled
from spaql.gp.model_equations import LAST, LEAST, MOST, STRAY, Places, Sizes, places
from spaql.gp.model_plant import ModelPlant
from spaql.ground import fastmath
from spaql.plants.compile import function_of, listed, names
from spaql.plants.known import KnownOutcome
from spaql.plants.plant import Plant, PlantFunction


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


_forms: dict[Structure, Plant] = {}


def card_form(plant: ModelPlant) -> Plant:
    """The plant whose functions take M and S first."""
    numbers, d, axes = plant.numbers, plant.sizes.d, plant.sizes.axes
    used = tuple(tuple(np.flatnonzero(row > 0.0).tolist()) for row in numbers.inverse)
    angle, turn, shift = (tuple(map(int, row)) for row in (numbers.angle, numbers.turn, numbers.shift))
    kind = numbers.reward.of_next > 0.0, numbers.reward.logarithm > 0.0
    at, turns = places(plant.sizes, plant.rows), tuple((numbers.length > 0.0).tolist())
    structure = Structure(plant.sizes, at, used, angle, turn, shift, turns, *kind, plant.known)
    if structure not in _forms:
        started, stepped = PlantFunction("reset", _reset(structure)), PlantFunction("step", _step(structure))
        seen = PlantFunction("observe", _observe(d))
        _forms[structure] = Plant(started, stepped, seen, 2 * d + 1, axes, d, 2, 2 * d)
    return _forms[structure]


def _reset(of: Structure) -> Any:
    d, outputs, inputs = of.sizes.d, of.sizes.outputs, of.sizes.inputs
    start = ", ".join(f"M[at + {j}]" for j in range(d))
    lines = [
        "at = int(min(u0 * M[2], M[2] - 1.0))",
        f"at = {of.at.linear} + int(M[1]) * {outputs * (inputs + 1) + inputs * inputs} + {d} * at",
        f"return ({start}, {start}, min(np.floor(u1 * M[1]), M[1] - 1.0))",
    ]
    return function_of({"np": np}, "reset(M, S, u0, u1)", lines)


def _observe(d: int) -> Any:
    seen = names("x", d)
    return function_of({}, f"observe({listed(names('s', d), seen)}f)", [f"return ({listed(seen)})"])


def _step(of: Structure) -> Any:
    sizes, at, d = of.sizes, of.at, of.sizes.d
    s, x, n, z = names("s", d), names("x", d), names("n", d), names("z", sizes.inputs)
    a, c = names("a", sizes.axes), names("c", 2 * d)
    known = {} if of.known is None else of.known.functions
    scope: dict[str, Any] = {"np": np, "F": F, "fastmath": fastmath}
    scope |= {f"value{j}": _value(of, j) for j in range(sizes.outputs)}
    scope |= {f"known_{name}": function for name, function in known.items()}

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
    lines += [f"x{j} = n{j} + M[{at.blur + j}] * (c{d + j} - 0.5)" for j in range(d)]
    lines += [f"reward -= known_cost({listed(a, x)})"] if "cost" in known else []
    lines.append(f"return ({listed(n, x)}f), reward, done")
    return function_of(scope, f"step(M, S, {listed(s, x)}f, {listed(a, c)})", lines)


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
            f"up, along = fastmath.sin_cos({change} + {noise})",
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
        f"z{j} = F(fastmath.atan2({np.sign(angle):.1f} * {state[abs(angle) - 1]}, {np.sign(angle):.1f} * {state[j]}))"
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
        *(["reward = fastmath.exp(reward)"] if of.logarithm else []),
    ]


def _value(of: Structure, j: int) -> Any:
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
    scope = {"np": np, "F": F, "fused": fastmath.fused, "exponential": exponential}
    return function_of(scope, f"value{j}(M, S, k, {listed(names('z', inputs))})", lines)


def _order(used: int) -> list[int]:
    """In which a CPU adds inputs to an exponent: the first chunk backwards, then each further one."""
    first = FIRST if used <= FIRST else FIRST + CHUNK
    chunks = [range(first), *(range(begin, begin + CHUNK) for begin in range(first, used, CHUNK))]
    return [place for chunk in chunks for place in reversed(chunk) if place < used]
