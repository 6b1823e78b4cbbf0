"""TRPO, the paper's neural rival, from sb3-contrib (extra `trpo`)."""

from typing import Any

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.runs.compute import last_figures
from spaql.runs.spec import Spec

SAMPLES = 400_000  # of a run
BATCH = 4_000  # samples between two updates
ENVIRONMENTS = 20  # side by side
# gSDE on Pendulum: noise that lasts four steps; the inertia of the pendulum averages white noise out
EXPLORATION: dict[str, dict[str, Any]] = {"pendulum": {"use_sde": True, "sde_sample_freq": 4}}
SETTINGS: dict[str, Any] = {"gamma": 0.99, "gae_lambda": 0.95, "target_kl": 0.01, "batch_size": 250}
NETWORK = [32, 32]


def train_trpo(problem: str, seed: int, samples: int = SAMPLES, episodes: int = 1000) -> tuple[Array, Array]:
    """One agent: mean return of the training episodes of each batch, and fresh rollouts of the final mean policy.

    TRPO needs no evaluation rollouts: its learning curve is the return of its training episodes, as in the paper.
    """
    try:
        import torch
        from sb3_contrib import TRPO
        from stable_baselines3.common.callbacks import BaseCallback
        from stable_baselines3.common.env_util import make_vec_env
    except ImportError as error:
        needed = "pip install 'spaql[trpo]' (the published curves need nothing)"
        raise SpaqlError(f"TRPO needs the extra: {needed}") from error
    from spaql.plants.catalog import CATALOG

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
    environments = make_vec_env(lambda: gymnasium.make(CATALOG[problem].env_id), ENVIRONMENTS, seed=seed)
    model = TRPO(
        "MlpPolicy", environments, n_steps=BATCH // ENVIRONMENTS, seed=seed, device="cpu",
        policy_kwargs={"net_arch": NETWORK, "activation_fn": torch.nn.Tanh}, **SETTINGS, **EXPLORATION.get(problem, {}),
    )  # fmt: skip
    curve = Curve()
    model.learn(samples, callback=curve)
    return np.array(curve.means), fresh_returns(model, problem, episodes, seed)


def fresh_returns(model: Any, problem: str, episodes: int, seed: int) -> Array:
    """Returns of whole episodes of the mean policy, from the start states of `agent.evaluate(seed=seed)`."""
    from spaql.ground.streams import FRESH_PLANT, plant_seed
    from spaql.plants.environment import PlantEnv
    from spaql.plants.make import make_from_catalog

    made = make_from_catalog(problem)
    environments = [PlantEnv(made) for _ in range(episodes)]
    observations = np.empty((episodes, len(made.state)))
    for i, env in enumerate(environments):
        env.reset(seed=int(plant_seed(seed, FRESH_PLANT, 0)))
        env.episode = i - 1
        observations[i], _ = env.reset()
    returns, alive = np.zeros(episodes), np.arange(episodes)
    while len(alive):
        actions, _ = model.predict(observations[alive], deterministic=True)
        over = []
        for i, action in zip(alive.tolist(), actions, strict=True):
            observations[i], reward, terminated, truncated, _ = environments[i].step(action)
            returns[i] += reward
            if terminated or truncated:
                over.append(i)
        alive = np.setdiff1d(alive, over)
    return returns


def run_trpo(spec: Spec) -> dict[str, Any]:
    """The figures and curves of a run."""
    means, fresh = train_trpo(spec.problem, spec.seed, BATCH * spec.iterations, spec.fresh)
    samples = BATCH * np.arange(1, len(means) + 1)
    none = np.zeros(0)
    curves = {
        "evaluation_curve": means, "best_seen_curve": means, "arms_curve": none, "train_samples_curve": samples,
        "eval_samples_curve": 0 * samples, "temperature_curve": none,
    }  # fmt: skip
    recorded = {"fresh_returns": fresh, "episode_states": none, "episode_actions": none}
    return last_figures(curves, fresh) | curves | recorded
