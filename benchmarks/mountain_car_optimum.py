"""The best returns known of both mountain cars, by dynamic programming with the true equations: what is left to gain.

    .venv/bin/python benchmarks/mountain_car_optimum.py

Backward induction over the steps of an episode on a grid of position and velocity (bilinear in between), then rollouts with one step of
look-ahead from 2,000 start states. What a rollout earns can be earned: the best possible is this or a little more.
"""

import math

import numba
import numpy as np

POSITIONS, SPEEDS, STARTS = 361, 281, 2000
LEFT, RIGHT, FASTEST = -1.2, 0.6, 0.07


@numba.njit
def step(position, speed, force, engine, goal):
    """As in src/spaql/plants/library/mountain_car.py: next position and velocity, and whether it has arrived."""
    speed = min(max(speed + force * engine - 0.0025 * math.cos(3.0 * position), -FASTEST), FASTEST)
    position = min(max(position + speed, LEFT), RIGHT)
    if position == LEFT and speed < 0.0:
        speed = 0.0
    return position, speed, position >= goal and speed >= 0.0


@numba.njit
def value_at(values, position, speed):
    x, y = (position - LEFT) / (RIGHT - LEFT) * (POSITIONS - 1), (speed + FASTEST) / (2.0 * FASTEST) * (SPEEDS - 1)
    i, j = min(int(x), POSITIONS - 2), min(int(y), SPEEDS - 2)
    fx, fy = x - i, y - j
    below = (1.0 - fx) * values[i, j] + fx * values[i + 1, j]
    above = (1.0 - fx) * values[i, j + 1] + fx * values[i + 1, j + 1]
    return (1.0 - fy) * below + fy * above


@numba.njit
def best(values, position, speed, forces, engine, goal, fuel, time, prize):
    """The best force, and what it is worth: fuel and time cost, the goal pays."""
    chosen, worth = 0.0, -np.inf
    for force in forces:
        after, faster, there = step(position, speed, force, engine, goal)
        earned = -fuel * force * force - time + (prize if there else value_at(values, after, faster))
        if earned > worth:
            chosen, worth = force, earned
    return chosen, worth


@numba.njit
def solve(values, forces, engine, goal, fuel, time, prize):
    """values[t]: of t steps to go."""
    for t in range(1, len(values)):
        for i in range(POSITIONS):
            for j in range(SPEEDS):
                position, speed = LEFT + (RIGHT - LEFT) * i / (POSITIONS - 1), FASTEST * (2.0 * j / (SPEEDS - 1) - 1.0)
                values[t, i, j] = best(values[t - 1], position, speed, forces, engine, goal, fuel, time, prize)[1]


@numba.njit
def rollout(values, position, forces, engine, goal, fuel, time, prize):
    speed, total, horizon = 0.0, 0.0, len(values)
    for t in range(horizon):
        force, _ = best(values[horizon - 1 - t], position, speed, forces, engine, goal, fuel, time, prize)
        position, speed, there = step(position, speed, force, engine, goal)
        total += -fuel * force * force - time
        if there:
            return total + prize
    return total


def main():
    pedals, throttle = np.array([-1.0, 0.0, 1.0]), np.linspace(-1.0, 1.0, 21)
    for name, horizon, forces, *rest in (
        ("mountain-car", 200, pedals, 0.001, 0.5, 0.0, 1.0, 0.0),
        ("mountain-car-continuous", 999, throttle, 0.0015, 0.45, 0.1, 0.0, 100.0),
    ):
        values = np.zeros((horizon, POSITIONS, SPEEDS), np.float32)
        solve(values, forces, *rest)
        returns = [rollout(values, start, forces, *rest) for start in np.random.default_rng(0).uniform(-0.6, -0.4, STARTS)]
        print(f"{name}: {np.mean(returns):.2f} ± {1.96 * np.std(returns) / np.sqrt(STARTS):.2f}, worst {min(returns):.1f}")


if __name__ == "__main__":
    main()
