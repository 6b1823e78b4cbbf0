"""The best possible return of Pendulum, by dynamic programming with the true equations: what is left to gain.

    .venv/bin/python benchmarks/pendulum_optimum.py [SEED ...]

Backward induction over the 200 steps on a grid of angle and speed (bilinear in between), then rollouts that choose among 81 torques with
one step of look-ahead, from the very start states that `evaluate(1000, seed=SEED)` runs. Without seeds: 1000 to 1019, those of the
published contest. Also over all start states, and for `pendulum-5` with its five torques.
"""

import math
import sys

import numba
import numpy as np

import spaql
from spaql.ground import streams
from spaql.plants.environment import PlantEnv

ANGLES, SPEEDS, TORQUES, HORIZON = 361, 241, 17, 200
EPISODES, DEMO_SEEDS = 1000, range(1000, 1020)


@numba.njit
def step(angle, speed, torque):
    """Gymnasium's Pendulum-v1: next angle and speed, and the reward."""
    reward = -(angle * angle + 0.1 * speed * speed + 0.001 * torque * torque)
    speed = min(max(speed + (15.0 * math.sin(angle) + 3.0 * torque) * 0.05, -8.0), 8.0)
    angle = angle + speed * 0.05
    return (angle + math.pi) % (2.0 * math.pi) - math.pi, speed, reward


@numba.njit
def value_at(values, angle, speed):
    x = (angle + math.pi) / (2.0 * math.pi) * ANGLES
    y = (speed + 8.0) / 16.0 * (SPEEDS - 1)
    i, j = int(x) % ANGLES, min(int(y), SPEEDS - 2)
    fx, fy, right = x - int(x), y - j, (i + 1) % ANGLES
    below = (1.0 - fx) * values[i, j] + fx * values[right, j]
    above = (1.0 - fx) * values[i, j + 1] + fx * values[right, j + 1]
    return (1.0 - fy) * below + fy * above


@numba.njit
def best_torque(values, angle, speed, torques):
    best, chosen = -np.inf, 0.0
    for k in range(torques):
        torque = -2.0 + 4.0 * k / (torques - 1)
        next_angle, next_speed, reward = step(angle, speed, torque)
        worth = reward + value_at(values, next_angle, next_speed)
        if worth > best:
            best, chosen = worth, torque
    return chosen, best


@numba.njit
def solve(values, torques):
    """values[t]: of t steps to go."""
    for t in range(1, HORIZON):
        for i in range(ANGLES):
            for j in range(SPEEDS):
                angle, speed = -math.pi + 2.0 * math.pi * i / ANGLES, -8.0 + 16.0 * j / (SPEEDS - 1)
                values[t, i, j] = best_torque(values[t - 1], angle, speed, torques)[1]


@numba.njit
def rollout(values, angle, speed, torques):
    total = 0.0
    for t in range(HORIZON):
        torque, _ = best_torque(values[HORIZON - 1 - t], angle, speed, torques)
        angle, speed, reward = step(angle, speed, torque)
        total += reward
    return total


def starts_of(seed):
    """The start states of `evaluate(EPISODES, seed=seed)`."""
    env = PlantEnv(spaql.make("pendulum"))
    first = int(streams.plant_seed(seed, streams.FRESH_PLANT, 0))
    seen = [env.reset(seed=first if i == 0 else None)[0] for i in range(EPISODES)]
    return [(math.atan2(y, x), speed) for x, y, speed in seen]


def main():
    values = np.zeros((HORIZON, ANGLES, SPEEDS))
    for name, torques, tried in (("pendulum-5", 5, 5), ("pendulum", TORQUES, 81)):
        solve(values, torques)
        rng = np.random.default_rng(0)
        starts = zip(rng.uniform(-math.pi, math.pi, 50_000), rng.uniform(-1.0, 1.0, 50_000), strict=True)
        many = [rollout(values, angle, speed, tried) for angle, speed in starts]
        print(f"{name}, all start states: {np.mean(many):.1f} ± {1.96 * np.std(many) / np.sqrt(len(many)):.1f} (50,000 random ones)")
    means = []
    for seed in [int(word) for word in sys.argv[1:]] or DEMO_SEEDS:
        returns = [rollout(values, angle, speed, 81) for angle, speed in starts_of(seed)]
        means.append(float(np.mean(returns)))
        print(f"seed {seed}: {means[-1]:.1f}")
    print(f"mean over the seeds: {np.mean(means):.1f}, worst {min(means):.1f}")


if __name__ == "__main__":
    main()
