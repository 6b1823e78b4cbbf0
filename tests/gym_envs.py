"""Small Gymnasium environments for the tests."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Line(gymnasium.Env):
    """A point on a line that actions push; to be held at zero. What a test needs is changed by its arguments or a subclass."""

    def __init__(self, low=-1.0, high=1.0, d=1, actions=None, dtype=np.float32, length=None, terminate_at=None):
        self.observation_space = Box(np.full(d, low, dtype), np.full(d, high, dtype), dtype=dtype)
        self.action_space = actions or Box(-1.0, 1.0, (1,), np.float32)
        self.d, self.dtype, self.length, self.terminate_at = d, dtype, length, terminate_at
        self.received, self.lengths = [], []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.steps = self.np_random.uniform(-0.5, 0.5, self.d), 0
        self.lengths.append(0)
        return self.see(), {}

    def step(self, action):
        self.received.append(action)
        self.steps += 1
        self.lengths[-1] += 1
        push = 0.1 * (float(np.mean(action)) if isinstance(self.action_space, Box) else int(action) - self.action_space.start - 1)
        self.x = np.clip(0.9 * self.x + push, -1.0, 1.0)
        terminated = self.terminate_at is not None and self.steps >= self.terminate_at
        return self.see(), self.reward(), terminated, self.length is not None and self.steps >= self.length, {}

    def see(self):
        return self.x.astype(self.dtype)

    def reward(self):
        return -float(np.sum(np.abs(self.x)))


class Later(Line):
    """Behaves for the first `good` steps of its life, then `see` or `reward` gives `value`."""

    def __init__(self, good=60, value=np.nan, what="see", **options):
        super().__init__(**options)
        self.good, self.value, self.what, self.total = good, value, what, 0

    def step(self, action):
        self.total += 1
        return super().step(action)

    def see(self):
        bad = self.what == "see" and self.total > self.good
        return np.asarray(self.value, self.dtype) if bad else super().see()

    def reward(self):
        return self.value if self.what == "reward" and self.total > self.good else super().reward()


class Whole(Line):
    """Observations and rewards are integers."""

    def __init__(self):
        super().__init__(-10, 10, dtype=np.int64, actions=Discrete(3))

    def see(self):
        return np.round(self.x * 10).astype(np.int64)

    def reward(self):
        return int(-abs(self.see()[0]))


class Still(Line):
    """Its second variable never changes and says so."""

    def __init__(self):
        super().__init__(d=2)
        self.observation_space = Box(np.array([-1.0, 0.25], np.float32), np.array([1.0, 0.25], np.float32))

    def see(self):
        return np.array([self.x[0], 0.25], np.float32)


class Wide(Line):
    """Unbounded: the first variable moves within 100, the second around 1000, the third never."""

    def __init__(self):
        super().__init__(-np.inf, np.inf, d=3)

    def see(self):
        return np.array([100 * self.x[0], 1000 + 10 * self.x[1], 7.0], np.float32)


__all__ = ["Box", "Discrete", "Later", "Line", "Still", "Whole", "Wide"]
