"""ZoomRL against a plain Python version of its equations, and what its index and its activation promise."""

import math

import numpy as np
import pytest

import spaql
from helpers import linear_plant
from spaql.partition.forest import CAP, ESTIMATE, USED

H = 4


class Ball:
    """A cell of state and action; `around`: the larger balls it lies in, from large to small."""

    def __init__(self, centre, radius, around):
        self.centre, self.radius, self.around = centre, radius, around
        self.estimate, self.visits, self.children = float(H), 0, []

    def holds(self, point):
        return all(c - self.radius <= p < c + self.radius for c, p in zip(self.centre, point, strict=True))

    def index(self, lipschitz):
        """(8)"""
        return min(ball.estimate + lipschitz * ball.radius for ball in [*self.around, self])

    def leaves(self, of=lambda ball: True):
        """Those without children, of all balls that `of` tells, larger ones first."""
        return [leaf for child in self.children if of(child) for leaf in child.leaves(of)] if self.children else [self]


class Plain:
    """One continuous state, one continuous action."""

    def __init__(self, lipschitz, xi):
        self.trees = [Ball((0.0, 0.0), 1.0, []) for _ in range(H)]
        self.lipschitz, self.xi = lipschitz, xi

    def update(self, h, x, a, reward, after):
        [ball] = self.trees[h].leaves(lambda ball: ball.holds((x, a)))
        value = 0.0
        if h < H - 1:
            over = self.trees[h + 1].leaves(lambda b: b.centre[0] - b.radius <= after < b.centre[0] + b.radius)
            value = min(H, max(b.index(self.lipschitz) for b in over))
        ball.visits += 1
        alpha, confidence = (H + 1) / (H + ball.visits), self.xi / math.sqrt(ball.visits)
        ball.estimate = (1 - alpha) * ball.estimate + alpha * (reward + value + confidence)
        if confidence <= self.lipschitz * ball.radius:  # (9)
            half = ball.radius / 2
            middles = [(ball.centre[0] + s * half, ball.centre[1] + t * half) for s in (1, -1) for t in (1, -1)]
            ball.children = [Ball(middle, half, [*ball.around, ball]) for middle in middles]


@pytest.mark.parametrize(("lipschitz", "xi"), [(1.0, 1.0), (3.0, 1.0), (0.5, 2.0), (20.0, 0.1)])
def test_it_is_the_plain_version_number_by_number(lipschitz, xi):
    rng = np.random.default_rng(1)
    agent, plain = spaql.ZoomRL(spaql.cube(1, 1, horizon=H), lipschitz=lipschitz, xi=xi), Plain(lipschitz, xi)
    for _ in range(1500):
        (x, a, after), h, reward = rng.uniform(-1, 1, 3) ** 3, int(rng.integers(H)), float(rng.normal())
        agent.update([x], [a], reward, [after], step=h)
        plain.update(h, x, a, reward, after)
    expected = [
        (h, *ball.centre, ball.radius, ball.visits, ball.index(lipschitz)) for h, tree in enumerate(plain.trees) for ball in tree.leaves()
    ]
    leaves = agent.leaves()
    found = np.column_stack([leaves["tree"], leaves["state"], leaves["action"], leaves["radius"], leaves["visits"], leaves["q"]])
    np.testing.assert_array_equal(found, expected)
    assert len(found) > 40


def test_a_ball_is_cut_when_its_bonus_is_no_more_than_what_q_may_vary_in_it():
    """With L = xi, the default, that is after 4^depth visits of its own."""
    agent = spaql.ZoomRL(spaql.cube(1, [0], horizon=H), xi=2.0)
    assert agent.options["lipschitz"] == 2.0
    depths = []
    for _ in range(1 + 4 + 16 + 1):
        agent.update([0.9], 0, 0.0, [0.9])
        depths.append(int(agent.leaves()["depth"].max()))
    assert depths == [1] * 4 + [2] * 16 + [3, 3]


@pytest.mark.slow
def test_a_larger_constant_means_finer_balls():
    arms = []
    for lipschitz in (0.5, 1.0, 2.0, 4.0):
        rng = np.random.default_rng(0)
        agent = spaql.ZoomRL(spaql.cube(1, 1, horizon=H), lipschitz=lipschitz, xi=1.0)
        for _ in range(3000):
            agent.update(rng.uniform(-1, 1, 1), rng.uniform(-1, 1, 1), 0.0, rng.uniform(-1, 1, 1))
        arms.append(agent.arms)
    assert arms == sorted(set(arms))


def test_new_balls_begin_without_visits_at_the_index_of_the_ball_they_are_part_of():
    agent = spaql.ZoomRL(spaql.cube(1, 1, horizon=H), lipschitz=1.0, xi=1.0)
    agent.update([0.1], [0.1], -3.0, [0.1], step=H - 1)
    leaves = agent.leaves()
    cut = leaves[leaves["tree"] == H - 1]
    assert set(cut["visits"]) == {0}
    assert set(cut["q"]) == {-3.0 + 1.0 + 1.0}  # reward, bonus, and L rad of the largest ball


@pytest.mark.parametrize(("bootstrap", "value"), [("paper", H), ("terminate", 0.0)])
def test_termination_ends_the_future_only_with_bootstrap_terminate(bootstrap, value):
    agent = spaql.ZoomRL(spaql.cube(1, [0], horizon=H), lipschitz=0.5, xi=1.0, bootstrap=bootstrap)
    agent.update([0.9], 0, 1.0, [0.1], terminated=True)
    assert agent.leaves()["q"][0] == 1.0 + value + 1.0 + 0.5  # reward, future, bonus, and L rad


def test_no_index_is_above_that_of_a_larger_ball_around_it():
    agent = spaql.ZoomRL(spaql.make("pendulum"), seed=1)
    agent.learn(60, rollouts=1)
    forest = agent.state.forest
    used = int(forest.size[USED])
    balls, bounds = forest.balls[:used], forest.bounds[:used]
    np.testing.assert_array_equal(
        balls["q"], np.minimum(bounds[:, CAP], bounds[:, ESTIMATE] + agent.options["lipschitz"] * 0.5 ** balls["depth"])
    )
    for i in np.flatnonzero(balls["first"]):
        assert bounds[balls["first"][i], CAP] == balls["q"][i]


def test_without_a_bonus_balls_are_cut_at_every_visit_down_to_the_smallest():
    agent = spaql.ZoomRL(spaql.cube(1, 1, horizon=1), xi=0.0)
    for _ in range(20):
        agent.update([0.3], [0.3], 0.0, [0.3])
    assert agent.leaves()["depth"].max() == 15
    assert agent.predict([0.3])[0].shape == (1,)
    assert agent.policy(step=0).predict([0.3])[0] == agent.predict([0.3])[0]


@pytest.mark.parametrize("lipschitz", [0.0, -1.0, math.nan, math.inf, "1", [1.0], True])
def test_constants_that_are_none(lipschitz):
    with pytest.raises(spaql.SpaqlError, match="lipschitz must be a finite number above 0"):
        spaql.ZoomRL(spaql.make("cartpole"), lipschitz=lipschitz)


def test_a_file_whose_values_do_not_follow_from_its_estimates_is_refused(tmp_path):
    agent = spaql.ZoomRL(linear_plant(1), seed=1)
    agent.learn(5, rollouts=1)
    agent.state.forest.balls["q"][0] += 1.0
    agent.save(tmp_path / "a.spaql")
    with pytest.raises(spaql.SpaqlError, match="do not follow from its estimates"):
        spaql.load(tmp_path / "a.spaql")
