"""A log is checked before it counts: what can be put right is put right and said, the rest is refused in one line."""

import re
import threading

import numpy as np
import pytest

import spaql
from command_line import refused, run
from machines import Cart, run_trial
from spaql.rig.folder import measured, new_trial, trials_of, write


@pytest.fixture
def rig(tmp_path):
    rig = spaql.Rig.new(tmp_path / "cart")
    rig.next()
    return rig


def added(rig, log, trial=None):
    said = rig.add(log, trial)
    return str(said)


def files_of(rig):
    return sorted(str(path) for path in rig.folder.rglob("*"))


def test_a_trial_is_a_folder_with_code_a_plan_and_what_is_expected(rig):
    trial = rig.trials[0]
    assert {path.name for path in trial.path.iterdir()} == {"controller.c", "controller.json", "controller.st", "expected.json", "plan.csv"}
    assert trial.expected["mean"] is None
    assert "input[2]  excite voltage" in (trial.path / "controller.c").read_text()


def test_a_log_is_kept_as_it_came_with_what_happened(rig, tmp_path):
    run_trial(rig, Cart()).to_csv(tmp_path / "log.csv", index=False)
    assert added(rig, tmp_path / "log.csv").startswith("trial 1: return -")
    trial = rig.trials[0]
    assert trial.log.read_bytes() == (tmp_path / "log.csv").read_bytes()
    assert trial.result["touched"] == []
    assert trial.result["whole"]


def test_a_semicolon_log_with_units_in_its_header_is_read(rig, tmp_path):
    log = run_trial(rig, Cart()).rename(columns={"position": "position [m]", "voltage": "voltage (V)"})
    log.to_csv(tmp_path / "log.csv", index=False, sep=";", decimal=",")
    assert "return" in added(rig, tmp_path / "log.csv")


def test_other_units_in_the_header_are_refused(rig):
    with pytest.raises(spaql.SpaqlError, match=r"position is in mm, and in m in rig\.toml"):
        rig.add(run_trial(rig, Cart()).rename(columns={"position": "position [mm]"}))


def later(frame):
    """The action of a row in the row behind it."""
    return frame.assign(voltage=frame.voltage.shift(1).fillna(0.0))


def with_values(frame, rows, **columns):
    frame = frame.copy()
    for name, value in columns.items():
        frame.loc[rows, name] = value
    return frame


def faster(frame):
    """Five rows per period; the sensor in between is interpolated, actions are held."""
    rows = np.arange(0, len(frame) - 1 + 0.1, 0.2)
    columns = {name: frame[name].ffill().to_numpy()[rows.astype(int)] for name in frame}
    columns |= {name: np.interp(rows, np.arange(len(frame)), frame[name]) for name in ("time", "position")}
    return type(frame)(columns)


PUT_RIGHT = {
    "one row of lag": (later, "actions stand one row later"),
    "sampled five times as often": (faster, "every 5. row was taken"),
    "jitter": (lambda f: f.assign(time=f.time + 0.006 * (f.index % 3 == 1)), "jitter: .* of the steps are off"),
    "a gap": (lambda f: f.drop(index=[50, 51, 52]), "cut at 1 gaps or empty fields: 98 of 98 rows are kept, in 2 pieces"),
    "an empty field": (lambda f: with_values(f, [60], position=np.nan), "cut at .* in 2 pieces"),
    "a clock that is set back": (lambda f: f.assign(time=f.time - 5.0 * (f.index > 40)), "the clock was set back"),
    "no time": (lambda f: f.drop(columns="time"), "there is no column time"),
    "no references": (lambda f: f.drop(columns=["target", "excite voltage"]), "return"),
    "another controller at the end": (lambda f: with_values(f, range(30, 100), voltage=5.5), "in 70 % of the steps, first in step 30, another action was applied"),
}


@pytest.mark.parametrize("name", PUT_RIGHT)
def test_what_can_be_put_right_is_put_right_and_said(name, rig):
    change, words = PUT_RIGHT[name]
    assert spaql.Rig(rig.folder).described.name == "cart"
    said = added(rig, change(run_trial(rig, Cart())))
    assert re.search(words, said), said


