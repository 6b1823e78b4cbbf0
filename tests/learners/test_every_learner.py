"""What every learner promises: the same bits, files, counts. Learners are found in the registry: a new one needs no line here.

How they act and learn from data: test_every_learner_acting.py. What they are and where they are shown: test_every_card.py.
"""

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import spaql
from every_learner import (
    ITERATIONS,
    PART,
    ROLLOUTS,
    Counting,
    complaint,
    each_kind_of_action,
    every_learner,
    example,
    finite_and_continuous,
    learner_class,
    made,
    observations,
    short,
    step_of,
    train,
    trained,
    transition,
)
from helpers import assert_same, fields, wrapped

# -- the same bits -----------------------------------------------------------------------------------------------------


@each_kind_of_action
@every_learner
def test_the_same_seed_gives_the_same_bits(card, problem):
    one, other = trained(card, problem), example(card, problem)
    assert fields(one) == fields(other)
    assert_same(one, other)


@finite_and_continuous
@every_learner
def test_other_seeds_give_another_training(card, problem):
    tables = [trained(card, problem, seed, iterations=3).history.table for seed in (0, 1, 2, 2**40, 2**62)]
    assert len({table.tobytes() for table in tables}) == len(tables)


@each_kind_of_action
@every_learner
def test_learning_in_two_calls_is_learning_in_one(card, problem):
    parts = trained(card, problem, iterations=PART)
    train(parts, ITERATIONS - PART)
    assert fields(parts) == fields(example(card, problem))
    assert_same(parts, example(card, problem))


@finite_and_continuous
@every_learner
def test_a_callback_that_looks_at_everything_changes_nothing(card, problem):
    watched, seen = made(card, problem), []

    def look(agent):
        agent.predict(observations(problem)[0])
        agent.predict(observations(problem)[0], deterministic=False)
        assert agent.arms == len(agent.leaves())
        agent.evaluate(1)
        seen.append(len(agent.history))

    train(watched, callback=look)
    assert seen == list(range(1, ITERATIONS + 1))
    assert fields(watched) == fields(example(card, problem))


@finite_and_continuous
@every_learner
def test_agents_trained_side_by_side_are_those_trained_alone(card, problem):
    def fresh():
        return [made(card, problem, seed) for seed in (3, 4)]

    rollouts = {"rollouts": ROLLOUTS} if card.judged else {}
    one_by_one, together = fresh(), fresh()
    spaql.learn_all(one_by_one, ITERATIONS, **rollouts, jobs=1)
    histories = spaql.learn_all(together, ITERATIONS, **rollouts, jobs=2)
    for agents in (one_by_one, together):
        assert fields(agents[0]) == fields(example(card, problem))
    assert fields(one_by_one[1]) == fields(together[1])
    np.testing.assert_array_equal(histories[0].table, together[0].history.table)


@each_kind_of_action
@every_learner
def test_the_compiled_plant_and_gymnasiums_loop_teach_the_same_bits(card, problem):
    gym = trained(card, wrapped(short(problem)))
    assert fields(gym) == fields(example(card, problem))
    assert_same(gym, example(card, problem), episodes=5)


@finite_and_continuous
@every_learner
def test_pickled_and_copied_agents_learn_on_with_the_same_bits(card, problem):
    for copied in (copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))):
        agent = trained(card, problem, iterations=PART)
        again = copied(agent)
        assert fields(again) == fields(agent)
        for one in (agent, again):
            train(one, ITERATIONS - PART)
            assert fields(one) == fields(example(card, problem))


# -- files -------------------------------------------------------------------------------------------------------------


@each_kind_of_action
@every_learner
def test_a_file_holds_everything(card, problem, tmp_path):
    agent = example(card, problem)
    agent.save(tmp_path / "a.spaql")
    back = spaql.load(tmp_path / "a.spaql")
    assert type(back) is type(agent)
    assert (back.seed, back.options, back.arms) == (agent.seed, agent.options, agent.arms)
    assert repr(back.problem) == repr(agent.problem)
    assert fields(back) == fields(agent)
    assert_same(agent, back)
    back.save(tmp_path / "b.spaql")
    assert (tmp_path / "b.spaql").read_bytes() == (tmp_path / "a.spaql").read_bytes()


@pytest.mark.parametrize("looked", [False, True], ids=["unseen", "looked at"])
@each_kind_of_action
@every_learner
def test_saved_and_loaded_in_the_middle_learning_goes_on_as_if_nothing_had_happened(card, problem, looked, tmp_path):
    agent = trained(card, problem, iterations=PART)
    if looked:
        agent.predict(observations(problem)[0])
    agent.save(tmp_path / "a.spaql")
    back = spaql.load(tmp_path / "a.spaql")
    train(back, ITERATIONS - PART)
    assert fields(back) == fields(example(card, problem))
    assert_same(back, example(card, problem))


