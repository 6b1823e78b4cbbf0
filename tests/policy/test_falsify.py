"""Falsify: the search finds what random episodes miss, and what it finds can be repeated."""

import itertools
import json
import math
import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Line
from loops import motor
from spaql.ground.errors import SpaqlError

# -- a weak spot -------------------------------------------------------------------------------------------------------
#
# An unstable plant with a bounded input can be held only while |x| < 1. The sum of three start variables exceeds that in
# a corner of a few millionths of the cube.


@spaql.reset
def anywhere(u1, u2, u3):
    return (1.02 * (2.0 * (u1 + u2 + u3) / 3.0 - 1.0),)


@spaql.step
def grow(x, push):
    x = 1.1 * x + 0.1 * push
    return (x,), -x * x, abs(x) > 3.0


def unstable(**more):
    actions = spaql.Continuous((-1.0,), (1.0,), ("push",))
    return spaql.from_plant(anywhere, grow, state=[spaql.Axis("x", -4.0, 4.0, unit="m")], actions=actions, horizon=60, name="unstable", ends="failure", **more)


@pytest.fixture(scope="module")
def holding():
    return spaql.law(unstable(), {"x": -10.0})


@pytest.fixture(scope="module")
def worst(holding):
    return holding.falsify()


def returned(episode):
    """Added in the order of the steps, as the compiled loop does."""
    return float(np.cumsum(episode.rewards)[-1])


def test_it_finds_the_corner_that_a_thousand_random_episodes_miss(holding, worst):
    ordinary = holding.evaluate(1000)
    assert not ordinary.terminated.any()
    assert worst.failed
    assert worst.episode.terminated
    assert worst.total < 2.0 * ordinary.returns.min()
    assert abs(worst.start["x"]) > 1.0
    assert worst.rule == "ends within 60 steps"


def test_the_replay_is_the_episode_that_was_found_to_the_bit(worst):
    assert returned(worst.episode) == worst.total


def test_the_same_seed_finds_the_same_episode_and_another_seed_another(holding, worst):
    again, other = holding.falsify(), holding.falsify(seed=1)
    assert again.total == worst.total
    assert np.array_equal(again.episode.observations, worst.episode.observations)
    assert other.failed
    assert not np.array_equal(other.episode.observations, worst.episode.observations)


