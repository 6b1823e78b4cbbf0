"""Speed, measured in one run and given as ratios: learners against the bare plant and a plain Gymnasium loop."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from spaql.ground.checks import whole
from spaql.ground.compiling import kernel
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import derive, uniform
from spaql.learners import registry
from spaql.learners.agent import Agent
from spaql.learners.spaql import SPAQL, SPAQLTS
from spaql.plants.axes import Space
from spaql.plants.catalog import CATALOG
from spaql.plants.chart import Chart
from spaql.plants.gym import from_gym
from spaql.plants.make import make_from_catalog
from spaql.plants.plant import Batch
from spaql.plants.problem import Problem
from spaql.training.lanes import Episodes, Lanes, Stage, fill_noise, new_lanes, stage_of, start_lanes, step_lanes
from spaql.training.rollouts import locate
from spaql.training.trainer import learn_all

# -- the plant alone, as the yardstick of `spaql bench`: what is left of this speed when a learner drives the plant ----

@kernel
def bare_plant(
    reset: Batch, step: Batch, stage: Stage, space: Space, chart: Chart, lanes: Lanes, fresh: Lanes,
    episodes: Episodes, steps: int,
) -> int:  # fmt: skip
    """`steps` rounds of rollouts in lock-step: random actions, observations in the cube; finished lanes start again.

    Returns the steps made. `fresh`: a second table, for start states.
    """
    key, n, rows = episodes.plant_seed, episodes.last, stage.rows
    padded = start_lanes(reset, stage, lanes, episodes, 0, n)
    started = n
    for h in range(steps):
        for axis in range(rows.noise - rows.action):
            action = lanes.table[rows.action + axis]
            for i in range(padded):
                u = uniform(lanes.action_key[i], h * (rows.noise - rows.action) + axis)
                if space.k > 0:
                    action[i] = chart.acts[axis].centre + chart.acts[axis].scale * (2.0 * u - 1.0)
                else:
                    action[i] = chart.values[np.uint32(u * space.m)]
        step_lanes(step, stage, lanes, h, padded)
        over = h % stage.horizon == stage.horizon - 1
        ended = 0
        for i in range(padded):
            lanes.table[rows.total, i] += lanes.table[rows.reward, i]
            if over or lanes.table[rows.done, i] != 0.0:
                fresh.rollout[ended] = i
                fresh.plant_key[ended] = derive(key, started)
                ended += 1
                started += 1
        if ended > 0:
            fill_noise(fresh, rows.noise, stage.reset_noise, 0, ended)
            reset(fresh.flat, ended)
            for i in range(ended):
                for row in range(rows.action):
                    lanes.table[row, fresh.rollout[i]] = fresh.table[row, i]
        locate(chart, lanes, rows.observation, padded)
    return n * steps


BARE_STEPS = 5_000_000  # of the bare plant in each round
GYM_STEPS = 20_000  # of the plain Gymnasium loop in each round


def measure(
    problems: list[str], iterations: int, rounds: int, say: Callable[[str], None] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Steps per second of CPU time. The figures are taken in turn, `rounds` times, and the best of each counts."""
    iterations, rounds = whole("iterations", iterations, 1), whole("rounds", rounds, 1)
    measured = [registry.learner_class(card) for card in registry.learners() if card.learns_by == "iterations"]
    by_name = {name: make_from_catalog(name, parameters) for name in problems}
    for name, problem in by_name.items():
        if say is not None:
            say(f"compiling for {name} ...")
        _bare(problem, 1000)
        for learner in measured:
            learner(problem).learn(2)
    best: dict[tuple[str, str], float] = {}
    begin = time.perf_counter()
    for turn in range(rounds):
        if say is not None:
            spent = time.perf_counter() - begin
            left = f", about {spent * (rounds - turn) / turn:.0f} s left" if turn else ""
            say(f"round {turn + 1} of {rounds}{left} ...")
        for name, problem in by_name.items():
            rates = {"bare": _bare(problem, BARE_STEPS), "gym": _gym(name)}
            for learner in measured:
                rates[learner.algorithm] = _learner(problem, learner, iterations, turn)
            for what, rate in rates.items():
                best[name, what] = max(best.get((name, what), 0.0), rate)
    figures: dict[str, Any] = {"cores": os.cpu_count(), "iterations": iterations, "rounds": rounds, "problems": {}}
    for name, problem in by_name.items():
        bare, gym = best[name, "bare"], best[name, "gym"]
        rates = {learner.algorithm: best[name, learner.algorithm] for learner in measured}
        learners = {
            algorithm: {"steps_per_second": rate, "of_bare_plant": rate / bare, "times_gymnasium": rate / gym}
            for algorithm, rate in rates.items()
        }
        figures["problems"][name] = {
            "rollouts": problem.rollouts, "bare_plant": bare, "gymnasium_loop": gym, "learners": learners,
        }  # fmt: skip
    figures["threads"] = _threads(by_name[problems[0]], iterations)
    figures["from_gym_overhead"] = _from_gym_overhead(rounds)
    return figures


