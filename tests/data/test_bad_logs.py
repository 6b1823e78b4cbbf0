"""A bad log is one clear line, and nothing is learned from it."""

import gzip
import os
import threading

import numpy as np
import pandas
import pytest

import spaql
from command_line import refused


@spaql.reset
def tame_reset(u):
    return (u - 0.5,)


@spaql.step
def tame_step(x, push):
    return (0.5 * x,), -abs(x), False


@pytest.fixture(scope="module")
def problem():
    return spaql.make("pendulum")


@pytest.fixture(scope="module")
def good(problem):
    return spaql.record(problem, episodes=2).rename(columns={"torque": "action"})


def changed(frame, column, row, value):
    frame = frame.astype({column: object}) if isinstance(value, str) else frame.copy()
    frame.loc[row, column] = value
    return frame


def at(row, words):
    return rf"row {row} of 400: .*{words}"


def plain(frame):
    return frame[[name for name in frame if not name.startswith("next_")]]


def bare(frame):
    """Without anything that tells episodes apart."""
    return plain(frame).drop(columns=["episode", "step", "terminated", "truncated"])


BAD = {
    "missing column": (lambda f: f.drop(columns="velocity"), "no column 'velocity'.*it has 'episode'"),
    "no action": (lambda f: f.drop(columns="action"), "no column 'action'"),
    "some next columns": (lambda f: f.drop(columns="next_sin"), "no column 'next_sin'.*all of them, or none"),
    "two of a name": (lambda f: pandas.concat([f, f[["cos"]]], axis=1), "two columns 'cos'"),
    "no rows": (lambda f: f.iloc[:0], "no rows"),
    "gap": (lambda f: f.drop(index=[17, 18]), "row 18 of 398: step goes from 16 to 19.*gaps=True"),
    "out of order": (lambda f: f.iloc[::-1], "step goes from 199 to 198"),
    "NaN": (lambda f: changed(f, "velocity", 17, np.nan), at(18, "velocity is missing")),
    "NaN in next": (lambda f: changed(f, "next_cos", 399, np.nan), at(400, "next_cos is missing")),
    "no reward": (lambda f: changed(plain(f).drop(columns=["episode", "step"]), "reward", 17, np.nan), at(18, "reward is missing")),
    "infinite": (lambda f: changed(f, "reward", 3, np.inf), at(4, "reward is inf")),
    "text": (lambda f: changed(f, "velocity", 9, "fast"), at(10, "'fast', not a number")),
    "decimal comma": (lambda f: changed(f, "velocity", 9, "1,5"), at(10, "decimal point")),
    "degrees": (lambda f: f.assign(velocity=f.velocity * 57.3), r"velocity is outside -8 \.\.\. 8 rad/s in \d+ of 400.*degrees"),
    "action outside": (lambda f: f.assign(action=f.action * 1000), r"action is outside -2 \.\.\. 2 N m.*thousandths"),
    "half a step": (lambda f: f.assign(step=f.step + 0.5), "step is 0.5: whole numbers"),
    "odd flag": (lambda f: changed(f.astype({"terminated": object}), "terminated", 4, "maybe"), at(5, "'maybe': write True or False")),
    "on behind the end": (lambda f: changed(f, "terminated", 50, True), at(52, "goes on behind")),
    "no episode number": (lambda f: changed(f.astype({"episode": float}), "episode", 5, np.nan), at(6, "episode is empty")),
    "jump in time": (lambda f: f.assign(time=0.05 * f.step + (f.step > 80)), at(82, "time goes from 4 to 5.05.*gap")),
    "time is a word": (lambda f: f.assign(time="noon"), "neither a number nor a date"),
    "action twice": (lambda f: f.assign(torque=f.action), "the columns 'action' and 'torque', and either may be the action"),
    "an empty action": (lambda f: changed(changed(bare(f), "action", 17, np.nan), "reward", 17, np.nan), at(18, "action is empty, and the log goes on")),
    "an empty action among steps": (
        lambda f: changed(changed(bare(f).assign(step=f.step), "action", 17, np.nan), "reward", 17, np.nan),
        at(18, "action is empty, and the log goes on behind it: fill it in, or number the episodes"),
    ),
    "a falling step": (lambda f: bare(f).assign(step=f.step - 9 * f.index.isin(range(51, 200))), at(52, "step falls from 50 to 42, with which no episode begins")),
    "a step twice": (lambda f: bare(f).assign(step=f.step - f.index.isin(range(51, 200))), at(52, "step falls from 50 to 50")),
    "single rows": (lambda f: plain(f).assign(episode=range(len(f)), step=0), "no row has a next one"),
}