def test_a_function_is_searched_like_the_law_that_says_the_same(holding, worst):
    own = spaql.Controller(holding.problem, lambda x: -10.0 * x)
    assert own.falsify().total == worst.total
    table = {"gain": -10.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", spaql.SpaqlWarning)
        slow = spaql.Controller(holding.problem, lambda x: table["gain"] * x)
        assert slow.compiled is None
        assert slow.falsify(40, fresh=5).total == own.falsify(40, fresh=5).total


def test_it_is_never_milder_than_the_worst_ordinary_episode(holding):
    for count in (1, 5, 300):
        found = holding.falsify(count, fresh=50)
        assert found.total <= found.evaluation.returns.min()
        assert found.tried == count


def test_it_stands_beside_ordinary_episodes(holding, worst):
    ordinary = holding.evaluate(1000)
    assert np.array_equal(worst.evaluation.returns, ordinary.returns)
    assert returned(worst.typical) == np.sort(ordinary.returns)[499]


# -- limits, parameters, references, disturbances ----------------------------------------------------------------------


@spaql.step
def shaken(x, push, u1, u2, drag):
    x = drag * x + 0.1 * push + 0.05 * (u1 + u2 - 1.0)
    return (x,), -x * x, False


@pytest.fixture(scope="module")
def drawn():
    actions = spaql.Continuous((-1.0,), (1.0,), ("push",))
    told = {"drag": spaql.Between(0.5, 0.9)}
    plain = spaql.from_plant(anywhere, shaken, state=[spaql.Axis("x", -4.0, 4.0, unit="m")], actions=actions, horizon=40, parameters=told)
    references = [spaql.Reference("target", -0.5, 0.5, of="x", hold=(10, 20), unit="m")]
    return spaql.loop(plain, references=references, noise={"x": 0.01}, limits=[spaql.Limit("x", high=0.9)])


@pytest.fixture(scope="module")
def over(drawn):
    return spaql.law(drawn, {"x_error": 0.5}).falsify(1000)


def test_with_limits_it_searches_for_the_largest_excess(drawn, over):
    assert over.by == "limits"
    assert over.failed
    assert over.excess["x"] == pytest.approx(over.episode.observations[1:, 0].max() - 0.9)
    assert over.excess["x"] > over.evaluation.excess.max()
    assert returned(over.episode) == over.total
    by_return = spaql.law(drawn, {"x_error": 0.5}).falsify(1000, by="return")
    assert by_return.by == "return"
    assert by_return.total < over.total


def test_it_tells_start_parameters_and_references(over):
    assert set(over.start) == {"x"}
    assert 0.5 <= over.parameters["drag"] <= 0.9
    steps, values = zip(*over.references["target"], strict=True)
    assert steps[0] == 0
    assert all(10 <= later - before <= 20 for before, later in itertools.pairwise(steps))
    shown = over.episode.to_pandas()["target"]
    assert [shown[step] for step in steps] == list(values)


def test_disturbances_are_searched_too():
    """The start of this plant is always the same: only what shakes it can be worse."""

    @spaql.reset
    def still():
        return (0.0,)

    @spaql.step
    def shake(x, push, u):
        x = 0.9 * x + 0.1 * push + 0.1 * (u - 0.5)
        return (x,), -x * x, False

    problem = spaql.from_plant(still, shake, state=[spaql.Axis("x", -4.0, 4.0)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=64)
    found = spaql.law(problem, {"x": 0.0}).falsify(2000)
    assert found.total < found.evaluation.returns.min()
    assert returned(found.episode) == found.total


def test_catalog_plants_tell_what_they_have_drawn():
    problem = spaql.make("pendulum", m=spaql.Between(0.8, 1.2), l=spaql.Between(0.9, 1.1))
    found = spaql.law(problem, {"sin": -14.0, "velocity": -3.0}).falsify(300, fresh=50)
    assert set(found.parameters) == {"m", "l"}
    assert 0.8 <= found.parameters["m"] <= 1.2
    assert 0.9 <= found.parameters["l"] <= 1.1


def test_where_nothing_is_random_one_episode_is_enough():
    @spaql.reset
    def here():
        return (0.5,)

    problem = spaql.from_plant(here, grow, state=[spaql.Axis("x", -4.0, 4.0)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=10)
    assert spaql.law(problem, {"x": -10.0}).falsify(fresh=3).tried == 1


# -- Gymnasium environments --------------------------------------------------------------------------------------------


def test_in_an_environment_the_worst_seed_is_found():
    problem = spaql.from_gym(gymnasium.make("CartPole-v1"), horizon=30, names=True)
    found = spaql.law(problem, [0.0, 0.0, 1.0, 0.0]).falsify(12)
    assert found.tried == len(found.evaluation.returns) == 12
    assert found.total == found.evaluation.returns.min() == returned(found.episode)
    assert "the mean of all" in str(found)


def test_an_environment_that_ignores_its_seed_is_found_out():
    class Unseeded(Line):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=None)

    problem = spaql.from_gym(Unseeded(), horizon=5)
    with pytest.raises(SpaqlError, match=r"does not follow its seed: its worst episode returned .* and, run again"):
        spaql.law(problem, [-1.0]).falsify(3)


# -- in words and as a picture -----------------------------------------------------------------------------------------


def test_it_prints_in_eighty_columns(worst, over):
    lines = str(worst).splitlines()
    assert lines[0] == "The worst of 2,000 episodes that were searched on unstable, seed 0"
    assert any(line.startswith("  failure     yes; 0 of 1,000 fresh episodes failed.") for line in lines)
    text = str(over)
    assert "x ≤ 0.9 m: exceeded by" in text
    assert "  parameters  drag = " in text
    assert "  reference   target = " in text
    assert max(len(line) for line in [*lines, *text.splitlines()]) <= 80
    told = json.loads(json.dumps(over.to_dict(), allow_nan=False))
    assert told["failed"] is True
    assert math.isfinite(told["total"])


def test_it_is_drawn_with_a_typical_episode_behind_it(worst, tmp_path):
    figure = worst.plot(tmp_path / "worst.svg")
    assert (tmp_path / "worst.svg").read_text("utf-8").startswith("<?xml")
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["the worst episode found", "a typical one"]
    assert len(figure.axes[0].lines) == 2


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"episodes": 0}, "episodes must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"fresh": 0}, "fresh must be a whole number"),
        ({"by": "failure"}, "by must be one of 'return', 'limits'"),
        ({"by": "limits"}, "unstable has no limits to search for"),
    ],
)
def test_what_cannot_be_is_refused(holding, told, message):
    with pytest.raises(SpaqlError, match=message):
        holding.falsify(**told)


def test_without_a_plant_there_is_nothing_to_search():
    with pytest.raises(SpaqlError, match="cube has no plant to run on"):
        spaql.law(spaql.cube(1, 1, 10), [1.0]).falsify()


def test_a_motor_in_a_loop_is_searched_over_its_references():
    problem = spaql.loop(motor(), references=[spaql.Reference("target", 0.0, 150.0, of="speed")])
    found = spaql.pid(problem, kp=0.5).falsify(500, fresh=100)
    assert found.references["target"][0][1] > 140.0  # the farthest from where it starts
    assert set(found.start) == {"speed", "current"}  # although the controller sees neither


def test_a_limit_that_even_the_worst_episode_keeps_is_told_with_what_was_left(over):
    kept = replace(over, excess={"x": -0.0625})
    assert "x ≤ 0.9 m: kept, with 0.0625 m to spare" in " ".join(str(kept).split())
