"""What an evaluation says of its episodes: returns, failures, violations; in words and as data."""

import json

import numpy as np
import pytest
from scipy import stats

from spaql import Evaluation, Limit, SpaqlError


def watched(returns, lengths, terminated, last, horizon=100, **more):
    n = len(returns)
    zeros = np.zeros((n, len(more.get("limits", ()))))
    return Evaluation(
        np.array(returns, float), int(np.sum(lengths)), lengths=np.array(lengths), terminated=np.array(terminated),
        last=np.array(last, float), effort=np.full(n, 0.5), switching=np.full(n, 0.25), horizon=horizon,
        **({"violated": zeros, "excess": zeros} | more),
    )  # fmt: skip


FALL = {"returns": [100, 40, 100], "lengths": [100, 40, 100], "terminated": [False, True, False], "last": [1, 1, 1]}
GOAL = {"returns": [-100, -40, -60], "lengths": [100, 40, 60], "terminated": [False, True, True], "last": [-1, -1, -1]}


def test_two_arguments_are_enough():
    plain = Evaluation(np.array([1.0, 2.0, 6.0]), 12)
    assert (plain.mean, plain.median, plain.worst5) == (3.0, 2.0, 1.0)
    assert plain.std == pytest.approx(np.std([1, 2, 6], ddof=1))
    assert repr(plain).startswith("Evaluation(mean=3.00, ci95=(")
    assert "failures" not in str(plain)
    for ask in (lambda: plain.failures, lambda: plain.violations, plain.certificate):
        with pytest.raises(SpaqlError, match="only the returns of these episodes are known"):
            ask()


def test_worst5_is_the_mean_of_the_worst_episodes():
    returns = np.random.default_rng(0).normal(size=100)
    assert Evaluation(returns, 0).worst5 == pytest.approx(np.sort(returns)[:5].mean())
    assert Evaluation(returns[:21], 0).worst5 == pytest.approx(np.sort(returns[:21])[:2].mean())


@pytest.mark.parametrize(
    ("told", "ending", "failed"),
    [
        (FALL, "bad", [False, True, False]),
        (GOAL, "good", [True, False, False]),
        # all end: falls, where steps pay; goals, where steps cost
        (FALL | {"terminated": [True] * 3}, "bad", [True] * 3),
        (GOAL | {"terminated": [True] * 3}, "good", [False] * 3),
        # none ends: every step paid the same, so that only the length can matter
        (FALL | {"returns": [100] * 3, "lengths": [100] * 3, "terminated": [False] * 3}, "bad", [False] * 3),
        (GOAL | {"returns": [-100] * 3, "lengths": [100] * 3, "terminated": [False] * 3}, "good", [True] * 3),
        # none ends, and steps cost this or that: nothing says that an end is wanted
        (GOAL | {"returns": [-90, -100, -99], "lengths": [100] * 3, "terminated": [False] * 3}, "", [False] * 3),
        # a reward at the goal, a fine for a crash
        (GOAL | {"returns": [-10, 96, 94], "last": [-0.1, 100, 100]}, "good", [True, False, False]),
        (GOAL | {"returns": [-100, -1040, -1060], "last": [-1, -1000, -1000]}, "bad", [False, True, True]),
        # a runner whose last step before its fall was a fast one
        (FALL | {"returns": [200, 80, 200], "last": [2, 4, 2]}, "bad", [False, True, False]),
    ],
)
def test_rewards_tell_whether_an_end_is_a_failure(told, ending, failed):
    evaluation = watched(**told)
    assert evaluation.ending == ending
    assert evaluation.failed.tolist() == failed
    assert evaluation.failures.count == sum(failed)


def test_a_violated_limit_is_a_failure():
    violated = np.array([[0.0, 0.0], [0.0, 0.5], [0.01, 0.0]])
    limits = (Limit("x", high=1.0), Limit("push", -1.0, 1.0))
    evaluation = watched(
        [-9, -8, -7], [100] * 3, [False] * 3, [-1, -2, -3], limits=limits, units=("m", ""),
        violated=violated, excess=violated * 2,
    )  # fmt: skip
    assert evaluation.failed.tolist() == [False, True, True]
    assert evaluation.failures.rule == "violates a limit"
    x, push = evaluation.violations["x"], evaluation.violations["push"]
    assert (x.steps, x.episodes, x.excess) == pytest.approx((1 / 300, 1 / 3, 0.02))
    assert (push.steps, push.episodes, push.excess) == pytest.approx((50 / 300, 1 / 3, 1.0))
    assert "x ≤ 1 m: 0.3 % of steps, 33.3 % of episodes, worst by 0.02 m" in str(evaluation)


@pytest.mark.parametrize(("count", "episodes"), [(0, 10), (3, 50), (50, 50), (1, 1), (7, 1000)])
def test_the_interval_of_the_failure_rate_is_exact(count, episodes):
    ended = np.arange(episodes) < count
    lengths = np.where(ended, 50, 100)
    failures = watched(lengths.astype(float), lengths, ended, np.ones(episodes)).failures
    expected = stats.binomtest(count, episodes).proportion_ci(0.95, method="exact")
    assert failures.ci95 == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert float(failures) == count / episodes


@pytest.mark.parametrize("told", [FALL, GOAL, FALL | {"returns": [-1e6, 40, 100]}])
def test_it_is_printed_as_a_block_that_fits_the_terminal(told):
    limits = (Limit("the temperature of the second reactor", -273.15, 1234.5),)
    shares = np.full((3, 1), 0.5)
    evaluation = watched(**told, limits=limits, units=("degrees",), violated=shares, excess=shares, plant="a plant", seed=7)
    text = str(evaluation)
    assert max(map(len, text.splitlines())) <= 80
    for name in ("return", "worst 5 %", "failures", "violations", "effort", "switching"):
        assert f"  {name}" in text
    assert "\n" not in repr(evaluation)


def test_as_data_it_can_be_written_as_json():
    told = json.loads(json.dumps(watched(**FALL, seed=3).to_dict()))
    assert told["failures"]["count"] == 1
    assert told["failures"]["rule"] == "ends within 100 steps"
    assert (told["effort"], told["switching"], told["seed"]) == (0.5, 0.25, 3)
