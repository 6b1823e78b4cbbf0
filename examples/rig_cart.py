"""Learning on a machine without step(), through files: a cart on a rail, six trials of two seconds.

    python examples/rig_cart.py                # two minutes; leaves the folder `cart`, and a page in it

Nothing of the cart is known to `spaql` but its `rig.toml`, which is the example that `spaql rig new` writes. It sticks,
its voltage acts a step late, its sensor has whole millimetres. `board` is what the board and the logger do.
"""

import csv
import math
from pathlib import Path

import spaql

PERIOD, SUBSTEPS = 0.02, 10  # s
PUSH, DRAG, STICK = 1.6, 4.0, 1.0  # m/s2 per V, 1/s, m/s2


class Cart:
    """The machine."""

    def __init__(self) -> None:
        self.x = self.v = self.late = 0.0

    def measure(self) -> float:
        return round(1000 * self.x) / 1000

    def apply(self, voltage: float) -> None:
        """For one period."""
        now, self.late = self.late, voltage
        for _ in range(SUBSTEPS):
            force = PUSH * now - DRAG * self.v
            if abs(self.v) < 1e-3 and abs(force) < STICK:
                self.v = 0.0
                continue
            force -= math.copysign(STICK, self.v if abs(self.v) >= 1e-3 else force)
            after = self.v + PERIOD / SUBSTEPS * force
            self.v = 0.0 if after * self.v < 0 else after
            self.x += PERIOD / SUBSTEPS * self.v


def board(trial: Path, log: Path) -> None:
    """Run the controller of a trial with the references of its plan, and log as loggers do: semicolons, units, commas."""
    policy = spaql.Policy.from_json((trial / "controller.json").read_text())  # a board has controller.c
    machine, memory = Cart(), policy.memory()
    with open(trial / "plan.csv", newline="") as plan, open(log, "w") as file:
        print("time;position;voltage\ns;m;V", file=file)
        step = 0
        for step, row in enumerate(csv.reader(list(plan)[1:])):
            position = machine.measure()
            (voltage,), memory = policy.predict([position, *map(float, row[1:])], state=memory)
            print(f"{step * PERIOD:.3f};{position:.3f};{voltage:.5f}".replace(".", ","), file=file)
            machine.apply(voltage)
        print(f"{(step + 1) * PERIOD:.3f};{machine.measure():.3f};".replace(".", ","), file=file)


def main() -> None:
    rig = spaql.Rig.new("cart")
    for _ in range(6):
        said = rig.next()
        print(said)
        board(said.path, Path("log.csv"))
        print(rig.add("log.csv"), end="\n\n")
    print(rig.status())


if __name__ == "__main__":
    main()
