"""A learned model as a compiled plant: whatever can be tried on a plant can be tried in it.

The equations of the model are the same for every fit; its numbers are not. So the compiled
functions read the numbers from memory whose address stands in a row of the table, beside the rows
of state and action. One compilation serves all fits of a problem.

A state of the model is an observation without noise and the number of the function, drawn from the
posterior, in which its episode takes place. All sums go over the points in their order, side by
side in all lanes: the same bits for any number of lanes.
"""

import functools
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from spaql.gp.kernel_sums import BLOCK, WIDTH, filled
from spaql.gp.model_equations import (
    STRAY,
    Header,
    Places,
    RewardBounds,
    Sizes,
    advance,
    begin,
    places,
)  # fmt: skip
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.numba_public import intrinsic
from spaql.ground.numba_public import types as nb
from spaql.plants.compile import assembled, function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.known import KnownOutcome
from spaql.plants.memory import Item
from spaql.plants.plant import LANES, SIGNATURE, Batch, Plant, PlantFunction, Rows, make_plant, reset, step

_ONE_AT_A_TIME = threading.Lock()
_DOUBLES, _SINGLES, _WHOLES = (nb.CPointer(kind) for kind in (nb.float64, nb.float32, nb.int64))  # type: ignore[no-untyped-call]


def _cast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))


@intrinsic
def _doubles(_context: Any, address: Any) -> Any:
    """The memory at an address, as float64."""
    return _DOUBLES(nb.int64), _cast


@intrinsic
def _singles(_context: Any, address: Any) -> Any:
    """The memory at an address, as float32."""
    return _SINGLES(nb.int64), _cast


@intrinsic
def _wholes(_context: Any, address: Any) -> Any:
    """The memory at an address, as int64."""
    return _WHOLES(nb.int64), _cast


class Numbers(NamedTuple):
    """What the functions of a model share, then what differs. `Sizes` tells the shapes."""

    centre: Array  # (d,) of the observations
    scale: Array  # (d,)
    low: Array  # (d,) ends of the box of the data, in units of the scale
    high: Array
    middle: Array  # (axes,) of the actions
    half: Array  # (axes,) half of their range
    reward: RewardBounds
    angle: Array  # (d,) of the inputs of the reward: 0, or +-(1 + sine) where the angle of sine and +-cosine stands
    turn: Array  # (d,) 0; 1 + sine for a cosine, whose process explains the angle; -1 for a sine, which follows from it
    radius: Array  # (d,) of circles
    first: Array  # (d,) where the turn of an angle begins that jumps back by it, in units
    length: Array  # (d,) of that turn; 0 of all other variables
    shift: Array  # (d,) 1 + the input that a variable is in the next step, as memory is; 0 of all other variables
    noise: Array  # (d,) width of the noise of a step, in units of the scale
    blur: Array  # (d,) width of the noise with which a state is observed, physical
    inverse: Array  # (outputs, inputs) one over the length scales
    linear: Array  # (functions, outputs, inputs + 1) the linear part, its offset last
    quadratic: Array  # (functions, inputs, inputs) of the reward
    starts: Array  # (starts, d) observations
    points: tuple[Array, ...]  # by output: (inputs, points) over the length scales
    weights: tuple[Array, ...]  # by output: (functions, points)


