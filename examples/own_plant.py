"""A plant of your own: a DC motor that must turn a disc to a target angle and hold it there.

    python examples/own_plant.py

The equations are plain Python functions of plain numbers. The decorators compile them at first use; calling them here still runs the
plain Python, so they can be tested and plotted like any function.
"""

import math

import spaql

# The motor: a small brushed one with a disc on its shaft. SI units.
RESISTANCE = 2.0  # ohm, of the winding
CONSTANT = 0.05  # V s/rad: voltage per speed, and N m/A: torque per current
INERTIA = 4e-4  # kg m2, motor and disc
VISCOUS = 5e-5  # N m s/rad
COULOMB = 0.01  # N m, dry friction
GUST = 0.01  # N m, largest disturbance
MAX_VOLTAGE = 12.0
DT, SUBSTEPS = 0.02, 4  # s between two actions; the equations are integrated in smaller steps


def wrap(angle: float) -> float:
    """An angle in [-pi, pi). Helper functions are compiled along."""
    return angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))


@spaql.reset
def at_rest(u1: float, u2: float) -> tuple[float, float, float]:
    """Start states from uniform numbers in [0, 1): any angle, any target, no speed."""
    return 2.0 * math.pi * u1 - math.pi, 0.0, 2.0 * math.pi * u2 - math.pi


@spaql.step
def turn(
    angle: float, speed: float, target: float, voltage: float, u: float
) -> tuple[tuple[float, float, float], float, bool]:
    """The state, then the action, then noise: `u` is a fresh uniform number at every step."""
    gust = GUST * (2.0 * u - 1.0)
    for _ in range(SUBSTEPS):
        current = (voltage - CONSTANT * speed) / RESISTANCE
        friction = COULOMB * math.tanh(speed / 0.1) + VISCOUS * speed
        speed = speed + DT / SUBSTEPS * (CONSTANT * current - friction + gust) / INERTIA
        angle = wrap(angle + DT / SUBSTEPS * speed)
    error = wrap(angle - target)
    reward = 1.0 - (error / math.pi) ** 2 - 0.05 * (voltage / MAX_VOLTAGE) ** 2
    return (angle, speed, target), reward, False


@spaql.observe
def see(angle: float, speed: float, target: float) -> tuple[float, float]:
    """The controller sees how far it is from the target, not where the target is."""
    return wrap(angle - target), speed


def main() -> None:
    motor = spaql.from_plant(
        at_rest, turn, observe=see, name="DC motor",
        state=[
            spaql.Axis("error", -math.pi, math.pi, unit="rad"),
            spaql.Axis("speed", slope=1 / 40, unit="rad/s"),  # not bounded: mapped through tanh(speed / 40)
        ],
        actions=spaql.Continuous((-MAX_VOLTAGE,), (MAX_VOLTAGE,), ("voltage",), ("V",)),
        horizon=150,
        reference=(0.0, 0.0),  # what SPAQL-TS shall hold
    )  # fmt: skip

    print("random voltages: ", spaql.Random(motor).evaluate())

    agent = spaql.SPAQLTS(motor, xi=1.0, seed=0)
    history = agent.learn(iterations=500, progress=True)
    print("SPAQL-TS, fresh: ", agent.evaluate())
    print(f"best average seen in training: {history.best_seen[-1]:.2f} (biased upwards: the best of {len(history)} noisy ones)")
    print(f"{agent.arms} cells; {history.train_samples[-1]:,} training steps, {history.eval_samples[-1]:,} evaluation steps")

    for error, speed in ((1.5, 0.0), (-1.5, 0.0), (0.3, -10.0)):
        voltage, _ = agent.predict([error, speed])
        print(f"error {error:+.1f} rad, speed {speed:+5.1f} rad/s: {voltage[0]:+6.2f} V")


if __name__ == "__main__":
    main()