@finite_and_continuous
@every_learner
def test_an_untrained_agent_can_be_saved_and_loaded(card, problem, tmp_path):
    made(card, problem).save(tmp_path / "a.spaql")
    back = spaql.load(tmp_path / "a.spaql")
    assert len(back.history) == 0
    train(back)
    assert fields(back) == fields(example(card, problem))


# -- counting ----------------------------------------------------------------------------------------------------------


@finite_and_continuous
@every_learner
def test_the_history_counts_as_many_samples_as_the_plant_made(card, problem):
    counting = Counting(short(problem))
    agent = made(card, spaql.from_gym(counting))
    for iterations in (3, 2):
        history = train(agent, iterations)
        assert history.train_samples[-1] + history.eval_samples[-1] == counting.steps
    assert len(history) == 5
    assert card.learns == bool(history.train_samples[-1])
    assert card.judged == bool(history.eval_samples[-1])


@pytest.mark.parametrize("samples", [1, 39, 40, 41, 133])
@every_learner
def test_who_counts_samples_learns_for_exactly_so_many(card, samples):
    counting = Counting(short("cartpole"))
    agent = made(card, spaql.from_gym(counting))
    if card.learns_by != "samples":
        with pytest.raises(spaql.SpaqlError, match=f"{card.name} does not learn by samples"):
            agent.learn(samples=samples)
        return
    for total in (samples, 2 * samples):
        history = agent.learn(samples=samples)
        assert history.train_samples[-1] == counting.steps == total
        assert not history.interrupted


@every_learner
def test_a_callback_that_returns_false_stops_and_learning_can_go_on(card):
    agent = made(card, "cartpole")
    history = train(agent, 1000, callback=lambda agent: len(agent.history) < PART)
    assert (len(history), history.interrupted) == (PART, True)
    assert not train(agent, ITERATIONS - PART).interrupted
    assert fields(agent) == fields(example(card, "cartpole"))


@pytest.mark.parametrize("count", [0, -1, 2.5, 3.0, "3", True, math.nan])
@every_learner
def test_iterations_rollouts_and_episodes_are_whole_numbers(card, count):
    agent = made(card, "cartpole")
    calls = {"iterations": lambda: agent.learn(count), "episodes": lambda: agent.evaluate(count)}
    if count or card.judged:  # who is not judged has no rollouts by default
        calls["rollouts"] = lambda: agent.learn(1, count)
    for name, call in calls.items():
        with pytest.raises(spaql.SpaqlError, match=f"{name} must be a whole number from") as error:
            call()
        complaint(error)
    assert len(agent.history) == 0


# -- threads -----------------------------------------------------------------------------------------------------------


@every_learner
def test_an_agent_in_training_refuses_other_threads_that_would_change_it_and_lets_them_look(card, tmp_path):
    agent, told, log = made(card, "cartpole"), [], spaql.record(short("cartpole"), episodes=1)
    looks = [
        lambda: agent.predict(np.zeros(4)), agent.leaves, lambda: agent.evaluate(2), agent.episode,
        lambda: agent.save(tmp_path / "a.spaql"),
    ]  # fmt: skip
    if card.learns:
        looks.append(lambda: agent.policy(**step_of(card)))
    if card.model_based:
        looks.append(lambda: agent.arms)  # for which it may have to plan
    changes = [lambda: train(agent, 1)]
    if card.takes_data:
        changes += [lambda: agent.update(**transition("cartpole")), lambda: agent.replay(log)]

    def other_thread(_):
        with ThreadPoolExecutor(1) as pool:
            told.extend(pool.submit(call).exception(60) for call in [*looks, *changes])

    train(agent, 1, callback=other_thread)
    assert told[: len(looks)] == [None] * len(looks)
    refused = told[len(looks) :]
    assert [type(error) for error in refused] == [spaql.SpaqlError] * len(changes)
    assert all("another thread" in str(error) for error in refused)
    for call in changes:  # afterwards the agent is free again
        call()


@every_learner
def test_a_name_in_the_place_of_a_problem_is_answered_with_what_to_write(card):
    with pytest.raises(spaql.SpaqlError, match=r"give spaql.make\('cartpole'\)"):
        learner_class(card)("cartpole")
    with pytest.raises(spaql.SpaqlError, match=r"give spaql.from_gym\('CartPole-v1'\)"):
        learner_class(card)("CartPole-v1")
