"""`spaql explain` and `spaql export`, run as a user runs them."""

import json
import re
import warnings
from dataclasses import replace

import pytest

import spaql
from command_line import run
from law_examples import law_policies
from spaql.export import FORMATS
from spaql.policy.words import number
from spaql.report.explanation import returned


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
    agent.learn(60, rollouts=4)
    path = tmp_path_factory.mktemp("agent") / "agent.spaql"
    agent.save(path)
    return path


def test_explain_shows_regions_why_and_a_page(file, tmp_path):
    told = run("explain", file, "--html", tmp_path / "page.html", "--why", "0,0.1,0.02,0")
    assert told.returncode == 0, told.stderr
    assert "it applies push = " in told.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert "leaves does the same" in run("explain", file).stdout


def test_the_table_of_explain_fits_80_columns_with_units_and_no_broken_cell(file):
    lines = run("explain", file).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    head = next(place for place, line in enumerate(lines) if "angular velocity" in line)
    assert lines[head + 1].split() == ["time", "push", "[m]", "[m/s]", "[rad]", "[rad/s]"]
    rows = lines[head + 3 : head + 15]
    assert all(line.count("…") == 4 and "%" in line for line in rows)


@pytest.mark.parametrize(
    ("problem", "episodes"),
    [
        pytest.param(lambda: spaql.make("oil-laplace"), 1000, id="compiled", marks=pytest.mark.slow),
        pytest.param(lambda: spaql.from_gym("spaql/CartPole-v0", horizon=50), 50, id="Gymnasium"),
    ],
)
def test_terminal_page_json_and_python_have_the_same_numbers(problem, episodes, tmp_path):
    agent = spaql.SPAQL(problem(), seed=0)
    agent.learn(20, rollouts=2)
    agent.save(tmp_path / "agent.spaql")
    asked = ("explain", tmp_path / "agent.spaql", "--max-leaves", "4", "--no-laws")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", spaql.SpaqlWarning)
        small = agent.policy().compress(max_leaves=4, laws=False)
    fresh, table = small.evaluate(episodes), agent.policy().evaluate(episodes)
    text = run(*asked, "--html", tmp_path / "page.html").stdout
    assert f"{episodes:,} fresh episodes on " in text
    assert f"  return      {fresh.mean:.2f} " in text
    assert f"  the table   {table.mean:.2f} in the same episodes" in text
    page = (tmp_path / "page.html").read_text()
    assert f"<dd>{returned(fresh)}</dd>" in page
    assert f"<dd>{returned(table)}</dd>" in page
    data = json.loads(run(*asked, "--json").stdout)
    assert (data["fresh"]["mean"], data["fresh_of_table"]["mean"]) == (fresh.mean, table.mean)
    of_size = {one["leaves"]: one["mean"] for one in data["frontier"]}
    assert of_size[small.n_leaves] == fresh.mean
    assert of_size == {point.leaves: replace(small, rules=point.tree).evaluate(episodes).mean for point in small.frontier}
    assert all(f'<th scope="row">{leaves}</th><td>{number(mean)}</td>' in page for leaves, mean in of_size.items())
    assert "agrees with the table in" in text
    assert re.search(r"It agrees with the table in [\d.]+ % of", text)[0] in page


CONTROLLERS = """
import spaql
problem = spaql.make("cartpole")
pd = spaql.law(problem, {"angle": 10.0, "angular velocity": 1.0})
"""


