"""What a card says of a learner is so, and the learner is shown wherever learners are. A new card is found without a line here."""

import json
import math
import pickle
import re
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import spaql
from command_line import run
from every_learner import (
    complaint,
    every_learner,
    every_trained_learner,
    example,
    finite_and_continuous,
    made,
    observations,
    short,
    step_of,
    train,
    trained,
)
from helpers import fields, small
from pages import ROOT
from spaql.analysis.style import COLOURS
from spaql.learners.agent import Agent
from spaql.learners.options import ABOUT, options_of
from spaql.learners.registry import CARDS, card_of, learner_class, learners
from spaql.policy.digits import counted
from spaql.training import speed
from spaql_studies.figures import DASHES, MARKERS, ORDER
from spaql_studies.results import results_specs
from spaql_studies.study import QUICK

sys.path.insert(0, str(ROOT / "docs"))
from make_options import filled, hindrance, page_of

NONSENSE = [object(), math.nan, math.inf, "nonsense", b"x", {}, [[]]]
every_option = pytest.mark.parametrize(
    ("card", "option"),
    [pytest.param(card, one, id=f"{card.name}-{one.name}") for card in learners() for one in options_of(learner_class(card))],
)


# -- what it is --------------------------------------------------------------------------------------------------------


@every_learner
def test_the_class_is_public_and_knows_its_card(card):
    cls = learner_class(card)
    assert issubclass(cls, Agent)
    assert cls.algorithm == card.name
    assert getattr(spaql, cls.__name__) is cls
    assert cls.__name__ in spaql.__all__
    assert made(card, "cartpole").card is card
    assert card_of(card.name.upper()) is card_of(card.name.lower()) is card


@every_learner
def test_one_line_says_what_it_is(card):
    assert card.about
    assert "\n" not in card.about
    assert cls_docstring(card).splitlines()[0].endswith(".")


def cls_docstring(card):
    return learner_class(card).__doc__


@finite_and_continuous
@every_learner
def test_its_traits_are_what_it_does(card, problem):
    history = example(card, problem).history
    assert card.learns == (card.learns_by != "nothing")
    assert card.learns == bool(history.train_samples[-1])
    assert card.judged == bool(history.eval_samples[-1])
    if card.keeps_best:
        assert (np.diff(history.best_seen) >= 0).all()
        assert (history.best_seen >= history.evaluation).all()
    else:
        np.testing.assert_array_equal(history.best_seen, history.evaluation)
    if not card.model_based:  # which makes its final table when it is asked for it
        assert history.arms[-1] == example(card, problem).arms


@finite_and_continuous
@every_learner
def test_its_name_in_print_tells_learner_problem_and_seed(card, problem):
    for agent in (made(card, problem, seed=7), example(card, problem)):
        text = repr(agent)
        assert text.startswith(f"<{card.name} on {problem}: ")
        assert text.endswith(f", seed {agent.seed}>")
        arms, iterations = ("law", "stage") if card.simulator else ("arm", "iteration")
        arms, iterations = counted(agent.arms, arms), counted(len(agent.history), iterations)
        assert card.model_based or f": {arms} after {iterations}, " in text
        assert "\n" not in text


@pytest.mark.parametrize("problem", ["cartpole", None, 3, spaql.Axis])
@every_learner
def test_it_takes_a_problem(card, problem):
    with pytest.raises(spaql.SpaqlError, match=r"problem must come from spaql\.make") as error:
        learner_class(card)(problem)
    complaint(error)


@pytest.mark.parametrize("seed", [-1, 0.0, 1.5, "0", None, True, math.nan, 2**63])
@every_learner
def test_its_seed_is_a_whole_number_from_zero(card, seed):
    with pytest.raises(spaql.SpaqlError, match="seed must be a whole number") as error:
        made(card, "cartpole", seed)
    complaint(error)


