"""NBQL: Q-learning on a fixed net. With finitely many states it is the tabular Q-learning of Jin et al., number by number."""

import math

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import linear_plant

STATES, ACTIONS, H = 8, 3, 5
CENTRES = (2 * np.arange(STATES) + 1) / STATES - 1  # one state in the middle of every cell of a net of step 1/8


class Tabular:
    """Q-learning with an upper-confidence bonus, written from its equations."""

    def __init__(self, xi):
        self.q = np.full((H, STATES, ACTIONS), float(H))
        self.visits = np.zeros((H, STATES, ACTIONS), int)
        self.xi = xi

    def choose(self, h, x):
        return max(a for a in range(ACTIONS) if self.q[h, x, a] == self.q[h, x].max())

    def update(self, h, x, a, reward, after):
        self.visits[h, x, a] += 1
        t = self.visits[h, x, a]
        alpha = (H + 1) / (H + t)
        value = min(H, self.q[h + 1, after].max()) if h < H - 1 else 0.0
        self.q[h, x, a] = (1 - alpha) * self.q[h, x, a] + alpha * (reward + value + self.xi / math.sqrt(t))


def tables(agent):
    """Q and visits of the leaves, by step, state and action."""
    leaves = agent.leaves()
    place = leaves["tree"], np.round((leaves["state"][:, 0] + 1) * STATES / 2 - 0.5).astype(int), leaves["action_first"]
    q, visits = np.full((H, STATES, ACTIONS), np.nan), np.zeros((H, STATES, ACTIONS), int)
    q[place], visits[place] = leaves["q"], leaves["visits"]
    return q, visits


@pytest.mark.parametrize("xi", [0.0, 0.7, 20.0])
def test_on_recorded_data_it_is_tabular_q_learning(xi):
    rng = np.random.default_rng(0)
    agent, plain = spaql.NBQL(spaql.cube(1, list(range(ACTIONS)), horizon=H), step=1 / STATES, xi=xi), Tabular(xi)
    for _ in range(3000):
        h, x, a, reward, after = rng.integers(H), rng.integers(STATES), int(rng.integers(ACTIONS)), rng.normal(), rng.integers(STATES)
        agent.update([CENTRES[x]], a, reward, [CENTRES[after]], step=int(h))
        plain.update(h, x, a, reward, after)
    q, visits = tables(agent)
    np.testing.assert_array_equal(visits, plain.visits)
    np.testing.assert_array_equal(q, plain.q)


