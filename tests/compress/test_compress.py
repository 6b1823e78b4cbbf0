"""Compressed trees: smaller, not significantly worse, every sample counted."""

import gymnasium
import numpy as np
import pytest

import spaql
from hand_made_trees import cartpole_tree, pendulum_tree
from spaql.compress.arena import Moments, arena_of
from spaql.compress.cart import best_splits, cost_tree, distilled
from spaql.compress.frontier import FRESH
from spaql.compress.tree_search import search
from spaql.ground.streams import FRESH_SEED
from spaql.training.closed_loop import run_episodes
from spaql.trees.equality import differences
from spaql.trees.tree import leaf_of

BUDGET = 5_000_000


@pytest.fixture(scope="module")
def table():
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
    agent.learn(300, rollouts=20)
    return agent.policy()


@pytest.fixture(scope="module")
def small(table):
    return table.compress(laws=False, budget=BUDGET)


def test_cartpole_needs_at_most_eight_leaves(table):
    tree = table.compress(laws=False, max_leaves=8, budget=BUDGET)
    assert tree.n_leaves <= 8 < table.n_leaves
    assert tree.evaluate(1000, seed=5).mean >= 199.0


def test_it_is_not_significantly_worse_than_the_table_on_start_states_the_search_never_saw(table, small):
    from scipy.stats import ttest_rel

    table_returns = run_episodes(table.problem, table.rules, FRESH, FRESH_SEED).returns
    small_returns = run_episodes(table.problem, small.rules, FRESH, FRESH_SEED).returns
    if np.ptp(table_returns - small_returns) > 0:
        assert ttest_rel(table_returns, small_returns, alternative="greater").pvalue >= 0.05


def test_the_frontier_gains_with_size_and_its_returns_are_those_of_its_trees(small):
    sizes = [point.leaves for point in small.frontier]
    assert sizes == sorted(set(sizes))
    for point in small.frontier[:4]:
        assert point.tree.n_leaves == point.leaves
        returns = run_episodes(small.problem, point.tree, FRESH, FRESH_SEED).returns
        assert point.mean == pytest.approx(returns.mean())
        assert point.ci95[0] <= point.mean <= point.ci95[1]
        assert 0.0 <= point.fidelity <= 1.0


def test_every_sample_is_counted():
    class Counting(gymnasium.Wrapper):
        steps = 0

        def step(self, action):
            self.steps += 1
            return super().step(action)

    env = Counting(gymnasium.make("CartPole-v1"))
    agent = spaql.SPAQL(spaql.from_gym(env, horizon=50), seed=0)
    agent.learn(5, rollouts=2)
    table, before = agent.policy(), env.steps
    tree = table.compress(laws=False, max_leaves=4, budget=3000)
    assert tree.samples == env.steps - before > 3000


def test_the_search_ends_soon_after_its_budget(table):
    short, long = table.compress(laws=False, max_leaves=2, budget=0), table.compress(laws=False, max_leaves=2, budget=2_000_000)
    assert short.samples < 1_000_000
    assert long.samples > 2_000_000


def test_the_same_seed_gives_the_same_tree(table, small):
    again = table.compress(laws=False, budget=BUDGET)
    assert differences(again.rules, small.rules) == []


def test_at_most_as_many_leaves_as_asked_for(table):
    for most in (1, 2, 5):
        assert table.compress(laws=False, max_leaves=most, budget=500_000).n_leaves <= most


def test_compressing_the_exact_tree_is_compressing_its_table(table, small):
    again = table.tree().compress(laws=False, budget=BUDGET)
    assert again.table_policy is small.table_policy is table
    assert differences(again.rules, small.rules) == []


@pytest.mark.slow
def test_a_search_without_a_good_table_swings_the_pendulum_up():
    table = spaql.SPAQL(spaql.make("pendulum")).policy()  # it has learned nothing
    arena = arena_of(table.problem, 64)
    pool = search(arena, table.problem.actions, [table.rules], most=64, budget=20_000_000, seed=1)
    assert run_episodes(table.problem, pool.best(64).tree, 500, seed=5).returns.mean() > -250.0


def test_the_search_needs_no_plant_only_an_arena():
    """As a learned model would: steps are counted, but none of them is a sample."""

    class Line:
        """Walk to zero; the return is minus the distance."""

        variables, starts, steps, samples, branches = 1, 32, 0, 0, True

        def walk(self, tree, places, first=None, hold=0):
            total = np.zeros(len(places))
            for step in range(10):
                actions = tree.actions[leaf_of(tree, places[:, None])][:, 0]
                places = places + 0.1 * (actions if first is None or step >= hold else first)
                total -= np.abs(places)
                self.steps += len(places)
            return total

        def returns(self, tree, first, last):
            return self.walk(tree, np.linspace(-1, 1, self.starts)[first:last])

        def moments(self, tree, count, seed):
            return Moments(np.random.default_rng(seed).uniform(-1, 1, (count, 1)))

        def futures(self, tree, moments, actions, hold):
            tried = [self.walk(tree, moments.states[:, 0], action[0], hold) for action in actions]
            return np.column_stack([*tried, self.walk(tree, moments.states[:, 0])])

    arena = Line()
    pool = search(arena, spaql.Finite((-1, 0, 1)), [], most=4, budget=300_000)
    best = pool.best(2).tree
    assert arena.samples == 0 < arena.steps
    assert best.actions[leaf_of(best, np.array([[-0.5], [0.5]]))].ravel().tolist() == [1, -1]
    assert pool.best(4).mean > pool.best(2).mean > pool.best(1).mean


