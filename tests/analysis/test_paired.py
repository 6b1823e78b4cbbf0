"""spaql.compare: controllers side by side on the same fresh episodes."""

import numpy as np
import pytest

import spaql


@pytest.fixture(scope="module")
def table():
    problem = spaql.make("cartpole")
    agent = spaql.AQL(problem, seed=0)
    agent.learn(2, rollouts=1)
    controllers = {
        "still": spaql.Controller(problem, lambda x, v, a, w: 0),
        "PD": spaql.law(problem, {"angle": 10.0, "angular velocity": 1.0}),
        "same": spaql.Controller(problem, lambda x, v, a, w: 10.0 * a + w >= 0),
        "AQL": agent,
    }
    return controllers, spaql.compare(controllers, episodes=60, seed=4)


def test_the_best_comes_first_with_its_interval(table):
    controllers, found = table
    assert found.index.tolist()[:2] == ["PD", "same"]
    assert sorted(found["mean"], reverse=True) == found["mean"].tolist()
    for name, row in found.iterrows():
        alone = controllers[name].evaluate(60, seed=4)
        assert (row["mean"], row["low"], row["high"]) == (alone.mean, *alone.ci95)
        assert row["worst 5 %"] == np.sort(alone.returns)[:3].mean()


def test_controllers_that_do_the_same_do_not_differ(table):
    assert table[1].loc["same", ["behind", "p"]].tolist() == [0.0, 1.0]
    assert np.isnan(table[1].loc["PD", "p"])


def test_a_controller_that_is_worse_is_told_apart(table):
    assert table[1].loc["still", "behind"] > 150.0
    assert table[1].loc["still", "p"] < 1e-10


def test_numbers_are_told_where_they_are_known(table):
    assert table[1].loc["PD", "numbers"] == 1
    assert table[1]["numbers"].isna().sum() == 3  # functions, and a policy per step


def test_the_frame_says_how_it_was_measured(table):
    assert table[1].attrs["episodes"] == 60
    assert table[1].attrs["samples"]["PD"] == 60 * 200


def test_controllers_of_different_problems_are_refused():
    one, other = (spaql.law(spaql.make(name), [0.0, 0.0, 1.0, 0.1]) for name in ("cartpole", "cartpole-500"))
    with pytest.raises(spaql.SpaqlError, match="b is for another problem than a"):
        spaql.compare({"a": one, "b": other})


@pytest.mark.parametrize("given", [{}, [1], None])
def test_controllers_come_by_name(given):
    with pytest.raises(spaql.SpaqlError, match="give controllers by name"):
        spaql.compare(given)


def test_a_plain_function_is_refused_with_advice():
    with pytest.raises(spaql.SpaqlError, match=r"PD is not a controller but a function: make one with spaql.Controller"):
        spaql.compare({"PD": lambda x: 0})


def test_where_there_are_limits_their_violations_are_shown():
    problem = spaql.make("pendulum", limits=[spaql.Limit("velocity", -1.0, 1.0)])
    table = spaql.compare({"still": spaql.law(problem, {"velocity": 0.0}), "brake": spaql.law(problem, {"velocity": -1.0})}, episodes=20)
    assert table.loc["still", "failures"] > 0.5
    assert "failures" not in spaql.compare({"still": spaql.law(spaql.make("pendulum"), {"velocity": 0.0})}, episodes=5)
