"""Whoever waits is told what is being done: in a terminal, within 80 columns; in a notebook; in a log."""

import contextlib
import io
import re
import time
from contextlib import redirect_stderr

import pytest

from spaql.analysis.style import axis_label
from spaql.ground import progress, screens
from spaql.ground.progress import advance, at_work, display, working
from spaql.report.page_parts import round_numbers


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


@pytest.fixture
def impatient(monkeypatch):
    """As if two seconds had passed at once."""
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0.0)
    monkeypatch.setattr(screens, "SILENT_SECONDS", 0.0)


def test_numbers_are_whole_in_a_narrow_terminal():
    def work():
        with display(wanted=True) as shown_:
            laws, atlas = shown_.task("Laws on mountain-car-continuous", 1e8, "samples"), shown_.task("Atlas on pendulum", 1e4)
            laws.advance(1e8, "best law -1234.5", None)
            atlas.advance(1e3, "last episode -1706.1", None)

    lines = shown(work).replace("\r", "\n").splitlines()
    assert any("100.0/100.0 M" in line for line in lines)
    assert any("1,000/10,000" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_what_is_told_while_working_is_shown_and_other_work_begins_anew(impatient):
    def work():
        with working("reading"):
            time.sleep(0.15)
            at_work("searching", 10, 20)
            time.sleep(0.15)
            at_work("writing")
            time.sleep(0.15)

    text = shown(work)
    assert text.index("reading") < text.index("searching") < text.index("writing")
    assert "10/20" in text
    assert not re.search(r"writing[^\n]*/20", text)


def test_what_takes_less_than_two_seconds_shows_nothing():
    def work():
        with working("reading"):
            at_work("searching", 1, 2)

    assert shown(work) == ""


def test_a_log_gets_a_line_now_and_then(impatient, monkeypatch):
    monkeypatch.setattr(screens.Lines, "pause", lambda screen: 0.05)
    log = io.StringIO()
    with redirect_stderr(log), working("Atlas on pendulum", total=400, unit="samples"):
        advance(100, "last episode -1706.1")
        at_work("searching for laws", 3, 10)
        time.sleep(0.2)
    lines = log.getvalue().splitlines()
    assert len(lines) > 1
    assert re.fullmatch(r"spaql: Atlas on pendulum: 0:00, 0:0\d left, 100/400 samples, searching for laws 30 %", lines[-1])


def test_lines_of_a_log_come_more_and_more_rarely():
    screen = screens.Lines(keeps=False)
    pauses = []
    for _ in range(10):
        pauses.append(screen.pause())
        screen.begun -= pauses[-1]
    assert pauses == sorted(pauses)
    assert pauses[0] < 3
    assert pauses[-1] == screens.LINE_SECONDS


def test_time_left_is_told_once_something_is_known(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(screens.time, "monotonic", lambda: now[0])
    task = screens.ShownTask("Atlas on pendulum", 400)
    assert task.times == "0:00"
    now[0] = 30.0
    task.advance(100, None, None)
    assert task.times == "0:30, 1:30 left"
    task.advance(100, None, None, ahead=200)
    task.tell("searching for laws", 5, 10)
    assert task.times == "0:30, 0:30 left"
    assert task.remark == "searching for laws 50 %"


def test_work_within_other_work_is_a_part_of_it():
    task = screens.ShownTask("Atlas on pendulum", 400)
    with progress.doing(task):
        advance(100)
        with working("learning a table", total=50):
            advance(20)
            at_work("planning")  # a part of a part is not told
    assert (task.done, task.part, task.part_done, task.part_of) == (100, "learning a table", 20, 50)


@pytest.mark.parametrize("silent", ["wanted=False", "quietly", "SPAQL_PROGRESS=0"])
def test_it_can_be_silenced(silent, impatient, monkeypatch):
    log = io.StringIO()
    if silent == "SPAQL_PROGRESS=0":
        monkeypatch.setenv("SPAQL_PROGRESS", "0")
    around = progress.quietly() if silent == "quietly" else contextlib.nullcontext()
    with redirect_stderr(log), around, working("reading", False if silent == "wanted=False" else None):
        time.sleep(0.05)
        with working("something inside"):
            time.sleep(0.05)
    assert log.getvalue() == ""


def test_a_listener_is_forgotten_when_work_fails(impatient):
    def work():
        with contextlib.suppress(ZeroDivisionError), working("reading"):
            time.sleep(0.05 / 0)
        at_work("searching", 1, 2)

    assert "searching" not in shown(work)


def test_what_is_compiled_is_shown_and_forgotten_when_it_is_done():
    progress.compilation.begun("spaql.training.kernels.train_spaql", {"a", "b"})
    progress.compilation.compiled("a")
    assert str(progress.compilation.task) == "compiling, the first time only: 0:00, 1/2, a"
    progress.compilation.ended()
    assert progress.compilation.task is None


NOTEBOOK = """
import time
from spaql.ground import progress, screens
progress.SILENT_SECONDS = 0.0
with progress.working("Atlas on pendulum", total=400, unit="samples"):
    progress.advance(100)
    time.sleep(1.5)
    progress.advance(400)
"""


def test_a_notebook_gets_a_line_that_changes():
    reason = "notebooks are executed by nbclient and ipykernel: pip install 'spaql[long]'"
    nbclient, nbformat = pytest.importorskip("nbclient", reason=reason), pytest.importorskip("nbformat", reason=reason)
    cell = nbformat.v4.new_code_cell(NOTEBOOK)
    nbclient.NotebookClient(nbformat.v4.new_notebook(cells=[cell]), timeout=100, kernel_name="python3").execute()
    (output,) = cell.outputs
    assert output["output_type"] == "display_data"
    assert re.fullmatch(r"Atlas on pendulum: 0:0\d, 400/400 samples", output["data"]["text/plain"])


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
