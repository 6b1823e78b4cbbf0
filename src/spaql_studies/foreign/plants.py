"""Environments of other packages, each by its Gymnasium id and the keywords of `from_gym`.

Those that need more than keywords are registered below under an id of ours, which
`gymnasium.make("spaql_studies.foreign.plants:pc-gym/cstr-v0")` finds; whoever changes one gives it a new version, so
that runs of the one before are not taken for its own. The packages are imported when an environment is made.
"""

from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from spaql_studies.study import Extra

HERE = __name__
ACTIONS = 59  # of an episode of pc-gym with N = 60: the first of its 60 rewards belongs to the start
TRIED = (
    "Gymnasium 1.2.2, MuJoCo 3.17.0, box2d-py 2.3.5, dm_control 1.0.50, shimmy 2.0.1, pc-gym 0.1.8 and "
    "gym-electric-motor 3.0.3"
)
DRIVE_STEPS = 200  # of 0.1 ms


@dataclass(frozen=True)
class ForeignPlant:
    """What it is, where it comes from, what there is to know of it, and how it becomes a problem."""

    title: str
    env_id: str
    module: str  # without which it cannot be made
    quirks: str  # and what was done about them
    options: dict[str, Any] = field(default_factory=dict)  # keywords of `from_gym`

    @property
    def extra(self) -> Extra:
        return Extra(self.module, "foreign")


class Reseeded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Every episode has a seed of its own, drawn from the last one that was given.

    For environments that draw from NumPy's global generator, or from the system if `reset` is given no seed.
    """

    def __init__(self, env: "gymnasium.Env[Any, Any]"):
        super().__init__(env)
        self._seeds = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._seeds = self._seeds if seed is None else np.random.default_rng(seed)
        drawn = int(self._seeds.integers(2**31))
        np.random.seed(drawn)
        return self.env.reset(seed=drawn, options=options)


# -- pc-gym: the settings of its published rollouts, in physical units -------------------------------------------------


class Timed(Reseeded):
    """The end of time is no end of the process: pc-gym reports it as `terminated`."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, over, _, info = self.env.step(action)
        return observation, reward, False, bool(over), info


def _pc_gym(model: str, hours: float, noise: float, start: list[float], **settings: Any) -> "gymnasium.Env[Any, Any]":
    """`hours`: length of the episode in the unit of the model."""
    from pcgym import make_env

    named = {"N": ACTIONS + 1, "tsim": hours, "model": model, "x0": np.array(start), "integration_method": "casadi"}
    as_it_is = {"normalise_a": False, "normalise_o": False, "noise": True, "noise_percentage": noise}
    spaces = {name: _space(settings.pop(name)) for name in ("a_space", "o_space")}
    env = make_env(named | as_it_is | spaces | settings)
    # its boxes have single precision, its numbers have double
    env.observation_space = gymnasium.spaces.Box(**spaces["o_space"], dtype=np.float64)
    env.action_space = gymnasium.spaces.Box(**spaces["a_space"], dtype=np.float64)
    return Timed(env)


def _space(ends: tuple[list[float], list[float]]) -> dict[str, Any]:
    return {"low": np.array(ends[0], float), "high": np.array(ends[1], float)}


def cstr() -> "gymnasium.Env[Any, Any]":
    """A reaction in a stirred tank, whose concentration follows a setpoint by the temperature of the jacket."""
    setpoints = [0.86] * 20 + [0.89] * 20 + [0.86] * 20

    def reward(env: Any, seen: Any, jacket: Any, _violated: bool) -> float:
        """Errors in parts of 0.3 kmol/m3, changes of the jacket in parts of 7 K; an episode begins with 301 K."""
        last = 301.0 if env.t == 1 else env.last_jacket
        env.last_jacket = float(jacket[0])
        error, move = (seen[0] - setpoints[env.t]) / 0.3, (env.last_jacket - last) / 7.0
        return float(-error * error - 0.01 * move * move)

    return _pc_gym(
        "cstr", 26.0, 0.001, [0.85, 330.0, 0.8], SP={"Ca": setpoints}, custom_reward=reward,
        a_space=([295.0], [302.0]), o_space=([0.7, 300.0, 0.8], [1.0, 350.0, 0.9]),
    )  # fmt: skip


def four_tanks() -> "gymnasium.Env[Any, Any]":
    """Two pumps fill two tanks, whose levels follow setpoints and which empty into two others."""
    setpoints = {"h3": [0.5] * 30 + [0.1] * 30, "h4": [0.2] * 30 + [0.3] * 30}

    def reward(env: Any, seen: Any, _voltages: Any, _violated: bool) -> float:
        """Errors in parts of 0.5 m."""
        errors = [(seen[2 + j] - levels[env.t]) / 0.5 for j, levels in enumerate(setpoints.values())]
        return float(-sum(error * error for error in errors))

    return _pc_gym(
        "four_tank", 1000.0, 0.05, [0.141, 0.112, 0.072, 0.42, 0.5, 0.2], SP=setpoints, custom_reward=reward,
        a_space=([0.1, 0.1], [10.0, 10.0]), o_space=([0.0] * 6, [0.6, 0.6, 1.0, 0.6, 0.6, 0.6]),
    )  # fmt: skip