@pytest.mark.parametrize("learner", [spaql.SPAQL, spaql.Atlas])
@pytest.mark.parametrize("name", BAD)
def test_it_says_what_is_wrong_and_learns_nothing(name, learner, problem, good):
    spoil, words = BAD[name]
    agent = learner(problem, seed=0)
    with pytest.raises(spaql.SpaqlError, match=words) as caught:
        agent.replay(spoil(good))
    assert "\n" not in str(caught.value)
    assert agent.state.outer.tolist()[6] == 0
    with pytest.raises(spaql.SpaqlError, match=words):
        spaql.coverage(problem, spoil(good))


def test_an_unknown_action_of_a_finite_set():
    problem = spaql.make("cartpole")
    frame = spaql.record(problem, episodes=2)
    frame.loc[4, "push"] = 2
    with pytest.raises(spaql.SpaqlError, match=r"row 5 of .*push 2 is not one of 0, 1"):
        spaql.SPAQL(problem).replay(frame)


def test_gaps_can_be_allowed_if_there_are_next_columns(problem, good):
    some = good.sample(100, random_state=0)
    assert spaql.SPAQL(problem).replay(some, gaps=True).samples == 100
    with pytest.raises(spaql.SpaqlError, match="only with next_ columns"):
        spaql.SPAQL(problem).replay(plain(some), gaps=True)


def test_a_log_without_rewards_is_not_split_by_an_empty_action(problem, good):
    log = changed(bare(good).drop(columns="reward"), "action", 17, np.nan)
    with pytest.raises(spaql.SpaqlError, match=at(18, "action is empty")):
        spaql.from_data(problem, log)


def test_without_a_column_for_episodes_a_step_that_starts_again_begins_the_next(problem, good):
    log = bare(good).assign(step=good.step)
    assert spaql.SPAQL(problem).replay(log).episodes == spaql.SPAQL(problem).replay(log.assign(step=log.step + 1)).episodes == 2
    assert spaql.SPAQL(problem).replay(log[log.step >= 5]).episodes == 2
    shuffled = good.drop(columns="episode").sample(frac=1.0, random_state=0)
    assert spaql.SPAQL(problem).replay(shuffled, gaps=True).samples == 400


def test_dates_are_times_too(problem, good):
    stamps = pandas.Timestamp("2026-01-01") + pandas.to_timedelta(0.05 * good.step, unit="s")
    assert spaql.SPAQL(problem).replay(good.assign(time=stamps.astype(str))).samples == 400


def test_aql_needs_steps_within_the_horizon(good):
    with pytest.raises(spaql.SpaqlError, match="step 100 is beyond the horizon of pendulum, 100 steps"):
        spaql.AQL(spaql.make("pendulum", horizon=100)).replay(good)


