"""A policy is what the agent does, cell by cell; the exact tree is the same with fewer leaves."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spaql
from spaql.learners.forest_policy import cells_of
from spaql.trees.edits import merged
from spaql.trees.equality import differences
from spaql.trees.tree import LEAF, Builder, bounds_of, leaf_of, make_tree

AGENTS = {
    "cartpole": lambda: spaql.SPAQLTS(spaql.make("cartpole"), seed=0),
    "cartpole-fitted": lambda: spaql.SPAQL(spaql.make("cartpole-fitted"), seed=1),
    "pendulum": lambda: spaql.SPAQL(spaql.make("pendulum"), seed=0),
    "pendulum-5": lambda: spaql.SPAQLTS(spaql.make("pendulum-5"), seed=2),
}


@pytest.fixture(scope="module", params=AGENTS)
def agent(request):
    agent = AGENTS[request.param]()
    agent.learn(150, rollouts=5)
    return agent


def states_for(agent, count=50_000):
    """Random states, those of episodes, and all combinations of cuts with their neighbours on both sides."""
    rng = np.random.default_rng(0)
    axes = agent.problem.state
    low, high = (np.array([side * 5.0 if axis.slope else bound for axis, bound in ((a, getattr(a, end)) for a in axes)])
                 for end, side in (("low", -1), ("high", 1)))  # fmt: skip
    rules = agent.policy().rules
    corners = []
    for j in range(len(axes)):
        cuts = np.unique(rules.nodes["cut"][rules.nodes["feature"] == j])
        cuts = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts[cuts != 0.0], -np.inf)])  # subnormals count as zero
        corners.append(rng.choice(cuts, 5_000))
    seen = np.concatenate([agent.episode(rollout=i).observations for i in range(5)])
    return np.concatenate([rng.uniform(low, high, (count, len(axes))), seen, np.stack(corners, axis=1)])


def test_the_table_does_what_the_agent_does(agent):
    states = states_for(agent)
    expected, _ = agent.predict(states)
    np.testing.assert_array_equal(agent.policy().decide(states), np.asarray(expected, float).reshape(len(states), -1))


def test_a_policy_returns_what_its_agent_returns(agent):
    expected = agent.evaluate(50, seed=4, deterministic=True).returns
    policy = agent.policy()
    np.testing.assert_array_equal(policy.evaluate(50, seed=4).returns, expected)
    np.testing.assert_array_equal(policy.tree().evaluate(50, seed=4).returns, expected)


def test_the_exact_tree_does_the_same_everywhere_and_is_not_larger(agent):
    policy = agent.policy()
    tree = policy.tree()
    assert differences(policy.rules, tree.rules) == []
    assert tree.n_leaves <= policy.n_leaves


def test_on_cartpole_the_exact_tree_is_much_smaller():
    agent = AGENTS["cartpole"]()
    agent.learn(400, rollouts=20)
    policy = agent.policy()
    assert policy.tree().n_leaves < policy.n_leaves / 4


def test_the_table_has_one_row_per_cell_in_physical_units(agent):
    policy = agent.policy()
    table = policy.table()
    cells = cells_of(agent)
    assert len(table) == policy.n_leaves == len(cells.size)
    first = agent.problem.state[0]
    label = f"{first.name} ({first.unit})" if first.unit else first.name
    assert table[f"{label} from"].min() == first.low
    assert table[f"{label} to"].max() == first.high
    assert table["share of time"].sum() == pytest.approx(1.0)
    assert (table["margin"].dropna() >= 0).all()


def test_every_region_of_the_table_is_where_it_says(agent):
    policy = agent.policy()
    low, high = policy.bounds()
    leaves = policy.rules.leaves()
    low, high = np.clip(low, -1e3, None), np.clip(high, None, 1e3)
    inside = (low + high) / 2
    np.testing.assert_array_equal(leaf_of(policy.rules, inside[leaves]), leaves)


def test_an_untrained_agent_is_one_region():
    policy = spaql.SPAQL(spaql.make("pendulum")).policy()
    assert policy.n_leaves == policy.tree().n_leaves == 1
    assert len(policy.table()) == 1
    assert policy.predict([1.0, 0.0, 0.0])[0] == [0.0]


def test_unbounded_variables_have_open_ends():
    agent = AGENTS["cartpole"]()
    agent.learn(20, rollouts=2)
    table = agent.policy().table()
    assert table["velocity (m/s) from"].min() == -np.inf
    assert table["velocity (m/s) to"].max() == np.inf


@pytest.mark.parametrize("learner", [spaql.AQL, spaql.NBQL, spaql.ZoomRL])
def test_some_learners_have_one_policy_per_time_step(learner):
    agent = learner(spaql.make("cartpole"), seed=0)
    agent.learn(50, rollouts=2)
    with pytest.raises(spaql.SpaqlError, match=r"policy\(step=...\), from 0 to 199"):
        agent.policy()
    with pytest.raises(spaql.SpaqlError, match="step must be"):
        agent.policy(step=200)
    observation = [0.01, 0.02, -0.03, 0.1]
    for step in (0, 3):
        assert agent.policy(step=step).predict(observation)[0] == agent.predict(observation, state=np.array([step]))[0]


@pytest.mark.parametrize("problem", ["pendulum", "pendulum-5"])
@pytest.mark.parametrize("learner", [spaql.AQL, spaql.NBQL, spaql.ZoomRL])
def test_table_tree_export_and_why_follow_the_policy_of_that_step(learner, problem):
    agent = learner(spaql.make(problem), seed=0)
    agent.learn(80, rollouts=2)
    policy = agent.policy(step=1)
    angle, velocity = np.random.default_rng(0).uniform([[-np.pi], [-8]], [[np.pi], [8]], (2, 500))
    states = np.column_stack([np.cos(angle), np.sin(angle), velocity])
    applied = agent.predict(states, state=np.ones(500))[0]
    np.testing.assert_allclose(policy.predict(states)[0], applied, rtol=1e-6)
    np.testing.assert_allclose(policy.tree().predict(states)[0], applied, rtol=1e-6)
    np.testing.assert_allclose(policy.why(states[0]).action, applied[0], rtol=1e-6)
    assert "void controller" in policy.to_c()


def test_random_has_no_policy():
    with pytest.raises(spaql.SpaqlError, match="Random has no policy"):
        spaql.Random(spaql.make("cartpole")).policy()


def test_a_policy_without_a_plant_can_still_be_read():
    agent = spaql.SPAQL(spaql.cube(2, actions=[0, 1], horizon=10))
    for x in np.linspace(-0.9, 0.9, 30):
        agent.update([x, -x], int(x > 0), 1.0, [x, x])
    policy = agent.policy()
    assert policy.table()["share of time"].isna().all()
    assert policy.predict([0.5, -0.5])[0] in (0, 1)
    assert "applies" in str(policy.why([0.5, -0.5]))
    with pytest.raises(spaql.SpaqlError, match="no plant"):
        policy.evaluate(3)


def test_a_policy_in_a_gymnasium_environment():
    agent = spaql.SPAQL(spaql.from_gym("CartPole-v1", horizon=100), seed=0)
    agent.learn(5, rollouts=2)
    policy = agent.policy()
    assert policy.evaluate(3).mean == agent.evaluate(3, deterministic=True).mean
    assert policy.episode().rewards.sum() == policy.evaluate(1).returns[0]


@pytest.mark.parametrize("bad", [[np.nan, 0.0, 0.0], [np.inf, 0.0, 0.0], [0.0, 0.0], "here", [[0.0], [1.0, 2.0]]])
def test_bad_observations_are_refused(bad):
    policy = spaql.SPAQL(spaql.make("pendulum")).policy()
    for ask in (policy.predict, policy.why):
        with pytest.raises(spaql.SpaqlError):
            ask(bad)


def test_variables_of_the_same_name_keep_their_columns():
    problem = spaql.cube(2, actions=[0, 1], horizon=10)
    twins = replace(problem, state=(spaql.Axis("x", -1, 1), spaql.Axis("x", -1, 1)))
    assert len(spaql.SPAQL(twins).policy().table().columns) == 4 + 1 + 5


def test_fractional_actions_stay_fractional():
    agent = spaql.SPAQL(spaql.cube(1, actions=[0, 0.5], horizon=10))
    assert agent.policy().predict([0.0])[0].dtype == np.float64


def test_a_very_deep_tree_can_be_merged():
    builder = Builder(1, 1)
    nodes = [builder.test(0, float(i)) for i in range(3000)]
    for node, after in zip(nodes, [*nodes[1:], None], strict=True):
        builder.join(node, builder.leaf(node % 2), after if after is not None else builder.leaf(1))
    deep = builder.tree() if all(nodes[i] < nodes[i + 1] for i in range(2999)) else None
    assert merged(deep).n_leaves > 1


def test_labels_of_actions_must_be_as_many_as_actions():
    with pytest.raises(spaql.SpaqlError, match="names of actions: one text per action axis"):
        spaql.Finite((0, 1), names=("a", "b"))
    with pytest.raises(spaql.SpaqlError, match="units of actions: one text per action axis"):
        spaql.Continuous((-2.0,), (2.0,), units=("N", "m"))


@pytest.mark.parametrize("name", ["cartpole", "pendulum"])
def test_policies_can_be_pickled_and_still_run(name):
    agent = spaql.SPAQL(spaql.make(name), seed=0)
    agent.learn(5, rollouts=2)
    agent.evaluate(5)  # with compiled code at hand, which stays behind
    policy = agent.policy()
    for one in (policy, policy.tree()):
        again = pickle.loads(pickle.dumps(one))
        assert differences(again.rules, one.rules) == []
        np.testing.assert_array_equal(again.evaluate(20).returns, one.evaluate(20).returns)
        assert len(again.table()) == len(one.table())


def test_a_plant_defined_inside_a_function_is_not_pickled():
    @spaql.reset
    def start(u):
        return (u,)

    with pytest.raises((AttributeError, pickle.PicklingError, spaql.SpaqlError), match="start"):
        pickle.dumps(start)


# -- trees ---------------------------------------------------------------------------------------------------------------------------


@st.composite
def trees(draw, variables=2):
    builder = Builder(variables, 1)

    def grow(depth):
        if depth == 0 or draw(st.booleans()):
            return builder.leaf(draw(st.integers(0, 2)))
        node = builder.test(draw(st.integers(0, variables - 1)), draw(st.integers(-3, 3)))
        low = grow(depth - 1)
        builder.join(node, low, grow(depth - 1))
        return node

    grow(4)
    return builder.tree()


@settings(max_examples=100, deadline=None)
@given(trees(), trees())
def test_differences_are_exactly_where_two_trees_differ(a, b):
    grid = np.stack(np.meshgrid(*[np.arange(-4.0, 4.5, 0.5)] * 2), axis=-1).reshape(-1, 2)
    differ = (a.actions[leaf_of(a, grid)] != b.actions[leaf_of(b, grid)]).any(axis=1)
    boxes = differences(a, b, most=10_000)
    inside = np.zeros(len(grid), bool)
    for low, high in boxes:
        inside |= ((grid >= low) & (grid < high)).all(axis=1)
    np.testing.assert_array_equal(inside, differ)


@settings(max_examples=50, deadline=None)
@given(trees())
def test_merging_changes_nothing_but_the_size(tree):
    small = merged(tree)
    assert differences(tree, small) == []
    assert small.n_leaves <= tree.n_leaves


@settings(max_examples=50, deadline=None)
@given(trees())
def test_the_box_of_a_leaf_contains_what_falls_into_it(tree):
    grid = np.stack(np.meshgrid(*[np.arange(-4.0, 4.5, 0.5)] * 2), axis=-1).reshape(-1, 2)
    low, high = bounds_of(tree)
    leaf = leaf_of(tree, grid)
    assert ((grid >= low[leaf]) & (grid < high[leaf])).all()


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], "at least one node"),
        ([(0.0, 0, 1, 1), (0.0, LEAF, 0, 0)], "do not form a tree"),
        ([(0.0, 0, 0, 1), (0.0, LEAF, 0, 0)], "do not form a tree"),
        ([(0.0, 0, 1, 7), (0.0, LEAF, 0, 0), (0.0, LEAF, 0, 0)], "do not form a tree"),
        ([(0.0, LEAF, 0, 0), (0.0, LEAF, 0, 0)], "do not form a tree"),
        ([(0.0, 5, 1, 2), (0.0, LEAF, 0, 0), (0.0, LEAF, 0, 0)], "does not exist"),
        ([(np.nan, 0, 1, 2), (0.0, LEAF, 0, 0), (0.0, LEAF, 0, 0)], "must be finite"),
    ],
)
def test_what_is_not_a_tree_is_refused(nodes, words):
    with pytest.raises(spaql.SpaqlError, match=words):
        make_tree(nodes, np.zeros((len(nodes), 1)), 2)
