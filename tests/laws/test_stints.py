"""When episodes of trials are cut."""

import numpy as np

from spaql.laws.atlas_trials import LONG, STINT, Stint, rising
from spaql.learners.atlas.experience import new_memory

BEFORE = np.linspace(0.0, 0.5, 60)


def stint(rewards, before=BEFORE):
    """The step after which an episode with these rewards is cut; None: it goes on."""
    memory = new_memory(1, 1)
    for reward in before:
        memory.add(np.zeros(1), np.zeros(1), reward, np.zeros(1), 0)
    driver = Stint(memory, STINT)
    for h, reward in enumerate(rewards):
        memory.add(np.zeros(1), np.zeros(1), reward, np.zeros(1), 0)
        if driver.over(h):
            return h + 1
    return None


def test_an_episode_that_earns_what_others_have_earned_is_cut():
    assert stint(np.full(200, 0.5)) == STINT


def test_an_episode_that_earns_more_and_more_goes_on():
    assert stint(np.linspace(0.4, 1.0, LONG - 1)) is None


def test_even_the_best_episode_has_an_end():
    assert stint(np.linspace(0.6, 2.0, 300)) == LONG
    assert stint(np.linspace(0.6, 2.0, 300), np.linspace(0.0, 0.5, 200)) == 200


def test_an_episode_ends_when_its_record_is_old():
    rewards = np.concatenate([np.full(20, 0.9), np.full(200, 0.1)])
    assert stint(rewards) == 20 + STINT


def test_a_little_more_is_not_more():
    assert not rising(np.array([0.0, 1.0, 1.005]), 2)
    assert rising(np.array([0.0, 1.0, 1.1]), 2)


def test_rewards_that_are_all_the_same_do_not_rise():
    assert not rising(np.ones(100), 40)
