"""The single statistics: SciPy's numbers, and sensible ones where SciPy has none. No warning escapes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from spaql import SpaqlError
from spaql.analysis import (
    adjusted,
    bootstrap_interval,
    hedges_g,
    holm,
    iqm,
    mean_interval,
    probability_of_improvement,
    sd_from_half_width,
    seeds_needed,
    seeds_needed_from_summary,
    welch,
    welch_from_summary,
)

pytestmark = pytest.mark.filterwarnings("error")

A = [198.1, 200.0, 187.5, 199.2, 200.0, 196.3]
B = [182.4, 190.1, 171.0, 188.8, 185.5]
CAREFUL = settings(max_examples=60, deadline=None, database=None, derandomize=True)
EXPENSIVE = settings(CAREFUL, max_examples=20)
scores = st.lists(st.integers(-1000, 1000).map(float), min_size=2, max_size=12)  # sums of whole numbers are exact
reals = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12)
p_values = st.lists(st.floats(0, 1), max_size=12)


def test_the_mean_interval_is_students():
    expected = stats.ttest_1samp(A, 0).confidence_interval(0.9)
    assert mean_interval(A, 0.9) == pytest.approx((expected.low, expected.high))


@CAREFUL
@given(reals, st.floats(-1e6, 1e6))
def test_shifting_all_values_shifts_the_mean_interval(values, shift):
    low, high = mean_interval(values)
    assert mean_interval([value + shift for value in values]) == pytest.approx((low + shift, high + shift), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("n", range(2, 14))
def test_the_iqm_is_scipys_trimmed_mean(n):
    values = np.random.default_rng(n).normal(size=n)
    assert iqm(values) == pytest.approx(stats.trim_mean(values, 0.25))


def test_one_failed_run_in_five_does_not_move_the_iqm():
    assert iqm([200, 200, 200, 200, 9]) == 200


def test_the_bootstrap_is_scipys_bca():
    expected = stats.bootstrap((A,), np.mean, rng=np.random.default_rng(3)).confidence_interval
    assert bootstrap_interval(A, seed=3) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("statistic", ["mean", "iqm"])
def test_a_seed_determines_the_bootstrap_interval(statistic):
    values = np.random.default_rng(0).normal(size=30)
    one, same, other = (bootstrap_interval(values, statistic, seed=seed, resamples=199) for seed in (5, 5, 6))
    assert one == same != other


def test_intervals_of_equal_values_are_that_value():
    values = [0.1] * 7
    assert mean_interval(values) == bootstrap_interval(values, "mean") == bootstrap_interval(values, "iqm") == (0.1, 0.1)


def test_where_bca_is_not_defined_the_bootstrap_interval_is_the_percentile_one():
    values = [1.0] * 7 + [5.0]  # leaving any one out does not change the IQM
    expected = stats.bootstrap((values,), lambda x, axis: stats.trim_mean(x, 0.25, axis), method="percentile", rng=np.random.default_rng(0))
    assert bootstrap_interval(values, "iqm") == pytest.approx(tuple(expected.confidence_interval))


@EXPENSIVE
@given(scores, st.sampled_from(["mean", "iqm"]))
def test_a_bootstrap_interval_lies_within_the_values(values, statistic):
    low, high = bootstrap_interval(values, statistic, resamples=199)
    assert min(values) <= low <= high <= max(values)


@EXPENSIVE
@given(scores, st.integers(-1000, 1000), st.sampled_from(["mean", "iqm"]))
def test_shifting_all_values_shifts_the_bootstrap_interval(values, shift, statistic):
    low, high = bootstrap_interval(values, statistic, resamples=199)
    assert bootstrap_interval([value + shift for value in values], statistic, resamples=199) == pytest.approx((low + shift, high + shift))


@pytest.mark.parametrize("statistic", ["mean", "iqm"])
def test_a_bootstrap_interval_holds_the_true_value_about_as_often_as_it_says(statistic):
    rng = np.random.default_rng(0)
    intervals = [bootstrap_interval(rng.normal(size=20), statistic, resamples=299) for _ in range(200)]
    assert 0.88 <= np.mean([low <= 0 <= high for low, high in intervals]) <= 0.98


def test_welch_is_scipys():
    found, expected = welch(A, B), stats.ttest_ind(A, B, equal_var=False)
    assert (found.t, found.df, found.p) == pytest.approx((expected.statistic, expected.df, expected.pvalue))
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()))
    assert found.difference == pytest.approx(np.mean(A) - np.mean(B))


def test_welch_works_when_one_group_has_no_spread():
    found, expected = welch([200] * 6, B), stats.ttest_1samp(B, 200)
    assert (found.t, found.df, found.p) == pytest.approx((-expected.statistic, expected.df, expected.pvalue))


def test_without_spread_equal_means_do_not_differ_and_others_do():
    same, other = welch([0.1] * 3, [0.1] * 7), welch([0.1] * 3, [0.2] * 3)
    assert (same.difference, same.interval, same.t, same.p) == (0.0, (0.0, 0.0), 0.0, 1.0)
    assert (other.t, other.p) == (-math.inf, 0.0)


@CAREFUL
@given(reals, reals)
def test_welch_gives_numbers_for_all_values(a, b):
    found = welch(a, b)
    assert 0 <= found.p <= 1
    assert found.df >= 1
    assert found.interval[0] <= found.difference <= found.interval[1]


@CAREFUL
@given(reals, reals)
def test_exchanging_the_groups_changes_signs_only(a, b):
    one, two = welch(a, b), welch(b, a)
    assert (one.difference, one.t, one.p, hedges_g(a, b)) == pytest.approx((-two.difference, -two.t, two.p, -hedges_g(b, a)))


@pytest.mark.parametrize("unit", [1e-160, 1e90])
def test_welch_does_not_depend_on_the_unit(unit):
    assert welch(np.multiply(A, unit), np.multiply(B, unit)).p == pytest.approx(welch(A, B).p)


def test_welch_from_summary_is_welch():
    found = welch_from_summary(np.mean(A), np.std(A, ddof=1), len(A), np.mean(B), np.std(B, ddof=1), len(B))
    expected = welch(A, B)
    assert (*found.interval, found.t, found.df, found.p) == pytest.approx((*expected.interval, expected.t, expected.df, expected.p))


def test_a_published_half_width_gives_back_the_standard_deviation():
    low, high = mean_interval(A)
    assert sd_from_half_width((high - low) / 2, len(A)) == pytest.approx(np.std(A, ddof=1))


def test_hedges_g_of_groups_of_equal_size_is_the_textbook_one():
    a, b = A[:5], B
    pooled = math.sqrt((np.var(a, ddof=1) + np.var(b, ddof=1)) / 2)
    correction = math.gamma(4) / (math.sqrt(4) * math.gamma(3.5))  # n1 + n2 - 2 = 8 degrees of freedom
    assert hedges_g(a, b) == pytest.approx((np.mean(a) - np.mean(b)) / pooled * correction)


def test_hedges_g_is_about_right_on_average_in_small_samples():
    rng = np.random.default_rng(1)
    found = [hedges_g(rng.normal(1, 1, 4), rng.normal(0, 1, 4)) for _ in range(2000)]
    assert np.mean(found) == pytest.approx(1.0, abs=0.06)


def test_hedges_g_without_spread_is_zero_or_infinite():
    assert (hedges_g([1, 1], [1, 1]), hedges_g([2, 2], [1, 1]), hedges_g([1, 1], [2, 2])) == (0, math.inf, -math.inf)


def test_holm_on_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])  # statsmodels 0.15, multipletests(method="holm")


@CAREFUL
@given(p_values)
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p):
    found = holm(p)
    assert all(raw <= new <= 1 for raw, new in zip(p, found, strict=True))
    ordered = [new for _, new in sorted(zip(p, found, strict=True))]
    assert ordered == sorted(ordered)


def test_the_other_corrections_are_scipys_and_none():
    p = [0.01, 0.04, 0.03, 0.005]
    assert adjusted(p, "bh") == pytest.approx(stats.false_discovery_control(p))
    assert adjusted(p, "none") == p
    assert adjusted(p, "holm") == holm(p)


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_correcting_nothing_gives_nothing(correction):
    assert adjusted([], correction) == []


def test_the_probability_of_improvement_counts_pairs_and_ties_half():
    assert probability_of_improvement([1, 3], [1, 2]).probability == (0.5 + 0 + 1 + 1) / 4


@pytest.mark.parametrize(("a", "expected"), [([1, 1, 1], 0.5), ([3, 4, 5], 1.0), ([-1, 0], 0.0)])
def test_the_probability_of_improvement_of_equal_and_of_separate_groups_is_exact(a, expected):
    found = probability_of_improvement(a, [1, 1])
    assert (found.probability, found.interval) == (expected, (expected, expected))


@EXPENSIVE
@given(scores, scores)
def test_probabilities_of_improvement_of_a_over_b_and_b_over_a_sum_to_one(a, b):
    one, two = (probability_of_improvement(*pair, resamples=49) for pair in ((a, b), (b, a)))
    assert one.probability + two.probability == pytest.approx(1.0)
    assert 0 <= one.interval[0] <= one.interval[1] <= 1


def test_a_seed_determines_the_interval_of_the_probability_of_improvement():
    a, b = np.random.default_rng(0).normal(size=(2, 30))
    one, same, other = (probability_of_improvement(a, b, seed=seed, resamples=199) for seed in (1, 1, 2))
    assert one == same
    assert one.interval != other.interval


@pytest.mark.parametrize(("effect", "power", "alpha", "n"), [(0.5, 0.8, 0.05, 64), (1.0, 0.8, 0.05, 17), (1.0, 0.9, 0.01, 32)])
def test_seeds_needed_agree_with_statsmodels_for_equal_variances(effect, power, alpha, n):
    # statsmodels 0.15: TTestIndPower().solve_power(effect, power=power, alpha=alpha) = 63.766, 16.715, 31.462; rounded up
    assert seeds_needed_from_summary(effect, 1.0, 1.0, power, alpha) == n


def test_with_the_seeds_needed_the_test_has_the_power():
    n = seeds_needed_from_summary(1.0, 0.5, 2.0, power=0.8)
    rng = np.random.default_rng(0)
    found = stats.ttest_ind(rng.normal(1, 0.5, (8000, n)), rng.normal(0, 2, (8000, n)), axis=1, equal_var=False)
    assert np.mean((found.pvalue < 0.05) & (found.statistic > 0)) == pytest.approx(0.8, abs=0.02)


def test_seeds_needed_take_difference_and_spread_from_the_runs():
    expected = seeds_needed_from_summary(np.mean(A) - np.mean(B), np.std(A, ddof=1), np.std(B, ddof=1))
    assert seeds_needed(A, B) == seeds_needed(B, A) == expected


def test_no_number_of_seeds_shows_a_difference_of_zero():
    assert seeds_needed(A, A) is None
    assert seeds_needed_from_summary(1e-9, 1.0, 1.0) is None


@pytest.mark.parametrize(("difference", "sd"), [(1.0, 0.0), (1e9, 1e-9), (1e90, 1e-90)])
def test_a_difference_without_noise_needs_two_seeds(difference, sd):
    assert seeds_needed_from_summary(difference, sd, 0.0) == 2


@EXPENSIVE
@given(st.floats(0.05, 5), st.floats(0.1, 3), st.floats(0.1, 3))
def test_more_power_and_smaller_differences_need_more_seeds(difference, sd1, sd2):
    n = seeds_needed_from_summary(difference, sd1, sd2, power=0.8)
    assert n <= seeds_needed_from_summary(difference, sd1, sd2, power=0.95)
    assert n <= seeds_needed_from_summary(difference / 2, sd1, sd2, power=0.8)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "values has 0 values: at least two runs"),
        ([1.0], "values has 1 value: at least two runs"),
        ([1.0, math.nan], "values holds nan at position 1"),
        ([-math.inf, 1.0], "values holds -inf at position 0"),
        ([1.0, 10**400], "values holds inf at position 1"),
        ([1.0, "2"], "values holds str at position 1"),
        ([1.0, None], "values holds NoneType at position 1"),
        ([True, False], "values holds bool at position 0"),
        ([[1.0, 2.0], [3.0, 4.0]], "values holds list at position 0"),
        ("12", "values must be a sequence with one number per run, not str"),
        ({0: 1.0, 1: 2.0}, "not dict"),
        ({1.0, 2.0}, "not set"),
        (3.0, "not float"),
    ],
)
def test_bad_values_are_told_apart(values, message):
    for function in (mean_interval, bootstrap_interval, iqm):
        with pytest.raises(SpaqlError, match=message):
            function(values)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval(A, 1.0), "level must be a number above 0 and below 1, not 1.0"),
        (lambda: bootstrap_interval(A, "mode"), "statistic must be one of 'mean', 'iqm'"),
        (lambda: bootstrap_interval(A, seed=-1), "seed must be a whole number"),
        (lambda: welch(A, [1.0]), "b has 1 value"),
        (lambda: welch_from_summary(1, -1, 5, 1, 1, 5), "sd1 must be a finite number"),
        (lambda: sd_from_half_width(1.0, 1), "n must be a whole number from 2"),
        (lambda: holm([0.5, 1.5]), "a p-value must be a finite number from 0 up to 1"),
        (lambda: adjusted([0.5], "bonferroni"), "correction must be one of 'holm', 'bh', 'none'"),
        (lambda: seeds_needed(A, B, power=1), "power must be a number above 0 and below 1"),
        (lambda: seeds_needed(A, B, alpha="5 %"), "alpha must be a number above 0 and below 1"),
    ],
)
def test_bad_options_are_told_in_one_line(call, message):
    with pytest.raises(SpaqlError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
