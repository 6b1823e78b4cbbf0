"""What a user would pick instead, trained on our plants: SAC, DQN, PPO and TRPO, from the extra `trpo`."""

import contextlib
import math
import time
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import FRESH_PLANT, plant_seed, sub_key
from spaql.plants.catalog import CATALOG
from spaql.plants.make import make_from_catalog
from spaql.plants.plant import LANES, advance
from spaql_studies.runs.compute import last_figures, row_of
from spaql_studies.runs.spec import Spec

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
# For each task the settings published in rl-baselines3-zoo, the number of environments side by side, and the samples
# for which the schedules of exploration and learning rate are laid out; the runs may end earlier.
SETTINGS: dict[tuple[str, str], tuple[dict[str, Any], int, int]] = {
    ("pendulum", "SAC"): (SAC, 1, 20_000),
    ("cartpole", "DQN"): (DQN, 1, 50_000),
    ("cartpole-500", "DQN"): (DQN, 1, 50_000),
    ("cartpole", "PPO"): (PPO, 8, 100_000),
    ("cartpole-500", "PPO"): (PPO, 8, 100_000),
    ("mountain-car", "DQN"): (
        DQN | {"learning_rate": 4e-3, "batch_size": 128, "buffer_size": 10_000, "gamma": 0.98, "train_freq": 16,
               "gradient_steps": 8, "target_update_interval": 600, "exploration_fraction": 0.2,
               "exploration_final_eps": 0.07}, 1, 120_000,
    ),
    ("acrobot", "DQN"): (
        DQN | {"learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0, "train_freq": 4,
               "gradient_steps": -1, "target_update_interval": 250, "exploration_fraction": 0.12,
               "exploration_final_eps": 0.1}, 1, 100_000,
    ),
    ("mountain-car-continuous", "SAC"): (
        {"learning_rate": 3e-4, "buffer_size": 50_000, "batch_size": 512, "ent_coef": 0.1, "train_freq": 32,
         "gradient_steps": 32, "gamma": 0.9999, "tau": 0.01, "learning_starts": 0, "use_sde": True,
         "policy_kwargs": {"log_std_init": -3.67, "net_arch": [64, 64]}}, 1, 50_000,
    ),
}  # fmt: skip


@contextlib.contextmanager
def _extra_of(algorithm: str) -> Iterator[None]:
    """Imports inside need the extra."""
    try:
        yield
    except ImportError as error:
        instead = "pip install 'spaql[trpo]' (the published curves need nothing)"
        raise SpaqlError(f"{algorithm} needs the extra: {instead}") from error


def run_rival(spec: Spec) -> dict[str, Any]:
    """The figures and curves of a run: the mean policy at the first update at or after each checkpoint."""
    problem, algorithm, seed, checkpoints = spec.problem, spec.algorithm, spec.seed, spec.checkpoints
    with _extra_of(algorithm):
        import stable_baselines3
        import torch
        from stable_baselines3.common.callbacks import BaseCallback
        from stable_baselines3.common.env_util import make_vec_env
    if (problem, algorithm) not in SETTINGS:
        there = ", ".join(f"{rival} on {plant}" for plant, rival in SETTINGS)
        raise SpaqlError(f"no settings of {algorithm} for {problem}: there are {there}")
    torch.set_num_threads(1)  # the nets are small, and the bits do not depend on the number of cores
    settings, count, schedule = SETTINGS[problem, algorithm]
    lone = gymnasium.make(CATALOG[problem].env_id)  # compiles the plant before the clock runs
    lone.reset(seed=0)
    lone.step(lone.action_space.sample())
    environments = make_vec_env(lambda: gymnasium.make(CATALOG[problem].env_id), count, seed=seed)
    looks: list[tuple[int, float, int, float, float, float]] = []
    fresh = np.zeros(0)
    begin = time.process_time()

    def evaluate(samples: int) -> None:
        nonlocal begin, fresh
        used = time.process_time() - begin
        fresh = lockstep_returns(model, problem, spec.fresh, seed)
        looks.append((samples, float(np.mean(fresh)), 0, math.nan, used, math.nan))
        begin = time.process_time() - used  # the evaluation is not learning

    class Looking(BaseCallback):
        def _on_rollout_start(self) -> None:  # what was sampled before has been learned from
            if len(looks) < len(checkpoints) and self.num_timesteps >= checkpoints[len(looks)]:
                evaluate(self.num_timesteps)

        def _on_step(self) -> bool:
            return len(looks) < len(checkpoints)

    model = getattr(stable_baselines3, algorithm)("MlpPolicy", environments, seed=seed, device="cpu", **settings)
    model.learn(max(schedule, checkpoints[-1]), callback=Looking())
    if len(looks) < len(checkpoints):
        evaluate(model.num_timesteps)
    return row_of(looks, fresh, None, looks[-1][0], 0)


