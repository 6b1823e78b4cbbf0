"""Bars say what is being done, within 80 columns, and go when it is done."""

import io
import re
from contextlib import redirect_stderr

import pytest

from spaql.analysis.style import axis_label
from spaql.progress import at_work, progress_bars, working
from spaql.report.frontier_data import round_numbers


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def shown(work):
    """What a terminal gets to see, without its control codes."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    with redirect_stderr(screen), pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm")
        work()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())


def test_numbers_are_whole_in_a_narrow_terminal():
    def work():
        with progress_bars() as bars:
            bars.add_task("Laws on mountain-car-continuous", total=100_000_000, completed=1e8, note="best law -1234.5")
            bars.add_task("Atlas on pendulum", total=10_000, completed=1_000, note="last episode -1706.1")

    lines = shown(work).replace("\r", "\n").splitlines()
    assert any("100.0/100.0 M" in line for line in lines)
    assert any("1,000/10,000" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_what_is_told_while_working_is_shown_and_other_work_begins_anew():
    def work():
        with working("reading"):
            at_work("searching", 10, 20)
            at_work("writing")

    text = shown(work)
    assert "writing" in text
    assert "writing" not in text.split("searching")[0]
    assert not re.search(r"writing[^\n]*/20", text)


def test_without_a_listener_or_a_terminal_nothing_is_shown():
    err = io.StringIO()
    with redirect_stderr(err):
        at_work("searching", 1, 2)
        with working("reading"):
            at_work("searching", 1, 2)
    assert err.getvalue() == ""


def test_a_listener_is_forgotten_when_work_fails():
    def work():
        with pytest.raises(ValueError, match="full"), working("reading"):
            raise ValueError("full")
        at_work("searching", 1, 2)

    assert "searching" not in shown(work)


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("speed", "rad/s", "speed\n(rad/s)"),
        ("integral(speed_error)", "", "integral\n(speed_error)"),
        ("angular velocity", "rad/s", "angular velocity\n(rad/s)"),
        ("integral(temperature_of_the_reactor)", "K", "integral\n(temperature_of_\nthe_reactor)\n(K)"),
    ],
)
def test_labels_are_broken_where_one_would_pause(name, unit, label):
    assert axis_label(name, unit) == label


@pytest.mark.parametrize(("low", "high"), [(-952.2, -148.6), (0.1, 199.9), (-1e-3, 2e-3), (9310.0, 9360.0)])
def test_ticks_are_round_numbers_within_the_range(low, high):
    ticks = round_numbers(low, high)
    assert 2 <= len(ticks) <= 5
    assert all(low <= tick <= high for tick in ticks)
    assert all(len(f"{tick:.12g}".strip("-0.")) <= 4 for tick in ticks)
