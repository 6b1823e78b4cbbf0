"""How every learner acts, and what it learns from outside data. Learners are found in the registry: a new one needs no line here."""

import inspect
import math

import numpy as np
import pytest

import spaql
from every_learner import (
    HORIZON,
    complaint,
    each_kind_of_action,
    every_learner,
    every_learner_of_data,
    every_trained_learner,
    example,
    finite_and_continuous,
    made,
    observations,
    short,
    train,
    transition,
)
from helpers import fields
from spaql.plants.problem import Finite

BAD_OBSERVATIONS = ["abc", None, 1.0, [], [0.0], [0.0] * 9, [math.nan], [[0.0]], [[0.0] * 9], [["a"]], [1j], {"x": 1}]
BAD_TRANSITIONS = [
    ("obs", [0.0] * 9), ("obs", "x"), ("obs", math.nan), ("next_obs", [0.0] * 9), ("next_obs", None), ("next_obs", math.inf),
    ("action", 99.0), ("action", math.nan), ("action", "left"), ("action", [0.0, 0.0]), ("reward", math.nan), ("reward", -math.inf),
    ("reward", "much"), ("reward", None), ("reward", [1.0, 2.0]), ("step", -1), ("step", 1.0), ("step", "1"),
]  # fmt: skip


# -- acting ------------------------------------------------------------------------------------------------------------


@each_kind_of_action
@every_learner
def test_predict_gives_one_action_or_a_batch_of_them_in_the_action_space(card, problem):
    agent, seen, space = example(card, problem), observations(problem), short(problem).actions
    one, _ = agent.predict(seen[0])
    many, _ = agent.predict(seen)
    if isinstance(space, Finite) and not space.box:
        assert (np.ndim(one), many.shape, many.dtype) == (0, (50,), np.int64)
        assert isinstance(one, np.integer)
    else:
        assert (one.shape, many.shape, many.dtype, one.dtype) == ((1,), (50, 1), np.float64, np.float64)
    if isinstance(space, Finite):
        assert set(many.ravel().tolist()) <= set(space.values)
    else:
        assert ((many >= space.low) & (many <= space.high)).all()
    assert agent.predict(seen[:1])[0].shape == many[:1].shape
    assert len(agent.predict(seen[:0])[0]) == 0


@finite_and_continuous
@every_trained_learner
def test_a_batch_is_predicted_as_its_rows_and_whatever_the_numbers_are_kept_in(card, problem):
    agent, seen = example(card, problem), observations(problem).astype(np.float32)
    before, alone = seen.copy(), [agent.predict(row)[0] for row in seen]
    for batch in (seen, seen.astype(float), seen.tolist(), tuple(map(tuple, seen.tolist())), np.asfortranarray(seen)):
        np.testing.assert_array_equal(agent.predict(batch)[0], alone)
    np.testing.assert_array_equal(seen, before)


@finite_and_continuous
@every_learner
def test_an_untrained_agent_predicts_too(card, problem):
    space = short(problem).actions
    actions = made(card, problem).predict(observations(problem))[0]
    assert len(actions) == 50
    assert ((actions >= space.bounds[0]) & (actions <= space.bounds[1])).all()


@every_learner
def test_predict_has_stable_baselines_signature(card):
    given = inspect.signature(made(card, "cartpole").predict).parameters
    assert {name: one.default for name, one in given.items()} == {
        "observation": inspect.Parameter.empty, "state": None, "episode_start": None, "deterministic": True,
    }  # fmt: skip


@finite_and_continuous
@every_learner
def test_predict_counts_steps_where_there_is_a_policy_per_step_and_else_hands_the_state_back(card, problem):
    agent, seen = example(card, problem), observations(problem)
    if card.per_step:
        state = agent.predict(seen[:3], state=np.array([0, 4, 5]), episode_start=[False, False, True])[1]
        assert state.tolist() == [1, 5, 1]
        assert agent.predict(seen[0])[1].tolist() == [1]
    else:
        assert agent.predict(seen[:3], state=None)[1] is None


