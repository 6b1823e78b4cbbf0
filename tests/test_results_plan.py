"""Every learner on every problem as data: nobody left out, fair seeds, their own settings; and the best returns known."""

from dataclasses import replace

import numpy as np
import pytest

import spaql
from spaql.analysis.paper_tables import TITLES
from spaql.experiments.optima import OPTIMA
from spaql.experiments.plan import PAPER, QUICK, chosen_parts, specs_of
from spaql.experiments.results_plan import ENTRANTS, ITERATED, RESULTS_PARTS, SAMPLES
from spaql.experiments.spec import Spec
from spaql.files import ALGORITHMS
from spaql.plants.catalog import CATALOG


def test_every_learner_is_on_every_problem_with_20_seeds_that_nobody_tuned_on():
    assert set(ENTRANTS) == set(ALGORITHMS)
    assert [part.removeprefix("results-") for part in RESULTS_PARTS] == list(spaql.problems())
    for part in RESULTS_PARTS:
        specs = specs_of(part, PAPER)
        for name in ENTRANTS:
            assert [spec.seed for spec in specs if spec.algorithm == name] == list(range(1000, 1020))
        assert {spec.fresh for spec in specs} == {1000}


def test_it_is_chosen_by_name_as_a_whole_or_by_problem_and_is_not_the_paper():
    assert not set(chosen_parts((), tuned=False)) & set(RESULTS_PARTS)
    assert chosen_parts(("results",), tuned=False) == list(RESULTS_PARTS)
    assert chosen_parts(("results-pendulum",), tuned=False) == ["results-pendulum"]


@pytest.mark.parametrize("problem", CATALOG)
def test_learners_have_the_papers_protocol_and_atlas_a_stated_number_of_samples(problem):
    specs = {spec.algorithm: spec for spec in specs_of(f"results-{problem}", PAPER)}
    for name in ITERATED:
        assert (specs[name].iterations, specs[name].rollouts, specs[name].checkpoints) == (2000, CATALOG[problem].rollouts, ())
    assert specs["Atlas"].checkpoints == (SAMPLES[problem],)


@pytest.mark.parametrize("problem", ["cartpole", "oil-laplace"])
@pytest.mark.parametrize("name", ITERATED)
def test_settings_are_those_one_gets_without_asking(problem, name):
    spec = next(spec for spec in specs_of(f"results-{problem}", PAPER) if spec.algorithm == name)
    made = [ALGORITHMS[name](spaql.make(problem), **options).options for options in ({}, dict(spec.options))]
    assert made[0] == made[1]


def test_a_quick_look_is_shorter_and_a_number_of_seeds_is_kept():
    quick = specs_of("results-pendulum", replace(QUICK, atlas_seeds=2))
    assert {spec.seed for spec in quick} == {1000, 1001}
    assert {spec.iterations for spec in quick} == {0, 1, 300}
    assert {spec.checkpoints for spec in quick} == {(), (500,)}


def test_progress_is_counted_by_the_steps_an_episode_has():
    long, short = (Spec(problem, "SPAQL", 0, 10, 20, 100).steps for problem in ("mountain-car-continuous", "oil-laplace"))
    assert long / short == 999 / 5


def test_every_problem_has_a_title():
    assert set(TITLES) == set(CATALOG)


# -- the best known ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "calls"), [("ambulance", "beta"), ("ambulance-uniform", "uniform")])
def test_the_best_place_to_wait_is_best_for_every_call_by_itself(name, calls):
    from scipy import stats

    law = stats.beta(5, 2) if calls == "beta" else stats.uniform()
    call, place = law.ppf((np.arange(2000) + 0.5) / 2000), np.linspace(0.0, 1.0, 2001)
    way_out = np.abs(place[:, None] - call).mean(axis=1)
    best = [np.max(1.0 - (0.25 * np.abs(last - place) + 0.75 * way_out)) for last in (0.5, *call)]
    assert best[0] + 4 * np.mean(best[1:]) == pytest.approx(OPTIMA[name], abs=1e-4)


def test_the_scaled_reward_has_the_optimum_of_the_raw_one():
    plain, scaled = (spaql.Random(spaql.make(name), seed=3).evaluate(50).mean for name in ("pendulum", "pendulum-scaled"))
    assert (200.0 - scaled) / (200.0 - OPTIMA["pendulum-scaled"]) == pytest.approx(plain / OPTIMA["pendulum"])
