"""Trials: what the next one runs and promises, when there is none, and what came of it."""

import json
import re

import numpy as np
import pytest

import spaql
from machines import Cart, run_trial
from made_pages import Reader
from spaql.rig import next_trial, promise
from spaql.rig.description import EXAMPLE, description_of
from spaql.rig.log_check import LogPiece
from spaql.rig.machine_model import quiet
from spaql.rig.status_page import help_most


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A rig with the log of one trial, and the second trial."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(promise, "SAMPLES", 1_000_000)
        patch.setattr(next_trial, "WORTH", -1e9)  # a law after one trial, whatever it promises
        rig = spaql.Rig.new(tmp_path_factory.mktemp("rigs") / "cart", EXAMPLE.replace("chance = 0.01", "chance = 1.0"))
        rig.next()
        rig.add(run_trial(rig, Cart()))
        rig.said = rig.next(seed=1)
    return rig


def test_five_lines_say_what_a_trial_is_and_promises(learned):
    head, law, expected, goes, limits, why = learned.said.lines
    assert head.startswith("trial 2 in ")
    assert law.startswith("law       voltage = clip(")
    assert "95 %" in expected
    assert "position" in goes
    assert "voltage" in goes
    assert re.search("[|]position[|] ≤ 0.8 m: touched in .* of the trials, allowed are 100 %", limits)
    assert "after 100 steps in 1 log" in why


def test_the_controller_of_a_trial_is_the_same_in_all_its_files(learned):
    """In C and Structured Text it has a monitor: the fallback acts where the law was not seen in the model, or beyond limits."""
    policy, expected = learned.controller(), learned.trials[1].expected
    monitor = spaql.Monitor(expected["region"], learned.described.fallback(policy.problem))
    assert (learned.said.path / "controller.c").read_text() == policy.to_c(monitor=monitor)
    assert (learned.said.path / "controller.st").read_text() == policy.to_st(monitor=monitor)
    region = monitor.of(policy).region
    position = [axis.name for axis in policy.problem.state].index("position")
    assert (region.low[position], region.high[position]) == (-0.8, 0.8)
    assert np.isfinite(region.low).all()
    assert policy.problem.can_run is False
    inputs = [axis.name for axis in policy.problem.signals.inputs]
    assert inputs == ["position", "target"]


def test_what_is_found_does_not_depend_on_who_finds_it(learned, monkeypatch):
    monkeypatch.setattr(promise, "SAMPLES", 1_000_000)
    monkeypatch.setattr(next_trial, "WORTH", -1e9)
    again = learned.next(seed=1)
    assert again.trial == 3
    expected = [json.loads((trial.path / "expected.json").read_text()) for trial in learned.trials[1:3]]
    assert expected[0]["law"] == expected[1]["law"] or "the law of trial 2" in expected[1]["why"]


def test_what_happened_is_held_against_the_promise(learned):
    said = str(learned.add(run_trial(learned, Cart(), 2), trial=2))
    assert "promised" in said
    assert learned.trials[1].result["inside"] in (True, False)


def test_the_page_shows_promises_data_laws_and_what_would_help(learned, tmp_path):
    said = learned.status(tmp_path / "rig.html")
    assert str(said).startswith("trial 1: return")
    assert re.search(r"\d trials? with a log", str(said))  # how many, tests of the same rig before this one decide
    page = (tmp_path / "rig.html").read_text()
    read = Reader(page)
    assert page.count("<svg") == 2
    assert not [value for value in read.all("href") + read.all("src") if "://" in value]
    for words in ("The rig cart", "What would help most", "Promised and measured", "Where the data lie", "position_error", "fallback, excited"):
        assert words in page, words


def test_a_page_of_a_rig_without_trials_says_how_to_begin(tmp_path):
    rig = spaql.Rig.new(tmp_path / "cart", EXAMPLE.replace('"cart"', '"<script>alert(1)</script>"'))
    assert "Write the first trial" in str(rig.status())
    page = (tmp_path / "cart" / "status.html").read_text()
    assert "<script>alert" not in page


HELPS = [
    ({"result": None}, "Run trial 1 and add its log"),
    ({"touched": [{"variable": "position"}]}, "touched a limit: look why"),
    ({"inside": False}, "was outside of its promise"),
    ({"missed": {"position": 0.7}}, "misses 70 % of the changes of position"),
    ({}, "target may ask for -0.5 to 0.5, and position was seen from 0 to 0.1"),
]


@pytest.mark.parametrize(("said", "words"), HELPS)
def test_what_would_help_most_is_one_sentence(said, words, tmp_path):
    trial = trial_of(tmp_path, -10.0, -13.0, -9.0, -10.0, **said)
    piece = LogPiece(np.array([[0.0], [0.1]]), np.zeros((1, 1)), np.zeros((1, 1)), 0)
    assert words in help_most(description_of(EXAMPLE), [trial], {1: [piece]})


def trial_of(tmp_path, mean, low, high, earned, **said):
    """A trial as its files say it."""
    folder = tmp_path / "0001"
    folder.mkdir()
    (folder / "expected.json").write_text(json.dumps({"mean": mean, "low": low, "high": high, "missed": said.pop("missed", {})}))
    if "result" not in said:
        (folder / "measured").mkdir()
        result = {"return": earned, "inside": low <= earned <= high, "touched": [], "notes": []} | said
        (folder / "measured" / "result.json").write_text(json.dumps(result))
    return next_trial.RigTrial(1, folder)


