"""Laws in slow simulators beside the best P law of a coarse grid, with the same samples: is a search worth it?

    python benchmarks/slow_grid.py                       # all plants, 10,000 and 20,000 samples, seeds 1000 ... 1005
    python benchmarks/slow_grid.py room --seeds 2

The grid: each variable alone, eight gains of either sign around three offsets, as many episodes of each as the samples
allow; its best law is that with the highest mean. Returns are means over 100 fresh episodes, the same for both.
"""

import argparse
import itertools
import math
import warnings

import gymnasium
import numpy as np

import spaql

FIRST_SEED, FRESH, HORIZON = 1000, 100, 100
GAINS = tuple(np.geomspace(0.02, 3.0, 8))  # halves of the action's range per half of the variable's range
SAMPLES = (10_000, 20_000)


class Plant(gymnasium.Env):
    """Two measurements, with noise, and one action."""

    low, high = (-1.0, -1.0), (1.0, 1.0)
    actions, noise = (-1.0, 1.0), (0.0, 0.0)

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(np.array(self.low), np.array(self.high), dtype=np.float64)
        self.action_space = gymnasium.spaces.Box(*self.actions, (1,), dtype=np.float64)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.begin(self.np_random)
        return self.measured(), {}

    def measured(self):
        return np.clip(np.array(self.seen()) + self.np_random.normal(0.0, self.noise), self.low, self.high)

    def step(self, action):
        reward, ended = self.move(float(action[0]), self.np_random)
        return self.measured(), reward, ended, False, {}


class Room(Plant):
    """A heater in a room with heavy walls: error of the temperature, temperature outside."""

    low, high, actions = (-15.0, -15.0), (15.0, 25.0), (0.0, 3.0)

    def begin(self, rng):
        self.warm, self.outside, self.wanted = rng.uniform((14.0, -5.0, 19.0), (24.0, 12.0, 22.0))
        self.wall = self.warm - 2.0

    def seen(self):
        return self.wanted - self.warm, self.outside

    def move(self, power, rng):
        self.warm += 0.25 * (power - 0.06 * (self.warm - self.wall) - 0.02 * (self.warm - self.outside))
        self.wall += 0.04 * (0.06 * (self.warm - self.wall) - 0.03 * (self.wall - self.outside))
        return -abs(self.wanted - self.warm) - 0.02 * power, False


class Drone(Plant):
    """The height of a drone whose mass is not known, with gusts and a lag of its motors; beyond 5.5 m it is lost."""

    low, high, actions, noise = (-6.0, -8.0), (6.0, 8.0), (0.0, 1.0), (0.05, 0.2)

    def begin(self, rng):
        self.height, self.speed, self.mass = rng.uniform((-3.0, -1.0, 0.85), (3.0, 1.0, 1.15))
        self.thrust, self.gust = 0.5, 0.0

    def seen(self):
        return self.height, self.speed

    def move(self, wanted, rng):
        self.gust = 0.95 * self.gust + 0.3 * rng.normal()
        for _ in range(5):
            self.thrust += 0.01 * (wanted - self.thrust) / 0.15
            self.speed += 0.01 * (19.6 * self.thrust / self.mass - 9.8 + 0.5 * self.gust - 0.2 * self.speed)
            self.height += 0.01 * self.speed
        lost = abs(self.height) > 5.5
        return 1.0 - min(1.0, abs(self.height) / 3.0) - 0.1 * abs(wanted - 0.5) - 5.0 * lost, lost


class Ship(Plant):
    """The heading of a ship that is unstable on a straight course, in waves: its error, and how fast it turns."""

    low, high, actions, noise = (-3.2, -0.5), (3.2, 0.5), (-0.6, 0.6), (0.01, 0.005)

    def begin(self, rng):
        self.error, self.rate, self.phase = rng.uniform((-1.0, -0.05, 0.0), (1.0, 0.05, 2 * math.pi))
        self.rudder = 0.0

    def seen(self):
        return self.error, self.rate

    def move(self, wanted, rng):
        for _ in range(4):
            self.phase += 0.3
            self.rudder += 0.25 * (wanted - self.rudder)
            self.rate += 0.25 * (0.1 * self.rate - 10.0 * self.rate**3 + 0.12 * self.rudder + 0.004 * math.sin(self.phase))
            self.error = min(max(self.error + 0.25 * self.rate, -3.2), 3.2)
        return -self.error * self.error - 0.3 * wanted * wanted, False


PLANTS = {"room": Room, "drone": Drone, "ship": Ship}


def best_of_grid(problem, samples):
    (low, high), sizes = problem.actions.bounds, [axis.high - axis.low for axis in problem.state]
    laws = []
    for (j, size), gain, sign, at in itertools.product(enumerate(sizes), GAINS, (1, -1), (0.25, 0.5, 0.75)):
        gains = np.zeros((1, len(sizes)))
        gains[0, j] = sign * gain * float(high[0] - low[0]) / size
        laws.append(spaql.law(problem, gains, [float(low[0] + at * (high[0] - low[0]))]))
    each = max(1, samples // (HORIZON * len(laws)))
    return max(laws, key=lambda law: law.evaluate(each, seed=1).mean)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plant", nargs="*", choices=[*PLANTS, []])
    parser.add_argument("--seeds", type=int, default=6)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, samples in itertools.product(given.plant or PLANTS, SAMPLES):
        problem = spaql.from_gym(PLANTS[name](), horizon=HORIZON)
        p = best_of_grid(problem, samples).evaluate(FRESH, seed=FIRST_SEED).mean
        found, told = [], 0
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds):
            agent = spaql.Laws(problem, max_leaves=1, seed=seed)
            agent.learn(samples=samples, progress=False)
            found.append(agent.evaluate(FRESH, seed=FIRST_SEED).mean)
            told += bool(agent.notes)
        worst = f"{np.mean(found):.2f}, worst {min(found):.2f}, {told} of {len(found)} with a warning"
        print(f"{name}, {samples:,} samples: Laws {worst}; best P law of the grid {p:.2f}", flush=True)


if __name__ == "__main__":
    main()