def test_a_controller_of_ones_own_stands_beside_it_in_terminal_page_and_json(file, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(CONTROLLERS)
    told = run("explain", file, "--baseline", f"{own}:pd", "--html", tmp_path / "page.html")
    assert told.returncode == 0, told.stderr
    assert re.search(r" pd +200 .*\n +this controller +\d", told.stdout)  # the best first
    assert '<th scope="row">pd</th><td>200</td>' in (tmp_path / "page.html").read_text()
    data = json.loads(run("explain", file, "--baseline", f"{own}:pd", "--json").stdout)
    assert data["compared"]["pd"]["mean"] == 200.0
    assert data["compared"]["this controller"]["mean"] == data["fresh"]["mean"]


def test_what_is_no_controller_is_no_baseline(file, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(CONTROLLERS)
    told = run("explain", file, "--baseline", f"{own}:problem")
    assert told.returncode == 2
    assert "is no controller" in told.stderr


def test_explain_shows_laws_in_words_and_a_page(tmp_path):
    (tmp_path / "laws.json").write_text(law_policies()["P2"].to_json())
    told = run("explain", tmp_path / "laws.json", "--html", tmp_path / "page.html")
    assert told.returncode == 0, told.stderr
    assert "clip(-14·sin - 3·velocity, -2, 2) N m" in told.stdout
    assert "as learned" not in told.stdout
    assert "clip(−14·sin − 3·velocity, −2, 2) N m" in (tmp_path / "page.html").read_text()
    found = json.loads(run("explain", tmp_path / "laws.json", "--json", "--why", "0.5,0.1,0.3").stdout)
    assert (found["laws"], found["numbers"]) == (2, 5)
    assert "saturated: held at -2 N m" in found["why"]


def test_explain_searches_for_the_worst_episode(tmp_path):
    (tmp_path / "laws.json").write_text(law_policies()["P2"].to_json())
    told = run("explain", tmp_path / "laws.json", "--falsify", "--html", tmp_path / "page.html")
    assert told.returncode == 0, told.stderr
    assert "The worst of 2,000 episodes that were searched on pendulum, seed 0" in told.stdout
    assert "worst found by the search" in (tmp_path / "page.html").read_text()
    found = json.loads(run("explain", tmp_path / "laws.json", "--falsify", "--json").stdout)["worst"]
    assert found["total"] <= found["fresh"]["worst"] < found["fresh"]["mean"]


def test_explain_speaks_json(file):
    told = json.loads(run("explain", file, "--why", "0,0,0,0", "--json").stdout)
    assert told["regions"] == len(told["table"]) >= told["exact_tree_leaves"]
    assert "applies" in told["why"]


@pytest.mark.parametrize("to", FORMATS)
def test_every_export_is_written(file, tmp_path, to):
    told = run("export", file, "--to", to, "--out", tmp_path / "controller")
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "controller").stat().st_size > 100


def test_an_exported_policy_can_be_explained_again(file, tmp_path):
    assert run("export", file, "--to", "json", "--out", tmp_path / "policy.json").returncode == 0
    told = run("explain", tmp_path / "policy.json", "--why", "0,0,0.02,0")
    assert told.returncode == 0, told.stderr
    assert "it applies push = " in told.stdout


@pytest.mark.slow
def test_a_compressed_tree_can_be_exported(tmp_path):
    agent = spaql.SPAQL(spaql.make("oil-laplace"), seed=0)  # short episodes: the whole search takes a moment
    agent.learn(20, rollouts=2)
    agent.save(tmp_path / "oil.spaql")
    told = run("export", tmp_path / "oil.spaql", "--to", "txt", "--max-leaves", "4", "--no-laws")
    assert told.returncode == 0, told.stderr
    small = agent.policy().compress(max_leaves=4, laws=False)
    assert 1 < small.n_leaves <= 4
    assert told.stdout == small.to_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "FILE", "--to", "fortran"), "must be one of"),
        (("export", "FILE", "--form", "forest"), "unknown form"),
        (("export", "FILE", "--max-leaves", "0"), "--max-leaves must be"),
        (("export", "missing.spaql"), "missing.spaql"),
        (("explain", "missing.json"), "cannot read missing.json"),
        (("explain", "FILE", "--why", "1,2"), "must have shape"),
        (("explain", "FILE", "--why", "left"), "numbers separated by commas"),
        (("export", "FILE", "--out", "/no/such/folder/x.c"), "cannot write"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(file, arguments, words):
    told = run(*(file if word == "FILE" else word for word in arguments))
    assert told.returncode == 2
    assert told.stderr.strip().count("\n") == 0
    assert words in told.stderr


def test_aql_needs_a_step(tmp_path):
    agent = spaql.AQL(spaql.make("cartpole"), seed=0)
    agent.learn(5, rollouts=2)
    agent.save(tmp_path / "a.spaql")
    assert "policy(step=...)" in run("export", tmp_path / "a.spaql").stderr
    assert run("export", tmp_path / "a.spaql", "--step", "3").returncode == 0


def test_a_monitor_is_exported_and_shown(tmp_path):
    law = spaql.law(spaql.make("pendulum", horizon=40), {"sin": -8.0, "velocity": -2.0})
    (tmp_path / "law.json").write_text(law.to_json())
    (tmp_path / "motor.py").write_text('import spaql\nbrake = spaql.law(spaql.make("pendulum"), {"velocity": -0.5})\n')
    region = ("--monitor", "velocity=-1:1", "--monitor", "cos=-0.9:")
    text = run("export", tmp_path / "law.json", *region, "--fallback", f"{tmp_path}/motor.py:brake").stdout
    brake = spaql.law(law.problem, {"velocity": -0.5})
    assert text == law.to_c(monitor=spaql.Monitor({"velocity": (-1, 1), "cos": (-0.9, float("inf"))}, brake))
    told = run("explain", tmp_path / "law.json", *region, "--fallback", "0.5", "--html", tmp_path / "page.html")
    said = spaql.Monitor({"velocity": (-1, 1), "cos": (-0.9, float("inf"))}, 0.5).evaluate(law).line
    assert f"Behind its monitor {said}." in " ".join(told.stdout.split())
    assert f"<p>Behind its monitor {said}.</p>" in (tmp_path / "page.html").read_text()
    data = json.loads(run("explain", tmp_path / "law.json", "--monitor", "seen", "--fallback", "0", "--json").stdout)
    assert data["monitor"]["episodes"] == 100


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--monitor", "velocity=-1:1"), "--monitor and --fallback go together"),
        (("--monitor", "velocity=-1", "--fallback", "0"), "NAME=LOW:HIGH"),
        (("--monitor", "seen", "--monitor", "velocity=-1:1", "--fallback", "0"), "one source alone"),
        (("--monitor", "velocity=-1:1", "--fallback", "9"), "torque = 9 is outside -2 to 2"),
        (("--monitor", "no.csv", "--fallback", "0"), "no.csv"),
        (("--monitor", "velocity=-1:1", "--fallback", "0", "--to", "md"), "--monitor goes with --to c, python, st, plcopen"),
        (("--monitor", "velocity=-1:1", "--fallback", "no.json"), "cannot read no.json"),
    ],
)
def test_a_monitor_that_cannot_be_is_one_line(options, words, tmp_path):
    (tmp_path / "law.json").write_text(spaql.law(spaql.make("pendulum"), {"velocity": -2.0}).to_json())
    told = run("export", tmp_path / "law.json", *options)
    assert told.returncode == 2
    assert words in told.stderr
    assert told.stderr.count("\n") == 1
