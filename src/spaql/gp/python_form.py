"""A learned model as plain functions of plain numbers, for whatever is put together from functions:
loops.

    def step(s0, s1, f, b, a0, c0, c1):               two variables, one action
        k = int(f)
        z0, z1 = (s0 - C[0]) / S[0], (s1 - C[1]) / S[1]
        z2 = (a0 - M[0]) / H[0]
        o0, o1 = z0 + value0(k, z0, z1, z2) + N[0] * (c0 - 0.5), ...
        n0, n1 = min(max(o0, LOW[0]), HIGH[0]), ...             or on a circle
        b = 1.0 if n0 != o0 or n1 != o1 else 0.0
        ...

The model's numbers are arrays that these functions name; compiling makes constants of them. f is
the function, drawn from the posterior, in which the episode takes place, b is 1 where a step has
left the box of the data. The state is observed as it is: the noise of the sensors belongs to the
loop, whose default it is (`ModelPlant.sensor_noise`).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spaql.gp.model_plant import ModelPlant
from spaql.ground.arrays import Array
from spaql.plants.compile import function_of
from spaql.plants.compile import names as letters
from spaql.plants.plant import Plant, PlantFunction, make_plant


def in_python(plant: ModelPlant) -> Plant:
    """The same model: in double precision, without its sensors' noise."""
    sizes, numbers = plant.sizes, plant.numbers
    d, outputs = sizes.d, sizes.outputs
    s, n, z = letters("s", d), letters("n", d), letters("z", sizes.inputs)
    a, c = letters("a", sizes.axes), letters("c", d)
    scope: dict[str, Any] = {
        "C": _plain(numbers.centre), "S": _plain(numbers.scale), "LOW": _plain(numbers.low),
        "HIGH": _plain(numbers.high), "M": _plain(numbers.middle), "H": _plain(numbers.half),
        "N": _plain(numbers.noise), "STARTS": _plain(numbers.starts), "MOST": len(numbers.starts),
        "FUNCTIONS": len(numbers.linear), "math": math,
    }  # fmt: skip
    scope |= {f"value{j}": _value(plant, j) for j in range(outputs)}
    known = {} if plant.known is None else plant.known.functions
    scope |= {f"known_{name}": function for name, function in known.items()}

    lines = ["k = int(f)"]
    lines += [f"z{j} = (s{j} - C[{j}]) / S[{j}]" for j in range(d)]
    lines += [f"z{d + k} = (a{k} - M[{k}]) / H[{k}]" for k in range(sizes.axes)]
    straight = np.flatnonzero(numbers.turn == 0.0)
    for j in range(d):
        lines += _moved(plant, j, f"value{j}(k, {', '.join(z)}) + N[{j}] * (c{j} - 0.5)")
    lines.append(f"b = 1.0 if {' or '.join(f'n{j} != o{j}' for j in straight) or False} else 0.0")
    everything = ", ".join([*s, *a, *letters("t", d)])
    after = ", ".join([*n, *z[d:]])  # inputs of what follows from the next state
    own = [*n, *z[d:]] if sizes.learned and numbers.reward.of_next > 0.0 else z
    lines += _paid(plant, ", ".join(_turned(plant, own, "t" if numbers.reward.of_next > 0.0 else "s")), everything)
    if sizes.ends:
        lines.append(f"terminated = value{outputs - 1}(k, {after}) > 0.0")
        if sizes.learned and not math.isnan(numbers.reward.last):
            lines.append(f"reward = {numbers.reward.last!r} if terminated else reward")
    else:
        lines.append(f"terminated = {f'bool(known_terminated({everything}))' if 'terminated' in known else False}")
    if math.isfinite(numbers.reward.stray):  # beyond the data nothing good is believed
        lines.append(f"reward = min(reward, {numbers.reward.stray!r}) if b > 0.5 else reward")
    lines.append(f"return ({', '.join(letters('t', d))}, f, b), reward, terminated")
    stepped = function_of(scope, f"step({', '.join([*s, 'f', 'b', *a, *c])})", lines)

    started = function_of(
        scope, "reset(u0, u1)",
        ["i = int(min(u0 * MOST, MOST - 1.0))", "f = float(int(min(u1 * FUNCTIONS, FUNCTIONS - 1.0)))",
         f"return ({', '.join(f'STARTS[i, {j}]' for j in range(d))}, f, 0.0)"],
    )  # fmt: skip
    seen = function_of({}, f"observe({', '.join([*s, 'f', 'b'])})", [f"return ({', '.join(s)},)"])
    functions = PlantFunction("reset", started), PlantFunction("step", stepped), PlantFunction("observe", seen)
    return replace(make_plant(*functions, sizes.axes), origin=(in_python, (plant,)))


