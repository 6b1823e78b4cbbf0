"""Machines that nobody has tuned anything for, in the place of real ones, and what a board does with the files of a trial."""

import math

import numpy as np
import pandas


class Cart:
    """Pushed along a rail: friction that makes it stick, a voltage that acts one step late, a sensor of whole millimetres."""

    def __init__(self, period=0.02):
        self.period, self.x, self.v, self.late = period, 0.0, 0.0, 0.0

    def measure(self):
        return [round(self.x / 0.001) * 0.001]

    def apply(self, action):
        push, self.late = self.late, action[0]
        h = self.period / 10
        for _ in range(10):
            drive = 1.6 * push - 4.0 * self.v
            if abs(self.v) < 1e-3 and abs(drive) < 1.0:
                self.v = 0.0
                continue
            after = self.v + h * (drive - math.copysign(1.0, self.v if abs(self.v) >= 1e-3 else drive))
            self.v = 0.0 if after * self.v < 0 else after
            self.x += h * self.v


def run_trial(rig, machine, number=None, steps=None):
    """What a board does: the controller of a trial, the references of its plan, a log; it stops at a limit."""
    number = number or rig.trials[-1].number
    policy, plan = rig.controller(number), pandas.read_csv(rig.trials[number - 1].path / "plan.csv")
    names, memory, rows = [axis.name for axis in rig.described.state], policy.memory(), []
    references = [name for name in plan if name != "step"]
    for step, row in enumerate(plan[references].to_numpy()[:steps]):
        seen = machine.measure()
        action, memory = policy.predict([*seen, *row], state=memory)
        rows.append([step * rig.described.period, *seen, *action, *row])
        machine.apply(action)
        if any(not limit.low <= machine.measure()[names.index(limit.variable)] <= limit.high for limit in rig.described.limits):
            break
    rows.append([len(rows) * rig.described.period, *machine.measure(), *[np.nan] * (len(action) + len(references))])
    return pandas.DataFrame(rows, columns=["time", *names, *rig.described.actions.names, *references])
