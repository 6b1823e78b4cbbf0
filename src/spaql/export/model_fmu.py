"""A learned model as a source-code FMU: the mean of its Gaussian processes, in C, without noise.

As python_form.py writes a model in Python: inputs in units, one function per variable, held in the box of the data.
"""

from dataclasses import replace

import numpy as np

from spaql.export.heading import c_comment
from spaql.export.source_fmu import ProgramInterface, fmu_files
from spaql.gp.model_plant import ModelPlant
from spaql.ground.arrays import Array
from spaql.plants.axes import Axis
from spaql.plants.problem import Problem
from spaql.policy.words import action_names, action_units, one_line, variable_names, variable_units


def model_fmu(problem: Problem, plant: ModelPlant, start: Array, dt: float, name: str, major: int) -> dict[str, str]:
    """The files of the FMU: actions are its inputs, observed variables its outputs, which begin at `start`."""
    shown = zip(variable_names(problem), variable_units(problem), problem.state, strict=True)
    outputs = tuple(replace(axis, name=word, unit=unit, period=None) for word, unit, axis in shown)
    low, high = problem.actions.bounds
    taken = zip(action_names(problem), action_units(problem), low.tolist(), high.tolist(), strict=True)
    inputs = tuple(Axis(word, least, most, unit=unit) for word, unit, least, most in taken)
    face = ProgramInterface(inputs, outputs, True, False, dt)
    return fmu_files(one_line(problem.summary), face, _source(problem, plant, start, name), name, major)


def _source(problem: Problem, plant: ModelPlant, start: Array, name: str) -> str:
    d, axes, numbers = plant.sizes.d, plant.sizes.axes, plant.numbers
    lines = [*c_comment([f"Learned model: {one_line(problem.summary)}.", "The mean, without noise."]), ""]
    lines += ["#include <math.h>", "", f"typedef struct {{ double x[{d}]; }} {name}_memory;", ""]
    moving = [j for j in range(d) if numbers.shift[j] == 0.0 and numbers.turn[j] >= 0.0]
    for j in moving:
        lines += _value(plant, j)
    lines += [f"static void {name}_init({name}_memory *memory)", "{"]
    lines += [f"    memory->x[{j}] = {float(start[j])!r};" for j in range(d)]
    head = f"static void {name}_step({name}_memory *memory, const double *input, double *output)"
    lines += ["}", "", "/* Shows the state, then moves it on. */", head, "{", "    double *s = memory->x;"]
    lines += [f"    double z[{d + axes}], t[{d}];"]
    units = zip(numbers.centre.tolist(), numbers.scale.tolist(), strict=True)
    lines += [f"    z[{j}] = (s[{j}] - {centre!r}) / {scale!r};" for j, (centre, scale) in enumerate(units)]
    for k, (middle, half) in enumerate(zip(numbers.middle.tolist(), numbers.half.tolist(), strict=True)):
        lines.append(f"    z[{d + k}] = (input[{k}] - {middle!r}) / {half!r};")
    for j in range(d):
        lines += [f"    {line}" for line in _moved(plant, j)]
    lines += [f"    output[{j}] = s[{j}];" for j in range(d)]
    lines += [f"    s[{j}] = t[{j}];" for j in range(d)]
    return "\n".join([*lines, "}", ""])


def _table(name: str, values: Array) -> list[str]:
    """Constants, a few in a line."""
    texts = [repr(float(value)) for value in np.ravel(values)]
    rows = [", ".join(texts[k : k + 6]) for k in range(0, len(texts), 6)]
    return [f"    static const double {name}[{len(texts)}] = {{", *(f"        {row}," for row in rows), "    };"]


def _value(plant: ModelPlant, j: int) -> list[str]:
    """(G2) of gaussian_process.py for the change of one variable."""
    numbers, inputs = plant.numbers, plant.sizes.inputs
    inverse = np.asarray(numbers.inverse[j], float)
    used = np.flatnonzero(inverse > 0.0).tolist()
    points, weights = numbers.points[j][used].T, np.asarray(numbers.weights[j][0], float)
    lines = [f"static double change{j}(const double *z)", "{"]
    if len(weights):
        lines += [*_table("weight", weights), *(_table("point", points) if used else [])]
    lines.append(f"    double sum = {float(numbers.linear[0, j, inputs])!r};")
    lines += [f"    sum += {float(numbers.linear[0, j, i])!r} * z[{i}];" for i in range(inputs)]
    if len(weights):
        lines += [f"    for (int p = 0; p < {len(weights)}; p++) {{", "        double square = 0.0;"]
        for n, i in enumerate(used):
            apart = f"point[{len(used)} * p + {n}] - {float(inverse[i])!r} * z[{i}]"
            lines.append(f"        square += ({apart}) * ({apart});")
        lines += ["        sum += weight[p] * exp(-0.5 * square);", "    }"]
    return [*lines, "    return sum;", "}", ""]


def _moved(plant: ModelPlant, j: int) -> list[str]:
    """A variable after a step: copied, on a circle, or within the box of the data."""
    numbers, d = plant.numbers, plant.sizes.d
    turn, change = int(numbers.turn[j]), f"change{j}(z)"
    if turn < 0:  # a sine comes with its cosine
        return []
    if numbers.shift[j] > 0.0:
        k = int(numbers.shift[j]) - 1
        return [f"t[{j}] = {f's[{k}]' if k < d else f'input[{k - d}]'};"]
    if turn > 0:
        i, radius = turn - 1, float(numbers.radius[j])
        return [
            "{",
            f"    const double a = {change}, r = {radius!r} / fmax(sqrt(s[{j}] * s[{j}] + s[{i}] * s[{i}]), 1e-300);",
            f"    t[{j}] = r * (s[{j}] * cos(a) - s[{i}] * sin(a));",
            f"    t[{i}] = r * (s[{i}] * cos(a) + s[{j}] * sin(a));",
            "}",
        ]
    begin, length = float(numbers.first[j]), float(numbers.length[j])
    low, high, centre, scale = (float(part[j]) for part in (numbers.low, numbers.high, numbers.centre, numbers.scale))
    back = [f"t[{j}] -= {length!r} * floor((t[{j}] - {begin!r}) / {length!r});"] if length > 0.0 else []
    return [
        f"t[{j}] = z[{j}] + {change};",
        *back,
        f"t[{j}] = {centre!r} + {scale!r} * fmin(fmax(t[{j}], {low!r}), {high!r});",
    ]
