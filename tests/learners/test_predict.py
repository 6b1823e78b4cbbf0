"""Stable-Baselines3's signature: actions in physical units, one observation or a batch."""

import numpy as np
import pytest

import spaql


@pytest.fixture(scope="module")
def pendulum():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=1)
    agent.learn(60, rollouts=3)
    return agent


@pytest.fixture(scope="module")
def cartpole():
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=1)
    agent.learn(60, rollouts=3)
    return agent


@pytest.fixture(scope="module")
def aql():
    """Its greedy action is 0 at the first step, then 1, then 0 again."""
    agent = spaql.AQL(spaql.cube(1, [0, 1, 2], horizon=3), xi=0.0)
    for step, rewards in enumerate(([-1.0, -5.0], [-1.0], [-1.0, -5.0])):
        for reward in rewards:  # the second visit makes {1, 2} worse than {0}
            agent.update([0.3], 0, reward, [0.3], step=step)
    return agent


def observations(count=20):
    angle = np.random.default_rng(0).uniform(-np.pi, np.pi, count)
    return np.stack([np.cos(angle), np.sin(angle), angle], axis=1)


def test_one_observation_gives_one_action(pendulum, cartpole):
    action, state = pendulum.predict(observations(1)[0])
    assert (action.shape, action.dtype, state) == ((1,), np.float64, None)
    action, state = cartpole.predict(np.zeros(4))
    assert np.ndim(action) == 0
    assert isinstance(action, np.integer)
    assert state is None


def test_a_batch_gives_a_batch(pendulum, cartpole):
    actions, _ = pendulum.predict(observations(20))
    assert actions.shape == (20, 1)
    actions, _ = cartpole.predict(np.zeros((7, 4)))
    assert (actions.shape, actions.dtype) == ((7,), np.int64)


def test_a_batch_of_one_keeps_its_axis(pendulum):
    assert pendulum.predict(observations(1))[0].shape == (1, 1)


def test_an_empty_batch_is_empty(pendulum):
    assert pendulum.predict(np.empty((0, 3)))[0].shape == (0, 1)


def test_a_batch_is_the_sum_of_its_parts(pendulum):
    batch = observations(50)
    np.testing.assert_array_equal(pendulum.predict(batch)[0], [pendulum.predict(row)[0] for row in batch])


@pytest.mark.parametrize("kind", [np.float32, np.float64, list, tuple])
def test_any_kind_of_numbers_is_fine(pendulum, kind):
    batch = observations(20).astype(np.float32).astype(np.float64)
    given = batch.astype(kind) if isinstance(kind, type) and issubclass(kind, np.floating) else kind(map(kind, batch.tolist()))
    np.testing.assert_array_equal(pendulum.predict(given)[0], pendulum.predict(batch)[0])


def test_layout_in_memory_does_not_matter(pendulum):
    batch = observations(20)
    np.testing.assert_array_equal(pendulum.predict(np.asfortranarray(batch))[0], pendulum.predict(batch)[0])
    np.testing.assert_array_equal(pendulum.predict(np.repeat(batch, 2, axis=0)[::2])[0], pendulum.predict(batch)[0])


def test_observations_are_not_changed(pendulum):
    batch = observations(20)
    before = batch.copy()
    pendulum.predict(batch, deterministic=False)
    np.testing.assert_array_equal(batch, before)


def greedy_cell(agent, observation):
    """Centre and radius, in physical units, of the greedy leaf's actions."""
    x = np.array([observation[0], observation[1], observation[2] / 8])
    leaves = agent.leaves()
    over = leaves[(np.abs(leaves["state"] - x) < leaves["radius"][:, None]).all(axis=1)]
    best = over[np.flatnonzero(over["q"] == over["q"].max())[-1]]
    return 2 * best["action"], 2 * best["radius"]


def test_deterministic_is_the_centre_of_the_greedy_cell(pendulum):
    for observation in observations(20):
        centre, _ = greedy_cell(pendulum, observation)
        assert pendulum.predict(observation)[0].tolist() == [centre]
        assert pendulum.predict(observation, deterministic=True)[0].tolist() == [centre]


