"""`Laws(provable=True)`: among laws of equal return, the one of which more can be proven; or the one that arrives."""

import math

import pytest

import spaql
from spaql.laws.provable import EveryStart
from spaql.laws.trials import Trials
from spaql.learners.outer import TRAIN_SAMPLES

SAMPLES = 800_000


@pytest.fixture(scope="module")
def pair():
    agents = []
    for provable in (False, True):
        agent = spaql.Laws(spaql.make("cartpole-500"), max_leaves=1, seed=3, effort=0.3, provable=provable)
        agent.learn(samples=SAMPLES)
        agents.append(agent)
    return agents


def test_it_keeps_nearer_to_upright_for_ever_and_earns_as_much(pair):
    proofs = [agent.policy().prove(steps=math.inf) for agent in pair]
    assert proofs[1].holds
    assert proofs[1].bound["angle"][1] < 0.8 * proofs[0].bound.get("angle", (-0.2, 0.2))[1]
    assert pair[1].evaluate(100, seed=1000).mean == 500.0


def test_its_samples_are_those_that_were_given(pair):
    assert [int(agent.state.outer[TRAIN_SAMPLES]) for agent in pair] == [SAMPLES, SAMPLES]


def test_the_file_keeps_the_law_and_the_wish(pair, tmp_path):
    pair[1].save(tmp_path / "a.spaql")
    loaded = spaql.load(tmp_path / "a.spaql")
    assert loaded.provable
    assert str(loaded.policy()) == str(pair[1].policy())


def test_too_few_samples_are_said(tmp_path):
    agent = spaql.Laws(spaql.make("cartpole-500"), max_leaves=1, effort=0.1, provable=True)
    agent.learn(samples=60_000)
    assert any("easier to prove was looked for: it takes at least 120,000 samples" in note for note in agent.notes)


def test_where_no_episode_ends_nothing_can_be_preferred():
    said = "not a plant with discrete-time equations whose episodes end in failure or in success"
    with pytest.raises(spaql.SpaqlError, match=said):
        spaql.Laws(spaql.make("pendulum"), provable=True).learn(samples=1000)


# -- episodes that end in success --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def car():
    return spaql.make("mountain-car-continuous")


def test_a_law_that_stays_at_rest_somewhere_is_worth_less_than_its_mean_return_says(car):
    saving, driving = spaql.law(car, {"velocity": 10.0}), spaql.law(car, {"velocity": 30.0}, offset=-0.4)
    assert saving.evaluate(200, seed=1).mean > driving.evaluate(200, seed=1).mean + 3.0
    arriving = EveryStart(car, Trials(car), 0, 100.0)
    assert arriving.worth(driving.rules) > arriving.worth(saving.rules) + 50.0
    assert arriving.trials.samples > 0


@pytest.mark.slow
def test_every_start_arrives_and_the_samples_are_those_that_were_given(car):
    agent = spaql.Laws(car, max_leaves=1, seed=3, provable=True)
    agent.learn(samples=20_000_000)
    proof = agent.policy().prove()
    assert proof.holds
    assert proof.best_return - proof.worst_return < 0.02 * proof.best_return
    assert agent.state.outer[TRAIN_SAMPLES] == 20_000_000
