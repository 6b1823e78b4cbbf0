"""What Atlas does as a table, a tree, code and a page; why Atlas does it; and small trees found in its model."""

import json

import numpy as np
import pytest

import spaql
from command_line import run
from made_explanations import data_of, text_of, written
from spaql.compress.arena import Moments
from spaql.compress.model_arena import ModelArena, trusted
from spaql.export import FORMATS
from spaql.learners.atlas.endings import start_states
from spaql.policy.policy import Policy
from spaql.training.closed_loop import run_episodes
from spaql.trees.tree import Builder, leaf_of

TORQUES = np.array([[-2.0], [0.0], [2.0]])


def learned(name, samples, **options):
    agent = spaql.Atlas(spaql.make(name), **({"controller": "table", "cells": 300, "seed": 0} | options))
    agent.learn(samples=samples)
    return agent


@pytest.fixture(scope="module")
def agents():
    return {"pendulum": learned("pendulum", 2000), "cartpole": learned("cartpole", 1000)}


@pytest.fixture(scope="module")
def tables(agents):
    return {name: agent.policy() for name, agent in agents.items()}


@pytest.fixture(scope="module")
def small(tables):
    return tables["cartpole"].compress(laws=False, max_leaves=4, budget=300_000, episodes=32)


@pytest.fixture(scope="module")
def arena(tables):
    table = tables["pendulum"]
    starts = table.knowledge.model.starts(64)
    return ModelArena(table.problem, table.knowledge.model.plan, starts, table.knowledge.model.models())


@pytest.fixture(scope="module")
def file(agents, tmp_path_factory):
    path = tmp_path_factory.mktemp("agent") / "agent.spaql"
    agents["cartpole"].save(path)
    return path


# -- tables and trees ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pendulum", "cartpole"])
def test_the_table_has_a_row_per_cell(tables, name):
    policy = tables[name]
    frame = policy.table()
    assert len(frame) == policy.n_leaves == 300
    assert np.isfinite(frame["Q"]).all()
    assert (frame["margin"] >= 0.0).all()
    assert frame["share of time"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["pendulum", "cartpole"])
def test_the_exact_tree_does_the_same(tables, name):
    policy, rng = tables[name], np.random.default_rng(0)
    tree, plan = policy.tree(), policy.knowledge.model.plan
    near = plan.out_of_metric(rng.uniform(1.2 * plan.model.low, 1.2 * plan.model.high, (9000, len(plan.centre))))
    states = np.concatenate([near, 10.0 * rng.normal(size=(1000, len(plan.centre)))])
    np.testing.assert_array_equal(tree.decide(states), policy.decide(states))
    assert tree.n_leaves < policy.n_leaves
    np.testing.assert_array_equal(tree.evaluate(20).returns, policy.evaluate(20).returns)


@pytest.mark.slow
def test_visits_of_a_small_tree_count_every_training_step_in_its_regions(agents, small):
    seen = agents["cartpole"].state.memory.states[:1000]
    visits = small.table()["visits"]
    assert visits.sum() == 1000
    assert sorted(visits) == sorted(np.count_nonzero(leaf_of(small.rules, seen) == leaf) for leaf in small.rules.leaves())
    why = small.why(seen[0])
    assert why.visits == np.count_nonzero(leaf_of(small.rules, seen) == why.leaf)


def test_the_policy_is_the_same_at_every_step(agents):
    with pytest.raises(spaql.SpaqlError, match="leave `step` out"):
        agents["cartpole"].policy(step=3)


@pytest.mark.slow
def test_a_policy_stays_what_it_was_when_the_agent_learns_on():
    agent = learned("cartpole", 300)
    policy = agent.policy()
    before, why = policy.evaluate(10).returns, str(policy.why(np.zeros(4)))
    agent.learn(samples=200)
    np.testing.assert_array_equal(policy.evaluate(10).returns, before)
    assert str(policy.why(np.zeros(4))) == why
    assert policy.compress(laws=False, max_leaves=2, budget=20_000, episodes=8).n_leaves <= 2


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("form", ["table", "tree", "compressed"])
def test_every_form_can_be_exported(tables, small, form, to):
    policy = {"table": tables["cartpole"], "tree": tables["cartpole"].tree(), "compressed": small}[form]
    assert len(policy.export(to)) > 50


def test_json_comes_back_as_the_same_controller(tables):
    policy = tables["pendulum"].tree()
    again = Policy.from_json(policy.to_json())
    np.testing.assert_array_equal(again.evaluate(10).returns, policy.evaluate(10).returns)


# -- small trees -----------------------------------------------------------------------------------------------------------------------


