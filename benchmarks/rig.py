"""Six trials of 100 steps on three simulated machines, through files alone. Two of them the method has seen: cart, tank.

    python benchmarks/rig.py --seeds 3              # some 2 minutes of CPU per machine and seed

Each machine has friction or a nonlinearity, dead time of a step, and a quantised sensor. What a board would do is done
here in Python: the controller of the trial, the references of its plan, a log with semicolons and decimal commas, a stop
at a limit. The yard-stick is the best law of the same form, tuned on the machine itself in thousands of episodes. All
trials are counted.
"""

import argparse
import json
import math
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas

import spaql
from spaql.rig.next_trial import drawn

EPISODES = 20
TRIALS = 6


class Cart:
    """A cart that sticks, its voltage a step late, its position in whole millimetres."""

    toml = """
[rig]
name = "cart"
period = 0.02
steps = 100
[measured.position]
unit = "m"
range = [-1.0, 1.0]
limit = [-0.8, 0.8]
[actions.voltage]
unit = "V"
range = [-6.0, 6.0]
rate = 3.0
[references.target]
of = "position"
range = [-0.5, 0.5]
hold = [40, 60]
[goal]
reward = "-abs(position_error) - 0.01 * abs(voltage - previous_voltage)"
[fallback.voltage]
position_error = 4.0
"integral(position_error)" = 1.0
"""

    def __init__(self, rng):
        self.x, self.v, self.late = 0.02 * rng.standard_normal(), 0.0, 0.0

    def measure(self):
        return [1e-3 * round(1e3 * self.x)]

    def apply(self, u):
        push, self.late = self.late, u
        h = 0.002
        for _ in range(10):
            drive = 1.6 * push - 4.0 * self.v
            if abs(self.v) < 1e-3 and abs(drive) < 1.0:
                self.v = 0.0
                continue
            after = self.v + h * (drive - math.copysign(1.0, self.v if abs(self.v) >= 1e-3 else drive))
            self.v = 0.0 if after * self.v < 0 else after
            self.x += h * self.v


class Tank:
    """A tank whose outflow goes with the root of its level, its valve a step late and sticky, its level in 5 mm."""

    toml = """
[rig]
name = "tank"
period = 2.0
steps = 100
[measured.level]
unit = "m"
range = [0.0, 2.0]
limit = [0.0, 1.8]
[actions.valve]
unit = "%"
range = [0.0, 100.0]
rate = 20.0
[references.wanted]
of = "level"
range = [0.4, 1.4]
hold = [30, 50]
[goal]
reward = "-abs(level_error) - 0.002 * abs(valve - previous_valve)"
[fallback.valve]
level_error = 20.0
"integral(level_error)" = 0.1
offset = 30.0
"""

    def __init__(self, rng):
        self.level, self.late, self.opened, self.rng = 0.8 + 0.05 * rng.standard_normal(), 30.0, 30.0, rng

    def measure(self):
        return [0.005 * round((self.level + 0.003 * self.rng.standard_normal()) / 0.005)]

    def apply(self, u):
        wanted, self.late = self.late, u
        if abs(wanted - self.opened) > 1.0:  # sticks
            self.opened = wanted
        for _ in range(10):
            self.level = max(self.level + 0.2 * (0.00145 * self.opened - 0.05 * math.sqrt(self.level)), 0.0)


class Arm:
    """An arm that falls over, its torque a step late, with dry friction, its angle in steps of an encoder."""

    toml = """
[rig]
name = "arm"
period = 0.02
steps = 100
[measured.angle]
unit = "rad"
range = [-0.8, 0.8]
limit = [-0.5, 0.5]
start = [-0.2, 0.2]
[actions.torque]
unit = "N m"
range = [-5.0, 5.0]
[goal]
reward = "-10 * angle ** 2 - 0.01 * abs(torque - previous_torque)"
[fallback.torque]
angle = -8.0
"difference(angle)" = -25.0
"""

    def __init__(self, rng):
        self.q, self.w, self.late = rng.uniform(-0.2, 0.2), 0.0, 0.0

    def measure(self):
        return [2e-3 * round(self.q / 2e-3)]

    def apply(self, u):
        torque, self.late = self.late, u
        h = 0.002
        for _ in range(10):
            self.w += h * (9.0 * math.sin(self.q) + 3.0 * torque - 0.5 * self.w - 0.3 * math.tanh(50.0 * self.w))
            self.q += h * self.w


MACHINES = {"cart": Cart, "tank": Tank, "arm": Arm}


def drive(rig, machine, policy, references):
    """One episode: measured, references, applied."""
    memory, y, u, limits = policy.memory(), [], [], rig.described.limits
    names = [axis.name for axis in rig.described.state]
    for row in references:
        seen = machine.measure()
        if any(not limit.low <= seen[names.index(limit.variable)] <= limit.high for limit in limits):
            break  # the board stops
        action, memory = policy.predict([*seen, *row], state=memory)
        y.append(seen)
        u.append(action)
        machine.apply(float(action[0]))
    return np.array([*y, machine.measure()]), references[: len(u)], np.array(u)