@pytest.mark.parametrize(("earned", "wider"), [(-10.0, 1.0), (-13.0, 1.0), (-16.0, 2.2), (-8.0, 2.2)])
def test_promises_get_wider_where_outcomes_were_outside(earned, wider, tmp_path):
    assert next_trial._wider([trial_of(tmp_path, -10.0, -13.0, -9.0, earned)]) == pytest.approx(wider)


def test_a_trial_that_may_touch_a_limit_is_refused(tmp_path, monkeypatch):
    """Where the fallback only pushes, and the search finds nothing else."""
    monkeypatch.setattr(next_trial, "laws_of", lambda described, model, seed: described.fallback(model.problem))
    rig = spaql.Rig.new(tmp_path / "cart", EXAMPLE.partition("[fallback")[0] + "[fallback]\nvoltage = 3.0\n")
    rig.next()
    assert "LIMIT touched: position" in str(rig.add(run_trial(rig, Cart())))
    with pytest.raises(spaql.SpaqlError, match=r"no trial: even .* touches a limit in .*, rig.toml allows 1.0 %: use a safer fallback"):
        rig.next()
    assert len(rig.trials) == 1


def test_without_a_law_that_is_worth_it_the_fallback_is_excited_again(tmp_path, monkeypatch):
    """Also where the model fears for a limit that the fallback has never touched on the machine."""
    monkeypatch.setattr(next_trial, "laws_of", lambda described, model, seed: described.fallback(model.problem))
    rig = spaql.Rig.new(tmp_path / "cart", EXAMPLE.replace("chance = 0.01", "chance = 0.0"))
    rig.next()
    rig.add(run_trial(rig, Cart()))
    said = str(rig.next())
    assert "no law is worth a trial after 100 steps: the fallback, excited" in said
    assert "without the excitation" in said
    assert "excite voltage" in rig.trials[-1].expected["law"]
    assert "promised" not in str(rig.add(run_trial(rig, Cart())))


@pytest.mark.slow
def test_six_trials_through_files_make_a_law_better_than_the_fallback(tmp_path):
    rig = spaql.Rig.new(tmp_path / "cart")
    earned = []
    for _ in range(6):
        said = rig.next()
        run_trial(rig, Cart(), said.trial).to_csv(tmp_path / "log.csv", index=False)
        rig.add(tmp_path / "log.csv")
    for law in (rig.described.fallback(rig.described.stated()), rig.controller()):
        total = 0.0
        for seed in range(8):
            total += drive(rig, law, seed)
        earned.append(total / 8)
    assert earned[1] > 0.65 * earned[0]  # costs
    assert not any(trial.result["touched"] for trial in rig.trials)


def drive(rig, law, seed):
    """The return of a law with other references."""
    machine, memory, rows, actions = Cart(), law.memory(), [], []
    r = next_trial.drawn(rig.described.references, 100, np.random.default_rng(seed))
    for row in r:
        rows.append(machine.measure())
        action, memory = law.predict([*rows[-1], *row], state=memory)
        actions.append(action)
        machine.apply(action)
    return rig.described.paid(np.array([*rows, machine.measure()]), r, np.array(actions)).sum()


def measured_with_noise(deviation, turn=None):
    """A weight on a spring, pushed at random: what it does, and what a sensor says of it."""
    rng, x, v, u, pieces, places = np.random.default_rng(0), 0.0, 0.0, 0.0, [], []
    for _ in range(4):
        place, acts = [x], []
        for t in range(100):
            u = rng.uniform(-6.0, 6.0) if t % 5 == 0 else u
            v += 0.02 * (0.5 * u - 4.0 * x - 0.8 * v)
            x += 0.02 * v
            place.append(x)
            acts.append([u])
        y = np.array(place)[:, None] + deviation * rng.standard_normal((101, 1))
        pieces.append(LogPiece(y if turn is None else (y + turn / 2) % turn - turn / 2, np.array(acts), np.zeros((100, 1)), 0))
        places.append(np.array(place)[:, None])
    return pieces, np.concatenate(places)


def test_the_noise_of_sensors_is_taken_out_of_logs():
    pieces, places = measured_with_noise(0.01)
    calm, noise, depth = quiet(description_of(EXAMPLE), pieces)
    assert noise == pytest.approx([0.01], rel=0.15)
    assert (np.concatenate([piece.y for piece in calm]) - places).std() < 0.005
    assert depth in [(1, 0), (2, 0)]  # its speed is the change of its place; nothing that was applied before acts later


def test_what_has_no_noise_stays_as_it_is():
    pieces, places = measured_with_noise(0.0)
    calm, noise, _ = quiet(description_of(EXAMPLE), pieces)
    assert noise < 1e-4
    assert np.abs(np.concatenate([piece.y for piece in calm]) - places).max() < 1e-4


def test_an_angle_without_noise_goes_on_at_the_other_end():
    text = EXAMPLE.replace("range = [-1.0, 1.0]     # of the sensor", "range = [-0.25, 0.25]\nturn = true").replace("limit = [-0.8, 0.8]", "").replace("[-0.5, 0.5]", "[-0.2, 0.2]")
    pieces, places = measured_with_noise(0.002, turn=0.5)
    assert np.abs(places).max() > 0.3  # it turns
    calm, _, _ = quiet(description_of(text), pieces)
    off = np.concatenate([piece.y for piece in calm]) - places
    assert np.abs(off - 0.5 * np.round(off / 0.5)).max() < 0.006
    assert all(np.abs(piece.y).max() <= 0.25 for piece in calm)
