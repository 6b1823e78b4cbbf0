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


@pytest.mark.parametrize("told", [FALL, GOAL, GOAL | {"last": [-0.1, 100, 100]}, FALL | {"last": [2, 4, 2]}])
@pytest.mark.parametrize(
    ("ends", "ending", "rule"),
    [("failure", "bad", "ends within 100 steps"), ("success", "good", "does not end within 100 steps"), ("", "", "")],
)
def test_what_is_stated_and_no_reward_says_whether_an_end_is_a_failure(told, ends, ending, rule):
    evaluation = watched(**told, ends=ends)
    failed = {"failure": told["terminated"], "success": [not end for end in told["terminated"]], "": [False] * 3}[ends]
    assert (evaluation.ending, evaluation.failures.rule) == (ending, rule)
    assert evaluation.failed.tolist() == failed
    assert evaluation.failures.count == sum(failed)


def test_where_nothing_is_stated_the_ends_are_told_and_no_share_of_failures():
    evaluation = watched(**FALL, seed=0)
    words = " ".join(str(evaluation).split())
    wanted = 'failures unknown: 1 of 3 episodes ended early; whether that is a failure is not stated (ends="failure" or ends="success")'
    assert wanted in words
    assert np.isnan([evaluation.failures.share, *evaluation.failures.ci95]).all()
    told = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    assert (told["failures"]["share"], told["failures"]["ci95"], told["ended"]) == (None, None, 1)
    with pytest.raises(SpaqlError, match=r'nothing to certify: .* with ends="failure" or ends="success"'):
        evaluation.certificate()
    limited = watched(**FALL, limits=(Limit("x", high=1.0),), units=("m",))
    assert limited.failures.rule == "violates a limit"
    assert "1 of 3 episodes ended early; whether that is a failure is not stated" in " ".join(str(limited).split())


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
    failures = watched(lengths.astype(float), lengths, ended, np.ones(episodes), ends="failure").failures
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
    told = json.loads(json.dumps(watched(**FALL, seed=3, ends="failure").to_dict()))
    assert told["failures"]["count"] == 1
    assert told["failures"]["rule"] == "ends within 100 steps"
    assert (told["effort"], told["switching"], told["seed"]) == (0.5, 0.25, 3)
