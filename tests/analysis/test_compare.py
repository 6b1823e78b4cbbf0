"""`spaql.analysis.compare` on runs of the user's own, and `verdict` on a published result."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

from spaql import Evaluation, History, SpaqlError, analysis
from spaql.analysis import compare, mean_interval, verdict

pytestmark = pytest.mark.filterwarnings("error")

RNG = np.random.default_rng(0)
RUNS = {"AQL": RNG.normal(22, 2, 12), "SPAQL-TS": RNG.normal(198, 2, 10), "SPAQL": RNG.normal(190, 4, 8)}
OURS = [198.1, 200.0, 187.5, 199.2, 200.0, 196.3]
RANKING = ["SPAQL-TS", "SPAQL", "AQL"]


@pytest.fixture(scope="module")
def found():
    return compare(RUNS)


def evaluation(mean):
    return Evaluation(np.array([mean - 1.0, mean + 1.0]), samples=400)


def history(best, arms=7):
    table = np.zeros((3, 6))
    table[-1, 1:3] = best, arms
    return History(table)


def rows(problem="cartpole"):
    return [
        {"problem": problem, "algorithm": name, "seed": seed, "best_seen": float(score) + 5, "fresh": float(score)}
        for name, scores in RUNS.items()
        for seed, score in enumerate(scores)
    ]


def frame(library, content):
    module = pytest.importorskip(library)
    return module.Table.from_pylist(content) if library == "pyarrow" else module.DataFrame(content)


def refused(message, *arguments, **options):
    with pytest.raises(SpaqlError, match=message) as error:
        compare(*arguments, **options)
    assert "\n" not in str(error.value)


def test_groups_are_sorted_by_mean_best_first(found):
    assert [group.name for group in found.groups] == RANKING
    assert [group.name for group in compare({"a": [10, 11, 12], "b": [0, 0, 100]}).groups] == ["b", "a"]  # the mean, not the median


def test_every_group_is_described_by_the_single_statistics(found):
    for group in found.groups:
        values = RUNS[group.name]
        assert (group.n, group.mean, group.sd) == pytest.approx((len(values), values.mean(), values.std(ddof=1)))
        assert (group.low, group.median, group.high) == (values.min(), np.median(values), values.max())
        assert group.iqm == analysis.iqm(values)
        assert group.interval == mean_interval(values)
        assert group.bootstrap == analysis.bootstrap_interval(values)
        assert group.iqm_interval == analysis.bootstrap_interval(values, "iqm")


def test_every_pair_is_tested_once_the_better_group_first(found):
    assert [(pair.a, pair.b) for pair in found.pairs] == list(itertools.combinations(RANKING, 2))
    for pair in found.pairs:
        a, b = RUNS[pair.a], RUNS[pair.b]
        test, better = analysis.welch(a, b), analysis.probability_of_improvement(a, b)
        assert (pair.difference, pair.interval, pair.t, pair.df, pair.p) == (test.difference, test.interval, test.t, test.df, test.p)
        assert (pair.improvement, pair.improvement_interval) == (better.probability, better.interval)
        assert (pair.effect, pair.seeds_needed) == (analysis.hedges_g(a, b), analysis.seeds_needed(a, b))
        assert pair.difference > 0


@pytest.mark.parametrize(("correction", "significant"), [("holm", ["ca"]), ("bh", ["ca"]), ("none", ["cb", "ca"])])
def test_p_values_are_corrected_together(correction, significant):
    found = compare({"a": [1, 2, 3, 4], "b": [2, 3, 4, 5], "c": [4.5, 5.5, 6.5, 7.5]}, correction=correction)
    assert [pair.p_adjusted for pair in found.pairs] == analysis.adjusted([pair.p for pair in found.pairs], correction)
    assert [pair.a + pair.b for pair in found.pairs if pair.significant] == significant


def test_alpha_is_the_level_of_tests_and_intervals():
    a, b = [2, 3, 4, 5, 7], [1, 2, 3, 4, 6]
    found = compare({"a": a, "b": b}, alpha=0.2)
    group, pair = found.groups[0], found.pairs[0]
    assert group.interval == mean_interval(a, 0.8)
    assert (group.bootstrap, group.iqm_interval) == (
        analysis.bootstrap_interval(a, "mean", 0.8),
        analysis.bootstrap_interval(a, "iqm", 0.8),
    )
    assert pair.interval == analysis.welch(a, b, 0.8).interval
    assert pair.improvement_interval == analysis.probability_of_improvement(a, b, 0.8).interval
    assert pair.seeds_needed == analysis.seeds_needed(a, b, alpha=0.2)
    assert "80 % intervals" in str(found)


def test_power_decides_on_the_seeds_needed():
    runs = {"a": [1, 2, 3, 4], "b": [2, 3, 4, 5]}
    assert compare(runs, power=0.95).pairs[0].seeds_needed > compare(runs, power=0.5).pairs[0].seeds_needed


def test_a_seed_determines_the_comparison(found):
    assert compare(RUNS, seed=0) == found
    assert compare(RUNS, seed=1) != found


def test_groups_without_spread_give_numbers():
    found = compare({"a": [200.0] * 4, "b": [200.0] * 3, "c": [9.0] * 4})
    assert [(pair.p, pair.effect, pair.improvement, pair.seeds_needed) for pair in found.pairs] == [
        (1.0, 0.0, 0.5, None), (0.0, math.inf, 1.0, 2), (0.0, math.inf, 1.0, 2),
    ]  # fmt: skip
    assert "nan" not in str(found)


def test_evaluations_count_with_their_mean():
    found = compare({"a": [evaluation(mean) for mean in (1, 2, 4)], "b": (evaluation(mean) for mean in (5, 7))})
    assert [group.mean for group in found.groups] == pytest.approx([6, 7 / 3])
    assert found.metric == "fresh"


def test_histories_count_with_the_last_best_seen():
    runs = {"a": [history(1, arms=30), history(3, arms=40)], "b": [history(7), history(9)]}
    assert [(group.name, group.mean) for group in compare(runs).groups] == [("b", 8), ("a", 2)]
    assert compare(runs).metric == "best_seen"
    assert [(group.name, group.mean) for group in compare(runs, metric="arms").groups] == [("a", 35), ("b", 7)]


def test_fresh_is_not_compared_with_best_seen():
    refused("best seen is biased upwards", {"a": [evaluation(1), evaluation(2)], "b": [history(1), history(2)]})
    refused("no 'fresh': give evaluations", {"a": [history(1), history(2)], "b": [history(1), history(2)]}, metric="fresh")
    refused("whose metric is 'fresh', not 'best_seen'", {"a": [evaluation(1), evaluation(2)]}, metric="best_seen")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_gives_the_same_as_a_mapping(library, found):
    from_frame = compare(frame(library, rows()))
    assert (from_frame.groups, from_frame.pairs, from_frame.metric) == (found.groups, found.pairs, "fresh")


def test_metric_and_by_choose_the_columns_of_a_frame(found):
    table = frame("pandas", rows()).rename(columns={"algorithm": "variant"})
    best = compare(table, metric="best_seen", by="variant")
    assert best.metric == "best_seen"
    assert [group.mean for group in best.groups] == pytest.approx([group.mean + 5 for group in found.groups])


def test_a_frame_with_several_problems_is_not_mixed():
    refused("several problems: select one of cartpole, pendulum first", frame("pandas", rows() + rows("pendulum")))


def test_a_seed_counts_once():
    refused("group 'AQL' has seed 0 more than once", frame("pandas", rows() + rows()[:1]))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_missing_entries_of_a_frame_are_refused(library):
    content = rows()
    refused("group 'AQL' holds .* at position 2", frame(library, [*content[:2], content[2] | {"fresh": None}, *content[3:]]))
    refused("column 'algorithm' has an empty entry", frame(library, [*content[:2], content[2] | {"algorithm": None}, *content[3:]]))


def test_a_missing_column_is_told_with_those_there_are():
    refused("metric='fersh' is not a column of the frame: choose from problem, algorithm, seed", frame("pandas", rows()), metric="fersh")
    refused("by='variant' is not a column", frame("pandas", rows()), by="variant")


def test_a_lazy_frame_is_to_be_collected():
    refused("collect", frame("polars", rows()).lazy())


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({}, "at least two groups, not 0"),
        ({"a": [1, 2]}, "at least two groups, not 1"),
        ({"a": [1, 2], "b": [1]}, "group 'b' has 1 value"),
        ({"a": [1, 2], "b": []}, "group 'b' has 0 values"),
        ({"a": [1, 2], "b": [1, math.nan]}, "group 'b' holds nan at position 1"),
        ({"a": [1, 2], "b": [1, "x"]}, "group 'b' holds str at position 1"),
        ({"a": [1, 2], "b": "12"}, "group 'b' must be a sequence"),
        ({"a": [1, 2], "b": evaluation(1)}, "group 'b' must be a sequence with one number per run, not Evaluation"),
        ({"a": [1, 2], "b": [evaluation(1), 2]}, "group 'b' holds Evaluation at position 0"),
        ({"a": [1, 2], "b": [History(np.zeros((0, 6)))] * 2}, "group 'b' holds a history without iterations"),
        ([[1, 2], [3, 4]], "runs must be a mapping from names to scores, or a data frame, not list"),
    ],
)
def test_bad_runs_are_told_in_one_line(runs, message):
    refused(message, runs)


@pytest.mark.parametrize(
    "options", [{"alpha": 0}, {"alpha": 1.0}, {"power": 1.5}, {"power": None}, {"correction": "sidak"}, {"seed": -1}, {"metric": 3}]
)
def test_bad_options_are_told_by_their_name(options):
    refused(f"^{next(iter(options))} must be", RUNS, **options)


def test_the_text_is_two_aligned_tables(found):
    groups, pairs = (table.splitlines() for table in str(found).split("\n\n"))
    assert groups[0] == "score, highest mean first, 95 % intervals"
    assert [line.split()[0] for line in groups[1:]] == ["group", *RANKING]
    assert [line.split()[:2] for line in pairs[1:]] == [["a", "b"], *map(list, itertools.combinations(RANKING, 2))]
    for lines in (groups, pairs):
        assert len({len(line) for line in lines[1:]}) == 1


@pytest.mark.parametrize(("unit", "shown"), [(1e-9, "e-0"), (1e-3, "0.198"), (1e3, "198"), (1e12, "e+14")])
def test_small_and_large_scores_are_shown_with_enough_digits(unit, shown):
    text = str(compare({name: values * unit for name, values in RUNS.items()}))
    assert shown in text.splitlines()[2]


def test_markdown_has_a_row_per_group_and_pair():
    text = compare({"a|b": [1, 2], "c": [5, 6]}).to_markdown()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == (2 + 2) + (2 + 1)
    assert "| a\\|b | 2 |" in text


def test_uncorrected_p_values_are_shown_once():
    text = str(compare(RUNS, correction="none"))
    assert "p not corrected" in text
    assert "p corrected" not in text


def test_frames_have_a_row_per_group_and_pair(found):
    pytest.importorskip("pandas")
    groups, pairs = found.to_pandas()
    assert groups["name"].tolist() == RANKING
    assert groups["interval_low"].tolist() == [group.interval[0] for group in found.groups]
    assert pairs["p_adjusted"].tolist() == [pair.p_adjusted for pair in found.pairs]
    assert pairs["seeds_needed"].tolist() == [pair.seeds_needed for pair in found.pairs]


def test_importing_the_analysis_loads_neither_scipy_stats_nor_pandas():
    program = "import sys, spaql.analysis as a; a.compare; a.verdict; print({'scipy.stats', 'pandas'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "set()"


def test_all_names_of_the_analysis_exist_and_no_others():
    assert all(getattr(analysis, name) is not None for name in analysis.__all__)
    assert set(analysis.__all__) <= set(dir(analysis))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        analysis.nothing  # noqa: B018


def test_runs_like_the_published_ones_reproduce_them():
    low, high = mean_interval(OURS)
    found = verdict(np.mean(OURS), (high - low) / 2, len(OURS), OURS)
    assert (found.label, found.direction, found.overlap) == ("reproduced", "", True)
    assert (found.p, found.difference) == pytest.approx((1.0, 0.0))


@pytest.mark.parametrize(("shift", "direction"), [(50, "better"), (-50, "worse")])
def test_runs_far_from_the_published_ones_differ(shift, direction):
    found = verdict(190.0, 2.0, 20, [190 + shift + noise for noise in (-1, 0, 1)])
    assert (found.label, found.direction, found.overlap) == ("differs", direction, False)
    assert found.difference == pytest.approx(shift)


def test_intervals_may_overlap_while_the_means_differ():
    ours = np.random.default_rng(0).normal(size=20)
    ours = (ours - ours.mean()) / ours.std(ddof=1)
    half_width = mean_interval(ours)[1]
    found = verdict(1.5 * half_width, half_width, 20, ours)
    assert (found.label, found.direction, found.overlap) == ("differs", "worse", True)


def test_a_published_result_without_spread_is_reproduced_exactly_or_not():
    assert verdict(200.0, 0.0, 20, [200.0] * 5).label == "reproduced"
    assert verdict(200.0, 0.0, 20, [199.0] * 5).label == "differs"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((190, -1, 20, OURS), "published_half_width must be a finite number from 0"),
        ((190, 1, 1, OURS), "published_n must be a whole number from 2"),
        ((math.nan, 1, 20, OURS), "published_mean must be a finite number"),
        ((190, 1, 20, [math.nan, 1]), "ours holds nan"),
        ((190, 1, 20, OURS, 5), "alpha must be a number above 0 and below 1"),
    ],
)
def test_a_bad_published_result_is_told(arguments, message):
    with pytest.raises(SpaqlError, match=message):
        verdict(*arguments)
