"""`compress` with laws in the leaves: on a plant, in an environment, in a learned model; and how honest it is."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Line
from law_examples import law_policies
from spaql.compress.frontier import FRESH, FRESH_IN_PYTHON, FrontierPoint, chosen_of, honest, monotone
from spaql.ground.streams import FRESH_SEED
from spaql.trees.edits import constant

BUDGET = 20_000_000
pytestmark = pytest.mark.filterwarnings("ignore::spaql.SpaqlWarning")


@pytest.fixture(scope="module")
def atlas():
    agent = spaql.Atlas(spaql.make("pendulum"), controller="table", seed=0)
    agent.learn(samples=1000)
    return agent.policy()


@pytest.fixture(scope="module")
def in_model(atlas):
    return atlas.compress(max_leaves=2, laws=True, budget=6_000_000)


@pytest.fixture(scope="module")
def on_plant():
    agent = spaql.SPAQL(spaql.make("cartpole-500"), seed=0)
    agent.learn(30, rollouts=5)
    return agent.policy().compress(max_leaves=1, laws=True, budget=BUDGET)


def test_one_law_is_better_than_the_table_it_was_made_from(on_plant):
    assert on_plant.has_laws
    assert on_plant.n_leaves == 1
    assert on_plant.kind == "law tree"
    assert on_plant.evaluate(200).mean > on_plant.table_policy.evaluate(200).mean
    assert on_plant.evaluate(200).mean > 450


def test_steps_of_search_and_judging_are_counted(on_plant):
    assert FRESH < on_plant.samples < 1.2 * BUDGET


@pytest.mark.slow
def test_in_a_learned_model_two_laws_are_far_better_than_four_constant_actions(atlas, in_model):
    constants = atlas.compress(max_leaves=4, laws=False, budget=6_000_000)
    assert in_model.n_leaves <= 2
    assert in_model.evaluate(300).mean > constants.evaluate(300).mean + 300


@pytest.mark.slow
def test_neither_search_nor_choice_in_a_model_takes_a_step_of_the_plant(in_model):
    judged = (len(in_model.frontier) + 1) * FRESH * 200  # the table too; sizes that gain nothing are not in the frontier
    assert in_model.samples % (FRESH * 200) == 0
    assert judged <= in_model.samples <= judged + 3 * FRESH * 200


@pytest.mark.slow
def test_the_same_seed_gives_the_same_tree(atlas, in_model):
    assert atlas.compress(max_leaves=2, laws=True, budget=6_000_000).to_json() == in_model.to_json()


@pytest.mark.parametrize("where", ["on_plant", pytest.param("in_model", marks=pytest.mark.slow)])
def test_a_frontier_is_monotone_and_what_is_returned_is_its_best(where, request):
    policy = request.getfixturevalue(where)
    means = [point.mean for point in policy.frontier]
    assert means == sorted(set(means))
    chosen = next(point for point in policy.frontier if point.leaves == policy.n_leaves)
    assert all(chosen.mean >= point.mean for point in policy.frontier if point.leaves <= policy.n_leaves)
    assert chosen.mean == policy.evaluate(FRESH, FRESH_SEED).mean


def point(leaves, mean, worse):
    return FrontierPoint(leaves, mean, (mean - 1, mean + 1), 1.0, worse, constant(1, [float(leaves)]))


def test_a_larger_tree_that_its_confirmation_calls_worse_is_not_returned():
    points = [point(1, -1215.0, 0.0), point(2, -1660.0, 0.0), point(4, -533.0, 0.0), point(8, -771.0, 0.0)]
    assert [one.leaves for one in monotone(points)] == [1, 4]
    assert honest(points, 8).leaves == 4
    assert honest(points, 2).leaves == 1
    assert chosen_of(monotone(points), 8).leaves == 4


def test_without_a_number_the_smallest_that_is_not_significantly_worse_is_returned():
    points = [point(1, 5.0, 0.01), point(2, 8.0, 0.2), point(3, 8.5, 0.6)]
    assert chosen_of(points, None).leaves == 2
    assert chosen_of(points[:1], None).leaves == 1


@pytest.mark.slow
def test_a_law_tree_can_be_compressed_again():
    policy = law_policies()["P2"]
    small = policy.compress(max_leaves=1, budget=2_000_000)
    assert small.n_leaves == 1
    assert small.table_policy is policy


def test_a_tree_that_is_worse_than_the_table_comes_with_a_warning_that_says_what_to_do():
    policy = law_policies()["P2"]
    with pytest.warns(spaql.SpaqlWarning, match="one leaf is significantly worse than the table .* against .*max_leaves") as caught:
        small = policy.compress(max_leaves=1, budget=2_000_000)
    assert small.notes == (str(caught[0].message),)
    assert caught[0].filename == __file__


@pytest.mark.slow
def test_constant_leaves_that_are_worse_come_with_the_advice_to_try_laws(on_plant):
    with pytest.warns(spaql.SpaqlWarning, match=r"one leaf is significantly worse than the table .*laws=True"):
        on_plant.table_policy.compress(max_leaves=1, laws=False, budget=100_000)


def test_a_tree_as_good_as_the_table_comes_without_one(on_plant):
    assert on_plant.notes == ()


class Counting(gymnasium.Wrapper):
    steps = 0

    def step(self, action):
        self.steps += 1
        return super().step(action)


def line_policy(env, horizon=20):
    problem = spaql.from_gym(env, horizon=horizon)
    agent = spaql.SPAQL(problem, seed=0)
    agent.learn(20, rollouts=2)
    return agent.policy()


@pytest.mark.slow
def test_in_an_environment_every_step_is_counted_and_a_confirmation_is_played():
    env = Counting(Line(length=20))
    table = line_policy(env)
    table.usage  # noqa: B018  (where the table goes is no part of the search)
    before = env.steps
    small = table.compress(max_leaves=2, laws=True, budget=20_000)
    assert small.samples == env.steps - before
    assert small.samples >= (1 + len(small.frontier)) * FRESH_IN_PYTHON * 20
    assert small.evaluate(50).mean > table.evaluate(50).mean - 0.5


@pytest.mark.parametrize("budget", [0, 30, 1000])
def test_a_budget_too_small_to_compare_anything_gives_a_constant_with_a_warning_or_a_law(budget):
    table = law_policies()["P2"]
    with pytest.warns(spaql.SpaqlWarning, match="significantly worse than the table"):
        small = table.compress(max_leaves=2, budget=budget)
    assert small.samples <= budget + 3 * FRESH * 200


@pytest.mark.slow
def test_a_constant_added_to_every_reward_gives_the_same_tree():
    class Shifted(Line):
        extra = 0.0

        def reward(self):  # in steps that sums keep exactly
            return np.round(-float(np.sum(np.abs(self.x))) * 1024) / 1024 + self.extra

    class More(Shifted):
        extra = 4.0

    table = line_policy(Shifted(length=16), 16)
    other = replace(table, problem=spaql.from_gym(More(length=16), horizon=16))
    one, two = (policy.compress(max_leaves=2, laws=True, budget=20_000) for policy in (table, other))
    assert one.to_text() == two.to_text()


def test_constant_leaves_are_there_for_whom_wants_them(atlas):
    assert not atlas.compress(max_leaves=2, laws=False, budget=20_000, episodes=8).has_laws
    with pytest.raises(spaql.SpaqlError, match="laws must be True or False"):
        atlas.compress(max_leaves=2, laws="yes")
    with pytest.raises(spaql.SpaqlError, match="max_leaves"):
        atlas.compress(max_leaves=65, laws=True)