REFUSED = {
    "columns swapped": (lambda f: f.rename(columns={"position": "voltage", "voltage": "position"}), "outside -1 ... 1 m|are those of the controller"),
    "millimetres": (lambda f: f.assign(position=1000 * f.position), "thousandths of the unit"),
    "milliseconds": (lambda f: f.assign(time=1000 * f.time), "milliseconds"),
    "another period": (lambda f: f.assign(time=1.07 * f.time), "log once per period"),
    "a slower logger": (lambda f: f.iloc[::2], "log once per period"),
    "a column is missing": (lambda f: f.drop(columns="voltage"), "has no column 'voltage'"),
    "a stuck sensor": (lambda f: f.assign(position=0.1, voltage=np.linspace(-2, 2, len(f))), "is its sensor stuck"),
    "another controller": (lambda f: f.assign(voltage=-f.voltage), "those of the controller of this trial"),
    "too short": (lambda f: f.iloc[:6], "too few to learn from"),
    "nothing": (lambda f: f.iloc[:0], "no rows"),
    "full of holes": (lambda f: with_values(f, range(0, 100, 5), position=np.nan), "too few to learn from"),
    "a time that stands still": (lambda f: f.assign(time=0.0), "time does not go on"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_log_is_kept_out_with_one_line(name, rig):
    change, words = REFUSED[name]
    log, before = change(run_trial(rig, Cart())), files_of(rig)
    with pytest.raises(spaql.SpaqlError, match=words) as caught:
        rig.add(log)
    assert "\n" not in str(caught.value)
    assert files_of(rig) == before


def test_a_log_cut_in_the_middle_of_a_row_is_refused(rig, tmp_path):
    run_trial(rig, Cart()).to_csv(tmp_path / "log.csv", index=False)
    text = (tmp_path / "log.csv").read_text()
    (tmp_path / "log.csv").write_text(text[: text.index("\n", 1000) + 5])
    with pytest.raises(spaql.SpaqlError, match="a log that was cut"):
        rig.add(tmp_path / "log.csv")


def test_a_shorter_trial_counts_as_data_but_is_not_held_against_the_promise(rig):
    assert "in 40 steps of 100: too short" in added(rig, run_trial(rig, Cart(), steps=40))


def test_a_log_is_added_once_and_to_the_trial_it_is_of(rig):
    log = run_trial(rig, Cart())
    rig.next()
    with pytest.raises(spaql.SpaqlError, match="trials 1, 2 have no log: say of which"):
        rig.add(log)
    rig.add(log, trial=1)
    with pytest.raises(spaql.SpaqlError, match="trial 1 has a log already: nothing was changed"):
        rig.add(log, trial=1)
    with pytest.raises(spaql.SpaqlError, match="this log is there already, as that of trial 1"):
        rig.add(log)
    with pytest.raises(spaql.SpaqlError, match="has no trial 7: there are 2"):
        rig.add(log, trial=7)


def test_logs_of_before_are_data_without_a_promise(rig):
    log = run_trial(rig, Cart()).drop(columns="excite voltage").assign(voltage=lambda f: 0.9 * f.voltage)
    assert "kept as data: no controller of ours ran" in added(rig, log, trial=0)
    assert [trial.expected is None for trial in rig.trials] == [False, True]


def test_people_who_add_trials_at_once_do_not_overwrite_each_other(tmp_path):
    barrier = threading.Barrier(8)

    def add(name):
        barrier.wait()
        new_trial(tmp_path, lambda folder: write(folder / "whose", name))

    people = [threading.Thread(target=add, args=(f"{n}",)) for n in range(8)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert [trial.number for trial in trials_of(tmp_path)] == list(range(1, 9))
    assert {(trial.path / "whose").read_text() for trial in trials_of(tmp_path)} == {f"{n}" for n in range(8)}
    assert len(list((tmp_path / "trials").iterdir())) == 8


def test_of_two_logs_of_a_trial_the_first_stays(rig):
    trial = rig.trials[0]
    measured(trial, lambda folder: write(folder / "whose", "first"))
    with pytest.raises(spaql.SpaqlError, match="trial 1 has a log already"):
        measured(trial, lambda folder: write(folder / "whose", "second"))
    assert (trial.path / "measured" / "whose").read_text() == "first"


def test_the_same_on_the_command_line(tmp_path):
    folder = tmp_path / "cart"
    assert "describe your machine" in run("rig", "new", folder).stdout
    told = run("rig", "next", folder)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[0] == f"trial 1 in {folder / 'trials' / '0001'}"
    assert len(told.stdout.splitlines()) == 6
    run_trial(spaql.Rig(folder), Cart()).to_csv(tmp_path / "log.csv", index=False)
    assert run("rig", "add", folder, tmp_path / "log.csv").stdout.startswith("trial 1: return")
    assert "is there already" in refused("rig", "add", folder, tmp_path / "log.csv")
    assert run("rig", "status", folder).stdout.startswith("trial 1: return")
