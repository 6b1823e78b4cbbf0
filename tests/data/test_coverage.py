"""How much of the space a log covers."""

import json

import numpy as np
import pytest

import spaql


def log_of(points, actions):
    """Points of a square with their actions, each an episode of its own that stays where it is."""
    x, y = np.array(points, float).T
    return {"x0": x, "x1": y, "action": actions, "reward": 0.0 * x, "next_x0": x, "next_x1": y, "episode": np.arange(len(x))}


@pytest.fixture(scope="module")
def square():
    return spaql.cube(2, [0, 1, 2], horizon=10)


def test_data_everywhere_covers_everything(square):
    rng = np.random.default_rng(0)
    made = spaql.coverage(square, log_of(rng.uniform(-1, 1, (20000, 2)), rng.integers(0, 3, 20000)))
    assert (made.overall.seen, made.overall.declared, made.overall.share) == (1024, 1024, 1.0)
    assert [r.share for r in made.ranges] == [1.0, 1.0]
    assert made.all_actions > 0.99
    assert made.one_action == 0.0
    assert made.never == ()


def test_a_log_needs_no_reward(square):
    log = log_of([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], [0, 1, 2])
    paid = spaql.coverage(square, log)
    del log["reward"]
    assert str(spaql.coverage(square, log)) == str(paid)


def test_where_episodes_end_counts_as_seen(square):
    """Two episodes of two steps, their rows in turn, that end in corners of their own where nothing is applied any more."""
    log = {
        "x0": [0.1, 0.2, 0.1, 0.2], "x1": [0.1, 0.2, 0.2, 0.1], "action": [0, 1, 2, 0], "reward": [0.0] * 4, "episode": [0, 1, 0, 1],
        "next_x0": [0.1, 0.2, -0.9, 0.9], "next_x1": [0.2, 0.1, -0.9, -0.9],
    }  # fmt: skip
    made = spaql.coverage(square, log)
    assert len(made.data) == 4 + 2
    assert made.overall.seen == 3
    assert sum(region.samples for region in made.regions) == 4 * 2


def test_half_of_the_square_is_half(square):
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (20000, 2))
    points[:, 0] = -np.abs(points[:, 0])
    made = spaql.coverage(square, log_of(points, np.where(points[:, 1] > 0, 1, 0)))
    assert made.overall.share == made.pairs[0].share == 0.5
    assert made.ranges[0].share == 0.5
    assert made.ranges[0].seen[1] <= 0.0
    assert made.never == ("action 2 is never applied", "x0 0 ... 0.5", "x0 0.5 ... 1")
    regions = {(r.variable, r.low): r for r in made.regions}
    assert regions["x0", 0.5].samples == 0
    assert regions["x1", -1.0].actions == (1.0, 0.0, 0.0)
    assert regions["x1", 0.5].actions == (0.0, 1.0, 0.0)
    assert made.one_action > 0.99


@pytest.mark.slow
def test_against_what_the_plant_reaches_not_what_is_declared():
    """On Pendulum cos and sin lie on a circle: most of the declared square cannot be reached."""
    problem = spaql.make("pendulum")
    made = spaql.coverage(problem, spaql.record(problem, episodes=20))
    circle = next(pair for pair in made.pairs if pair.variables == ("cos", "sin"))
    assert circle.reached < 0.3 * circle.declared
    assert circle.share > 0.95
    assert 0.5 < made.overall.share < 1.0
    assert any("velocity" in text and "%" in text for text in made.never)


@pytest.mark.slow
def test_more_data_covers_more():
    problem = spaql.make("cartpole")
    few, many = (spaql.coverage(problem, spaql.record(problem, episodes=n)) for n in (20, 400))
    assert [r.share for r in few.ranges] <= [r.share for r in many.ranges]
    assert few.ranges[3].seen[0] >= many.ranges[3].seen[0]
    assert few.ranges[1].declared == (-np.inf, np.inf)


def test_the_report_is_text_json_and_a_figure(tmp_path):
    problem = spaql.make("pendulum")
    made = spaql.coverage(problem, spaql.record(problem, episodes=5))
    for words in ("velocity (rad/s)", "all variables", "cos x velocity", "actions by region", "never seen", "1,000 samples"):
        assert words in str(made)
    told = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert told["overall"]["share"] == made.overall.share
    figure = made.figure(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert {axes.get_xlabel() for axes in figure.axes} >= {"cos", "sin"}
    with pytest.raises(spaql.SpaqlError, match="ends with png, svg, pdf"):
        made.figure(tmp_path / "map.xyz")


def test_one_variable_is_enough(tmp_path):
    made = spaql.coverage(spaql.cube(1, 1, horizon=5), {"x0": [0.0, 0.5, 0.7], "action": [0.1, 0.2, 0.3], "reward": [0, 0, 0]})
    assert made.pairs == ()
    made.figure(tmp_path / "map.svg")


def test_it_wants_a_problem_first():
    with pytest.raises(spaql.SpaqlError, match="a problem and a log"):
        spaql.coverage("log.csv", spaql.make("pendulum"))