@dataclass(frozen=True)
class ModelPlant(Plant):
    """A plant whose numbers are in memory. `known`: of reward and end, and not learned."""

    numbers: Numbers = field(kw_only=True, compare=False, repr=False)
    known: KnownOutcome | None = field(default=None, kw_only=True)

    @property
    def sizes(self) -> Sizes:
        """Whether the last output is an end follows from how many outputs there are."""
        learned = self.known is None or self.known.reward is None
        ends = len(self.numbers.inverse) > self.observation_dim + learned
        return Sizes(self.observation_dim, self.action_dim, learned, ends)

    def in_functions(self) -> Plant:
        from spaql.gp.scalar_form import in_python

        return in_python(self)

    @property
    def sensor_noise(self) -> tuple[float, ...]:
        return tuple(float(width) / math.sqrt(12.0) for width in self.numbers.blur)

    @property
    def costly(self) -> bool:
        return True

    @functools.cached_property
    def rows(self) -> Rows:
        """With room for the work of a step, and a last row for the address of the numbers."""
        usual: Rows = super().rows
        return usual._replace(end=usual.end + self.sizes.scratch)

    @property
    def memory(self) -> tuple[Array, Array]:
        """An array of float64, and one of float32 whose address is the first of the others.

        Made once, whichever thread comes first: tables keep addresses, and what is made twice is thrown away once.
        """
        with _ONE_AT_A_TIME:
            return self._memory

    @functools.cached_property
    def _memory(self) -> tuple[Array, Array]:
        numbers = self.numbers
        blocks = [_blocks(*parts) for parts in zip(numbers.points, numbers.weights, numbers.inverse, strict=True)]
        more = np.zeros(WIDTH, np.float32)  # vectors of weights are read from every index on
        small = np.concatenate([*(part.ravel() for part in blocks), more])
        first = np.cumsum([0, *(part.size for part in blocks)])[:-1]
        header = np.array(Header(small.ctypes.data, len(numbers.linear), len(numbers.starts)))
        shared, own = numbers[:16], (numbers.linear, numbers.quadratic, numbers.starts)
        parts = [header, *shared, np.array([len(part) for part in blocks]), first, *own]
        return np.concatenate([np.asarray(part, float).ravel() for part in parts]), small

    def table(self) -> Array:
        """Its last row tells where the numbers are."""
        table = super().table()
        table[-1] = self.memory[0].ctypes.data
        return table

    def __getstate__(self) -> dict[str, Any]:
        """Without what is of this process: addresses and machine code."""
        return {name: value for name, value in self.__dict__.items() if name not in ("rows", "batch", "_memory")}

    @functools.cached_property
    def batch(self) -> tuple[Batch, Batch]:
        return _compiled(self.sizes, self.rows, self.known)


