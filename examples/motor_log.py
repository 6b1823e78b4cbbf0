"""From a log of the motor to a law in C, without its equations.

    python examples/motor_log.py                        # some 20 s; writes motor.csv and controller.c

What a data logger writes (speed, current, voltage; no rewards, no references) becomes a model, the model stands in the
loop of motor_loop.py, and what is found there is tried on the motor, beside the PI controller tuned on the motor itself.
"""

from pathlib import Path

import numpy as np
from motor_loop import AROUND, LIMIT, MEMORY, motor
from motor_loop import problem as real

import spaql

SEEN = ["speed_error", "integral(speed_error)", "current"]


def log(path: str) -> None:
    """Three seconds of random voltages, as the sensors see them."""
    rows, rng = spaql.record(motor, episodes=3, seed=3), np.random.default_rng(0)
    for name, spread in AROUND["noise"].items():
        rows[name] += spread * rng.standard_normal(len(rows))
    rows[["episode", "step", "speed", "current", "voltage"]].to_csv(path, index=False)


def main() -> None:
    log("motor.csv")
    model = spaql.from_data(motor, "motor.csv")  # of `motor` only names, units, ranges and horizon are used
    limits = [spaql.Limit("current", -LIMIT, LIMIT)]
    problem = spaql.loop(model, memory=MEMORY, observe=SEEN, limits=limits, name="motor from its log", **AROUND)
    print(problem)
    agent = spaql.Laws(problem, max_leaves=1, seed=0)
    agent.learn(samples=20_000_000)  # of the model: none of the motor
    print(agent.policy().to_text(share=False).splitlines()[-1])

    law = spaql.Policy(real, agent.tree, "law tree", "from a log")  # the same law, on the motor
    table = spaql.compare({"law from the log": law, "PI": spaql.pid(real, kp=0.14, ki=2.4)}, episodes=500, seed=1000)
    print(f"in the model {agent.policy().evaluate(500, seed=1000).mean:.1f}, on the motor:")
    print(table.round(2).to_string())
    Path("controller.c").write_text(law.to_c())


if __name__ == "__main__":
    main()