def test_a_variable_must_not_have_the_name_of_a_column():
    from dataclasses import replace

    problem = spaql.cube(1, [0], horizon=5)
    problem = replace(problem, state=(spaql.Axis("reward", -1, 1),))
    with pytest.raises(spaql.SpaqlError, match="'reward' has the name of another column"):
        spaql.SPAQL(problem).replay({"reward": [0.0], "action": [0]})


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("log.csv", "", "log.csv is empty"),
        ("log.csv", "cos;sin;velocity;action;reward\n1;0;0;0\n", "row 1: it has 4 fields and the header 5 fields: a semicolon too many or too few"),
        ("log.mf4", "not MDF", "cannot read log.mf4|for which asammdf is needed"),
        ("log.csv", "cos,sin,velocity,action,reward\n", "no rows"),
        ("log.csv", 'cos,sin\n1,2\n"', "cannot read log.csv|no column"),
        ("log.parquet", "not parquet", "cannot read log.parquet"),
        ("log.xlsx", "x", "a log is a .csv or .parquet file"),
    ],
)
def test_a_bad_file_is_one_line(name, text, words, problem, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(spaql.SpaqlError, match=words) as caught:
        spaql.SPAQL(problem).replay(tmp_path / name)
    assert "\n" not in str(caught.value)


def lines_of(frame):
    return frame.to_csv(index=False).splitlines()


def test_two_columns_of_a_name_in_a_file_are_refused(problem, good, tmp_path):
    head, *rows = lines_of(good)
    (tmp_path / "log.csv").write_text("\n".join([f"{head}, cos", *(f"{row},1" for row in rows)]))
    with pytest.raises(spaql.SpaqlError, match="two columns 'cos'"):
        spaql.SPAQL(problem).replay(tmp_path / "log.csv")


@pytest.mark.parametrize("spoil", [lambda raw: raw[: len(raw) // 2], lambda raw: raw[:-9], lambda raw: raw[:200] + b"\xff" * 60 + raw[260:], lambda raw: b"no zip"])
def test_a_damaged_packed_log_is_one_line_also_on_the_command_line(spoil, problem, good, tmp_path):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(spoil(gzip.compress(good.to_csv(index=False).encode())))
    with pytest.raises(spaql.SpaqlError, match=r"cannot read .*log.csv.gz: the file is incomplete"):
        spaql.SPAQL(problem).replay(path)
    assert "the file is incomplete" in refused("replay", "pendulum", "spaql", path, "--out", tmp_path / "out")
    assert "the file is incomplete" in refused("coverage", "pendulum", path)


def test_a_log_may_come_through_a_pipe(problem, good, tmp_path):
    os.mkfifo(tmp_path / "log.csv")
    writer = threading.Thread(target=lambda: (tmp_path / "log.csv").write_text(good.to_csv(index=False)))
    writer.start()
    assert spaql.SPAQL(problem).replay(tmp_path / "log.csv").samples == 400
    writer.join()


def test_names_that_a_spreadsheet_takes_for_formulas_are_written_as_text_and_read_again(tmp_path):
    problem = spaql.from_plant(
        tame_reset, tame_step, state=[spaql.Axis("=1+1", -1, 1)], actions=spaql.Finite((0, 1)), horizon=5
    )
    frame = spaql.record(problem, tmp_path / "log.csv", episodes=2)
    assert (tmp_path / "log.csv").read_text().startswith("episode,step,'=1+1,action,")
    assert list(frame)[2] == "=1+1"
    assert spaql.SPAQL(problem).replay(tmp_path / "log.csv").samples == 10


def test_a_missing_file(problem, tmp_path):
    with pytest.raises(spaql.SpaqlError, match=r"cannot read .*No such file"):
        spaql.SPAQL(problem).replay(tmp_path / "nothing.csv")


@pytest.mark.parametrize("log", [5, None, [1, 2]])
def test_what_is_not_a_log(log, problem):
    with pytest.raises(spaql.SpaqlError, match=r"a log is a .csv or .parquet file or a data frame"):
        spaql.SPAQL(problem).replay(log)


def test_options_that_make_no_sense(problem, good, tmp_path):
    with pytest.raises(spaql.SpaqlError, match="Random does not learn"):
        spaql.Random(problem).replay(good)
    with pytest.raises(spaql.SpaqlError, match="one pass is enough"):
        spaql.Atlas(problem).replay(good, passes=2)
    with pytest.raises(spaql.SpaqlError, match="passes must be"):
        spaql.SPAQL(problem).replay(good, passes=0)
    with pytest.raises(spaql.SpaqlError, match="no folder"):
        spaql.record(problem, tmp_path / "nowhere" / "log.csv")
    with pytest.raises(spaql.SpaqlError, match=r".csv or .parquet"):
        spaql.record(problem, tmp_path / "log.txt")
    with pytest.raises(spaql.SpaqlError, match="a problem, an agent or a policy"):
        spaql.record("pendulum")
    with pytest.raises(spaql.SpaqlError, match="has no plant"):
        spaql.record(spaql.cube(1, [0, 1], horizon=5))


@pytest.mark.parametrize(
    ("axis", "values", "guess"),
    [
        (spaql.Axis("level", 0.0, 2.0, unit="m"), [20.0, 71.0], r"\(hundredths of the unit, or per cent\?\)"),
        (spaql.Axis("level", 0.0, 2.0, unit="m"), [20.0, 1710.0], r"\(thousandths of the unit\?\)"),
        (spaql.Axis("angle", -3.2, 3.2, unit="rad"), [-170.0, 90.0], r"\(degrees instead of radians\?\)"),
        (spaql.Axis("angle", -3.2, 3.2), [-170.0, 90.0], r"\(degrees instead of radians\?\)"),
        (spaql.Axis("level", 0.0, 2.0, unit="m"), [0.0, 5.0], r": wrong units\? Convert"),
    ],
)
def test_a_wrong_unit_is_guessed_only_where_the_factor_fits_it(axis, values, guess):
    problem = spaql.Problem("a tank", "", (axis,), spaql.Continuous(0.0, 1.0), 10)
    with pytest.raises(spaql.SpaqlError, match=guess):
        spaql.coverage(problem, {axis.name: [*values, values[0]], "action": [0.0, 1.0, 0.0]}, reach=0)
