"""Laws where there are features: which variables they look at is found out, or said by `observe=`."""

import gymnasium
import numpy as np
import pytest

import spaql
from spaql.laws.proposals import Proposals, free_within, pairs_of, sets_of
from spaql.laws.vector import numbers_of
from spaql.trees.tree import LEAF

ENERGY = "0.5*velocity**2 + 15*cos - 15"


class Wide10(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Box(-1.0, 1.0, (10,)), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 10).astype(np.float32), {}

    def step(self, action):
        return self.reset()[0], 0.0, False, False, {}


def pump(cos, velocity):
    return -velocity * (0.5 * velocity**2 + 15 * cos - 15)


def named(problem, masks):
    return [[axis.name for axis, kept in zip(problem.state, mask, strict=True) if kept] for mask in masks]


def used_by(policy):
    rules = policy.rules
    looked = rules.weights.any(axis=0) | rules.laws.gains.any(axis=(0, 1))
    looked[[j for j in rules.nodes["feature"] if 0 <= j < rules.variables]] = True
    return {axis.name for axis, kept in zip(policy.problem.state, looked, strict=True) if kept}


def test_a_law_looks_at_what_is_measured_or_at_features_or_at_both():
    problem = spaql.make("pendulum", features={"energy": ENERGY})
    everything = np.ones(4, bool)
    assert named(problem, sets_of(problem, everything)) == [
        ["cos", "sin", "velocity"], ["sin", "energy"], ["energy"], ["cos", "sin", "velocity", "energy"],
    ]  # fmt: skip
    assert sets_of(spaql.make("pendulum"), everything[:3]) == []
    assert len(pairs_of(sets_of(problem, everything))) == 16


def test_tests_and_laws_keep_to_their_variables_in_a_search():
    problem = spaql.make("pendulum", features={"energy": ENERGY, "pump": pump})
    live = np.ones(5, bool)
    proposals = Proposals(problem, live, np.random.default_rng(0))
    states = np.random.default_rng(1).normal(size=(50, 5))
    seen = set()
    for _ in range(50):
        tree = proposals.tree(2, states)
        free = free_within(tree, live, proposals.sets)
        for node in range(len(tree.nodes)):
            if tree.nodes["feature"][node] == LEAF:
                kept = tree.laws.gains[node].any(axis=0)
                assert np.array_equal(kept, free.gains[node].any(axis=0))
                seen.add(kept.tobytes())
        assert len(numbers_of(tree, free)) <= len(numbers_of(tree, free_within(tree, live, [])))
    assert seen == {mask.tobytes() for mask in proposals.sets}


def test_a_pump_makes_one_law_of_two_numbers_swing_up():
    agent = spaql.Laws(spaql.make("pendulum", features={"pump": pump}), max_leaves=1, seed=0)
    agent.learn(samples=20_000_000)
    policy = agent.policy()
    assert policy.evaluate(1000).mean > -160
    assert policy.numbers <= 4
    assert "pump" in used_by(policy)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_an_energy_makes_two_laws_of_few_numbers(seed):
    agent = spaql.Laws(spaql.make("pendulum", features={"energy": ENERGY}), max_leaves=2, seed=seed)
    agent.learn(samples=60_000_000)
    assert agent.evaluate(20_000).mean > -149.0
    assert agent.policy().numbers <= 9


def test_products_are_offered_and_tidying_keeps_a_few():
    problem = spaql.make("pendulum", features="products")
    offered = [axis.name for axis in problem.state[3:]]
    assert offered == ["cos²", "cos·sin", "cos·velocity", "sin·velocity", "velocity²"]  # sin² follows from cos²
    assert problem.state[-1].unit == "(rad/s)²"
    agent = spaql.Laws(problem, max_leaves=1, seed=1)
    agent.learn(samples=30_000_000)
    policy = agent.policy()
    assert policy.evaluate(1000).mean > -200  # no law of the variables alone swings up
    assert policy.numbers <= 9
    assert "cos_velocity" in policy.to_c()
    many = spaql.from_gym(Wide10(), horizon=5)
    with pytest.raises(spaql.SpaqlError, match="products of 10 variables are too many"):
        spaql.from_gym(Wide10(), horizon=5, features="products")
    assert len(many.state) == 10


def test_observe_says_what_laws_look_at(tmp_path):
    problem = spaql.make("pendulum", features={"pump": pump})
    agent = spaql.Laws(problem, max_leaves=2, seed=0, observe=["sin", "velocity"])
    agent.learn(samples=2_000_000)
    policy = agent.policy()
    assert used_by(policy) <= {"sin", "velocity"}
    assert policy.problem is problem
    agent.save(tmp_path / "a.spaql")
    again = spaql.load(tmp_path / "a.spaql", problem=problem)
    assert again.observe == ("sin", "velocity")
    again.learn(samples=1_000_000)
    assert used_by(again.policy()) <= {"sin", "velocity"}
    for wrong, said in ((["speed"], "speed' is not observed: choose among cos, sin"), (3, "is a list of names"), ([], "is a list of names")):
        with pytest.raises(spaql.SpaqlError, match=said):
            spaql.Laws(problem, observe=wrong)


@pytest.mark.slow
def test_a_slow_simulator_finds_out_too():
    problem = spaql.from_gym("Pendulum-v1", names=True, features={"pump": pump})
    agent = spaql.Laws(problem, max_leaves=1, seed=0)
    agent.learn(samples=30_000)
    again = spaql.Laws(problem, max_leaves=1, seed=0)
    again.learn(samples=30_000)
    assert agent.policy().to_text() == again.policy().to_text()
    assert agent.history.train_samples[-1] <= 30_000
    only = spaql.Laws(problem, max_leaves=1, seed=0, observe="sin, pump")
    only.learn(samples=10_000)
    assert used_by(only.policy()) <= {"sin", "pump"} if only.tree.laws is not None else True
