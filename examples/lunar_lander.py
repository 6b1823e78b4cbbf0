"""LunarLander: an environment that is not compiled, through `spaql.from_gym`.

    pip install "spaql[box2d]"
    python examples/lunar_lander.py                     # 200 iterations, half a minute of CPU time
    python examples/lunar_lander.py --iterations 20     # a quick look

The first of these two gave a return of -5 (95 % interval -18 to 8, 50 fresh episodes) after 42,284 training and 209,706 evaluation steps;
seeds 1 to 3 gave -50, -18 and -108, random actions -173 (-205 to -142). 200 counts as solved. Five times the iterations did not help.

Eight variables are too many for a partition: every cut makes 2^8 cells, most of which nobody ever visits. An engineer would not feed a
controller all of them either. So a wrapper combines them into five that say what matters: how far the lander leans from where it should
lean to fly home, how fast it turns, how high it is above the path home, how fast it sinks, and whether it stands.
"""

import argparse

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import TransformObservation

import spaql

LOW, HIGH = np.array([-1, -2, -0.5, -2, 0], np.float32), np.array([1, 2, 1.5, 1, 1], np.float32)


def errors(observation: np.ndarray) -> np.ndarray:
    """What a pilot looks at; values beyond the bounds count as the bounds."""
    x, y, x_speed, y_speed, angle, rate, left_leg, right_leg = observation
    lean = np.clip(0.5 * x + x_speed, -0.4, 0.4)  # to the left when it is, or drifts, to the right
    return np.clip(np.array([angle - lean, rate, y - 0.55 * abs(x), y_speed, 0.5 * (left_leg + right_leg)], np.float32), LOW, HIGH)


def problem() -> spaql.Problem:
    env = TransformObservation(gymnasium.make("LunarLander-v3"), errors, Box(LOW, HIGH, dtype=np.float32))
    return spaql.from_gym(env, horizon=400, reference=(0, 0, 0, 0, 1), rollouts=5)  # SPAQL-TS: upright, at rest, on its legs


def main() -> None:
    arguments = argparse.ArgumentParser(description="Land on the moon with SPAQL-TS.")
    arguments.add_argument("--iterations", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--episodes", type=int, default=50, help="fresh episodes at the end")
    given = arguments.parse_args()

    lander = problem()
    print("random:          ", spaql.Random(lander, seed=given.seed).evaluate(given.episodes))
    agent = spaql.SPAQLTS(lander, xi=1.0, seed=given.seed)
    history = agent.learn(given.iterations, progress=True)
    print("SPAQL-TS, fresh: ", agent.evaluate(given.episodes))
    print(f"{history.train_samples[-1]:,} training steps, {history.eval_samples[-1]:,} evaluation steps, {agent.arms:,} cells")


if __name__ == "__main__":
    main()