@every_learner
def test_without_a_plant_it_learns_from_data_only_and_says_so(card):
    needed = {"reference": [0.0, 0.0]} if "reference" in made(card, "cartpole").options else {}
    agent = made(card, spaql.cube(2, 1, horizon=10), **needed)
    for call in (lambda: agent.learn(1), lambda: spaql.learn_all([agent], 1)):
        with pytest.raises(spaql.SpaqlError, match=r"no plant to learn on.*update"):
            call()
    with pytest.raises(spaql.SpaqlError, match=r"no plant to evaluate on|there are no data yet"):
        agent.evaluate(1)


# -- its options -------------------------------------------------------------------------------------------------------


@every_option
def test_an_option_has_a_line_and_refuses_nonsense_in_one_line(card, option):
    about = option.metadata[ABOUT]
    assert about
    assert "\n" not in about
    nonsense = NONSENSE if option.default is None else [*NONSENSE, None]
    for value in nonsense:
        with pytest.raises(spaql.SpaqlError, match=option.name) as error:
            made(card, "pendulum", **{option.name: value})
        complaint(error)


@every_learner
def test_unknown_options_are_a_type_error_as_in_any_python_function(card):
    with pytest.raises(TypeError, match="nonsense"):
        learner_class(card)(short("cartpole"), nonsense=1)


@every_learner
def test_unknown_options_are_one_line_on_the_command_line(card):
    told = run("train", "cartpole", card.name, "--option", "nonsense=1")
    assert (told.returncode, told.stdout) == (2, "")
    assert len(told.stderr.splitlines()) == 1
    assert "has no option 'nonsense'" in told.stderr


@finite_and_continuous
@every_learner
def test_an_agent_made_again_from_its_options_learns_the_same_bits(card, problem):
    agent = example(card, problem)
    again = type(agent)(agent.problem, seed=agent.seed, **agent.options)
    assert again.options == agent.options
    json.dumps(agent.options)
    train(again)
    assert fields(again) == fields(agent)


@every_learner
def test_the_docstring_and_the_docs_list_its_options(card):
    lines = cls_docstring(card).splitlines()
    for one in options_of(learner_class(card)):
        assert f"- `{one.name}`: {one.metadata[ABOUT]}" in lines
    text = page_of(card).read_text("utf-8")
    assert filled(text, card) == text, "run: python docs/make_options.py"


def test_a_learner_without_a_page_is_complained_of_when_the_tables_are_written():
    assert [hindrance(card) for card in learners()] == [""] * len(learners())
    assert "write docs/new-one.md" in hindrance(replace(learners()[0], name="New-One"))
    assert "has no lines <!-- options -->" in hindrance(replace(learners()[0], name="Start"))


# -- its policy --------------------------------------------------------------------------------------------------------


@finite_and_continuous
@every_learner
def test_its_policy_does_what_it_predicts_or_there_is_none(card, problem):
    agent, seen = example(card, problem), observations(problem)
    if not card.learns:
        with pytest.raises(spaql.SpaqlError, match=f"{card.name} has no policy to show"):
            agent.policy()
        return
    if card.per_step:
        with pytest.raises(spaql.SpaqlError, match="one policy per time step"):
            agent.policy()
    policy = agent.policy(**step_of(card))
    np.testing.assert_array_equal(policy.predict(seen)[0], agent.predict(seen)[0])
    np.testing.assert_array_equal(policy.tree().predict(seen)[0], agent.predict(seen)[0])
    assert policy.origin.startswith(f"{card.name} on {problem}, seed {agent.seed}")
    assert str(policy.why(seen[0])).startswith("At ")


@pytest.mark.parametrize("step", [-1, 1.5, "0", True])
@every_trained_learner
def test_a_step_that_is_none_is_refused(card, step):
    with pytest.raises(spaql.SpaqlError, match="step must be") as error:
        example(card, "cartpole").policy(step=step)
    complaint(error)


@finite_and_continuous
@every_trained_learner
def test_its_policy_is_exported_to_c(card, problem):
    tree = example(card, problem).policy(**step_of(card)).tree()
    text = tree.export("c")
    assert f"{'law' if tree.has_laws else 'exact'} tree of {card.name} on {problem}, seed 3" in text
    assert text.count("action[0] = ") == tree.n_leaves


