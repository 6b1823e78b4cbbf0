"""A learned model as a compiled plant: whatever can be tried on a plant can be tried in it.

The equations of the model are the same for every fit; its numbers are not. So the compiled functions read the numbers
from memory whose address stands in a row of the table, beside the rows of state and action. One compilation serves all
fits of a problem.

A state of the model is an observation and the number of the function, drawn from the posterior, in which its episode
takes place. All sums go over the points in their order, side by side in all lanes: the same bits for any number of
lanes.
"""

import functools
import hashlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, int64
from numba import types as nb
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from spaql import fastmath
from spaql.arrays import Array
from spaql.compiling import callback
from spaql.errors import SpaqlError
from spaql.plants.compile import digest, scalar
from spaql.plants.plant import LANES, SIGNATURE, Batch, Plant, PlantFunction, Rows

HEADER = 8  # numbers before the others


@intrinsic
def _doubles(_context: Any, address: Any) -> Any:
    """The memory at an address, as float64."""
    return nb.CPointer(float64)(int64), _cast


@intrinsic
def _singles(_context: Any, address: Any) -> Any:
    """The memory at an address, as float32."""
    return nb.CPointer(float32)(int64), _cast


def _cast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))


@intrinsic
def _wholes(_context: Any, address: Any) -> Any:
    """The memory at an address, as int64."""
    return nb.CPointer(int64)(int64), _cast


class Numbers(NamedTuple):
    """The numbers of a model: what its functions share, and what differs between them. `Sizes` tells the shapes."""

    centre: Array  # (d,) of the observations
    scale: Array  # (d,)
    low: Array  # (d,) ends of the box of the data, in units of the scale
    high: Array
    middle: Array  # (axes,) of the actions
    half: Array  # (axes,) half of their range
    reward: Array  # (4,) 1 if the reward is one of the next state; 1 if its logarithm is modelled; least, most
    inverse: Array  # (outputs, inputs) one over the length scales
    linear: Array  # (functions, outputs, inputs + 1) the linear part, its offset last
    quadratic: Array  # (functions, inputs, inputs) of the reward
    starts: Array  # (starts, d) observations
    points: Array  # float32 (outputs, inputs, points) over the length scales
    weights: Array  # float32 (functions, outputs, points)


class Sizes(NamedTuple):
    """What the compiled functions know beforehand."""

    d: int  # observed variables
    axes: int  # of the action
    learned: bool  # the reward is an output of the model
    ends: bool  # the end of an episode is one, the last

    @property
    def inputs(self) -> int:
        return self.d + self.axes

    @property
    def outputs(self) -> int:
        return self.d + self.learned + self.ends


@dataclass(frozen=True)
class ModelPlant(Plant):
    """A plant whose numbers are in memory. `reward_of`, `ends_at`: functions of observation, action, next one."""

    numbers: Numbers = field(kw_only=True, compare=False, repr=False)
    reward_of: Any = field(default=None, kw_only=True)
    ends_at: Any = field(default=None, kw_only=True)

    @property
    def sizes(self) -> Sizes:
        """Whether the last output is an end follows from how many outputs there are."""
        learned = self.reward_of is None
        ends = len(self.numbers.inverse) > self.observation_dim + learned
        return Sizes(self.observation_dim, self.action_dim, learned, ends)

    @functools.cached_property
    def rows(self) -> Rows:
        """With room for the work of a step, and a last row for the address of the numbers."""
        usual = Plant.rows.func(self)
        return usual._replace(end=usual.end + self.sizes.inputs + 2 + 1)

    @functools.cached_property
    def memory(self) -> tuple[Array, Array]:
        """Everything in one array of float64 and one of float32, whose address is the first of the others."""
        numbers = self.numbers
        small = np.concatenate([numbers.points.ravel(), numbers.weights.ravel()]).astype(np.float32)
        counts = numbers.points.shape[2], len(numbers.weights), len(numbers.starts)
        header = np.zeros(HEADER)
        header[:4] = small.ctypes.data, *counts
        parts = [header, *(np.asarray(part, float).ravel() for part in numbers[:11])]
        return np.concatenate(parts), small

    def table(self) -> Array:
        """Its last row tells where the numbers are."""
        table = super().table()
        table[-1] = self.memory[0].ctypes.data
        return table

    @functools.cached_property
    def batch(self) -> tuple[Batch, Batch]:
        return _compiled(self.sizes, self.rows, self.reward_of, self.ends_at)


