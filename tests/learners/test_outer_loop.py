"""Temperature, best agent and resets of SPAQL, without plant or tree: scripted evaluations in, decisions out."""

import json
from pathlib import Path

import numpy as np
import pytest

from spaql.learners.outer import BEST_ARMS, BEST_RETURN, GO_ON, KEEP, MAX_TAU, RESET, TAU, U, begin, judge, new_outer

GOLDEN = Path(__file__).parents[1] / "golden" / "h_outer_loop.npz"


def test_published_rule_reproduces_the_recorded_loop():
    with np.load(GOLDEN) as archive:
        script = {key: archive[key] for key in archive.files}
    meta = json.loads(bytes(script["meta"]))
    outer = new_outer(meta["tau_min"], meta["u"])
    arms = int(script["initial_arms"])
    begin(outer, float(script["initial_eval"]), arms)
    for i in range(meta["iterations"]):
        assert outer[TAU] == pytest.approx(script["temperature"][i], rel=1e-12)
        assert arms == script["arms_at_start"][i]
        arms += int(script["arms_added"][i])
        splits = int(script["arms_added"][i] > 0)
        verdict = judge(outer, float(script["evaluation"][i]), arms, splits, meta["tau_min"], meta["d"], True)
        if verdict == RESET:
            arms = int(outer[BEST_ARMS])
        assert outer[BEST_RETURN] == script["best_return"][i]
        assert outer[BEST_ARMS] == script["best_arms"][i]


def follow(script, published, tau_min=0.01, u=2.0, d=0.5):
    """Run (evaluation, arms added, splits) after a first evaluation of 0 with 1 arm; list (verdict, tau, arms) after each."""
    outer, arms, seen = new_outer(tau_min, u), 1, []
    begin(outer, 0.0, arms)
    for evaluation, added, splits in script:
        arms += added
        verdict = judge(outer, evaluation, arms, splits, tau_min, d, published)
        arms = int(outer[BEST_ARMS]) if verdict == RESET else arms
        seen.append((verdict, float(outer[TAU]), arms))
    return seen, outer


def test_paper_rule_heats_after_every_iteration_without_improvement():
    seen, _ = follow([(-1.0, 0, 0)] * 3, published=False)
    assert seen == [(GO_ON, 0.02, 1), (GO_ON, 0.04, 1), (GO_ON, 0.08, 1)]


def test_published_rule_heats_only_after_a_split():
    seen, _ = follow([(-1.0, 0, 0), (-1.0, 15, 1), (-1.0, 0, 0)], published=True)
    assert seen == [(GO_ON, 0.01, 1), (GO_ON, 0.02, 16), (GO_ON, 0.04, 16)]


def test_paper_rule_goes_back_to_the_best_agent_after_more_than_two_splits():
    seen, _ = follow([(-1.0, 15, 1), (-1.0, 15, 1), (-1.0, 15, 1), (-1.0, 0, 0)], published=False)
    assert seen == [(GO_ON, 0.02, 16), (GO_ON, 0.04, 31), (RESET, 0.01, 1), (GO_ON, 0.02, 1)]


def test_paper_rule_counts_all_splits_of_one_episode():
    seen, _ = follow([(-1.0, 45, 3)], published=False)
    assert seen == [(RESET, 0.01, 1)]


def test_published_rule_goes_back_to_the_best_agent_at_the_second_split():
    seen, _ = follow([(-1.0, 15, 1), (-1.0, 15, 1)], published=True)
    assert seen == [(GO_ON, 0.02, 16), (RESET, 0.01, 1)]


@pytest.mark.parametrize("published", [True, False])
def test_an_evaluation_as_good_as_the_best_is_kept_cools_and_damps_the_growth(published):
    seen, outer = follow([(-1.0, 15, 1), (0.0, 0, 0)], published)
    assert seen == [(GO_ON, 0.02, 16), (KEEP, 0.01, 16)]
    assert outer[U] == 2.0**0.5
    assert outer[BEST_RETURN] == 0.0
    assert outer[BEST_ARMS] == 16


def test_paper_rule_counts_splits_from_the_last_best_agent():
    seen, _ = follow([(-1.0, 15, 1), (-1.0, 15, 1), (1.0, 15, 1), (0.0, 15, 1), (0.0, 15, 1), (0.0, 15, 1)], published=False)
    assert [verdict for verdict, _, _ in seen] == [GO_ON, GO_ON, KEEP, GO_ON, GO_ON, RESET]
    assert [arms for _, _, arms in seen] == [16, 31, 46, 61, 76, 46]


def test_published_temperature_stops_growing_at_ten():
    seen, _ = follow([(-1.0, 15, 1)] + [(-1.0, 0, 0)] * 20, published=True)
    assert 10.0 <= seen[-1][1] < 20.0
    assert seen[-1][1] == seen[-2][1]


def test_paper_temperature_stays_finite():
    seen, _ = follow([(-1.0, 0, 0)] * 2000, published=False)
    assert seen[-1][1] == MAX_TAU