@every_trained_learner
def test_a_policy_stays_what_it_was_when_the_agent_learns_on(card):
    agent, seen = trained(card, "cartpole"), observations("cartpole")
    policy = agent.policy(**step_of(card))
    before, why, returns = policy.decide(seen).copy(), str(policy.why(seen[0])), policy.evaluate(5).returns
    train(agent)
    for kept in (policy, pickle.loads(pickle.dumps(policy))):
        np.testing.assert_array_equal(kept.decide(seen), before)
        np.testing.assert_array_equal(kept.evaluate(5).returns, returns)
        assert str(kept.why(seen[0])) == why


# -- where it is shown -------------------------------------------------------------------------------------------------


@every_learner
def test_its_look_is_one_that_pages_and_figures_can_draw(card):
    from matplotlib.colors import is_color_like
    from matplotlib.lines import Line2D

    look = card.look
    assert re.fullmatch("#[0-9A-F]{6}", look.colour)
    assert is_color_like(look.colour)
    Line2D([], [], linestyle=look.line, marker=look.marker)
    assert re.fullmatch(r"([\d.]+( [\d.]+)*)?", look.dashes)
    assert (COLOURS[card.name], DASHES[card.name], MARKERS[card.name]) == (look.colour, look.line, look.marker)
    assert ORDER.count(card.name) == 1


def test_no_two_are_drawn_alike():
    for one, other in combinations(CARDS.values(), 2):
        assert one.look.colour != other.look.colour, f"{one.name} and {other.name}"
        assert (one.look.marker, one.look.line) != (other.look.marker, other.look.line) or one.rival, (
            f"{one.name} and {other.name}"
        )
    names = [card.look.marker for card in learners()]
    assert len(set(names)) == len(names)


@every_learner
def test_it_has_a_page_that_the_site_and_the_overview_lead_to(card):
    page = page_of(card)
    assert page.is_file()
    assert card.name in page.read_text("utf-8").splitlines()[0]
    assert page.name in (ROOT / "mkdocs.yml").read_text("utf-8")
    if card.learns:
        assert f"]({page.name})" in (ROOT / "docs" / "algorithms.md").read_text("utf-8")


@every_learner
def test_spaql_learners_lists_it_with_its_options(card):
    told = run("learners")
    assert re.search(rf"^{card.name.lower()} +{re.escape(card.about)}$", told.stdout, re.MULTILINE)
    options = {one.name: one.metadata[ABOUT] for one in options_of(learner_class(card))}
    assert json.loads(run("learners", "--json").stdout)[card.name.lower()] == {"about": card.about, "options": options}
    assert card.name.lower() in run("train", "--help", columns=200).stdout


@every_learner
def test_spaql_train_trains_it(card, tmp_path):
    length = ("--samples", "60") if card.learns_by == "samples" else ("--iterations", "2", "--rollouts", "2")
    options = [word for name, value in small(learner_class(card)).items() for word in ("--option", f"{name}={value}")]
    told = run("train", "cartpole", card.name.lower(), *length, *options, "--fresh", "4", "--json", "--out", tmp_path)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["algorithm"] == card.name
    assert type(spaql.load(tmp_path / "agent.spaql")) is learner_class(card)


def test_spaql_bench_measures_all_that_learn_by_iterations(monkeypatch):
    for name, figure in {"_bare": 2.0, "_gym": 1.0, "_learner": 1.5, "_threads": {}, "_from_gym_overhead": 0.1}.items():
        monkeypatch.setattr(speed, name, lambda *_, figure=figure: figure)
    told = speed.measure(["cartpole"], 1, 1)["problems"]["cartpole"]["learners"]
    assert list(told) == [card.name for card in learners() if card.learns_by == "iterations"]


@pytest.mark.parametrize("problem", ["cartpole", "pendulum"])
@every_learner
def test_the_study_of_all_learners_has_it(card, problem):
    specs = [spec for spec in results_specs(problem, QUICK, lambda *_: []) if spec.algorithm == card.name]
    assert bool(specs) == (not card.simulator)
    assert all(bool(spec.checkpoints) == (card.learns_by == "samples") for spec in specs)
