"""How many arms a split adds, for every kind of action set."""

import numpy as np
import pytest

import spaql

LISTS = {
    1: [[0]],
    2: [[0], [1]],
    3: [[0], [1, 2]],
    5: [[0, 1], [2, 3, 4]],
    70: [list(range(35)), list(range(35, 70))],
}


def mask(actions):
    return sum(1 << a for a in actions)


def train_at(agent, obs, action, times):
    for _ in range(times):
        agent.update(obs, action, 0.0, obs)


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("count", LISTS)
def test_first_split_of_a_list(count, d):
    agent = spaql.SPAQL(spaql.cube(d, list(range(count)), horizon=10))
    train_at(agent, np.zeros(d), 0, 1)
    parts = LISTS[count]
    assert agent.arms == 2**d * len(parts)
    assert [int(m) for m in agent.leaves()["action_mask"]] == [mask(part) for part in parts] * 2**d


@pytest.mark.parametrize("d", [1, 2, 4])
def test_two_actions_make_32_and_then_16_children_in_four_dimensions(d):
    agent = spaql.SPAQL(spaql.cube(d, [0, 1], horizon=10))
    train_at(agent, np.zeros(d), 0, 1)
    assert agent.arms == 2 ** (d + 1)
    train_at(agent, np.zeros(d), 0, 3)
    assert agent.arms == 2 ** (d + 1) - 1 + 2**d


def test_five_actions_are_divided_until_each_is_alone():
    agent = spaql.SPAQL(spaql.cube(1, [0, 1, 2, 3, 4], horizon=10))
    for action in (4, 3, 2, 1, 0):
        train_at(agent, [0.3], action, 64)
    masks = {int(m) for m in agent.leaves()["action_mask"]}
    assert {0b10000, 0b01000, 0b00100, 0b00010, 0b00001} <= masks
    assert masks <= {0b10000, 0b01000, 0b00100, 0b00010, 0b00001, 0b11000, 0b11100, 0b00011}


@pytest.mark.parametrize("action", [0, 34, 35, 63, 64, 69])
def test_seventy_actions_are_divided_until_each_is_alone(action):
    agent = spaql.SPAQL(spaql.cube(1, list(range(70)), horizon=10))
    train_at(agent, [0.3], action, 4**6)
    leaves = agent.leaves()
    assert leaves["depth"].max() == 7
    assert any(int(m) == 1 << action for m in leaves["action_mask"])
    alone = leaves[leaves["action_count"] == 1]
    assert action in alone["action_first"]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_continuous_axes_are_all_halved(d, k):
    agent = spaql.SPAQL(spaql.cube(d, k, horizon=10))
    train_at(agent, np.zeros(d), np.full(k, 0.2), 1)
    assert agent.arms == 2 ** (d + k)
    train_at(agent, np.zeros(d), np.full(k, 0.2), 3)
    assert agent.arms == 2 * 2 ** (d + k) - 1
    assert agent.leaves()["action"].shape == ((agent.arms, k) if k > 1 else (agent.arms,))


def test_aql_counts_the_leaves_of_all_partitions():
    agent = spaql.AQL(spaql.cube(2, [0, 1], horizon=5))
    assert agent.arms == 5
    for step in (0, 4, 4):
        agent.update([0.2, 0.2], 0, 0.0, [0.1, 0.1], step=step)
    assert agent.arms == 3 + 8 + 8
    assert np.bincount(agent.leaves()["tree"]).tolist() == [8, 1, 1, 1, 8]


def test_actions_need_not_be_whole_numbers_or_sorted():
    agent = spaql.SPAQL(spaql.cube(1, [2.5, -1.0, 0.25], horizon=4), xi=0.0)
    for _ in range(200):
        for action, reward in ((2.5, 0.0), (-1.0, 0.0), (0.25, 1.0)):
            agent.update([0.3], action, reward, [-0.9])
    assert agent.predict([0.3])[0] == 0.25
