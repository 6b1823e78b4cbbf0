"""Episodes of laws: known by their seeds, the same in both loops, counted to the last step."""

import threading

import numpy as np
import pytest

import spaql
from helpers import wrapped
from law_examples import law_policies
from spaql.laws.laws_loop import LawsLoop
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import all_free, numbers_of, with_numbers

KINDS = {name: policy for name, policy in law_policies().items() if policy.problem.plant is not None}
SEEDS = seeds_of(0, 21, 0, 12)


def shortened(policy):
    return spaql.make(policy.problem.name, horizon=60)


@pytest.mark.parametrize("name", KINDS)
def test_the_plant_and_gymnasiums_loop_give_the_same_returns_visits_and_states(name):
    tree, problem = KINDS[name].rules, shortened(KINDS[name])
    plant, gym = Trials(problem), Trials(wrapped(problem))
    np.testing.assert_array_equal(plant.returns(tree, SEEDS), gym.returns(tree, SEEDS))
    for ours, theirs in zip(plant.watched(tree, SEEDS, 50), gym.watched(tree, SEEDS, 50), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert plant.samples == gym.samples > 0


@pytest.mark.parametrize("name", KINDS)
def test_a_return_depends_on_its_seed_and_on_nothing_beside_it(name):
    tree, trials = KINDS[name].rules, Trials(shortened(KINDS[name]))
    whole = trials.returns(tree, SEEDS)
    np.testing.assert_array_equal(trials.returns(tree, SEEDS[::-1]), whole[::-1])
    np.testing.assert_array_equal(trials.returns(tree, SEEDS[5:6]), whole[5:6])


@pytest.mark.parametrize("name", KINDS)
def test_a_population_has_the_returns_and_the_steps_that_each_of_its_trees_has_alone(name):
    tree, problem = KINDS[name].rules, spaql.make(KINDS[name].problem.name)
    free = all_free(tree, np.ones(tree.variables, bool))
    others = np.random.default_rng(1).normal(0.0, 1.0, (20, len(numbers_of(tree, free))))
    trees = [with_numbers(tree, free, factor * numbers_of(tree, free)) for factor in others]  # more than all lanes
    together, alone = Trials(problem), Trials(problem)
    together.together = True
    found = together.returns_of(trees, SEEDS)
    np.testing.assert_array_equal(found, [alone.returns(one, SEEDS) for one in trees])
    assert together.samples == alone.samples


def test_trees_of_different_kinds_and_sizes_have_the_returns_that_each_has_alone():
    """Partitions of three actions are fitted with laws of every kind, and screened together in a learned model."""
    names = [policy.problem.name for policy in KINDS.values()]
    name = max(set(names), key=names.count)
    trees = [policy.rules for policy in KINDS.values() if policy.problem.name == name]
    assert len({tree.laws.kind for tree in trees}) > 1
    together, alone = Trials(spaql.make(name)), Trials(spaql.make(name))
    together.together = True
    np.testing.assert_array_equal(together.returns_of(trees, SEEDS), [alone.returns(one, SEEDS) for one in trees])
    assert together.samples == alone.samples


def test_a_population_that_a_budget_does_not_allow_ends_where_its_trees_alone_would():
    tree, problem = next(iter(KINDS.values())).rules, shortened(next(iter(KINDS.values())))
    trials = Trials(problem, left=2 * problem.horizon * len(SEEDS))
    with pytest.raises(Spent):
        trials.returns_of([tree] * 4, SEEDS)
    assert 0 < trials.samples <= 2 * problem.horizon * len(SEEDS)


@pytest.mark.parametrize("name", KINDS)
def test_lock_step_applies_what_the_policy_decides(name):
    policy = KINDS[name]
    trials = Trials(shortened(policy))
    _, states = trials.watched(policy.rules, SEEDS[:3], 40)
    assert len(states) == 40
    episode = policy.episode(seed=4)
    np.testing.assert_array_equal(policy.decide(episode.observations[:-1]), episode.actions)


def test_a_budget_ends_before_it_is_exceeded_and_is_spent_to_the_last_step():
    policy = next(iter(KINDS.values()))
    problem = shortened(policy)
    trials = Trials(problem, left=1000)
    while trials.left >= len(SEEDS) * problem.horizon:
        trials.returns(policy.rules, SEEDS)
    with pytest.raises(Spent):
        trials.returns(policy.rules, SEEDS)
    assert 0 < trials.samples <= 1000
    trials.spend(policy.rules, 0, 27)
    assert (trials.samples, trials.left) == (1000, 0)


def test_the_reserve_is_left_to_those_who_come_after():
    policy = next(iter(KINDS.values()))
    trials = Trials(shortened(policy), left=2000)
    trials.reserve = 1990
    with pytest.raises(Spent):
        trials.returns(policy.rules, SEEDS)
    assert trials.samples == 0


def test_seeds_of_purposes_and_numbers_are_different():
    found = np.concatenate([seeds_of(0, 21, 0, 100), seeds_of(0, 22, 0, 100), seeds_of(1, 21, 0, 100), seeds_of(0, 21, 100, 100)])
    assert len(set(found.tolist())) == 400
    np.testing.assert_array_equal(seeds_of(0, 21, 50, 10), seeds_of(0, 21, 0, 100)[50:60])


class SetSoon(threading.Event):
    """Set as soon as a stage has begun: Ctrl-C in its first moment."""

    asked = 0

    def is_set(self):
        self.asked += 1
        return self.asked > 1


def test_a_user_who_wants_an_end_in_the_first_moment_of_a_stage_gets_one():
    agent = spaql.Laws(spaql.make("cartpole", horizon=60), max_leaves=1)
    assert LawsLoop(agent, 0, SetSoon(), 1_000_000).run(5) == 1
    assert len(agent.state.history) == 1
    assert agent.arms == 1