def _paid(plant: ModelPlant, inputs: str, everything: str) -> list[str]:
    """Lines of the reward."""
    reward = plant.numbers.reward
    if not plant.sizes.learned:
        return [f"reward = known_reward({everything})"]
    value = f"value{plant.sizes.d}(k, {inputs})"
    lines = [f"reward = min(max({value}, {reward.least!r}), {reward.most!r})"]
    return [*lines, "reward = math.exp(reward)"] if reward.logarithm > 0.0 else lines


def _moved(plant: ModelPlant, j: int, change: str) -> list[str]:
    """Lines of a variable after a step, n in units and t in its own: held in a box, or on a circle."""
    turn = int(plant.numbers.turn[j])
    if turn < 0:  # a sine comes with its cosine
        return []
    if plant.numbers.shift[j] > 0.0:
        k, d = int(plant.numbers.shift[j]) - 1, plant.sizes.d
        return [f"t{j} = {f's{k}' if k < d else f'a{k - d}'}", f"n{j} = o{j} = (t{j} - C[{j}]) / S[{j}]"]
    if turn == 0:
        begin, length = float(plant.numbers.first[j]), float(plant.numbers.length[j])
        back = [f"o{j} -= {length!r} * math.floor((o{j} - {begin!r}) / {length!r})"] if length > 0.0 else []
        return [
            f"o{j} = z{j} + {change}", *back,
            f"n{j} = min(max(o{j}, LOW[{j}]), HIGH[{j}])", f"t{j} = C[{j}] + S[{j}] * n{j}",
        ]  # fmt: skip
    other, radius = turn - 1, float(plant.numbers.radius[j])
    return [
        f"a = {change}",
        f"r = {radius!r} / max(math.sqrt(s{j} * s{j} + s{other} * s{other}), 1e-300)",
        f"t{j} = r * (s{j} * math.cos(a) - s{other} * math.sin(a))",
        f"t{other} = r * (s{other} * math.cos(a) + s{j} * math.sin(a))",
        *(f"n{i} = (t{i} - C[{i}]) / S[{i}]" for i in (j, other)),
    ]


def _turned(plant: ModelPlant, inputs: Sequence[str], state: str) -> list[str]:
    """Inputs of the reward, with angles in the place of what their cosines were."""
    names = list(inputs)
    for j in np.flatnonzero(plant.numbers.angle):
        angle = float(plant.numbers.angle[j])
        sign, sine = math.copysign(1.0, angle), int(abs(angle)) - 1
        names[j] = f"math.atan2({sign} * {state}{sine}, {sign} * {state}{j})"
    return names


def _value(plant: ModelPlant, j: int) -> Any:
    """(G2) of gaussian_process.py for one output; the quadratic part is the reward's."""
    numbers, inputs = plant.numbers, plant.sizes.inputs
    inverse = np.asarray(numbers.inverse[j], float)
    used = np.flatnonzero(inverse > 0.0)
    scope: dict[str, Any] = {
        "P": _plain(numbers.points[j][used].T), "W": _plain(numbers.weights[j]), "L": _plain(numbers.linear[:, j]),
        "math": math,
    }  # fmt: skip
    lines = [f"s = L[k, {inputs}]"]
    lines += [f"s += L[k, {i}] * z{i}" for i in range(inputs)]
    if j == plant.sizes.d and plant.sizes.learned and numbers.quadratic.any():
        scope["Q"] = _plain(numbers.quadratic)
        lines += [f"s += Q[k, {a}, {b}] * z{a} * z{b}" for a in range(inputs) for b in range(a, inputs)]
    lines += [f"x{n} = {float(inverse[i])!r} * z{i}" for n, i in enumerate(used)]
    square = " + ".join(f"(P[p, {n}] - x{n}) * (P[p, {n}] - x{n})" for n in range(len(used))) or "0.0"
    lines += [f"for p in range({len(scope['P'])}):", f"    s += W[k, p] * math.exp(-0.5 * ({square}))"]
    return function_of(scope, f"value{j}(k, {', '.join(letters('z', inputs))})", [*lines, "return s"])


def _plain(array: Array) -> Array:
    """As compiled code takes constants."""
    return np.ascontiguousarray(array, np.float64)
