"""In a slow simulator laws are never worse than the best P law of a coarse grid."""

import gymnasium
import numpy as np

import spaql
from spaql.laws.classical import p_grid
from spaql.policy.policy import Policy


class Room(gymnasium.Env):
    """Heated slowly, cooled by what is outside: 100 steps of a quarter of an hour."""

    observation_space = gymnasium.spaces.Box(np.array([-15.0, -10.0]), np.array([15.0, 15.0]), dtype=np.float64)
    action_space = gymnasium.spaces.Box(0.0, 3.0, (1,), dtype=np.float64)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.warm, self.outside, self.wanted = self.np_random.uniform((14.0, -5.0, 19.0), (24.0, 12.0, 22.0))
        return self.seen(), {}

    def seen(self):
        return np.array([self.wanted - self.warm, self.outside])

    def step(self, action):
        self.warm += (
            0.3 * float(action[0]) - 0.03 * (self.warm - self.outside) + 0.05 * self.np_random.standard_normal()
        )
        return self.seen(), -abs(self.wanted - self.warm), False, False, {}


def room():
    return spaql.from_gym(Room(), horizon=100, names=["error", "outside"])


def test_a_room_is_heated_as_well_as_by_the_best_law_of_the_grid():
    problem = room()
    actions = [np.array([x]) for x in (0.0, 1.5, 3.0)]
    grid = p_grid(problem, actions, np.array([-5.0, -5.0]), np.array([8.0, 12.0]))
    best = max(Policy(problem, law, "law tree", "").evaluate(15, seed=5).mean for law in grid)
    agent = spaql.Laws(problem, max_leaves=1, seed=0)
    agent.learn(samples=10_000)
    assert agent.evaluate(15, seed=5).mean >= best


def test_the_grid_has_both_signs_and_is_for_one_continuous_action():
    laws = p_grid(room(), [np.array([1.5])], np.array([-5.0, -5.0]), np.array([8.0, 12.0]))
    gains = np.array([law.laws.gains[0, 0] for law in laws])
    assert {tuple(np.sign(row)) for row in gains} == {(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)}
    assert p_grid(spaql.make("cartpole"), [np.array([0.0])], np.zeros(4), np.ones(4)) == []
