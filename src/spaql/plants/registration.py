"""Our plants in Gymnasium's registry. Light: it runs whenever spaql is imported."""

import gymnasium

from spaql.plants.catalog import CATALOG


def register() -> None:
    """`gymnasium.make("spaql/CartPole-v0")` works after `import spaql`."""
    for name, entry in CATALOG.items():
        if entry.env_id not in gymnasium.registry:
            gymnasium.register(
                entry.env_id,
                entry_point="spaql.plants.environment:PlantEnv",
                kwargs={"problem": name},
            )
