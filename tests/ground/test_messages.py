"""Every message is one line of a length that a person reads, whatever value it repeats."""

import pickle

import pytest

import spaql
from spaql.ground.errors import LONGEST, echoed, one_line


class Broken:
    def __repr__(self):
        raise RuntimeError("no text")


LONG = "x" * 100_000
CALLS = {
    "a long seed": lambda: spaql.SPAQL(spaql.cube(1, [0, 1], 5), seed=LONG),
    "a long option": lambda: spaql.SPAQL(spaql.cube(1, [0, 1], 5), xi=LONG),
    "a number of 5,000 digits": lambda: spaql.SPAQL(spaql.cube(1, [0, 1], 5), seed=-(10**5000)),
    "a horizon of 5,000 digits": lambda: spaql.cube(1, [0, 1], 10**5000),
    "a long name": lambda: spaql.make(LONG),
    "a name of several lines": lambda: spaql.make("a\nb\nc"),
    "a long path": lambda: spaql.load(LONG),
    "a path of several lines": lambda: spaql.load("a\nb\x1b[31m"),
    "long bounds": lambda: spaql.Axis("x", LONG, 1),
    "a long axis name": lambda: spaql.Axis(LONG, 1, 0),
    "many actions": lambda: spaql.Finite([0] * 10_000),
    "no text": lambda: spaql.cube(1, Broken(), 5),
    "no text either": lambda: spaql.SPAQL(spaql.cube(1, [0, 1], 5), seed=Broken()),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_message_is_one_short_line(name):
    with pytest.raises(spaql.SpaqlError) as caught:
        CALLS[name]()
    message = str(caught.value)
    assert message.isprintable()
    assert 0 < len(message) <= LONGEST


def test_the_beginning_and_the_end_of_a_long_message_stay():
    message = str(spaql.SpaqlError(f"the value {LONG} is wrong: give another"))
    assert message.startswith("the value xxx")
    assert message.endswith("xxx is wrong: give another")
    assert len(message) == LONGEST
    assert str(spaql.SpaqlWarning(f"{LONG}: give another")).endswith("give another")


def test_a_short_message_is_as_it_was():
    text = "no  two words are moved: “m·s⁻²” ≤ 3"
    assert one_line(text) == text == str(spaql.SpaqlError(text))
    assert str(pickle.loads(pickle.dumps(spaql.SpaqlError(text)))) == text


def test_values_without_a_text_have_their_type():
    assert echoed(Broken()) == "an object of type Broken"
    assert echoed(10**5000) == "an object of type int"
    assert echoed([1, "a\nb"]) == "[1, 'a\\nb']"
