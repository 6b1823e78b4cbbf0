"""Tidying: what nobody needs goes, numbers get few digits, and the return stays."""

import numpy as np
import pytest

import spaql
from spaql.laws.race import CONFIRMED_EPISODES, adopt
from spaql.laws.tidy import Tidying
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import plain
from spaql.learners.law_files import ScoredTree
from spaql.policy.digits import rounded
from spaql.policy.outputs import leaf, make_laws
from spaql.trees.edits import simplified
from spaql.trees.laws import CLIP, ORDERED, THRESHOLD
from spaql.trees.tree import NODE, make_tree

SEEDS = seeds_of(7, 99, 0, 400)


def two_laws(weights, cut, laws, problem, kind=CLIP):
    """A test with a law on either side: (low, high)."""
    nodes = np.array([(cut, len(problem.state), 1, 2), (0.0, -1, 0, 0), (0.0, -1, 0, 0)], NODE)
    rows = np.zeros((3, len(problem.state)))
    rows[0] = weights
    gains = np.array([[[0.0] * len(problem.state)], [laws[0][0]], [laws[1][0]]])
    offsets = np.array([[0.0], [laws[0][1]], [laws[1][1]]])
    return make_tree(nodes, np.zeros((3, 1)), len(problem.state), rows, make_laws(gains, offsets, problem.actions, kind))


def mean(trials, tree):
    return trials.returns(tree, SEEDS).mean()


def test_idle_coefficients_go_and_what_is_left_has_few_digits():
    problem = spaql.make("pendulum")
    untidy = ([9.7331, 8.1267, 4.0413], 0.01931), ([0.00213, -13.7712, -2.9371], -0.00277)
    tree = two_laws([1.0313, 0.0021, -0.0017], -0.0732, untidy, problem)
    before = tree.laws.gains.copy()
    trials = Trials(problem)
    tidy, complete = Tidying(trials, tree, 3.0, 0, 0, 0.3).run()
    assert complete
    assert mean(trials, tidy) >= mean(trials, tree) - 6.0
    assert tidy.nodes["feature"][0] == 0  # a test of one variable as such
    numbers = [*tidy.laws.gains[tidy.laws.gains != 0], *tidy.laws.offsets[tidy.laws.offsets != 0], tidy.nodes["cut"][0]]
    assert len(numbers) <= 8
    assert all(float(f"{value:.3g}") == value for value in numbers)
    np.testing.assert_array_equal(tree.laws.gains, before)  # the tree that was given is left alone


def test_a_leaf_that_nobody_visits_goes_with_its_test():
    problem = spaql.make("pendulum")
    law = ([0.0, -14.0, -3.0], 0.0)
    tree = two_laws([1.0, 0.0, 0.0], 5.0, (law, ([1.0, 2.0, 3.0], 0.5)), problem)  # a cosine is never five
    tidy, _ = Tidying(Trials(problem), tree, 1.0, 0, 0, 0.05).run()
    assert tidy.n_leaves == 1


def test_a_leaf_that_is_visited_late_stays_however_many_episodes_there_are():
    problem = spaql.make("mountain-car-continuous")
    tree = two_laws([1.0, 0.0], 0.2, (([0.0, 15.0], 0.0), ([0.0, 0.0], 1.0)), problem)  # it is there after 60 steps
    tidying = Tidying(Trials(problem), tree, 1.0, 0, 0, 16.0)
    tidying.prune()
    assert tidying.tree.n_leaves == 2


def test_two_leaves_that_do_the_same_become_one():
    problem = spaql.make("pendulum")
    tree = two_laws([0.0, 1.0, 0.0], 0.0, (([0.0] * 3, 0.5), ([0.0] * 3, 0.5)), problem)
    tidy, _ = Tidying(Trials(problem), tree, 1.0, 0, 0, 0.05).run()
    assert tidy.n_leaves == 1


def test_a_steep_law_for_ordered_actions_becomes_a_threshold():
    problem = spaql.make("mountain-car")
    nodes = np.zeros(1, NODE)
    nodes["feature"] = -1
    laws = make_laws(np.array([[[-1000.0, 200_000.0]]]), np.array([[-479.0]]), problem.actions, ORDERED)
    tidy, _ = Tidying(Trials(problem), make_tree(nodes, np.zeros((1, 1)), 2, None, laws), 0.5, 0, 0, 0.2).run()
    assert tidy.laws.kind == THRESHOLD
    assert np.abs(tidy.laws.gains[tidy.laws.gains != 0]).min() == 1.0


def test_cut_short_it_says_so_and_the_tree_is_as_good_as_before():
    problem = spaql.make("pendulum")
    tree = two_laws([1.0, 0.3, 0.1], 0.0, (([1.0, 8.0, 4.0], 0.1), ([0.1, -14.0, -3.0], 0.1)), problem)
    trials = Trials(problem, left=2_000_000)
    tidy, complete = Tidying(trials, tree, 1.0, 0, 0, 1.0).run()
    assert not complete
    assert all(float(f"{value:.3g}") == value for value in tidy.laws.gains.ravel())  # nobody reads more digits
    free = Trials(problem)
    assert mean(free, tidy) >= mean(free, tree) - 3.0