def _bare(problem: Problem, steps: int) -> float:
    """The plant in lock-step, as in the problem's evaluation: random actions, step, state in the cube."""
    plant, space, n = problem.plant, problem.space(), problem.rollouts
    assert plant is not None
    lanes, fresh = new_lanes(plant), new_lanes(plant)
    (reset, step), stage, chart = plant.batch, stage_of(plant, problem.horizon), problem.chart()
    episodes, begin = Episodes(np.uint64(0), np.empty(0), 0, n), time.process_time()
    done = bare_plant(reset, step, stage, space, chart, lanes, fresh, episodes, steps // n)
    return float(done / (time.process_time() - begin))


def _learner(problem: Problem, learner: type[Agent], iterations: int, seed: int) -> float:
    """Training and evaluation steps of one agent."""
    agent = learner(problem, seed=seed)
    begin = time.process_time()
    history = agent.learn(iterations)
    seconds = time.process_time() - begin
    return float((history.train_samples[-1] + history.eval_samples[-1]) / seconds)


def _gym(name: str) -> float:
    """A plain Python loop with random actions over Gymnasium's own environment, or over ours where it has none."""
    env = gymnasium.make(CATALOG[name].gym_id or CATALOG[name].env_id)
    env.reset(seed=0)
    env.action_space.seed(0)
    begin = time.process_time()
    for _ in range(GYM_STEPS):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return GYM_STEPS / (time.process_time() - begin)


def _threads(problem: Problem, iterations: int) -> dict[str, float]:
    """How much faster as many agents as cores train in parallel than one after the other."""
    cores = os.cpu_count() or 1
    times = {}
    for jobs in (1, cores):
        agents = [SPAQLTS(problem, seed=seed) for seed in range(2 * cores)]
        begin = time.perf_counter()
        learn_all(agents, iterations, jobs=jobs)
        times[jobs] = time.perf_counter() - begin
    return {"jobs": cores, "speed_up": times[1] / times[cores]}


class _Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Records the calls of an environment."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.calls: list[tuple[bool, Any]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.calls.append((True, seed))
        return self.env.reset(seed=seed)

    def step(self, action: Any) -> Any:
        self.calls.append((False, action))
        return self.env.step(action)


def _from_gym_overhead(rounds: int, iterations: int = 20, rollouts: int = 20) -> float:
    """CPU time of learning on CartPole-v1 over that of the same resets and steps alone, minus one.

    Both times are the shortest of several rounds.
    """
    bounds: dict[str, Any] = {"horizon": 200, "slopes": [None, 0.5, None, 0.5], "rollouts": rollouts}
    recorder = _Recorder(gymnasium.make("CartPole-v1"))
    SPAQL(from_gym(recorder, **bounds)).learn(iterations)
    alone, learning = [], []
    for _ in range(3 * rounds):
        env = gymnasium.make("CartPole-v1")
        begin = time.process_time()
        for is_reset, value in recorder.calls:
            env.reset(seed=value) if is_reset else env.step(value)
        alone.append(time.process_time() - begin)
        agent = SPAQL(from_gym(gymnasium.make("CartPole-v1"), **bounds))
        begin = time.process_time()
        agent.learn(iterations)
        learning.append(time.process_time() - begin)
    return min(learning) / min(alone) - 1.0


# -- the first five minutes: how long programs take when nothing is compiled yet, each in a new process ----------------

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