@pytest.mark.slow
def test_oblique_tests_are_an_option():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=0)
    agent.learn(60, rollouts=5)
    for oblique in (False, True):
        tree = agent.policy().compress(laws=False, oblique=oblique, budget=BUDGET, max_leaves=12)
        assert any(point.tree.oblique for point in tree.frontier) == oblique


def test_a_single_cell_stays_one_leaf():
    tree = spaql.SPAQL(spaql.make("pendulum")).policy().compress(laws=False, max_leaves=1, budget=100_000)
    assert tree.n_leaves == 1


def test_in_a_gymnasium_environment_few_episodes_are_run():
    agent = spaql.SPAQL(spaql.from_gym("CartPole-v1", horizon=50), seed=0)
    agent.learn(5, rollouts=2)
    tree = agent.policy().compress(laws=False, max_leaves=4, budget=500)
    assert tree.n_leaves <= 4
    assert tree.samples < 20_000


def test_without_a_plant_it_says_what_to_do_instead():
    with pytest.raises(spaql.SpaqlError, match=r"use tree\(\)"):
        spaql.SPAQL(spaql.cube(2, actions=[0, 1], horizon=10)).policy().compress(laws=False)


@pytest.mark.parametrize(
    "options", [{"max_leaves": 0}, {"max_leaves": True}, {"max_leaves": "8"}, {"budget": -1}, {"episodes": 2}, {"seed": -1}]
)
def test_bad_options_are_one_line(table, options):
    with pytest.raises(spaql.SpaqlError, match=next(iter(options))):
        table.compress(laws=False, **options)


def test_distilled_trees_are_nested_and_explain_more_with_every_leaf():
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (2000, 2))
    actions = ((states[:, 0] > 0.2) ^ (states[:, 1] > -0.3)).astype(float)[:, None]
    trees = distilled(states, actions, 6)
    assert [tree.n_leaves for tree in trees] == list(range(1, len(trees) + 1))
    right = [(tree.actions[leaf_of(tree, states)] == actions).mean() for tree in trees]
    assert right == sorted(right)
    assert right[-1] > 0.99


def test_lessons_count_by_what_a_wrong_action_costs():
    states = np.linspace(0, 1, 100)[:, None]
    costs = np.where(states < 0.5, [[0.0, 1.0]], [[1.0, 0.0]])
    costs[states[:, 0] > 0.9] = [0.0, 0.001]  # many against one would be outvoted, but hardly anything is lost there
    tree = cost_tree(states, costs, np.array([[7.0], [8.0]]), 2, np.ones(1))
    assert tree.n_leaves == 2
    assert tree.nodes["cut"][0] == pytest.approx(0.5, abs=0.01)
    assert tree.actions[leaf_of(tree, np.array([[0.2], [0.95]]))].ravel().tolist() == [7.0, 8.0]


def test_oblique_lessons_find_a_diagonal():
    states = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    right = states[:, 0] - 2 * states[:, 2] > 0.1
    costs = np.where(right[:, None], [[1.0, 0.0]], [[0.0, 1.0]])
    axis, oblique = (min(one.cost for one in best_splits(states, costs, np.ones(3), allowed)) for allowed in (False, True))
    assert oblique < 0.5 * axis


@pytest.mark.parametrize(
    ("name", "tree", "least"),
    [("cartpole", cartpole_tree, 199.9), ("cartpole-500", cartpole_tree, 499.0), ("pendulum", pendulum_tree, -170.0)],
)
def test_controllers_made_by_hand_are_good(name, tree, least):
    assert run_episodes(spaql.make(name), tree(), 500).returns.mean() > least


def test_the_frontier_can_be_drawn(small, tmp_path):
    small.draw_frontier(tmp_path / "frontier.png")
    assert (tmp_path / "frontier.png").stat().st_size > 10_000
    with pytest.raises(spaql.SpaqlError, match="only a compressed tree"):
        small.table_policy.draw_frontier(tmp_path / "no.png")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cartpole_with_500_steps_needs_at_most_four_leaves(seed):
    agent = spaql.SPAQLTS(spaql.make("cartpole-500"), seed=seed)
    agent.learn(600)
    assert agent.policy().compress(laws=False, max_leaves=4).evaluate(1000, seed=7).mean >= 497.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pendulum_is_swung_up_well_with_32_leaves_whatever_the_table(seed):
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=seed)
    agent.learn(1000)
    tree = agent.policy().compress(laws=False, max_leaves=32)
    assert tree.n_leaves <= 32
    assert tree.evaluate(1000, seed=7).mean >= -175.0
