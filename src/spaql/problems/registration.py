"""Our plants in Gymnasium's registry. Light: Gymnasium imports this file whenever it is imported itself."""

import gymnasium

from spaql.problems.catalog import CATALOG


def register() -> None:
    """Called by Gymnasium (entry point `gymnasium.envs` in pyproject.toml)."""
    for name, entry in CATALOG.items():
        if entry.env_id not in gymnasium.registry:
            gymnasium.register(
                entry.env_id,
                entry_point="spaql.problems.environment:PlantEnv",
                kwargs={"problem": name},
                max_episode_steps=entry.horizon,
            )
