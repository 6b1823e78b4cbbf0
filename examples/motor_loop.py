"""Speed control of a DC motor, stated as a loop: a reference that steps, noise, a late actuator, an integral, a limit.

    python examples/motor_loop.py                       # PI by hand, LQR and laws in the same fresh episodes
    spaql train examples/motor_loop.py:problem laws     # the same search on the command line

The plant is what the motor does; everything around it is said to `spaql.loop` (docs/loop.md).
"""

from typing import Any

import spaql

# A brushed motor of 24 V with a flywheel on its shaft. SI units.
R = 1.0  # ohm, of the winding
L = 2e-3  # H: the current follows the voltage within L/R = 2 ms
K = 0.05  # V s/rad: voltage per speed, and N m/A: torque per current
J = 1.5e-4  # kg m2: the speed follows the voltage within J R/K^2 = 60 ms
B = 2e-5  # N m s/rad, viscous friction
DT, SUBSTEPS = 5e-3, 10  # s between two actions; the equations are integrated in smaller steps
LIMIT = 20.0  # A, that the amplifier can bear

State = tuple[float, float]  # speed, current


@spaql.reset
def at_rest() -> State:
    return 0.0, 0.0


@spaql.step
def turn(speed: float, current: float, voltage: float, load: float) -> tuple[State, float, bool]:
    """Nobody measures the load, a torque. What is paid is said in the loop."""
    for _ in range(SUBSTEPS):
        current = current + DT / SUBSTEPS * (voltage - R * current - K * speed) / L
        speed = speed + DT / SUBSTEPS * (K * current - B * speed - load) / J
    return (speed, current), 0.0, False


motor = spaql.from_plant(
    at_rest, turn, name="motor", horizon=200,
    state=[spaql.Axis("speed", -700.0, 700.0, unit="rad/s"), spaql.Axis("current", -60.0, 60.0, unit="A")],
    actions=spaql.Continuous((-24.0,), (24.0,), ("voltage",), ("V",)),
    parameters={"load": spaql.Between(-0.1, 0.1)},  # N m, drawn for every episode: up to 2 A
)  # fmt: skip


def paid(speed_error: float, current: float, voltage: float, previous_voltage: float) -> float:
    """At most 1 per step; less for the error, for changes of the voltage, and for every ampere above the limit."""
    change = (voltage - previous_voltage) / 6.0
    return 1.0 - abs(speed_error) / 200.0 - 0.05 * change * change - 0.5 * max(abs(current) - LIMIT, 0.0)


# What is around the motor, whatever the controller sees of it (benchmarks/formulations.py)
AROUND: dict[str, Any] = {
    "references": [spaql.Reference("target", 0.0, 200.0, of="speed", hold=(30, 60), unit="rad/s")],
    "noise": {"speed": 2.0, "current": 0.2},
    "delay": {"actuator": 1},
    "reward": paid,
    "dt": DT,
}
MEMORY = ["integral(speed_error)", "previous(voltage)"]
problem = spaql.loop(
    motor,
    memory=MEMORY,
    observe=["speed_error", "integral(speed_error)", "current"],
    limits=[spaql.Limit("current", -LIMIT, LIMIT)],
    name="motor speed",
    **AROUND,
)


def main() -> None:
    print(problem)
    pi = spaql.pid(problem, kp=0.14, ki=2.4)  # the best of 25: benchmarks/formulations.py
    lqr = spaql.lqr(problem, Q={"speed_error": 1.0, "integral(speed_error)": 300.0}, R=50.0)
    agent = spaql.Laws(problem, max_leaves=1, seed=0)
    agent.learn(samples=20_000_000)
    rivals = {"laws": agent.policy(), "PI": pi, "LQR": lqr}
    for policy in rivals.values():
        print(policy.to_text(share=False).splitlines()[-1])
    print(agent.evaluate(episodes=500, seed=1000))
    print(spaql.compare(rivals, episodes=500, seed=1000).round(2).to_string())


if __name__ == "__main__":
    main()
