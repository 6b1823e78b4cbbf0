"""Position control of a hydraulic cylinder whose pressure must stay below a limit; its valve moves slowly, its sensors have noise.

    python examples/hydraulic_cylinder.py                          # laws from a simulator, and laws from 800 samples
    spaql train examples/hydraulic_cylinder.py:problem laws        # the same search on the command line

A valve that opens fast accelerates the load fast, and the oil swings: the pressure exceeds what the hoses can bear. The
controller sees the pressure, but what helps is a valve that moves gently, a filter: `Laws` tries laws of the valve's own
position by itself, because the valve has a rate.
"""

import math

import spaql

# A cylinder that moves a tonne. SI units, but for the pressure.
AREA = 1e-3  # m2, of the piston
MASS = 1500.0  # kg
DRAG = 2000.0  # N s/m
SUPPLY = 100.0  # bar
FLOW = 5e-5  # m3/s through the open valve, per square root of a bar
OIL = 2e-7  # m3 per bar: how far the oil in the cylinder gives way
LEAK = 4e-7  # m3/s per bar, past the piston: it damps
DT, SUBSTEPS = 0.02, 20  # s between two actions; the equations are integrated in smaller steps
LIMIT = 60.0  # bar

State = tuple[float, float, float]  # position, speed, pressure


@spaql.reset
def anywhere(u: float) -> State:
    return 0.1 + 0.3 * u, 0.0, 0.0


@spaql.step
def move(position: float, speed: float, pressure: float, valve: float, load: float) -> tuple[State, float, bool]:
    """Nobody measures the load, a force. What is paid is said in the loop."""
    for _ in range(SUBSTEPS):
        drop = max(SUPPLY - pressure, 0.0) if valve >= 0.0 else max(SUPPLY + pressure, 0.0)
        flow = FLOW * valve * math.sqrt(drop)
        pressure = pressure + DT / SUBSTEPS * (flow - AREA * speed - LEAK * pressure) / OIL
        speed = speed + DT / SUBSTEPS * (1e5 * AREA * pressure - DRAG * speed - load) / MASS
        position = position + DT / SUBSTEPS * speed
    return (position, speed, pressure), 0.0, False


cylinder = spaql.from_plant(
    anywhere, move, name="cylinder", horizon=300,
    state=[
        spaql.Axis("position", -2.0, 2.5, unit="m"), spaql.Axis("speed", -2.0, 2.0, unit="m/s"),
        spaql.Axis("pressure", -200.0, 200.0, unit="bar"),
    ],
    actions=spaql.Continuous((-1.0,), (1.0,), ("valve",)),
    parameters={"load": spaql.Between(-2500.0, 2500.0)},  # N, drawn for every episode
)  # fmt: skip


def paid(position_error: float, valve: float) -> float:
    """At most 1 per step: at a tenth of a metre from the target half of it."""
    return 1.0 / (1.0 + (position_error / 0.1) ** 2) - 0.01 * valve * valve


problem = spaql.loop(
    cylinder,
    references=[spaql.Reference("target", 0.1, 0.4, of="position", hold=(80, 160), unit="m")],
    observe=["position_error", "pressure"],
    noise={"position": 0.004, "pressure": 1.0},
    rates=0.04,  # of the valve's range per step
    limits=[spaql.Limit("pressure", -LIMIT, LIMIT)],
    reward=paid,
    dt=DT,
    name="cylinder position",
)


def main() -> None:
    print(problem)
    for agent, samples in ((spaql.Laws(problem, max_leaves=1, seed=0), 10_000_000), (spaql.Atlas(problem, seed=0), 800)):
        agent.learn(samples=samples)
        print(agent, agent.policy().to_text(share=False), agent.evaluate(), sep="\n")


if __name__ == "__main__":
    main()