# -- TRPO, the paper's neural rival, from sb3-contrib ------------------------------------------------------------------

TRPO_BATCH = 4_000  # samples between two updates
TRPO_ENVIRONMENTS = 20  # side by side
# gSDE on Pendulum: noise that lasts four steps; the inertia of the pendulum averages white noise out
TRPO_EXPLORATION: dict[str, dict[str, Any]] = {"pendulum": {"use_sde": True, "sde_sample_freq": 4}}
TRPO_SETTINGS: dict[str, Any] = {"gamma": 0.99, "gae_lambda": 0.95, "target_kl": 0.01, "batch_size": 250}
TRPO_NETWORK = [32, 32]


def train_trpo(problem: str, seed: int, samples: int, episodes: int) -> tuple[Array, Array]:
    """One agent: mean return of the training episodes of each batch, and fresh rollouts of the final mean policy.

    TRPO needs no evaluation rollouts: its learning curve is the return of its training episodes, as in the paper.
    """
    with _extra_of("TRPO"):
        import torch
        from sb3_contrib import TRPO
        from stable_baselines3.common.callbacks import BaseCallback
        from stable_baselines3.common.env_util import make_vec_env

    class Curve(BaseCallback):
        def __init__(self) -> None:
            super().__init__()
            self.returns: list[float] = []
            self.means: list[float] = []

        def _on_step(self) -> bool:
            self.returns += [float(info["episode"]["r"]) for info in self.locals["infos"] if "episode" in info]
            return True

        def _on_rollout_end(self) -> None:
            self.means.append(float(np.mean(self.returns)) if self.returns else np.nan)
            self.returns.clear()

    torch.set_num_threads(1)  # the nets are tiny, and the bits do not depend on the number of cores
    environments = make_vec_env(lambda: gymnasium.make(CATALOG[problem].env_id), TRPO_ENVIRONMENTS, seed=seed)
    model = TRPO(
        "MlpPolicy", environments, n_steps=TRPO_BATCH // TRPO_ENVIRONMENTS, seed=seed, device="cpu",
        policy_kwargs={"net_arch": TRPO_NETWORK, "activation_fn": torch.nn.Tanh},
        **TRPO_SETTINGS, **TRPO_EXPLORATION.get(problem, {}),
    )  # fmt: skip
    curve = Curve()
    model.learn(samples, callback=curve)
    return np.array(curve.means), lockstep_returns(model, problem, episodes, seed)


def run_trpo(spec: Spec) -> dict[str, Any]:
    """The figures and curves of a run."""
    means, fresh = train_trpo(spec.problem, spec.seed, TRPO_BATCH * spec.iterations, spec.fresh)
    samples = TRPO_BATCH * np.arange(1, len(means) + 1)
    none = np.zeros(0)
    curves = {
        "evaluation_curve": means, "best_seen_curve": means, "arms_curve": none, "train_samples_curve": samples,
        "eval_samples_curve": 0 * samples, "temperature_curve": none,
    }  # fmt: skip
    recorded = {"fresh_returns": fresh, "episode_states": none, "episode_actions": none}
    return last_figures(curves, fresh) | curves | recorded


# -- fresh episodes of anything with Stable-Baselines3's `predict` on a compiled plant, many at once -------------------

def lockstep_returns(model: Any, problem: str, episodes: int, seed: int) -> Array:
    """Returns of whole episodes of the mean policy, from the start states of `agent.evaluate(seed=seed)`."""
    stated = make_from_catalog(problem)
    assert stated.plant is not None
    plant, rows = stated.plant, stated.plant.rows
    base, returns = np.uint64(plant_seed(seed, FRESH_PLANT, 0)), np.zeros(episodes)
    bounds = stated.actions.bounds
    for first in range(0, episodes, LANES):
        keys = np.array([sub_key(base, i) for i in range(first, min(first + LANES, episodes))], np.uint64)
        table = plant.table()
        advance(plant.batch[0], table.reshape(-1), rows.noise, plant.reset_noise, keys, 0)
        alive = np.arange(len(keys))
        for step in range(stated.horizon):
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