def test_a_small_tree_is_found_in_the_model(tables, small):
    assert small.n_leaves <= 4
    assert small.evaluate(100).mean > 60  # one constant push: 9


def test_only_the_confirmation_takes_samples_of_the_plant(tables, small):
    table, judged = tables["cartpole"], 1000
    steps = [table.evaluate(judged, seed=2**41).samples]
    steps += [run_episodes(table.problem, one.tree, judged, 2**41).samples for one in small.frontier]
    assert small.samples == sum(steps)


@pytest.mark.slow
def test_in_an_environment_a_small_tree_takes_no_samples_at_all():
    problem = spaql.from_gym("CartPole-v1", horizon=100)
    agent = spaql.Atlas(problem, controller="table", cells=200, seed=0)
    agent.learn(samples=500)
    tree = agent.policy().compress(laws=False, max_leaves=3, budget=50_000, episodes=16)
    assert tree.samples == 0
    assert tree.n_leaves <= 3


@pytest.mark.slow
def test_the_search_gives_the_same_tree_every_time(tables, small):
    again = tables["cartpole"].compress(laws=False, max_leaves=4, budget=300_000, episodes=32)
    assert again.to_json() == small.to_json()


@pytest.mark.parametrize("options", [{"max_leaves": 0}, {"budget": -1}, {"episodes": 3}, {"seed": -1}, {"nonsense": 1}])
def test_bad_options_of_a_search_are_refused(tables, options):
    with pytest.raises(spaql.SpaqlError):
        tables["cartpole"].compress(laws=False, **options)


@pytest.mark.slow
def test_oblique_trees_are_searched_for_too(tables):
    tree = tables["cartpole"].compress(laws=False, max_leaves=3, budget=100_000, episodes=16, oblique=True)
    assert tree.n_leaves <= 3
    assert len(tree.to_c()) > 100


def test_start_states_are_where_episodes_began_soon_after_and_in_between(agents):
    memory, n = agents["cartpole"].state.memory, 1000
    began = np.flatnonzero(memory.flags[:n] & 2)
    starts = start_states(memory, n, 200, len(began) + 50)
    assert len(starts) == len(began) + 50
    seen = {tuple(row) for row in starts}
    begun = {tuple(row) for row in memory.states[began]}
    soon = {tuple(memory.states[i + late]) for i in began for late in range(1, 5) if i + late < n}
    assert seen > begun
    assert len(seen & soon) == 25
    between = np.array(sorted(seen - begun - soon))
    assert len(between) == 25
    # a start of CartPole is within 0.05 of zero in all four variables; in between and as far again beyond is within three times that
    assert np.abs(between).max() < 0.15
    assert {tuple(row) for row in start_states(memory, n, 200, 4)} <= begun


def test_a_single_beginning_has_nothing_in_between(agents):
    memory = agents["cartpole"].state.memory
    assert len(start_states(memory, 3, 200, 7)) == 7


# -- why -------------------------------------------------------------------------------------------------------------------------------


def stepped(problem, state, action):
    """What the plant really does next, from an angle and a velocity."""
    (after, reward, _), look = problem.plant.step(*state, *action), problem.plant.observe
    return np.array(look(*after)), reward


def test_every_action_has_a_value_and_an_expected_next_state(tables):
    why = tables["pendulum"].why([1.0, 0.0, 0.5])
    assert sorted(float(action[0]) for action, _, _ in why.expected) == [-2.0, -1.0, 0.0, 1.0, 2.0]
    values = [q for _, q, _ in why.expected]
    assert values == sorted(values, reverse=True)
    assert [(float(a[0]), q) for a, q in why.alternatives] == [(float(a[0]), q) for a, q, _ in why.expected]
    assert "What the learned model expects next" in str(why)


def test_what_it_expects_is_close_to_what_happens(tables):
    policy, rng, gaps = tables["pendulum"], np.random.default_rng(0), []
    for angle, velocity in zip(rng.uniform(-np.pi, np.pi, 50), rng.uniform(-4, 4, 50), strict=True):
        for action, _, expected in policy.why([np.cos(angle), np.sin(angle), velocity]).expected:
            gaps.append(np.abs(expected - stepped(policy.problem, (angle, velocity), action)[0]))
    moved = np.array([0.15, 0.15, 0.6])  # about what one step changes
    assert (np.median(gaps, axis=0) < 0.1 * moved).all()
    assert (np.quantile(gaps, 0.95, axis=0) < 0.5 * moved).all()


