"""Speed control of a DC motor: noisy measurements, a load torque nobody measures, a speed reference that jumps.

    python examples/dc_motor.py                # a cascade of two gains, on 200 fresh episodes
    spaql.Laws(problem), spaql.Atlas(problem)  # or any other learner, on `problem` of this file

The equations are plain Python functions of plain numbers; the decorators compile them at first use.
"""

import math

import numpy as np

import spaql
from spaql.policy.outputs import make_laws
from spaql.trees.laws import CLIP
from spaql.trees.tree import NODE, make_tree

# A brushed motor of 24 V with a flywheel on its shaft. SI units.
R = 1.0  # ohm, of the winding
L = 2e-3  # H: the current follows the voltage within L/R = 2 ms
K = 0.05  # V s/rad: voltage per speed, and N m/A: torque per current
J = 1.5e-4  # kg m2: the speed follows the voltage within J R/K^2 = 60 ms
B = 2e-5  # N m s/rad, viscous friction
U_MAX = 24.0  # V: 480 rad/s without load
DU_MAX = 6.0  # V, largest increment per step: the amplifier's rate limit, 1.2 V/ms
DT, SUBSTEPS = 5e-3, 10  # s between two actions; the equations are integrated in smaller steps

W_MAX = 300.0  # rad/s, largest reference
LOAD_MAX = 0.1  # N m, largest load torque: 2 A
JUMPS_W, JUMPS_LOAD = 1 / 30, 1 / 80  # probability per step that reference or load jump to another value
NOISE_W, NOISE_I = 2.0, 0.2  # rad/s and A, standard deviations of the two measurements

State = tuple[float, float, float, float, float, float, float]  # w, i, u, reference, load, measured error and current


def uniform(bound: float, u: float) -> float:
    """A number between -bound and bound. Helper functions are compiled along."""
    return bound * (2.0 * u - 1.0)


@spaql.reset
def at_rest(u1: float, u2: float) -> State:
    """The motor stands still; any reference, any load (which a brake holds until the first step)."""
    reference, load = uniform(W_MAX, u1), uniform(LOAD_MAX, u2)
    return 0.0, 0.0, 0.0, reference, load, reference, 0.0


@spaql.step
def turn(
    w: float, i: float, u: float, reference: float, load: float, _error: float, _current: float,
    du: float, u1: float, u2: float, u3: float, u4: float, u5: float, u6: float,
) -> tuple[State, float, bool]:  # fmt: skip
    """State, action (voltage increment), six uniform numbers.

    The action is an increment because the law then need not know the load: at rest du = 0, whatever the voltage that
    holds the speed. A law for the voltage itself has to be told, or to guess, the load; and integral action is not
    a thing a table without memory can have. The price is one more observation, the voltage that is applied.
    """
    u = min(max(u + du, -U_MAX), U_MAX)
    for _ in range(SUBSTEPS):
        i = i + DT / SUBSTEPS * (u - R * i - K * w) / L
        w = w + DT / SUBSTEPS * (K * i - B * w - load) / J
    # paid for the true speed and the reference that was seen, before that jumps
    reward = 1.0 - abs(reference - w) / W_MAX - 0.05 * (du / DU_MAX) ** 2
    # jumps: a part JUMPS of [0, 1) is spread over the whole range
    reference = uniform(W_MAX, u1 / JUMPS_W) if u1 < JUMPS_W else reference
    load = uniform(LOAD_MAX, u2 / JUMPS_LOAD) if u2 < JUMPS_LOAD else load
    # `observe` gets no random numbers: what is measured, with noise (Box and Muller), is part of the state
    error = reference - w + NOISE_W * math.sqrt(-2.0 * math.log(1.0 - u3)) * math.cos(2.0 * math.pi * u4)
    current = i + NOISE_I * math.sqrt(-2.0 * math.log(1.0 - u5)) * math.cos(2.0 * math.pi * u6)
    return (w, i, u, reference, load, error, current), reward, False


@spaql.observe
def measured(
    _w: float, _i: float, u: float, _reference: float, _load: float, error: float, current: float
) -> tuple[float, float, float]:
    """The load is hidden. The voltage is known without noise: the controller has set it."""
    return error, current, u


# `reward=` is not given: the true speed, and the reference before its jump, are no functions of what is observed.
problem = spaql.from_plant(
    at_rest, turn, observe=measured, name="DC motor",
    state=[
        spaql.Axis("error", slope=1 / 100, unit="rad/s"),  # not bounded: mapped through tanh(error / 100)
        spaql.Axis("current", slope=1 / 10, unit="A"),
        spaql.Axis("voltage", -U_MAX, U_MAX, unit="V"),
    ],
    actions=spaql.Continuous((-DU_MAX,), (DU_MAX,), ("voltage increment",), ("V",)),
    horizon=200,
    reference=(0.0, 0.0, 0.0),  # no error (SPAQL-TS)
)  # fmt: skip


def cascade(k_w: float = 0.2, k_i: float = 0.5) -> spaql.Policy:
    """Two loops with a gain each: current* = k_w error, du = k_i (current* - current), in A s/rad and V/A."""
    gains = np.array([[[k_i * k_w, -k_i, 0.0]]])  # of one law, for one action: error, current, voltage
    nodes = np.zeros(1, NODE)
    nodes["feature"] = -1  # a leaf
    laws = make_laws(gains, np.zeros((1, 1)), problem.actions, CLIP)
    tree = make_tree(nodes, np.zeros((1, 1)), len(problem.state), None, laws)
    return spaql.Policy(problem, tree, "law tree", "hand-made cascade")


def main() -> None:
    print(problem)
    policy = cascade()
    print(policy.to_text(share=False))
    found = policy.evaluate(200, seed=1000)
    print(f"cascade of two gains, 200 episodes: {found.mean:.1f}, worst {found.returns.min():.1f}")
    print(f"random increments: {spaql.Random(problem).evaluate(200, seed=1000).mean:.1f}")


if __name__ == "__main__":
    main()
