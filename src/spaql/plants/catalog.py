"""The problems by name, collected from the plants' files. Free of compiled code, so that listing them is instant."""

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

import gymnasium

from spaql.ground.errors import SpaqlError, echoed
from spaql.plants import library
from spaql.plants.equations import Between, Entry

if TYPE_CHECKING:
    from spaql.plants.problem import Problem

# The order in which plants are listed. A file that is not named here comes after them, by its name.
FIRST = (
    "pendulum", "cartpole", "cartpole_swing_up", "mountain_car", "acrobot", "oil", "ambulance",
)  # fmt: skip


def collected() -> dict[str, Entry]:
    """The entries of all files of `library/`."""
    files = sorted(module.name for module in pkgutil.iter_modules(library.__path__))
    entries: dict[str, Entry] = {}
    for file in [*FIRST, *(file for file in files if file not in FIRST)]:
        for name, entry in import_module(f"{library.__name__}.{file}").PROBLEMS.items():
            if name in entries:
                raise SpaqlError(f"two plants give a problem the name {echoed(name)}; the second is {file}.py")
            entries[name] = entry
    return entries


CATALOG = collected()


def problems() -> dict[str, str]:
    """The problems by name, with a line each."""
    return {name: entry.summary for name, entry in CATALOG.items()}


def entry_of(problem: "Problem") -> Entry | None:
    """What the catalog knows of one of its problems, or of Gymnasium's environment with the same equations."""
    for entry in CATALOG.values():
        twin = (entry.gym_id or entry.env_id).partition("-v")[0]
        if problem.env_id == entry.env_id or (problem.env_id or "").partition("-v")[0] == twin:
            return entry
    return None


def step_time(problem: "Problem") -> float | None:
    """Seconds per step: of the loop, of a plant of the catalog, or of an environment that says so; None: nobody has.

    Of a parameter that every episode draws anew it is the middle of the range.
    """
    if problem.signals is not None and problem.signals.dt != 1.0:  # 1: as good as not stated, steps are seconds
        return problem.signals.dt
    entry = entry_of(problem)
    if entry is not None:
        seconds = problem.parameters.get("dt", entry.step_time)
        return 0.5 * (seconds.low + seconds.high) if isinstance(seconds, Between) else seconds
    seconds = getattr(getattr(problem.env, "unwrapped", None), "dt", None)  # of FMUs and of MuJoCo
    return float(seconds) if isinstance(seconds, int | float) and seconds > 0.0 else None


def ends_of(problem: "Problem") -> str:
    """What it means that the plant ends an episode: as stated, or as the catalog says of this environment."""
    entry = entry_of(problem)
    return problem.ends or ("" if entry is None else entry.ends)


def register() -> None:
    """`gymnasium.make("spaql/CartPole-v0")` works after `import spaql`."""
    for name, entry in CATALOG.items():
        if entry.env_id not in gymnasium.registry:
            gymnasium.register(entry.env_id, "spaql.plants.environment:PlantEnv", kwargs={"problem": name})