@pytest.mark.parametrize("form", ["tree", "compressed"])
def test_smaller_forms_know_the_model_too(tables, small, form):
    policy = small if form == "compressed" else tables["cartpole"].tree()
    why = policy.why([0.0, 0.1, 0.02, -0.1])
    assert len(why.expected) == 2
    assert why.action == policy.decide([[0.0, 0.1, 0.02, -0.1]])[0]


# -- the model as an arena -------------------------------------------------------------------------------------------------------------


def test_a_start_state_is_the_same_whatever_is_asked_before_or_with_it(arena, tables):
    tree = tables["pendulum"].rules
    all_of_them = arena.returns(tree, 0, arena.starts)
    np.testing.assert_array_equal(arena.returns(tree, 0, arena.starts), all_of_them)
    np.testing.assert_array_equal(arena.returns(tree, 13, 29), all_of_them[13:29])
    assert arena.variables == 3
    assert arena.starts == len(all_of_them) == 64


def test_no_step_of_the_plant_is_taken_and_every_step_of_the_model_counted(arena, tables):
    tree, before = tables["pendulum"].rules, arena.steps
    arena.returns(tree, 0, 10)
    assert 0 < arena.steps - before <= 10 * 200
    assert arena.samples == 0
    assert arena.branches


def test_moments_are_about_as_many_as_wanted_and_chosen_by_the_seed(arena, tables):
    tree = tables["pendulum"].rules
    moments = arena.moments(tree, 1000, seed=3)
    assert 800 < len(moments.states) < 1200
    np.testing.assert_array_equal(arena.moments(tree, 1000, seed=3).states, moments.states)
    assert not np.array_equal(arena.moments(tree, 1000, seed=4).states[:10], moments.states[:10])


def test_going_on_from_a_moment_is_the_rest_of_its_episode(arena, tables):
    tree = tables["pendulum"].rules
    places, times, models = arena.moments(tree, 3000, seed=0).memory
    begin = times == 0
    assert begin.sum() > 3
    futures = arena.futures(tree, Moments(places[begin], (places[begin], times[begin], models[begin])), TORQUES, 1)
    assert set(futures[:, -1]) <= set(arena.returns(tree, 0, 64))


def test_holding_what_the_tree_applies_for_one_step_changes_nothing_and_another_action_does(arena, tables):
    tree = tables["pendulum"].rules
    moments = arena.moments(tree, 300, seed=0)
    futures = arena.futures(tree, moments, TORQUES, 1)
    assert futures.shape == (len(moments.states), 4)
    applied = tree.actions[leaf_of(tree, moments.states)][:, 0]
    for column, torque in enumerate(TORQUES[:, 0]):
        same = applied == torque
        np.testing.assert_allclose(futures[same, column], futures[same, -1])
    assert (futures[:, 0] != futures[:, 2]).mean() > 0.9


def test_a_step_of_the_arena_is_what_the_plan_expects(tables):
    table = tables["pendulum"]
    starts = table.knowledge.model.starts(8)
    plan = table.knowledge.model.plan
    arena = ModelArena(table.problem, plan, starts, [plan.model], 2)
    places, times, _ = arena.moments(table.rules, 100, seed=0).memory
    chosen = [int(np.flatnonzero(plan.actions[:, 0] == action[0])[0]) for action in table.decide(starts)]
    expected = [plan.look_ahead(start)[1][action] for start, action in zip(starts, chosen, strict=True)]
    np.testing.assert_allclose(plan.out_of_metric(places[times == 1]), expected, atol=1e-9)


def test_start_states_take_turns_between_the_models(arena, tables):
    table = tables["pendulum"]
    starts = arena.plan.out_of_metric(arena.begin)
    alone = [ModelArena(table.problem, arena.plan, starts, [world.model]) for world in arena.worlds]
    assert len(alone) == 4
    for start in (0, 1, 2, 3, 9):
        own = alone[start % 4].returns(table.rules, start, start + 1)
        np.testing.assert_allclose(arena.returns(table.rules, start, start + 1), own)
    returns = [one.returns(table.rules, 0, 64).mean() for one in alone]
    assert len(set(returns)) == 4  # each knows another part of the data


def test_a_model_in_which_the_table_fails_does_not_judge(arena, tables):
    table = tables["pendulum"]
    plan = table.knowledge.model.plan
    own = plan.model
    broken = own._replace(rewards=np.array([-50.0, -50.0]))  # every step is a disaster
    starts = arena.plan.out_of_metric(arena.begin)
    assert trusted(table.problem, plan, [own, broken, own], starts) == [own, own]


