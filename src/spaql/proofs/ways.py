"""The answers to a plant's conditions on one way through it, for many boxes at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError


class Way:
    """The answers to conditions on one run, and which boxes can go this way."""

    def __init__(
        self, given: list[bool], boxes: int, cutting: bool, narrow: Callable[[Any], Any] | None = None
    ) -> None:
        self.given, self.taken, self.cutting, self.narrow = given, list[bool](), cutting, narrow
        self.possible, self.known = np.ones(boxes, bool), dict[int, bool]()
        self.finite = np.ones(boxes, bool)  # whether all values are: a quotient by zero has none, nor has log(-1)
        self.numbers: dict[Any, int] = {}

    def number(self, *what: Any) -> int:
        """The same for the same operation on the same operands, so that equal conditions have equal
        answers."""
        return self.numbers.setdefault(what, len(self.numbers))

    def ask(self, condition: "Undecided") -> bool:
        if condition.key in self.known:
            return self.known[condition.key]
        answer = self.given[len(self.taken)] if len(self.taken) < len(self.given) else True
        self.taken.append(answer)
        self.known[condition.key] = answer
        if len(self.taken) > 60:
            raise SpaqlError("the plant asks more than 60 questions: it cannot be checked")
        self.possible &= ~(condition.surely_not if answer else condition.surely)
        if self.cutting:
            condition.cut(answer)
        return answer


class Undecided:
    """A comparison, or several joined: where it surely holds, and where it surely does not."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, way: Way, key: int, surely: Array, surely_not: Array, cut: Callable[[bool], None]
    ) -> None:
        self.way, self.key, self.surely, self.surely_not, self.cut = (
            way,
            key,
            surely,
            surely_not,
            cut,
        )

    def __bool__(self) -> bool:
        return self.way.ask(self)

    def __invert__(self) -> "Undecided":
        return Undecided(
            self.way,
            self.way.number("not", self.key),
            self.surely_not,
            self.surely,
            lambda answer: self.cut(not answer),
        )

    def _joined(self, other: Any, both: bool) -> Any:
        if not isinstance(other, Undecided):
            return (self if other else False) if both else (True if other else self)

        def cut(answer: bool) -> None:
            if answer == both:
                self.cut(answer)
                other.cut(answer)

        if both:
            sure, not_sure = self.surely & other.surely, self.surely_not | other.surely_not
        else:
            sure, not_sure = self.surely | other.surely, self.surely_not & other.surely_not
        return Undecided(self.way, self.way.number(both, self.key, other.key), sure, not_sure, cut)

    def __and__(self, other: Any) -> Any:
        return self._joined(other, True)

    def __or__(self, other: Any) -> Any:
        return self._joined(other, False)

    __rand__, __ror__ = __and__, __or__