def test_not_deterministic_is_uniform_inside_the_greedy_cell(pendulum):
    observation = observations(1)[0]
    centre, radius = greedy_cell(pendulum, observation)
    actions = pendulum.predict(np.tile(observation, (4000, 1)), deterministic=False)[0][:, 0]
    assert actions.min() >= centre - radius
    assert actions.max() <= centre + radius
    assert actions.min() < centre - 0.98 * radius
    assert actions.max() > centre + 0.98 * radius
    assert abs(actions.mean() - centre) < 0.05 * radius
    assert len(np.unique(actions)) > 3990


def test_random_predictions_differ_from_call_to_call_and_repeat_with_the_seed(pendulum):
    def draw():
        agent = spaql.SPAQL(spaql.make("pendulum"), seed=9)
        return [float(agent.predict([1.0, 0.0, 0.0], deterministic=False)[0][0]) for _ in range(10)]

    first = draw()
    assert len(set(first)) == 10
    assert draw() == first


def test_an_undecided_list_gives_its_first_action_or_any():
    agent = spaql.SPAQL(spaql.cube(1, [3, 4, 5], horizon=5))
    assert agent.predict([0.1])[0] == 3
    assert set(agent.predict(np.zeros((100, 1)), deterministic=False)[0].tolist()) == {3, 4, 5}


def test_aql_counts_the_steps_in_its_state(aql):
    greedy = []
    for step in range(3):
        leaves = aql.leaves()
        over = leaves[(leaves["tree"] == step) & (np.abs(leaves["state"][:, 0] - 0.3) < leaves["radius"])]
        greedy.append(int(over["action_first"][np.flatnonzero(over["q"] == over["q"].max())[-1]]))
    state, applied = None, []
    for step in range(3):
        action, state = aql.predict([0.3], state=state)
        applied.append(int(action))
        assert state.tolist() == [step + 1]
    assert applied == greedy == [0, 1, 0]


def test_every_row_of_a_batch_has_its_own_step(aql):
    alone = [int(aql.predict([0.3], state=np.array([step]))[0]) for step in range(3)]
    actions, state = aql.predict(np.full((3, 1), 0.3), state=np.array([0, 1, 2]))
    assert actions.tolist() == alone
    assert state.tolist() == [1, 2, 3]


def test_episode_start_sets_the_step_back(aql):
    first = aql.predict([0.3])[0]
    _, state = aql.predict(np.full((2, 1), 0.3), state=np.array([2, 2]), episode_start=np.array([True, False]))
    assert state.tolist() == [1, 3]
    action, state = aql.predict([0.3], state=np.array([2]), episode_start=np.array([True]))
    assert action == first
    assert state.tolist() == [1]


def test_steps_beyond_the_horizon_use_the_last_partition(aql):
    assert aql.predict([0.3], state=np.array([77]))[0] == aql.predict([0.3], state=np.array([2]))[0]


def test_the_others_pass_the_state_through(pendulum):
    assert pendulum.predict([1.0, 0.0, 0.0], state=None)[1] is None


def test_prediction_follows_learning():
    agent = spaql.SPAQL(spaql.cube(1, [0, 1], horizon=5), xi=0.0)
    for rewarded in (0, 1):
        for _ in range(400):
            for action in (0, 1):
                agent.update([0.3], action, 10.0 * (action == rewarded), [-0.9])
        assert agent.predict([0.3])[0] == rewarded


@pytest.mark.parametrize("state", [[np.nan], [-1], [np.inf], [2.0**40]])
def test_a_state_that_is_no_step_is_refused(aql, state):
    with pytest.raises(spaql.SpaqlError, match="state counts the steps"):
        aql.predict([0.3], state=np.array(state))


def test_episode_start_of_the_wrong_length_is_refused(aql):
    with pytest.raises(spaql.SpaqlError, match="episode_start must have shape"):
        aql.predict(np.full((2, 1), 0.3), episode_start=[True, False, True])
