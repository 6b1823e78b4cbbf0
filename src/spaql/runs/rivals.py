"""What a user would pick instead: SAC, DQN and PPO from Stable-Baselines3 (extra `trpo`), trained on our plants."""

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import FRESH_PLANT, plant_seed, sub_key
from spaql.plants.make import make_from_catalog
from spaql.plants.plant import LANES, advance
from spaql.runs.checkpoints import row_of
from spaql.runs.spec import Spec

SAC: dict[str, Any] = {"learning_rate": 1e-3, "learning_starts": 100}
DQN: dict[str, Any] = {
    "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1000, "gamma": 0.99,
    "train_freq": 256, "gradient_steps": 128, "target_update_interval": 10, "exploration_fraction": 0.16,
    "exploration_final_eps": 0.04, "policy_kwargs": {"net_arch": [256, 256]},
}  # fmt: skip
PPO: dict[str, Any] = {
    "n_steps": 32, "batch_size": 256, "n_epochs": 20, "gamma": 0.98, "gae_lambda": 0.8, "ent_coef": 0.0,
    "learning_rate": lambda left: 1e-3 * left, "clip_range": lambda left: 0.2 * left,
}  # fmt: skip
# The settings published in rl-baselines3-zoo for each task. The last number is that of the environments side by side.
SETTINGS: dict[tuple[str, str], tuple[dict[str, Any], int]] = {
    ("pendulum", "SAC"): (SAC, 1),
    ("cartpole", "DQN"): (DQN, 1),
    ("cartpole-500", "DQN"): (DQN, 1),
    ("cartpole", "PPO"): (PPO, 8),
    ("cartpole-500", "PPO"): (PPO, 8),
    ("mountain-car", "DQN"): (
        DQN | {"learning_rate": 4e-3, "batch_size": 128, "buffer_size": 10_000, "gamma": 0.98, "train_freq": 16,
               "gradient_steps": 8, "target_update_interval": 600, "exploration_fraction": 0.2,
               "exploration_final_eps": 0.07}, 1,
    ),
    ("acrobot", "DQN"): (
        DQN | {"learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0, "train_freq": 4,
               "gradient_steps": -1, "target_update_interval": 250, "exploration_fraction": 0.12,
               "exploration_final_eps": 0.1}, 1,
    ),
    ("mountain-car-continuous", "SAC"): (
        {"learning_rate": 3e-4, "buffer_size": 50_000, "batch_size": 512, "ent_coef": 0.1, "train_freq": 32,
         "gradient_steps": 32, "gamma": 0.9999, "tau": 0.01, "learning_starts": 0, "use_sde": True,
         "policy_kwargs": {"log_std_init": -3.67, "net_arch": [64, 64]}}, 1,
    ),
}  # fmt: skip
# Samples for which the schedules of exploration and learning rate are laid out; the runs may end earlier
SCHEDULE = {
    ("pendulum", "SAC"): 20_000,
    ("cartpole", "DQN"): 50_000,
    ("cartpole-500", "DQN"): 50_000,
    ("cartpole", "PPO"): 100_000,
    ("cartpole-500", "PPO"): 100_000,
    ("mountain-car", "DQN"): 120_000,
    ("acrobot", "DQN"): 100_000,
    ("mountain-car-continuous", "SAC"): 50_000,
}


class Trained(NamedTuple):
    """A learning curve: at each checkpoint the samples used, the fresh mean return, CPU seconds of learning so far."""

    samples: Array
    returns: Array
    cpu_seconds: Array
    fresh: Array  # the return of every fresh episode at the last checkpoint


