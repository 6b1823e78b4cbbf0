"""The first five minutes, measured: how long programs take when nothing is compiled yet, each in a new process."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spaql.ground.errors import SpaqlError

LAWS = """
agent = spaql.Laws(spaql.make("cartpole-fitted"), max_leaves=1, seed=0)
agent.learn(samples=2_000_000)
print(agent.policy().to_text(share=False), agent.evaluate().mean, sep="\\n")
"""
FIRST = """
agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
agent.learn(iterations=500)
print(agent.evaluate(episodes=1000).mean)
"""
ATLAS = """
agent = spaql.Atlas(spaql.make("cartpole"), seed=0)
agent.learn(samples=300)
print(agent.evaluate(episodes=100).mean)
"""
OWN = """
import math
@spaql.reset
def start(u1, u2):
    return math.pi * (2 * u1 - 1), 2 * u2 - 1
@spaql.step
def swing(angle, speed, torque):
    speed = min(max(speed + 0.05 * (15 * math.sin(angle) + 3 * torque), -8.0), 8.0)
    angle = (angle + 0.05 * speed + math.pi) % (2 * math.pi) - math.pi
    return (angle, speed), 1.0 - (angle / math.pi) ** 2, False
plant = spaql.from_plant(
    start, swing, horizon=200, reference=(0.0, 0.0),
    state=[spaql.Axis("angle", -math.pi, math.pi), spaql.Axis("speed", -8, 8)],
    actions=spaql.Continuous((-2.0,), (2.0,)),
)
agent = spaql.SPAQLTS(plant, xi=1.0)
agent.learn(iterations=100)
print(agent.evaluate(100).mean)
"""
# The count is asked for only where there is one: benchmarks run the same programs on earlier versions.
FRAME = """
import spaql
{program}
import sys
compilation = getattr(sys.modules.get("spaql.ground.progress"), "compilation", None)
print(0 if compilation is None else compilation.count)
"""
# name: (program, the name of the one whose cache it starts with)
PROGRAMS = {
    "first program of the README": (LAWS, ""),
    "the same again": (LAWS, "first program of the README"),
    "SPAQL-TS": (FIRST, ""),
    "Atlas": (ATLAS, ""),
    "a plant of your own": (OWN, ""),
    "a second plant of your own": (OWN.replace("15 *", "14 *"), "a plant of your own"),
}


def measure_cold(say: Callable[[str], None] | None = None, source: Path | None = None) -> dict[str, dict[str, Any]]:
    """Wall and CPU seconds of each program, the number of functions compiled, and the return it printed.

    `source`: the folder of another version of the package; None is this one.
    """
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for at, (name, (program, before)) in enumerate(PROGRAMS.items()):
            if say is not None:
                say(f"{name} ...")
            file = Path(folder) / f"program_{at}.py"
            file.write_text(FRAME.format(program=program))
            cache = Path(folder) / f"cache_{list(PROGRAMS).index(before) if before else at}"
            figures[name] = _run(file, cache, source or Path(__file__).parents[2])
    return figures


def _run(file: Path, cache: Path, source: Path) -> dict[str, Any]:
    path = os.pathsep.join([str(source), *(place for place in sys.path if place)])
    environment = {**os.environ, "SPAQL_CACHE_DIR": str(cache), "PYTHONPATH": path}
    before, begin = os.times(), time.perf_counter()
    command = [sys.executable, "-P", str(file)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - begin, os.times()
    if ran.returncode != 0:
        raise SpaqlError(f"the program ended with an error: {(ran.stderr.strip().splitlines() or ['?'])[-1]}")
    mean, count = ran.stdout.splitlines()[-2:]
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall": wall, "cpu": cpu, "compilations": int(count), "return": float(mean)}
