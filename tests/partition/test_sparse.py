"""In many dimensions only the cells that were visited are kept, and nobody can tell the difference but by memory."""

import random

import numpy as np
import pytest

import spaql
from helpers import FORESTS, LEARNERS, assert_same, linear_plant
from hostile_files import mutated_numbers, refusals
from spaql.partition import forest as forests
from spaql.partition.forest import FORKS, SPARSE_FROM, USED

GROWING = [name for name in FORESTS if name not in ("NBQL", "Random")]  # NBQL has all cells of its net from the beginning
PROBLEMS = {
    "one variable": lambda: linear_plant(1),
    "two variables, two actions": lambda: linear_plant(2, 2),
    "three variables, a list": lambda: linear_plant(3, actions=[-1, -0.5, 0, 0.5, 1], horizon=10),
    "six variables": lambda: linear_plant(6),
}
everywhere = pytest.mark.parametrize("problem", PROBLEMS)
grown = pytest.mark.parametrize("name", GROWING)


def made(monkeypatch, name, problem, sparse, **options):
    monkeypatch.setattr(forests, "SPARSE_FROM", 1 if sparse else 99)
    agent = LEARNERS[name](problem, **options)
    assert (len(agent.state.forest.forks) > 0) == sparse
    return agent


def both(monkeypatch, name, problem, iterations=30):
    """The same agent in a full and in a sparse forest, trained."""
    agents = [made(monkeypatch, name, problem, sparse, seed=5) for sparse in (False, True)]
    for agent in agents:
        agent.learn(iterations, rollouts=3)
    return agents


def points(problem, n=300):
    return np.random.default_rng(1).uniform(-1, 1, (n, len(problem.state)))


@everywhere
@grown
def test_full_and_sparse_forests_learn_the_same_bits(monkeypatch, name, problem):
    full, sparse = both(monkeypatch, name, PROBLEMS[problem]())
    assert_same(full, sparse)
    assert full.arms == sparse.arms == len(sparse.leaves())


@everywhere
@grown
def test_they_act_and_explain_the_same(monkeypatch, name, problem):
    full, sparse = both(monkeypatch, name, PROBLEMS[problem]())
    seen = points(full.problem)
    np.testing.assert_array_equal(full.predict(seen)[0], sparse.predict(seen)[0])
    tables = [agent.policy(0 if agent.per_step else None) for agent in (full, sparse)]
    np.testing.assert_array_equal(tables[0].predict(seen)[0], tables[1].predict(seen)[0])
    np.testing.assert_array_equal(tables[1].predict(seen)[0], sparse.predict(seen)[0])
    assert tables[1].n_leaves <= tables[0].n_leaves
    for x in seen[:20]:
        told = [table.why(x) for table in tables]
        np.testing.assert_equal(told[0].alternatives, told[1].alternatives)
        assert told[0].visits == told[1].visits


@grown
def test_the_cells_of_a_sparse_policy_fill_the_cube(monkeypatch, name):
    agent = made(monkeypatch, name, linear_plant(6), True)
    agent.learn(20, rollouts=3)
    cells = agent.policy(3 if agent.per_step else None).knowledge.cells
    assert np.prod(cells.size / 2.0**15, axis=1).sum() == 1.0


@grown
def test_updates_from_outside_do_the_same(monkeypatch, name):
    problem = linear_plant(4, 2)
    full, sparse = (made(monkeypatch, name, problem, kind) for kind in (False, True))
    rng = np.random.default_rng(2)
    for i in range(400):
        x, a, y = rng.uniform(-0.3, 0.3, 4), rng.uniform(-1, 1, 2), rng.uniform(-0.3, 0.3, 4)
        for agent in (full, sparse):
            agent.update(x, a, -float(x @ x), y, step=i % 3)
    assert_same(full, sparse, episodes=0)


@grown
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(name, tmp_path):
    problem = linear_plant(SPARSE_FROM)
    whole, parted = LEARNERS[name](problem, seed=2), LEARNERS[name](problem, seed=2)
    whole.learn(20, rollouts=3)
    parted.learn(8, rollouts=3)
    parted.save(tmp_path / "agent.spaql")
    again = spaql.load(tmp_path / "agent.spaql", problem=problem)
    np.testing.assert_array_equal(again.leaves(), parted.leaves())
    again.learn(12, rollouts=3)
    assert_same(whole, again)


@grown
def test_a_file_from_before_sparse_forests_goes_on_too(monkeypatch, name, tmp_path):
    problem = linear_plant(SPARSE_FROM)
    old = made(monkeypatch, name, problem, False, seed=2)
    old.learn(8, rollouts=3)
    old.save(tmp_path / "old.spaql")
    monkeypatch.undo()
    again = spaql.load(tmp_path / "old.spaql", problem=problem)
    for agent in (old, again):
        agent.learn(5, rollouts=3)
    assert_same(old, again)


@pytest.mark.parametrize("name", ["SPAQL", "ZoomRL"])
def test_a_hundred_files_with_hostile_forks(name, tmp_path):
    problem = linear_plant(SPARSE_FROM, actions=[0, 1])
    agent = LEARNERS[name](problem)
    agent.learn(15, rollouts=2)
    agent.save(tmp_path / "agent.spaql")
    content, rng = (tmp_path / "agent.spaql").read_bytes(), random.Random(3)
    names = ["forest_forks.npy", "forest_forks.npy", "forest_first.npy"]
    refused = refusals((mutated_numbers(content, rng, names) for _ in range(100)), tmp_path)
    assert refused > 50


def test_no_cell_is_made_that_nobody_visited():
    problem = linear_plant(10)
    agent = spaql.SPAQL(problem)
    agent.learn(30, rollouts=3)
    steps = int(agent.history.train_samples[-1])
    for forest in (agent.state.forest, agent.state.trainee):
        assert forest.size[USED] <= 1 + 2 * (steps + 30)  # two halves of the actions where a step was made or was about to be made
        assert forest.size[FORKS] <= 10 * forest.size[USED]
    assert agent.arms > 20 * agent.state.forest.size[USED]  # those of the paper
    assert agent.policy().n_leaves < agent.arms / 20
