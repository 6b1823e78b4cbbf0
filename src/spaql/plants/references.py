"""References: signals from outside that a plant is to follow, drawn or scheduled, seen by the controller.

    spaql.Reference("target", 0.0, 200.0, of="speed", hold=(20, 60))      steps at random times
    spaql.Reference("target", 0.0, 200.0, of="speed", hold=50, rate=2.0)  ramps
    spaql.Reference("target", 0.0, 200.0, values=(0, 150, 50), hold=40)   a sequence

A reference that does not change within an episode takes one number of the plant's state; others take four: its value,
where it is going, for how many steps it stays there, and how many such stretches there were.
"""

from dataclasses import dataclass
from typing import Any

from spaql.ground.checks import items, real, text, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import NARROWEST, Axis

MOST_VALUES = 1000  # of a sequence
FEW = 8  # values of a sequence that are told


@dataclass(frozen=True)
class Reference:
    """A signal between `low` and `high` that is drawn in every episode.

    - `of`: the measured variable that is to follow it; the error, reference minus variable, becomes a variable too
    - `hold`: after so many steps, or (least, most), it is drawn again; None: it stays for the whole episode
    - `rate`: it moves to its next value by at most this much per step; None: it jumps
    - `values`: it takes these values one after the other instead of random ones; the last one stays
    """

    name: str
    low: float
    high: float
    of: str | None = None
    hold: int | tuple[int, int] | None = None
    rate: float | None = None
    values: tuple[float, ...] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        if not text("the name of a reference", self.name):
            raise SpaqlError("a reference needs a name")
        text(f"{self.name}: unit", self.unit)
        if self.of is not None:
            text(f"{self.name}: of", self.of)
        for end in ("low", "high"):
            object.__setattr__(self, end, real(f"{self.name}: {end}", getattr(self, end)))
        if not self.low < self.high:
            raise SpaqlError(f"{self.name}: low must be below high, got {self.low:g} and {self.high:g}")
        if self.rate is not None:
            least = NARROWEST * (self.high - self.low)  # of less it would not move in double precision
            object.__setattr__(self, "rate", real(f"{self.name}: rate", self.rate, least))
        object.__setattr__(self, "hold", _hold(self.name, self.hold))
        object.__setattr__(self, "values", _values(self))
        if self.values and len(self.values) > 1 and self.hold is None:
            raise SpaqlError(f"{self.name}: hold=... says for how many steps each of its values is held")

    @property
    def axis(self) -> Axis:
        """As an observed variable."""
        return Axis(self.name, self.low, self.high, unit=self.unit)

    @property
    def middle(self) -> float:
        """Of its range."""
        return (self.low + self.high) / 2

    @property
    def changes(self) -> bool:
        """Within an episode."""
        return self.hold is not None

    @property
    def size(self) -> int:
        """Numbers of the state that it takes."""
        return 4 if self.changes else 1

    def __str__(self) -> str:
        listed = ", ".join(f"{value:g}" for value in self.values[:FEW]) + ", ..." * (len(self.values) > FEW)
        said = f"{self.name}{f' of {self.of}' if self.of else ''}: {listed or f'{self.low:g} to {self.high:g}'}"
        said += f" {self.unit}" if self.unit else ""
        if isinstance(self.hold, tuple):
            least, most = self.hold
            long = f"{least} steps" if least == most else f"{least} to {most} steps"
            said += f", each for {long}" if self.values else f", a new one after {long}"
        return said + (f", by {self.rate:g} per step" if self.rate is not None else "")


def _hold(name: str, given: Any) -> tuple[int, int] | None:
    if given is None:
        return None
    pair = given if isinstance(given, tuple | list) else (given, given)
    if len(pair) != 2:
        raise SpaqlError(f"{name}: hold is a number of steps or (least, most), not {echoed(given)}")
    least, most = whole(f"{name}: hold", pair[0], 1, 10**6), whole(f"{name}: hold", pair[1], 1, 10**6)
    if least > most:
        raise SpaqlError(f"{name}: hold is a number of steps or (least, most), not {echoed(given)}")
    return least, most


def _values(reference: Reference) -> tuple[float, ...]:
    name = reference.name
    given = items(f"{name}: values", reference.values)
    if len(given) > MOST_VALUES:
        raise SpaqlError(f"{name}: a sequence has at most {MOST_VALUES} values, not {len(given)}")
    values = tuple(real(f"{name}: a value", value) for value in given)
    for value in values:
        if not reference.low <= value <= reference.high:
            raise SpaqlError(f"{name}: {value:g} is outside its range, {reference.low:g} to {reference.high:g}")
    return values


# -- as text of a plant ------------------------------------------------------------------------------------------------
#
# The names of reference k: r its value, g where it goes, l the steps left, i the number of the stretch; ua and ub are
# uniform numbers. What does not change has only r.


def names(k: int, reference: Reference) -> list[str]:
    return [f"r{k}", f"g{k}", f"l{k}", f"i{k}"][: reference.size]


def chances(k: int, reference: Reference) -> list[str]:
    """The uniform numbers it takes at a reset and, if it changes, at every step: none if all is fixed."""
    drawn = isinstance(reference.hold, tuple) and reference.hold[0] < reference.hold[1]
    return ([] if reference.values else [f"ra{k}"]) + ([f"rb{k}"] if drawn else [])


def first_lines(k: int, reference: Reference) -> list[str]:
    lines = [f"r{k} = {_next(k, reference, '0.0')}"]
    if reference.changes:
        lines += [f"g{k} = r{k}", f"l{k} = {_length(k, reference)}", f"i{k} = 0.0"]
    return lines


def next_lines(k: int, reference: Reference) -> list[str]:
    if not reference.changes:
        return []
    lines = [
        f"over{k} = l{k} <= 1.0",
        f"i{k} = i{k} + 1.0 if over{k} else i{k}",
        f"g{k} = {_next(k, reference, f'i{k}')} if over{k} else g{k}",
        f"l{k} = {_length(k, reference)} if over{k} else l{k} - 1.0",
    ]
    if reference.rate is None:
        return [*lines, f"r{k} = g{k}"]
    return [*lines, f"r{k} = r{k} + min(max(g{k} - r{k}, {-reference.rate!r}), {reference.rate!r})"]


def _next(k: int, reference: Reference, index: str) -> str:
    """The value of stretch number `index`."""
    if not reference.values:
        return f"drawn({reference.low!r}, {reference.high!r}, ra{k})"
    *before, last = reference.values
    chain = "".join(f"{value!r} if {index} == {float(n)!r} else " for n, value in enumerate(before))
    return f"({chain}{last!r})"


def _length(k: int, reference: Reference) -> str:
    assert isinstance(reference.hold, tuple)
    least, most = reference.hold
    return f"{float(least)!r}" if least == most else f"float({least} + int({most - least + 1} * rb{k}))"
