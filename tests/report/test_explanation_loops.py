"""The page of a controller in a loop: seconds, limits, what is applied, and the variable behind an error."""

import numpy as np
import pytest

import spaql
from browser import opened
from explained import fits
from fmus import build
from loops import motor
from made_explanations import data_of
from spaql.plants.catalog import step_time
from spaql.report.explanation import write_explanation

RATE = 3.0  # V per step
LIMITS = [spaql.Limit("current", -15.0, 15.0), spaql.Limit("voltage", high=20.0)]
AROUND = {
    "references": [spaql.Reference("target", 0.0, 150.0, of="speed", hold=(20, 30), unit="rad/s")],
    "noise": {"speed": 0.5},
    "limits": LIMITS,
    "dt": 0.005,
}


@pytest.fixture(scope="module")
def law():
    lock = spaql.Interlock("current", above=18.0, action="voltage", high=0.0)
    return spaql.law(spaql.loop(motor(), rates=RATE, interlocks=[lock], observe=["speed_error", "current"], **AROUND), {"speed_error": 0.5})


@pytest.fixture(scope="module")
def path(law, tmp_path_factory):
    made = tmp_path_factory.mktemp("looped") / "page.html"
    write_explanation(law, law, made, law.falsify(50, fresh=20))
    return made


def rows_of(path):
    return {row["name"]: row for row in data_of(path.read_text("utf-8"))["episodes"][0]["rows"]}


def test_the_action_on_the_page_is_the_applied_one_and_what_was_asked_for_is_told_apart(path, law):
    row = rows_of(path)["voltage"]
    assert np.abs(np.diff(row["values"])).max() <= RATE + 1e-12
    commanded = law.episode(0, 0).actions[:, 0]
    assert np.abs(np.diff(commanded)).max() > RATE
    assert (row["asked"], row["ends"], row["limits"]) == (True, [-24.0, 24.0], [20.0])


def test_the_variable_that_is_seen_as_an_error_is_shown_with_its_reference(path):
    rows = rows_of(path)
    assert list(rows) == ["speed", "speed_error", "current", "voltage"]
    speed, seen = rows["speed"], data_of(path.read_text("utf-8"))["episodes"][0]["observations"]
    assert (speed["unit"], speed["followed"], speed["seen"]) == ("rad/s", "target", None)
    errors = np.array(speed["reference"]) - np.array(speed["values"])
    assert np.abs(errors - np.array(seen)[:, 0]).max() < 3.0  # but for the noise of the sensor
    assert len(set(speed["reference"])) > 1  # it jumps


def test_a_variable_that_is_seen_itself_has_its_reference_in_its_own_row(tmp_path):
    policy = spaql.law(spaql.loop(motor(), **AROUND), {"speed_error": 0.5})
    write_explanation(policy, policy, tmp_path / "page.html")
    rows = rows_of(tmp_path / "page.html")
    assert list(rows) == ["speed", "current", "target", "speed_error", "voltage"]
    assert (rows["speed"]["seen"], rows["speed"]["followed"], rows["voltage"]["asked"]) == (0, "target", False)


def test_beside_an_increment_stands_what_it_adds_up_to(tmp_path):
    policy = spaql.law(spaql.loop(motor(), increments=RATE, observe=["speed_error"], **AROUND | {"limits": []}), {"speed_error": 0.05})
    write_explanation(policy, policy, tmp_path / "page.html")
    rows = rows_of(tmp_path / "page.html")
    assert list(rows) == ["speed", "speed_error", "voltage", "change of voltage"]
    assert rows["voltage"]["ends"] == [-24.0, 24.0]
    asked = policy.episode(0, 0).actions[:, 0]
    assert rows["change of voltage"]["values"] is None  # the page computes it from its law
    assert np.abs(asked).max() <= RATE


def test_a_loop_around_an_environment_shows_the_same(tmp_path):
    problem = spaql.loop(spaql.from_gym("Pendulum-v1", horizon=30, names=True), rates=0.1, observe=["sin", "velocity"])
    policy = spaql.law(problem, {"sin": 5.0, "velocity": -1.0})
    write_explanation(policy, policy, tmp_path / "page.html")
    applied = rows_of(tmp_path / "page.html")["torque"]["values"]
    assert np.abs(np.diff(applied)).max() <= 0.1 + 1e-12
    assert applied in [policy.episode(seed).traces.applied[:, 0].tolist() for seed in range(6)]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_in_a_browser_seconds_limits_references_and_what_was_asked_for_are_drawn(browser, path, scheme):
    with opened(browser, path, color_scheme=scheme) as page:
        texts = page.locator(".series text").all_text_contents()
        assert "time (s)" in texts
        assert {"0.1", "0.2", "0.3"} <= set(texts)  # of 60 steps of 5 ms
        assert "speed (rad/s), dotted: target" in texts
        assert "voltage (V), dotted: asked for, dashed: limit" in texts
        assert page.locator(".series .limit").count() == 3
        assert page.locator(".series .reference").count() == page.locator(".series .asked").count() == 1
        page.locator("[name=at]").fill("1")
        clock = page.locator(".clock").inner_text()
        assert clock.startswith("0.005 s, return")
        assert "; applied: voltage = 6 V" in clock
        page.locator("[name=across]").select_option(label="current")
        assert page.locator(".map line.limit").count() == 2
        assert "time (s)" in page.locator("#worst svg").text_content()
        fits(page)


# -- seconds ---------------------------------------------------------------------------------------------------------------------------


def test_a_step_lasts_as_long_as_the_problem_says(tmp_path):
    build(tmp_path / "motor.fmu")
    given = {"observe": ["speed"], "actions": {"voltage": (-24.0, 24.0)}, "horizon": 5, "reward": lambda speed, voltage, after: 0.0}
    assert step_time(spaql.from_fmu(tmp_path / "motor.fmu", dt=0.25, **given)) == 0.25
    assert step_time(spaql.make("pendulum")) == step_time(spaql.from_gym("Pendulum-v1")) == 0.05
    assert step_time(spaql.make("cartpole", dt=0.01)) == 0.01
    assert step_time(spaql.loop(motor(), dt=0.005)) == 0.005
    assert step_time(motor()) is step_time(spaql.loop(motor())) is None


def test_a_figure_of_an_episode_has_seconds_too(law):
    bottom = law.episode(0, 0).plot().axes[-1]
    assert (bottom.get_xlabel(), bottom.get_xlim()) == ("time (s)", (0.0, pytest.approx(0.3)))
    plain = spaql.law(motor(), {"speed": 0.1}).episode(0, 0).plot().axes[-1]
    assert (plain.get_xlabel(), plain.get_xlim()) == ("step", (0.0, 60.0))
