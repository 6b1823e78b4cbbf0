"""What is known of gains holds exactly in every law that a search returns."""

import numpy as np
import pytest

import spaql
from spaql.policy.outputs import gain_ranges, plain_gains
from spaql.trees.tree import LEAF


@spaql.reset
def filled(u1, u2):
    return 0.5 * u1, 0.5 * u2


@spaql.step
def two_tanks(level1, level2, valve1, valve2):
    level1 = level1 + 0.05 * valve1 - 0.02 * level1
    level2 = level2 + 0.05 * valve2 + 0.02 * level1 - 0.02 * level2
    return (level1, level2), -((level1 - 0.5) ** 2) - (level2 - 0.7) ** 2, False


def tanks():
    return spaql.from_plant(
        filled, two_tanks, horizon=40, actions=spaql.Continuous((-1.0, -1.0), (1.0, 1.0), ("valve1", "valve2")),
        state=[spaql.Axis("level1", -2.0, 4.0), spaql.Axis("level2", -2.0, 6.0)],
    )  # fmt: skip


def laws_of(agent):
    tree = agent.policy().rules
    assert tree.laws is not None
    return tree.laws.gains[tree.nodes["feature"] == LEAF]


@pytest.mark.parametrize("leaves", [1, 2])
def test_signs_ranges_and_zeros_are_kept_through_search_tidying_and_rounding(leaves):
    known = {"level1": (None, 0), "valve2": {"level1": 0, "level2": (-1.37, -1.21)}}
    agent = spaql.Laws(tanks(), max_leaves=leaves, seed=0, gains=known)
    agent.learn(samples=3_000_000)
    gains = laws_of(agent)
    assert (gains[:, :, 0] <= 0.0).all()
    assert (gains[:, 1, 0] == 0.0).all()
    assert (gains[:, 1, 1] >= -1.37).all()
    assert (gains[:, 1, 1] <= -1.21).all()
    assert agent.evaluate(200).mean > -12.0


def test_two_outputs_have_the_same_gains(tmp_path):
    agent = spaql.Laws(tanks(), max_leaves=1, seed=0, gains={"valve2": "valve1", "level1": (None, -0.5)})
    agent.learn(samples=1_500_000)
    gains = laws_of(agent)
    assert (gains[:, 0] == gains[:, 1]).all()
    assert (gains[:, :, 0] <= -0.5).all()
    agent.save(tmp_path / "a.spaql")
    again = spaql.load(tmp_path / "a.spaql", problem=agent.problem)
    assert again.gains == agent.gains
    again.learn(samples=500_000)
    assert (laws_of(again)[:, 0] == laws_of(again)[:, 1]).all()


def test_slow_simulators_keep_them_too():
    problem = spaql.from_gym("Pendulum-v1", names=True)
    agent = spaql.Laws(problem, max_leaves=1, seed=0, gains={"velocity": (None, -0.03), "cos": 0})
    agent.learn(samples=20_000)
    if agent.tree.laws is not None:
        gains = laws_of(agent)
        assert (gains[:, :, 0] == 0.0).all()
        assert (gains[:, :, 2] <= -0.03).all()


def test_a_text_says_the_same():
    typed = plain_gains("gains", "level1=0:, level2=-2:-1, valve2=valve1, level3=0")
    assert typed == {"level1": [0.0, None], "level2": [-2.0, -1.0], "valve2": "valve1", "level3": [0.0, 0.0]}
    assert plain_gains("gains", ["level1=0:", "level3=0"]) == {"level1": [0.0, None], "level3": [0.0, 0.0]}  # the command line


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ({"level3": (0, None)}, "level3' is not observed: choose among level1, level2"),
        ({"level1": (2, 1)}, "cannot be at least 2 and at most 1"),
        ({"level1": (0, None), "valve1": {"level1": (None, -1)}}, "contradict each other: that of level1 in valve1"),
        ({"valve2": "valve1", "valve1": {"level1": 1}} | {"level1": (None, 0)}, "contradict each other"),
        ({"valve2": "valve3"}, "has the gains of another action, valve1"),
        ({"valve2": "valve1", "valve1": "valve2"}, "those of another"),
        ({"level1": "up"}, "level1 is a range such as|has no|is a range"),
        ({"level1": (0, np.nan)}, "must be a finite number"),
        ({}, "gives by variable"),
        (3, "gives by variable"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(gains, said):
    with pytest.raises(spaql.SpaqlError, match=said) as error:
        spaql.Laws(tanks(), gains=gains)
    assert "\n" not in str(error.value)


def test_gains_are_of_continuous_actions():
    with pytest.raises(spaql.SpaqlError, match="continuous actions"):
        spaql.Laws(spaql.make("cartpole"), gains={"angle": (0, None)})
    ranges = gain_ranges({"level1": [0, None]}, tanks())
    assert ranges.may_be_zero(0, 1)
    assert not gain_ranges({"level1": [1, None]}, tanks()).may_be_zero(0, 1)
