"""Every learner on every problem as data: nobody left out, fair seeds, their own settings; and the best returns known."""


import pytest

import spaql
from spaql.learners.registry import CARDS, learner_class, learners
from spaql.plants.catalog import CATALOG
from spaql_studies.parts import chosen_parts, specs_of
from spaql_studies.results import ITERATED, RESULTS
from spaql_studies.runs.spec import Spec
from spaql_studies.scores import ENTRANTS
from spaql_studies.study import WHOLE, Effort, Part


def test_every_learner_is_on_every_problem_with_20_seeds_that_nobody_tuned_on():
    assert set(ENTRANTS) == {card.name for card in learners() if not card.simulator}  # those have a study of their own
    assert [part.problem for part in RESULTS.parts] == list(spaql.problems())
    for part in RESULTS.parts:
        specs = specs_of(part, WHOLE)
        for name in ENTRANTS:
            assert [spec.seed for spec in specs if spec.algorithm == name] == list(range(1000, 1020))
        assert {spec.fresh for spec in specs} == {1000}


def test_it_is_chosen_by_name_as_a_whole_or_by_problem_and_is_not_the_paper():
    assert not set(chosen_parts((), tuned=False)) & set(RESULTS.parts)
    assert chosen_parts(("results",), tuned=False) == list(RESULTS.parts)
    assert chosen_parts(("results-pendulum",), tuned=False) == [Part("results", "pendulum")]


@pytest.mark.parametrize("problem", CATALOG)
def test_learners_have_the_papers_protocol_and_atlas_a_stated_number_of_samples(problem):
    specs = {spec.algorithm: spec for spec in specs_of(Part("results", problem), WHOLE)}
    for name in ITERATED:
        assert (specs[name].iterations, specs[name].rollouts, specs[name].checkpoints) == (2000, CATALOG[problem].rollouts, ())
    assert specs["Atlas"].checkpoints == (CATALOG[problem].samples,)


@pytest.mark.parametrize("problem", ["cartpole", "oil-laplace"])
@pytest.mark.parametrize("name", ITERATED)
def test_settings_are_those_one_gets_without_asking(problem, name):
    spec = next(spec for spec in specs_of(Part("results", problem), WHOLE) if spec.algorithm == name)
    made = [learner_class(CARDS[name])(spaql.make(problem), **options).options for options in ({}, dict(spec.options))]
    assert made[0] == made[1]


def test_a_quick_look_is_shorter_and_a_number_of_seeds_is_kept():
    quick = specs_of(Part("results", "pendulum"), Effort(quick=True, seeds=2))
    assert {spec.seed for spec in quick} == {1000, 1001}
    assert {spec.iterations for spec in quick} == {0, 1, 300}
    assert {spec.checkpoints for spec in quick} == {(), (500,)}


def test_progress_is_counted_by_the_steps_an_episode_has():
    long, short = (
        Spec(problem, "SPAQL", 0, 10, 20, 100).steps for problem in ("mountain-car-continuous", "oil-laplace")
    )
    assert long / short == 999 / 5


# -- the best known ------------------------------------------------------------------------------------------------------------------


def test_the_scaled_reward_has_the_optimum_of_the_raw_one():
    best = {name: entry.best_known.value for name, entry in CATALOG.items()}
    plain, scaled = (spaql.Random(spaql.make(name), seed=3).evaluate(50).mean for name in ("pendulum", "pendulum-scaled"))
    assert (200.0 - scaled) / (200.0 - best["pendulum-scaled"]) == pytest.approx(plain / best["pendulum"])