# -- gym-electric-motor ------------------------------------------------------------------------------------------------


def current() -> "gymnasium.Env[Any, Any]":
    """The current of a DC motor at constant speed follows a random reference."""
    import gym_electric_motor  # noqa: F401 - registers

    env = gymnasium.make("Cont-CC-PermExDc-v0", state_filter=["i"], visualization=(), disable_env_checker=True)
    return Reseeded(env)


for name, maker, steps in (
    ("pc-gym/cstr", "cstr", ACTIONS),
    ("pc-gym/four-tanks", "four_tanks", ACTIONS),
    ("electric-motor/current", "current", DRIVE_STEPS),
):
    gymnasium.register(f"{name}-v0", f"{HERE}:{maker}", max_episode_steps=steps, disable_env_checker=True)

# -- all of them -------------------------------------------------------------------------------------------------------

_NAMED: dict[str, Any] = {"names": True, "clip": True}
_CART = ["position", "cos", "sin", "velocity", "angular velocity"]


def suite(title: str, task: str, names: list[str], action: str) -> ForeignPlant:
    quirks = (
        "Import shimmy first, so that Gymnasium knows the id; dm_control runs with MuJoCo 3, not 4. Observations are a "
        "Dict (`flatten=True`); the limit of 1,000 steps is not declared (`horizon=1000`)."
    )
    words = {"names": names, "action_names": [action], "horizon": 1000, "flatten": True, "clip": True}
    return ForeignPlant(f"dm_control {title}", f"shimmy:dm_control/{task}-v0", "dm_control", quirks, words)


def _mujoco(env_id: str, quirks: str) -> ForeignPlant:
    return ForeignPlant(env_id, env_id, "mujoco", quirks, _NAMED)


def _lander(env_id: str) -> ForeignPlant:
    quirks = "Box2D needs SWIG to be installed. Observations may leave their declared bounds (`clip=True`)."
    return ForeignPlant(env_id, env_id, "Box2D", quirks, _NAMED)


_PC_GYM = (
    "Version 0.1.8 ignores the seed of `reset` and draws noise from NumPy's global generator: the wrapper seeds that. "
    "The observed setpoint is one step late. The end after 59 actions is reported as `terminated`: here as `truncated`."
)
PLANTS = {
    "InvertedPendulum-v5": _mujoco("InvertedPendulum-v5", "No bounds are declared: SPAQL measures them."),
    "InvertedDoublePendulum-v5": _mujoco(
        "InvertedDoublePendulum-v5", "No bounds are declared. Version 5 shows one constraint force, version 2 three."
    ),
    "Reacher-v5": _mujoco("Reacher-v5", "No bounds are declared. Two of its ten variables are constant in an episode."),
    "LunarLander-v3": _lander("LunarLander-v3"),
    "LunarLanderContinuous-v3": _lander("LunarLanderContinuous-v3"),
    "dm-cartpole-balance": suite("cartpole balance", "cartpole-balance", _CART, "force"),
    "dm-cartpole-swingup": suite("cartpole swingup", "cartpole-swingup", _CART, "force"),
    "dm-pendulum-swingup": suite("pendulum swingup", "pendulum-swingup", ["cos", "sin", "angular velocity"], "torque"),
    "pcgym-cstr": ForeignPlant(
        "pc-gym CSTR", f"{HERE}:pc-gym/cstr-v0", "pcgym",
        f"{_PC_GYM} The published reward compares the first jacket temperature of an episode with the last one of the "
        "episode before, which is not observed: here with 301 K, which holds the last setpoint.",
        {"names": ["Ca", "T", "Ca setpoint"], "units": ["kmol/m3", "K", "kmol/m3"], "clip": True,
         "action_names": ["Tc"], "action_units": ["K"]},
    ),
    "pcgym-four-tanks": ForeignPlant(
        "pc-gym four tanks", f"{HERE}:pc-gym/four-tanks-v0", "pcgym", _PC_GYM,
        {"names": ["h1", "h2", "h3", "h4", "h3 setpoint", "h4 setpoint"], "units": ["m"] * 6, "clip": True,
         "action_names": ["v1", "v2"], "action_units": ["V", "V"]},
    ),
    "gem-current": ForeignPlant(
        "gym-electric-motor, current of a DC motor", f"{HERE}:electric-motor/current-v0", "gym_electric_motor",
        "Observations are a Tuple of state and reference (`flatten=True`), as fractions of their limits. `reset` "
        "without a seed draws one from the system: the wrapper gives one. There is no step limit: 200 steps of 0.1 ms "
        "here. A current beyond its limit ends the episode and costs 10, a value meant for a discount of 0.9. "
        "Undiscounted, 200 steps with an error of a tenth of the limit cost as much, so that ending at once is better "
        "than poor control.",
        {"names": ["i", "i reference"], "action_names": ["voltage"], "flatten": True, "clip": True},
    ),
}  # fmt: skip