def train_rival(problem: str, algorithm: str, seed: int, checkpoints: Sequence[int], episodes: int = 1000) -> Trained:
    """One agent; its mean policy is evaluated at the first update at or after each checkpoint.

    The start states are those of `agent.evaluate`.
    """
    try:
        import stable_baselines3
        import torch
        from stable_baselines3.common.callbacks import BaseCallback
        from stable_baselines3.common.env_util import make_vec_env
    except ImportError as error:
        raise SpaqlError(
            f"{algorithm} needs the extra: pip install 'spaql[trpo]' (the published curves need nothing)"
        ) from error
    from spaql.plants.catalog import CATALOG
    from spaql.runs.rivals import lockstep_returns

    if (problem, algorithm) not in SETTINGS:
        there = ", ".join(f"{rival} on {plant}" for plant, rival in SETTINGS)
        raise SpaqlError(f"no settings of {algorithm} for {problem}: there are {there}")
    torch.set_num_threads(1)  # the nets are small, and the bits do not depend on the number of cores
    settings, count = SETTINGS[problem, algorithm]
    lone = gymnasium.make(CATALOG[problem].env_id)  # compiles the plant before the clock runs
    lone.reset(seed=0)
    lone.step(lone.action_space.sample())
    environments = make_vec_env(lambda: gymnasium.make(CATALOG[problem].env_id), count, seed=seed)
    found: list[tuple[int, float, float]] = []
    fresh = np.zeros(0)
    begin = time.process_time()

    def evaluate(samples: int) -> None:
        nonlocal begin, fresh
        used = time.process_time() - begin
        fresh = lockstep_returns(model, problem, episodes, seed)
        found.append((samples, float(np.mean(fresh)), used))
        begin = time.process_time() - used  # the evaluation is not learning

    class Looking(BaseCallback):
        def _on_rollout_start(self) -> None:  # what was sampled before has been learned from
            if len(found) < len(checkpoints) and self.num_timesteps >= checkpoints[len(found)]:
                evaluate(self.num_timesteps)

        def _on_step(self) -> bool:
            return len(found) < len(checkpoints)

    model = getattr(stable_baselines3, algorithm)("MlpPolicy", environments, seed=seed, device="cpu", **settings)
    model.learn(max(SCHEDULE[problem, algorithm], checkpoints[-1]), callback=Looking())
    if len(found) < len(checkpoints):
        evaluate(model.num_timesteps)
    samples, returns, seconds = (np.array(column) for column in zip(*found, strict=True))
    return Trained(samples, returns, seconds, fresh)


def run_rival(spec: Spec) -> dict[str, Any]:
    """The figures and curves of a run with checkpoints."""
    found = train_rival(spec.problem, spec.algorithm, spec.seed, spec.checkpoints, spec.fresh)
    looks = [(int(n), float(r), 0, math.nan, float(s), math.nan) for n, r, s in zip(*found[:3], strict=True)]
    return row_of(looks, found.fresh, None, looks[-1][0], 0)


# -- fresh episodes of anything with Stable-Baselines3's `predict` on a compiled plant, many at once -------------------

def lockstep_returns(model: Any, problem: str, episodes: int, seed: int) -> Array:
    """As `trpo.fresh_returns`, bit by bit, in a tenth of the time: a learning curve needs many fresh evaluations."""
    made = make_from_catalog(problem)
    assert made.plant is not None
    plant, rows = made.plant, made.plant.rows
    base, returns = np.uint64(plant_seed(seed, FRESH_PLANT, 0)), np.zeros(episodes)
    bounds = made.actions.bounds
    for first in range(0, episodes, LANES):
        keys = np.array([sub_key(base, i) for i in range(first, min(first + LANES, episodes))], np.uint64)
        table = plant.table()
        advance(plant.batch[0], table.reshape(-1), rows.noise, plant.reset_noise, keys, 0)
        alive = np.arange(len(keys))
        for step in range(made.horizon):
            # only episodes that go on: the states after the end of an episode need no action
            actions, _ = model.predict(table[rows.observation : rows.action, alive].T.copy(), deterministic=True)
            chosen = np.asarray(actions, np.float64).reshape(len(alive), -1)
            table[rows.action : rows.noise, alive] = np.clip(chosen, *bounds).T
            counter = plant.reset_noise + step * plant.step_noise
            advance(plant.batch[1], table.reshape(-1), rows.noise, plant.step_noise, keys, counter)
            returns[first + alive] += table[rows.reward, alive]
            alive = alive[table[rows.done, alive] == 0.0]
            if not len(alive):
                break
    return returns
