"""rig.toml says what the machine is; what is wrong in it is one line that says what to do."""

import numpy as np
import pytest

import spaql
from spaql.rig.description import EXAMPLE, description_of


def changed(before, after):
    assert before in EXAMPLE
    return EXAMPLE.replace(before, after)


def test_the_example_is_a_whole_rig():
    described = description_of(EXAMPLE)
    problem = described.stated()
    assert [axis.name for axis in problem.state] == ["position_error", "integral(position_error)", "previous(voltage)"]
    assert problem.signals.rates == (3.0,)
    assert "4·position_error" in described.fallback(problem).to_text()


def test_the_reward_is_paid_for_what_was_measured():
    described = description_of(EXAMPLE)
    measured, target, voltage = (np.array(column)[:, None] for column in ([0.0, 0.1, 0.3], [0.5, 0.5], [1.0, 3.0]))
    paid = described.paid(measured, target, voltage)
    assert paid.tolist() == pytest.approx([-0.4 - 0.01, -0.2 - 0.02])


def test_a_target_is_a_reward_too():
    text = EXAMPLE.partition("[references")[0] + "[goal]\ntarget = { position = 0.5 }\neffort = 0.1\n[fallback]\nvoltage = 0.0\n"
    paid = description_of(text).paid(np.array([[0.0], [0.25]]), np.zeros((1, 0)), np.array([[2.0]]))
    assert paid.tolist() == pytest.approx([-(0.25**2) - 0.2])


BAD = {
    "no TOML": ("[rig", "is no TOML"),
    "an unknown key": (changed("period =", "perod ="), "unknown key 'perod' .period.."),
    "no period": (changed("period = 0.02", "excited = 1"), "period must be a finite number"),
    "nothing measured": ("[rig]\nperiod = 1\n[actions.u]\nrange = [0, 1]", "there is no .measured.NAME."),
    "a limit in other units": (changed("limit = [-0.8, 0.8]", "limit = [-800, 800]"), "limit -800 ... 800 is not within the range of the sensor, -1 ... 1: other units"),
    "a limit that cannot be seen": (changed("limit = [-0.8, 0.8]", "limit = [-1.0, 1.0]"), "which could not see it violated"),
    "a start beyond the limit": (changed("limit = [-0.8, 0.8]", "limit = [-0.8, 0.8]\nstart = [-0.9, 0.0]"), "start -0.9 ... 0 is not within the limit"),
    "a reference beyond the limit": (changed("limit = [-0.8, 0.8]", "limit = [-0.4, 0.8]"), "asks for -0.5 to 0.5, beyond the limit"),
    "a range the wrong way": (changed("range = [-1.0, 1.0]", "range = [1.0, -1.0]"), "low must be below high"),
    "a safe action out of range": (changed("safe = 0.0", "safe = 12"), "safe must be a finite number from -6 up to 6"),
    "a reference in other units": (changed('of = "position"', 'of = "position"\nunit = "mm"'), "is in mm, and position in m"),
    "a reference out of range": (changed("range = [-0.5, 0.5]", "range = [-500, 500]"), "not within -1 to 1"),
    "no fallback": (EXAMPLE.partition("[fallback")[0], "there is no .fallback."),
    "a fallback out of range": (EXAMPLE.partition("[fallback")[0] + "[fallback]\nvoltage = 12", "outside its range -6 ... 6"),
    "a fallback of what is not there": (changed("position_error = 4.0", "speed_error = 4.0"), "there is no variable 'speed_error'"),
    "a reward of what is not there": (changed("-abs(position_error)", "-abs(speed)"), "speed is not observed: choose among position"),
    "a reward that is a program": (changed("-abs(position_error)", "().__class__"), "cannot stand in a formula"),
    "a reward that calls": (changed("-abs(position_error)", "open(position)"), "cannot stand in a formula"),
    "a goal and a reward": (changed("[goal]", "[goal]\neffort = 1.0"), "a reward and a target"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_one_line(name, tmp_path):
    text, words = BAD[name]
    with pytest.raises(spaql.SpaqlError, match=words) as caught:
        spaql.Rig.new(tmp_path / "rig", text)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "rig").exists()


def test_a_rig_that_is_there_is_not_written_over(tmp_path):
    rig = spaql.Rig.new(tmp_path)
    assert rig.described.name == "cart"
    with pytest.raises(spaql.SpaqlError, match="is there already"):
        spaql.Rig.new(tmp_path)
    with pytest.raises(spaql.SpaqlError, match=r"cannot read .*make a rig"):
        spaql.Rig(tmp_path / "nowhere")
