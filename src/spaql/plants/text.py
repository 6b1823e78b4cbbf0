"""Functions put together as text: plants in loops are made of them. What users wrote enters by name."""

from collections.abc import Sequence
from typing import Any


def made(scope: dict[str, Any], head: str, lines: Sequence[str]) -> Any:
    """The function with this head and these lines, which may call what is in the scope."""
    own = scope | {"__name__": __name__}
    exec(compile("\n    ".join([f"def {head}:", *lines]), __file__, "exec"), own)
    return own[head.partition("(")[0]]


def names(letter: str, count: int) -> list[str]:
    """["s0", "s1", ...]"""
    return [f"{letter}{j}" for j in range(count)]