class Ring(gymnasium.Env):
    """Eight places in a circle; the actions go left, stay, go right, with luck; some places pay. Tells what was applied."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(ACTIONS)

    def __init__(self):
        self.episodes = []

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.x = int(self.np_random.integers(STATES))
        self.episodes.append([])
        return CENTRES[[self.x]], {}

    def step(self, action):
        after = (self.x + action - 1 + int(self.np_random.random() < 0.2)) % STATES
        reward = 1.0 if after in (2, 5) else 0.1 * after
        self.episodes[-1].append((self.x, action, reward, after))
        self.x = after
        return CENTRES[[after]], reward, False, False, {}


def test_in_its_own_loop_it_is_tabular_q_learning():
    env, plain = Ring(), Tabular(0.5)
    agent = spaql.NBQL(spaql.from_gym(env, horizon=H), step=1 / STATES, xi=0.5, seed=1)
    agent.learn(400, rollouts=1)
    for episode in env.episodes[0::2]:  # training episode, evaluation, training episode, ...
        for h, (x, a, reward, after) in enumerate(episode):
            assert a == plain.choose(h, x)
            plain.update(h, x, a, reward, after)
    np.testing.assert_array_equal(tables(agent)[0], plain.q)
    assert agent.evaluate(200).mean > spaql.Random(agent.problem).evaluate(200).mean + 1.0


@pytest.mark.parametrize(("step", "along"), [(0.5, 2), (0.3, 4), (0.25, 4), (0.24, 8), (0.125, 8)])
def test_no_point_is_farther_than_the_step_from_the_centre_of_its_cell(step, along):
    agent = spaql.NBQL(spaql.cube(2, 1, horizon=3), step=step)
    leaves = agent.leaves()
    assert agent.arms == len(leaves) == 3 * along**3
    assert set(leaves["radius"]) == {1 / along}
    assert 1 / along <= step
    assert agent.options["step"] == step


@pytest.mark.parametrize("count", [1, 2, 3, 5, 70])
def test_every_action_of_a_list_has_its_own_cells(count):
    leaves = spaql.NBQL(spaql.cube(1, list(range(count)), horizon=2), step=0.5).leaves()
    assert set(leaves["action_count"]) == {1}
    np.testing.assert_array_equal(np.bincount(leaves["action_first"]), [2 * 2] * count)


def test_everything_begins_at_the_horizon_unvisited():
    leaves = spaql.NBQL(spaql.make("pendulum")).leaves()
    assert set(leaves["q"]) == {200.0}
    assert set(leaves["visits"]) == {0}


def test_the_net_stays_as_it_is():
    agent = spaql.NBQL(spaql.make("pendulum"), seed=1)
    before = agent.leaves()
    history = agent.learn(50, rollouts=2)
    assert set(history.arms) == {len(before)}
    after = agent.leaves()
    for field in ("tree", "state", "action", "depth"):
        np.testing.assert_array_equal(after[field], before[field])
    assert after["visits"].sum() == 50 * 200


def test_only_the_cell_of_state_and_action_is_updated():
    agent = spaql.NBQL(spaql.cube(2, 1, horizon=3))
    agent.update([0.3, -0.6], [0.9], 1.0, [0.0, 0.0], step=2)
    [visited] = agent.leaves()[agent.leaves()["visits"] > 0]
    assert (visited["tree"], visited["action"], visited["state"].tolist()) == (2, 0.75, [0.25, -0.75])


def test_the_default_is_a_quarter_or_what_a_million_cells_allow():
    assert spaql.NBQL(spaql.make("pendulum")).options["step"] == 0.25
    assert spaql.NBQL(spaql.cube(8, [0, 1, 2, 3], horizon=100)).options["step"] == 0.5


def test_an_action_on_a_line_is_found():
    """One state variable that does not matter, one step: the reward is largest at 0.4."""

    @spaql.reset
    def start(u):
        return (u,)

    @spaql.step
    def pay(x, a):
        return (x,), -abs(a - 0.4), False

    problem = spaql.from_plant(start, pay, state=[spaql.Axis("x", 0.0, 1.0)], actions=spaql.Continuous(-1, 1), horizon=1)
    for agent in (spaql.NBQL(problem, step=0.125, xi=0.1), spaql.ZoomRL(problem, lipschitz=1.0, xi=0.1)):
        agent.learn(2000, rollouts=1)
        assert agent.evaluate(1000).mean > -0.15
    assert spaql.Random(problem).evaluate(1000).mean < -0.5


@pytest.mark.parametrize("step", [0.0, -0.25, 0.6, 1, 2.0, 1e-9, math.nan, math.inf, "0.25", [0.25], True])
def test_steps_that_are_no_net(step):
    with pytest.raises(spaql.SpaqlError, match="step must be a finite number"):
        spaql.NBQL(spaql.make("cartpole"), step=step)


def test_a_net_that_does_not_fit_is_refused_with_its_size():
    with pytest.raises(spaql.SpaqlError, match=r"a net of step 0.0625 .* 4 variables.* cells, at most .*larger step"):
        spaql.NBQL(spaql.make("cartpole"), step=1 / 16)
    with pytest.raises(spaql.SpaqlError, match="larger step"):
        spaql.NBQL(spaql.cube(13, 1, horizon=2000))


def test_a_file_with_other_cells_than_its_step_says_is_refused(tmp_path):
    agent = spaql.NBQL(linear_plant(1), step=0.5)
    agent.step = 0.25
    agent.save(tmp_path / "a.spaql")
    with pytest.raises(spaql.SpaqlError, match="not the net of its step"):
        spaql.load(tmp_path / "a.spaql")