def worth(rig, kind, policy, seed=1000):
    """Mean return of a law on the machine, in fresh episodes; what stops early costs as much as it could."""
    total = []
    for number in range(EPISODES):
        rng = np.random.default_rng([seed, number])
        references = drawn(rig.described.references, rig.described.steps, rng)
        y, r, u = drive(rig, kind(rng), policy, references)
        total.append(rig.described.paid(y, r, u).sum() - 1.0 * (rig.described.steps - len(u)))
    return float(np.mean(total))


def best(rig, kind, names):
    """The return of the best law of these variables, tuned on the machine itself: (mu, lambda) around good gains."""
    problem, rng = rig.described.stated([name for name in names if name not in rig.described.sees]), np.random.default_rng(0)
    action, offset = rig.described.actions.names[0], rig.described.offsets[rig.described.actions.names[0]]
    x = np.array([rig.described.gains[action].get(name, 0.0) for name in names] + [offset])
    size = np.maximum(np.abs(x), [{"d": 30.0, "i": 1.0, "p": 0.3}.get(name[0] if "(" in name else "", 3.0) for name in names] + [0.1])

    def value(gains):
        return worth(rig, kind, spaql.law(problem, dict(zip(names, gains[:-1], strict=True)), float(gains[-1])), 0)

    top, step = (value(x), x), 1.0
    for _ in range(40):
        tried = [top[1] + step * size * rng.standard_normal(len(x)) for _ in range(6)]
        found = max(((value(gains), gains) for gains in tried), key=lambda pair: pair[0])
        top, step = (found, step * 1.1) if found[0] > top[0] else (top, step * 0.9)
    return worth(rig, kind, spaql.law(problem, dict(zip(names, top[1][:-1], strict=True)), float(top[1][-1]))), top[1]


def learn(name, seed, folder):
    """Six trials through files; what came of them."""
    kind, begun = MACHINES[name], time.process_time()
    rig = spaql.Rig.new(folder / f"{name}-{seed}", kind.toml)
    for number in range(TRIALS):
        said = rig.next(seed)
        policy, plan = rig.controller(said.trial), pandas.read_csv(said.path / "plan.csv").to_numpy()[:, 1:]
        y, r, u = drive(rig, kind(np.random.default_rng([seed, number])), policy, plan)
        names = [*rig.described.names, *(each.name for each in policy.problem.signals.references)]
        table = pandas.DataFrame(np.column_stack([y[:-1], u, r]), columns=names)
        table.loc[len(table), [axis.name for axis in rig.described.state]] = y[-1]
        table.insert(0, "time", rig.described.period * np.arange(len(table)))
        table.to_csv(folder / "log.csv", index=False, sep=";", decimal=",")
        rig.add(folder / "log.csv", said.trial)
    rig.next(seed)
    law = rig.controller()
    results = [trial.result for trial in rig.trials[:TRIALS]]
    promised = [result["inside"] for result in results if result["inside"] is not None]
    return {
        "machine": name, "seed": seed, "fallback": worth(rig, kind, rig.described.fallback(rig.described.stated())),
        "law": worth(rig, kind, law), "text": rig.trials[-1].expected["law"],
        "returns": [round(result["return"], 2) for result in results], "promised": len(promised), "inside": sum(promised),
        "touched": sum(bool(result["touched"]) for result in results), "cpu": time.process_time() - begun,
        "sees": [axis.name for axis in law.problem.state],
    }  # fmt: skip


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--first", type=int, default=0)
    words.add_argument("--only", nargs="*", default=list(MACHINES))
    given = words.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only:
            for seed in range(given.first, given.first + given.seeds):
                rows.append(learn(name, seed, Path(folder)))
                print(json.dumps(rows[-1]), flush=True)
            rig = spaql.Rig(Path(folder) / f"{name}-{given.first}")
            names = list(dict.fromkeys(variable for row in rows if row["machine"] == name for variable in row["sees"]))
            top = best(rig, MACHINES[name], names)
            print(f"{name}: best law of {names}, tuned on the machine: {top[0]:.2f}", flush=True)
            for row in rows:
                if row["machine"] == name:
                    row["way"] = (row["law"] - row["fallback"]) / (top[0] - row["fallback"])
    table = pandas.DataFrame(rows)[["machine", "seed", "fallback", "law", "way", "promised", "inside", "touched", "cpu"]]
    print(table.round(2).to_string(index=False))
    total = table[["promised", "inside", "touched"]].sum()
    print(f"way {100 * table.way.median():.0f} % (median); inside {total.inside} of {total.promised}; limits touched in {total.touched} of {TRIALS * len(table)} trials")


if __name__ == "__main__":
    main()
