"""The one error a user of this library has to catch, and the one warning."""

from collections.abc import Iterable

LONGEST = 600  # signs of a message: of a longer one the middle is left out
LONGEST_VALUE = 120  # signs of a value that a message repeats


def one_line(text: str, most: int = LONGEST) -> str:
    """Without line breaks and signs that no terminal shows, and not longer than a person reads.

    The end stays: it is there that a message says what to do.
    """
    if not text.isprintable():
        text = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 5]} ... {text[-end:]}"


def echoed(value: object) -> str:
    """A value that somebody gave, as a message repeats it; some have no text, such as whole numbers of 5,000 digits."""
    try:
        return one_line(repr(value), LONGEST_VALUE)
    except Exception:
        return f"an object of type {type(value).__name__}"


def named(names: Iterable[str], values: Iterable[float]) -> str:
    """Values as messages tell them: "angle = 0.1, rate = -2"."""
    return ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, values, strict=False))


class SpaqlWarning(UserWarning):
    """What was made is poorer than it could be: one line that says by how much and what to do about it."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(str(message)))


class SpaqlError(ValueError):
    """Bad input: one line that says what is wrong and what to do about it."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(str(message)))