def _blocks(points: Array, weights: Array, inverse: Array) -> Array:
    """(blocks, numbers): the own parts of a block's points, their inputs that matter, weights."""
    used = points[inverse > 0.0] / 4.0  # exponents are in sixteenths
    more, count = -used.shape[1] % BLOCK, -(-used.shape[1] // BLOCK)
    own = -0.5 * (used * used).sum(axis=0, keepdims=True)
    rows = np.concatenate([own, np.pad(used, ((0, filled(len(used)) - len(used)), (0, 0)))])
    blocked = np.pad(rows, ((0, 0), (0, more))).reshape(len(rows), count, BLOCK).transpose(1, 0, 2)
    weighed = np.pad(weights, ((0, 0), (0, more))).reshape(len(weights), count, BLOCK).transpose(1, 2, 0)
    parts = [part.reshape(len(part), part.shape[1] * part.shape[2]) for part in (blocked, weighed)]
    return np.concatenate(parts, axis=1).astype(np.float32)


def model_plant(numbers: Numbers, known: KnownOutcome | None = None) -> ModelPlant:
    """The plant of a model."""
    d, axes = len(numbers.centre), len(numbers.middle)
    return ModelPlant(nowhere, nothing, None, d + 1, axes, d, 2, 2 * d, numbers=numbers, known=known)


@reset
def nowhere() -> tuple[float, ...]:
    """In the place of equations, which a learned model has not."""
    raise SpaqlError("a learned model has no equations to run in Python")


@step
def nothing() -> tuple[float, ...]:
    """The same."""
    raise SpaqlError("a learned model has no equations to run in Python")


def _compiled(sizes: Sizes, rows: Rows, outcome: KnownOutcome | None) -> tuple[Batch, Batch]:
    """Reset and step; what is known stands in the text under its name."""
    known = {} if outcome is None else outcome.functions
    ours = {
        "doubles": _doubles, "singles": _singles, "wholes": _wholes, "begin": begin, "advance": advance,
        "Sizes": Sizes, "Rows": Rows, "Places": Places,
    }  # fmt: skip
    numbers = f"    N = doubles(np.int64(T[{(rows.end - 1) * LANES}]))"
    shape = f"Sizes{tuple(sizes)}, Rows{tuple(rows)}, Places{tuple(places(sizes, rows))}"
    return (
        assembled("reset", "(T, n)", f"{numbers}\n    begin(T, N, {shape}, n)", {}, SIGNATURE, ours),
        assembled("step", "(T, n)", "\n".join([numbers, *_step(sizes, rows, shape, known)]), known, SIGNATURE, ours),
    )


def _step(sizes: Sizes, rows: Rows, shape: str, known: Mapping[str, Any]) -> list[str]:
    """Lines: what is learned, then what is known, then the next state."""
    state, observed = _row(rows.state), _row(rows.observation)
    place = f"wholes(T.ctypes.data + {8 * LANES * (rows.end - sizes.scratch)})"
    lines = [
        "    S, B = singles(np.int64(N[0])), singles(T.ctypes.data)",
        f"    advance(T, N, S, B, {place}, {shape}, n)",
        "    for i in range(n):",
    ]
    before = [state(j) for j in range(sizes.d)] + [_row(rows.action)(k) for k in range(sizes.axes)]
    everything = ", ".join([*before, *(observed(j) for j in range(sizes.d))])
    at, paid = places(sizes, rows), _row(rows.reward)(0)
    if not sizes.learned:
        lines.append(f"        {paid} = reward({everything})")
    lines.append(f"        if B[{at.stray} + i] > 0.5: {paid} = min({paid}, N[{at.reward + STRAY}])")
    if not sizes.ends:
        ended = f"1.0 if terminated({everything}) else 0.0" if "terminated" in known else "0.0"
        lines.append(f"        {_row(rows.done)(0)} = {ended}")
    for j in range(sizes.d):
        blur = f"N[{places(sizes, rows).blur + j}] * ({_row(rows.noise)(sizes.d + j)} - 0.5)"
        lines += [f"        {state(j)} = {observed(j)}", f"        {observed(j)} += {blur}"]
    if "cost" in known:  # limits are on what is observed, with its noise
        seen = [_row(rows.action)(k) for k in range(sizes.axes)] + [observed(j) for j in range(sizes.d)]
        lines.append(f"        {paid} -= cost({', '.join(seen)})")
    return lines


def _row(first: int) -> Callable[[int], str]:
    return lambda j: f"T[{(first + j) * LANES} + i]"



@dataclass(frozen=True)
class Machine(Plant):
    """A learned model of which only what is measured is observed; its memory of changes is what they have been."""

    model: ModelPlant = field(kw_only=True, compare=False, repr=False)
    remembered: tuple[Item, ...] = field(kw_only=True)
    names: tuple[str, ...] = field(kw_only=True)  # of what is measured

    @property
    def sensor_noise(self) -> tuple[float, ...]:
        return self.model.sensor_noise[: self.observation_dim]

    @property
    def costly(self) -> bool:
        return True

    def in_functions(self) -> Plant:
        plant, d = self.model.in_functions(), self.observation_dim
        s, t = letters("s", plant.state_dim), letters("t", plant.state_dim)
        more = letters("a", plant.action_dim), letters("c", plant.step_noise)
        lines = [f"({listed(t)}), reward, terminated = act({listed(s, *more)})"]
        places = {
            (item.of, int(item.number)): d + n for n, item in enumerate(self.remembered) if item.kind != "previous"
        }
        for (of, steps), j in places.items():
            k = self.names.index(of)
            before = f" + s{places[of, steps - 1]}" if (of, steps - 1) in places else ""
            lines.append(f"t{j} = t{k} - s{k}{before}")
        lines.append(f"return ({listed(t)}), reward, terminated")
        step = function_of({"act": plant.step.python}, f"step({listed(s, *more)})", lines)
        seen = function_of({}, f"observe({listed(s)})", [f"return ({listed(s[:d])})"])
        functions = PlantFunction("step", step), PlantFunction("observe", seen)
        return make_plant(plant.reset, *functions, plant.action_dim)