@pytest.mark.parametrize(
    ("value", "digits", "ends"),
    [(13.77, 1, [10.0, 20.0]), (13.77, 2, [13.0, 14.0]), (-0.0732, 1, [-0.08, -0.07]), (20.0, 1, [20.0]), (0.5, 2, [0.5])],
)
def test_a_number_is_rounded_to_its_neighbours(value, digits, ends):
    assert rounded(value, digits) == ends


def test_a_test_with_a_negative_weight_is_turned_around():
    problem = spaql.make("pendulum")
    tree = two_laws([0.0, 0.0, -2.0], 3.0, (([0.0] * 3, 1.0), ([0.0] * 3, -1.0)), problem)  # -2 velocity >= 3
    turned = plain(tree)
    states = np.random.default_rng(0).uniform(-4, 4, (200, 3))
    assert (turned.nodes["feature"][0], turned.nodes["cut"][0]) == (2, -1.5)
    policy = spaql.Policy(problem, turned, "law tree", "test")
    np.testing.assert_array_equal(policy.decide(states)[:, 0], np.where(states[:, 2] <= -1.5, -1.0, 1.0))


def test_constants_beyond_the_range_are_its_end_and_become_one_leaf():
    problem = spaql.make("pendulum")
    tree = two_laws([0.0, 1.0, 0.0], 0.0, (([0.0] * 3, 2.5), ([0.0] * 3, 7.0)), problem)
    tidy = simplified(plain(tree))
    assert (tidy.n_leaves, tidy.laws.offsets[0, 0]) == (1, 2.0)


def test_a_threshold_of_one_variable_has_no_factor():
    problem = spaql.make("cartpole")
    nodes = np.zeros(1, NODE)
    nodes["feature"] = -1
    laws = make_laws(np.array([[[0.0, 0.0, -0.02, 0.0]]]), np.array([[0.01]]), problem.actions, THRESHOLD)
    found = plain(make_tree(nodes, np.zeros((1, 1)), 4, None, laws)).laws
    assert (found.gains[0, 0, 2], found.offsets[0, 0]) == (-1.0, 0.5)


# -- a budget that ends while a law is adopted -------------------------------------------------------------------------

BALANCING = ([0.0, -14.0, -3.0], 0.0)
SWINGING = ([0.0, 0.0, 3.0], 0.0)


def one_law_known():
    """A learner that has a law which does nothing, and two laws that are better than it."""
    problem = spaql.make("pendulum")
    agent = spaql.Laws(problem, max_leaves=2)
    trials = Trials(problem)
    still = leaf(problem.actions, np.zeros((1, 3)), np.zeros(1), CLIP)
    agent.state.frontier.tidy[1] = ScoredTree(still, mean(trials, still))
    return agent, trials, two_laws([1.0, 0.0, 0.0], 0.7, (SWINGING, BALANCING), problem)


def spent(tolerance):
    raise Spent


def test_the_first_law_of_a_size_is_kept_as_it_is_where_the_budget_ends_before_it_is_tidy():
    agent, trials, laws = one_law_known()
    with pytest.raises(Spent):
        adopt(agent, trials, laws, SEEDS, spent, 0.0)
    kept = agent.state.frontier.tidy[2]
    assert kept.tree is laws
    assert kept.mean == mean(trials, laws)


def test_more_episodes_of_the_confirmation_leave_less_to_tidying():
    allowed = []
    for episodes in (CONFIRMED_EPISODES // 2, CONFIRMED_EPISODES, 4 * CONFIRMED_EPISODES):
        agent, trials, laws = one_law_known()

        def tidied(tolerance, laws=laws):
            allowed.append(tolerance)
            return laws

        agent.state.floor = -1000.0
        adopt(agent, trials, laws, seeds_of(7, 99, 0, episodes), tidied, 0.0)
    assert allowed[0] == pytest.approx(allowed[1], rel=0.1)
    assert allowed[2] == pytest.approx(allowed[1] / 2, rel=0.1)


def test_half_tidied_it_is_no_match_for_a_tidy_one_of_its_size():
    agent, trials, laws = one_law_known()
    rival = two_laws([1.0, 0.0, 0.0], 0.7, (([0.0, 0.0, 0.5], 0.0), ([0.0] * 3, 0.0)), trials.problem)
    agent.state.frontier.tidy[2] = ScoredTree(rival, mean(trials, rival))
    with pytest.raises(Spent):
        adopt(agent, trials, laws, SEEDS, spent, 0.0)
    assert agent.state.frontier.tidy[2].tree is rival