@pytest.mark.parametrize("bad", BAD_OBSERVATIONS, ids=str)
@finite_and_continuous
@every_learner
def test_what_is_no_observation_is_refused_in_one_line(card, problem, bad):
    with pytest.raises(spaql.SpaqlError, match="observation") as error:
        example(card, problem).predict(bad)
    complaint(error)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@finite_and_continuous
@every_learner
def test_observations_that_are_not_finite_are_refused_in_one_line(card, problem, value):
    seen = observations(problem)
    seen[7, 1] = value
    for bad in (seen, seen[7]):
        with pytest.raises(spaql.SpaqlError, match=r"observation.*finite") as error:
            example(card, problem).predict(bad)
        complaint(error)


@finite_and_continuous
@every_learner
def test_evaluation_has_a_seed_of_its_own_and_changes_nothing(card, problem):
    agent = example(card, problem)
    before, first = fields(agent), agent.evaluate(20, seed=1)
    np.testing.assert_array_equal(agent.evaluate(20, seed=1).returns, first.returns)
    starts = {agent.episode(seed, rollout).observations[0].tobytes() for seed in (1, 2) for rollout in range(5)}
    assert len(starts) == 10
    np.testing.assert_array_equal(agent.evaluate(7, seed=1).returns, first.returns[:7])
    assert 20 <= first.samples <= 20 * HORIZON
    assert fields(agent) == before


@pytest.mark.parametrize("deterministic", [False, True])
@each_kind_of_action
@every_learner
def test_an_episode_is_a_rollout_of_the_evaluation(card, problem, deterministic):
    agent, deterministic = example(card, problem), deterministic and card.learns
    returns = agent.evaluate(6, seed=2, deterministic=deterministic).returns
    for rollout in (0, 5):
        episode = agent.episode(2, rollout, deterministic=deterministic)
        assert math.fsum(episode.rewards) == pytest.approx(returns[rollout], abs=1e-9)
        assert len(episode.observations) == len(episode.actions) + 1 == len(episode) + 1


# -- data from outside -------------------------------------------------------------------------------------------------


@finite_and_continuous
@every_learner
def test_update_teaches_or_says_that_nothing_is_learned(card, problem):
    agent = made(card, problem)
    if not card.takes_data:
        with pytest.raises(spaql.SpaqlError, match=f"{card.name} does not learn"):
            agent.update(**transition(problem))
        return
    agent.update(**transition(problem))
    before = agent.leaves().tobytes()
    for _ in range(5):
        agent.update(**transition(problem))
    assert agent.leaves().tobytes() != before
    assert train(agent, 1).train_samples[0] > 6


@pytest.mark.parametrize(("name", "bad"), BAD_TRANSITIONS)
@finite_and_continuous
@every_learner_of_data
def test_bad_transitions_are_refused_in_one_line_and_teach_nothing(card, problem, name, bad):
    agent, good = made(card, problem), transition(problem)
    agent.update(**good)
    before = agent.leaves().tobytes(), agent.state.outer.tobytes()
    if name.endswith("obs") and isinstance(bad, float):
        bad = np.where(np.arange(len(good["obs"])) == 1, bad, good[name])
    with pytest.raises(spaql.SpaqlError, match=name) as error:
        agent.update(**(good | {name: bad}))
    complaint(error)
    assert (agent.leaves().tobytes(), agent.state.outer.tobytes()) == before


@finite_and_continuous
@every_learner
def test_a_log_teaches_what_its_rows_teach(card, problem):
    frame, agent, pupil = spaql.record(short(problem), episodes=3, seed=1), made(card, problem), made(card, problem)
    if not card.takes_data:
        with pytest.raises(spaql.SpaqlError, match=f"{card.name} does not learn"):
            agent.replay(frame)
        return
    told = agent.replay(frame)
    assert (told.samples, told.rows, told.episodes, told.interrupted) == (len(frame), len(frame), 3, False)
    names = [axis.name for axis in short(problem).state]
    nexts, (applied,) = [f"next_{name}" for name in names], short(problem).actions.names
    for row in frame.to_dict("records"):
        before, after = [row[name] for name in names], [row[name] for name in nexts]
        pupil.update(before, row[applied], row["reward"], after, bool(row["terminated"]), int(row["step"]))
    assert fields(agent) == fields(pupil)