def model_plant(numbers: Numbers, reward_of: Any = None, ends_at: Any = None) -> ModelPlant:
    """The plant of a model. The functions are plain Python, of plain numbers."""
    d, axes = len(numbers.centre), len(numbers.middle)
    none = PlantFunction("reset", _never)
    return ModelPlant(
        none, none, None, d + 1, axes, d, 2, 0, numbers=numbers, reward_of=reward_of, ends_at=ends_at,
    )  # fmt: skip


def _never() -> tuple[float, ...]:
    raise SpaqlError("a learned model has no equations to run in Python")


def _compiled(sizes: Sizes, rows: Rows, reward_of: Any, ends_at: Any) -> tuple[Batch, Batch]:
    text = _text(sizes, rows, ends_at is not None)
    given = [function for function in (reward_of, ends_at) if function is not None]
    key = hashlib.sha256(text.encode() + b"".join(digest(function) for function in given)).hexdigest()[:16]
    scope: dict[str, Any] = {
        "__name__": __name__, "doubles": _doubles, "singles": _singles, "wholes": _wholes, "np": np,
        "F": np.float32, "exp": fastmath.exp, "int64": np.int64,
    }  # fmt: skip
    if reward_of is not None:
        scope["reward_of"] = scalar(reward_of)
    if ends_at is not None:
        scope["ends_at"] = scalar(ends_at)
    exec(compile(text.replace("KEY", key), __file__, "exec"), scope)  # the text is ours
    try:
        return callback(scope[f"reset_{key}"], SIGNATURE), callback(scope[f"step_{key}"], SIGNATURE)
    except NumbaError as error:
        names = " or ".join(function.__name__ for function in given) or "the model"
        reason = " ".join(str(error).split())[:400]
        raise SpaqlError(f"{names} does not compile: use numbers, math and if/else only ({reason})") from error