def test_over_a_longer_time_a_failure_costs_more(tables):
    table, lazy = tables["pendulum"], Builder(3, 1)
    lazy.leaf(0.0)
    starts = table.knowledge.model.starts(8)
    plan = table.knowledge.model.plan
    once, twice = (ModelArena(table.problem, plan, starts, [plan.model], horizon) for horizon in (None, 400))
    assert twice.returns(lazy.tree(), 0, 8).mean() < 1.5 * once.returns(lazy.tree(), 0, 8).mean()


def test_the_model_ranks_controllers_as_the_plant_does(arena, tables):
    table, lazy = tables["pendulum"], Builder(3, 1)
    lazy.leaf(0.0)
    assert arena.returns(table.rules, 0, 64).mean() > arena.returns(lazy.tree(), 0, 64).mean() + 300


def test_who_leaves_what_is_known_is_lost(tables):
    table = tables["cartpole"]
    plan = table.knowledge.model.plan
    arena = ModelArena(table.problem, plan, np.zeros((4, 4)), [plan.model])
    push = Builder(4, 1)
    push.leaf(1.0)
    returns = arena.returns(push.tree(), 0, 4)
    assert (returns < 30).all()  # it falls: 9 in truth
    assert np.isfinite(returns).all()


# -- page and command line -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "compressed"])
def test_the_page_of_a_controller(tables, small, form, tmp_path):
    table = tables["cartpole"]
    page = written(tmp_path, table, table if form == "table" else small)
    assert "Atlas on cartpole" in text_of(page)
    assert "steps of the plant used for learning 1,000" in text_of(page)
    assert "choosing the best agent" not in page
    assert ("steps used for judging small trees" in page) == (form == "compressed")
    assert len(data_of(page)["table"]["q"]) == 300


def test_the_page_of_a_controller_of_an_environment(tmp_path):
    agent = spaql.Atlas(spaql.from_gym("MountainCar-v0", horizon=60), controller="table", cells=100, seed=0)
    agent.learn(samples=200)
    assert "Atlas on" in text_of(written(tmp_path, agent.policy()))


def test_the_page_of_a_controller_without_a_plant(tmp_path):
    agent, rng = spaql.Atlas(spaql.cube(2, [0, 1, 2], 10), controller="table", cells=50), np.random.default_rng(0)
    for _ in range(200):
        x, action = rng.uniform(-1, 1, 2), int(rng.integers(3))
        agent.update(x, action, -abs(x[0] - 0.6 * (action - 1)), x)
    assert "Atlas on" in text_of(written(tmp_path, agent.policy()))
    assert "it applies" in str(agent.policy().why([0.0, 0.0]))
    assert agent.policy().compress(laws=False, max_leaves=3, budget=10_000, episodes=16).samples == 0


def test_spaql_train_speaks_json_and_keeps_the_agent(tmp_path):
    told = run("train", "cartpole", "atlas", "--samples", 250, "--option", "controller=table", "--option", "cells=300", "--fresh", 5, "--json", "--out", tmp_path)
    assert told.returncode == 0, told.stderr
    (row,) = json.loads(told.stdout)["agents"]
    assert (row["train_samples"], row["eval_samples"]) == (250, 0)
    assert spaql.load(tmp_path / "agent.spaql").state.memory.n == 250


def test_spaql_train_tells_what_its_numbers_are():
    told = run("train", "cartpole", "atlas", "--iterations", 3, "--option", "controller=table", "--fresh", 5, "--quiet")
    assert told.returncode == 0, told.stderr
    assert "the last training episode" in " ".join(told.stdout.split())


def test_spaql_evaluate(file, agents):
    told = run("evaluate", file, "--episodes", 10, "--json")
    assert json.loads(told.stdout)["mean"] == agents["cartpole"].evaluate(10).mean
    assert json.loads(told.stdout)["arms"] == 300


def test_spaql_explain_shows_why_and_writes_a_page(file, tmp_path):
    told = run("explain", file, "--why", "0,0.1,0.02,0", "--html", tmp_path / "page.html")
    assert told.returncode == 0, told.stderr
    assert "What the learned model expects next" in told.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_spaql_export(file):
    told = run("export", file, "--to", "c")
    assert told.returncode == 0, told.stderr
    assert "void controller" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train", "cartpole", "atlas", "--samples", "10", "--iterations", "3"), "give one of them"),
        (("train", "cartpole", "spaql", "--samples", "10"), "--samples goes with atlas"),
    ],
)
def test_bad_commands_are_one_line_and_exit_code_2(arguments, words):
    told = run(*arguments)
    assert told.returncode == 2
    assert words in told.stderr
    assert told.stderr.strip().count("\n") == 0