def _text(sizes: Sizes, rows: Rows, ends_at: bool) -> str:
    """The source of reset and step. Offsets into the numbers follow from `Numbers`."""
    d, axes, inputs, outputs = sizes.d, sizes.axes, sizes.inputs, sizes.outputs
    at, place = HEADER, {}
    for name, size in (
        ("centre", d), ("scale", d), ("low", d), ("high", d), ("middle", axes), ("half", axes), ("reward", 4),
        ("inverse", outputs * inputs), ("linear", None),
    ):  # fmt: skip
        place[name] = at
        at += size or 0
    work = rows.end - inputs - 3  # rows of scratch: inputs, the place of a lane's weights, sums
    T = lambda row, lane="i": f"T[{row * LANES} + {lane}]"  # noqa: E731, N806
    observed = [T(rows.observation + j) for j in range(d)]
    lines = [
        "def reset_KEY(T, n):",
        f"    N = doubles(int64(T[{(rows.end - 1) * LANES}]))",
        "    functions, starts = int64(N[2]), int64(N[3])",
        f"    first = {place['linear']} + functions * {outputs * (inputs + 1) + inputs * inputs}",
        "    for i in range(n):",
        f"        at = first + {d} * min(int64({T(rows.noise)} * starts), starts - 1)",
        f"        {T(rows.state + d)} = min(np.floor({T(rows.noise + 1)} * functions), functions - 1.0)",
    ]
    for j in range(d):
        lines.append(f"        {T(rows.state + j)} = N[at + {j}]")
        lines.append(f"        {observed[j]} = N[at + {j}]")
    lines += [
        "",
        "def step_KEY(T, n):",
        f"    N = doubles(int64(T[{(rows.end - 1) * LANES}]))",
        "    S = singles(int64(N[0]))",
        "    points, functions = int64(N[1]), int64(N[2])",
        f"    heavy = {outputs * inputs} * points",
        "    B = singles(T.ctypes.data)",  # scratch: one pointer, so that LLVM can prove that rows do not overlap
        f"    place = wholes(T.ctypes.data + {8 * LANES * (work + inputs)})",
        f"    after = {place['linear']}",
        f"    square = after + functions * {outputs * (inputs + 1)}",
    ]
    x = [f"B[{2 * LANES * (work + k)} + i]" for k in range(inputs)]  # inputs over the length scales
    z = [f"B[{2 * LANES * (work + k) + LANES} + i]" for k in range(inputs)]  # inputs in units
    total, value = (f"B[{2 * LANES * (work + inputs + 1) + half * LANES} + i]" for half in range(2))
    lines += ["    for i in range(n):", f"        place[i] = int64({T(rows.state + d)}) * {outputs} * points"]
    for j in range(d):
        lines.append(f"        {z[j]} = F(({T(rows.state + j)} - N[{place['centre'] + j}]) / N[{place['scale'] + j}])")
    for k in range(axes):
        into = f"({T(rows.action + k)} - N[{place['middle'] + k}]) / N[{place['half'] + k}]"
        lines.append(f"        {z[d + k]} = F({into})")
    for j in range(outputs):
        ending = sizes.ends and j == outputs - 1
        if j >= d:  # the reward is one of this state or of the next one, the end one of the next
            lines += [f"    if {ending} or N[{place['reward']}] > 0.0:", "        for i in range(n):"]
            for k in range(d):
                new = f"({T(rows.observation + k)} - N[{place['centre'] + k}]) / N[{place['scale'] + k}]"
                lines.append(f"            {z[k]} = F({new})")
        lines += ["    for i in range(n):"]
        lines += [f"        {x[k]} = {z[k]} * F(N[{place['inverse'] + j * inputs + k}])" for k in range(inputs)]
        lines += [f"        {total} = F(0.0)", "    for p in range(points):"]
        lines += [f"        p{k} = S[{j * inputs + k} * points + p]" for k in range(inputs)]
        lines += [f"        own = heavy + {j} * points + p", "        for i in range(n):"]
        square = " + ".join(f"(p{k} - {x[k]}) * (p{k} - {x[k]})" for k in range(inputs))
        lines += [
            f"            y = F(-0.03125) * ({square})",  # the square over 2, and over 16
            "            y = y if y > F(-1.0) else F(-1.0)",
            "            e = F(1.0) + y * (F(1.0) + y * (F(0.5) + y * (F(1 / 6) + y * (F(1 / 24) + y * F(1 / 120)))))",
            "            e = e * e",
            "            e = e * e",
            "            e = e * e",
            f"            {value} = e * e",
            "        for i in range(n):",
            f"            {total} += S[own + place[i]] * {value}",
            "    for i in range(n):",
            f"        w = after + (int64({T(rows.state + d)}) * {outputs} + {j}) * {inputs + 1}",
        ]
        linear = " + ".join(f"N[w + {k}] * {z[k]}" for k in range(inputs))
        lines.append(f"        s = {total} + {linear} + N[w + {inputs}]")
        if j < d:
            held = f"min(max({z[j]} + s, N[{place['low'] + j}]), N[{place['high'] + j}])"
            lines.append(f"        {observed[j]} = N[{place['centre'] + j}] + N[{place['scale'] + j}] * {held}")
        elif ending:
            lines.append(f"        {T(rows.done)} = 1.0 if s > 0.0 else 0.0")
        else:
            lines.append(f"        w = square + int64({T(rows.state + d)}) * {inputs * inputs}")
            lines += [
                f"        s += {z[a]} * (" + " + ".join(f"N[w + {a * inputs + b}] * {z[b]}" for b in range(inputs)) + ")"
                for a in range(inputs)
            ]
            lines += [
                f"        s = min(max(s, N[{place['reward'] + 2}]), N[{place['reward'] + 3}])",
                f"        {T(rows.reward)} = exp(s) if N[{place['reward'] + 1}] > 0.0 else s",
            ]
    before = [T(rows.state + j) for j in range(d)] + [T(rows.action + k) for k in range(axes)]
    everything = ", ".join(before + observed)
    lines.append("    for i in range(n):")
    if not sizes.learned:
        lines.append(f"        {T(rows.reward)} = reward_of({everything})")
    if not sizes.ends:
        lines.append(f"        {T(rows.done)} = {f'1.0 if ends_at({everything}) else 0.0' if ends_at else '0.0'}")
    lines += [f"        {T(rows.state + j)} = {observed[j]}" for j in range(d)]
    return "\n".join(lines) + "\n"
