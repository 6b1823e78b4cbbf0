"""Thousands of calls of public functions with odd values: each works, or is refused in one short line.

    python tests/fuzzed.py --calls 100000 --seed 1    # the counts in docs/reliability.md

Every call is a good call with one or two arguments replaced by what nobody should give.
"""

# ruff: noqa: C408  (keywords are arguments of calls)
import argparse
import datetime
import decimal
import functools
import json
import math
import os
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pandas
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import spaql
from gym_envs import Line
from spaql.ground.errors import LONGEST
from spaql.rig.description import EXAMPLE

SECONDS = 60  # a call that takes longer hangs


class Target(NamedTuple):
    call: Any
    good: dict[str, Any]  # arguments with which it works
    work: tuple[str, ...] = ()  # arguments that say how much to do: no large numbers for them


class Odd:
    """An object of no use."""

    def __repr__(self):
        return "Odd()"


ODD = [
    None, True, False, 0, 1, -1, 2, 3.5, -0.0, 10**30, -(10**5000), 2**63, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, "", "x", "x0", "a\nb",
    "\ud800", "x" * 10_000, "\0", "../../x", b"x", [], [1], [None], ["x"], [math.nan], [[1.0, 2.0], [3.0]], [1e308, -1e308], (), (1, 2), (None, None), {}, {"a": 1},
    {"x": math.nan}, {1: 2}, {None: None}, set(), {1}, range(3), 1 + 2j, decimal.Decimal("1.5"), datetime.datetime(2026, 1, 1), Odd(), int, abs, lambda: 0,
    lambda *numbers: math.nan, lambda x: "text", np.array(1.0), np.array([1.0]), np.array([math.nan] * 3), np.zeros((0, 3)), np.zeros((2, 2, 2)), np.array(["a"]),
    np.array([None]), np.int8(3), np.float32(0.1), np.bool_(True), np.ma.masked, Path("x"), pandas.DataFrame(), pandas.DataFrame({"x": [1]}), pandas.NA, pandas.Timestamp(0),
    slice(3), Ellipsis, NotImplemented, ValueError("x"), spaql, iter([]),
]  # fmt: skip


def small(value):
    """Whether it cannot be meant as an amount of work."""
    try:
        return not (isinstance(value, int | np.integer) and not isinstance(value, bool) and value > 3)
    except TypeError:
        return True


def values(work=False):
    """Odd values, alone and in lists and tables."""
    alone = st.one_of(st.sampled_from([one for one in ODD if not work or small(one)]), st.floats(), st.text(max_size=20))
    if not work:
        alone = st.one_of(alone, st.integers())
    return st.one_of(alone, st.lists(alone, max_size=4), st.dictionaries(st.sampled_from(["x0", "x1", "cos", "action", "x"]), alone, max_size=3))


@spaql.reset
def begin(u):
    return (u - 0.5,)


@spaql.step
def move(x, push):
    return (0.9 * x + 0.1 * push,), -abs(x), False


def nothing(*seen):
    return 0.0


def drift(x, u):
    return (u - x,)


def drift_reward(x, u):
    return -x * x


@functools.cache
def targets():
    axis, push = spaql.Axis("x0", -1.0, 1.0), spaql.Continuous((-1.0,), (1.0,))
    cube = spaql.cube(2, [0, 1], horizon=5)
    plant = spaql.from_plant(begin, move, state=[axis], actions=push, horizon=5)
    looped = spaql.loop(plant, references=[spaql.Reference("target", -0.5, 0.5, of="x0")])
    pendulum = spaql.make("pendulum", horizon=20)
    cartpole = spaql.make("cartpole", horizon=20)
    env = spaql.from_gym(Line(), horizon=5)
    frame = spaql.record(cartpole, episodes=2)
    agent = spaql.SPAQL(cartpole, seed=0)
    agent.learn(3, rollouts=2)
    table = agent.policy()
    tree = table.compress(max_leaves=2, laws=False, budget=20_000)
    law = spaql.law(pendulum, {"velocity": -1.0})
    evaluation, two = agent.evaluate(3), [[1.0, 2.0, 3.0], [1.5, 2.5, 4.0]]
    rows = dict(obs=[0.0] * 4, action=1, reward=1.0, next_obs=[0.01] * 4)
    text = tree.to_json()
    made = {
        "Axis": Target(spaql.Axis, dict(name="x", low=0.0, high=1.0, slope=None, centre=0.0, unit="")),
        "Continuous": Target(spaql.Continuous, dict(low=(0.0,), high=(1.0,), names=("u",), units=("N",))),
        "Finite": Target(spaql.Finite, dict(values=(0, 1), box=False, names=("u",), units=("N",))),
        "Between": Target(spaql.Between, dict(low=0.0, high=1.0)),
        "Limit": Target(spaql.Limit, dict(variable="x", low=0.0, high=1.0)),
        "Interlock": Target(spaql.Interlock, dict(when="x", above=1.0, below=None, action="u", low=0.0, high=1.0)),
        "Feature": Target(spaql.Feature, dict(formula="x0 * x0", unit="", low=0.0, high=1.0)),
        "features": Target(lambda **given: spaql.make("pendulum", features={"e": spaql.Feature(**given)}), dict(formula="velocity * cos", unit="", low=None, high=None)),
        "features by name": Target(lambda name, formula: spaql.make("pendulum", features={name: formula}), dict(name="e", formula="velocity * cos")),
        "Reference": Target(spaql.Reference, dict(name="r", low=0.0, high=1.0, of="x", hold=(2, 5), rate=0.1, values=(), unit="")),
        "Problem": Target(
            spaql.Problem,
            dict(name="p", summary="", state=(axis,), actions=push, horizon=5, reference=None, rollouts=2, clip=False, limits=(), xi={}, parameters={}, map_samples=0, known=None, signals=None, plant=None, env=None, env_id=None),
        ),
        "cube": Target(spaql.cube, dict(state_dim=2, actions=[0, 1], horizon=5), ("state_dim",)),
        "make": Target(lambda name, options: spaql.make(name, **options) if isinstance(options, dict) and all(isinstance(one, str) for one in options) else spaql.make(name), dict(name="pendulum", options={"m": 2.0})),
        "make with": Target(spaql.make, dict(name="pendulum", m=1.0, horizon=5, process_noise=0.0, observation_noise=0.0, limits=(), features=None)),
        "from_gym": Target(
            lambda **given: spaql.from_gym(Line(), **given),
            dict(horizon=5, state_low=None, state_high=None, slopes=None, reference=None, clip=False, rollouts=2, limits=None, names=None, units=None, action_names=None, action_units=None, flatten=False, measure=5, features=None),
            ("measure",),
        ),
        "from_gym env": Target(spaql.from_gym, dict(env="CartPole-v1", horizon=5)),
        "from_gym known": Target(lambda **given: spaql.from_gym(Line(), horizon=5, **given), dict(reward=None, terminated=None)),
        "from_gym spaces": Target(lambda low, high, start, n: spaql.from_gym(Spaces(low, high, start, n), horizon=5), dict(low=-1.0, high=1.0, start=0, n=2), ("n",)),
        "from_gym answers": Target(lambda **answers: spaql.record(spaql.from_gym(Answers(**answers), horizon=5), episodes=1), dict(reset=None, step=None, seen=[0.0], reward=0.0, terminated=False, truncated=False)),
        "from_plant": Target(spaql.from_plant, dict(reset=begin, step=move, state=(axis,), actions=push, horizon=5, observe=None, reference=None, name="p", rollouts=2, parameters=None, reward=None, terminated=None, limits=(), features=None)),
        "reset": Target(spaql.reset, dict(function=lambda u: (u,))),
        "step": Target(spaql.step, dict(function=lambda x, u: ((x,), 0.0, False))),
        "observe": Target(spaql.observe, dict(function=lambda x: (x,))),
        "from_data": Target(spaql.from_data, dict(problem=plant, observations=[[0.0]] * 12, actions=[[0.0]] * 12, rewards=[0.0] * 12, next_observations=[[0.1]] * 12, terminated=None)),
        "from_ode": Target(spaql.from_ode, dict(derivative=drift, start={"x": (0.0, 1.0)}, actions=push, dt=0.1, horizon=5, reward=drift_reward, over=None, observe=None, substeps=2, state=None, reference=None, name="p", rollouts=2, parameters=None, limits=(), ends="")),
        "from_fmu": Target(spaql.from_fmu, dict(path="no.fmu", observe=["x"], actions={"u": (-1, 1)}, horizon=5, reward=None, dt=None, start=None, name=None)),
        "loop": Target(
            functools.partial(spaql.loop, plant),
            dict(references=(), memory=(), observe=(), noise=None, delay=None, increments=None, rates=None, interlocks=(), limits=(), trips=(), trip_cost=None, reward=None, dt=1.0, name=None, features=None),
            ("delay",),
        ),
        "loop of": Target(spaql.loop, dict(problem=plant)),
        "check": Target(spaql.check, dict(problem=plant, episodes=1, seed=0), ("episodes",)),
        "check_known": Target(spaql.check_known, dict(problem=plant, observations=[[0.0]], actions=[[0.0]], rewards=[0.0], next_observations=[[0.0]], terminated=[False])),
        "SPAQL": Target(spaql.SPAQL, dict(problem=cube, seed=0, xi=1.0, tau_min=0.01, u=2.0, d=0.8, temperature_rule="published", bootstrap="paper")),
        "SPAQLTS": Target(spaql.SPAQLTS, dict(problem=cube, seed=0, xi=1.0, lam=1.0, reference=[0.0, 0.0], distance="euclidean")),
        "AQL": Target(spaql.AQL, dict(problem=cube, seed=0, xi=1.0, bootstrap="paper")),
        "NBQL": Target(spaql.NBQL, dict(problem=cube, seed=0, xi=1.0, step=0.5)),
        "ZoomRL": Target(spaql.ZoomRL, dict(problem=cube, seed=0, lipschitz=1.0)),
        "Random": Target(spaql.Random, dict(problem=cube, seed=0)),
        "Atlas": Target(spaql.Atlas, dict(problem=cartpole, seed=0, gamma=0.99, cells=100, model_cells=100, neighbours=5, hold=5, explore=True, chance=0.1, controller="table", use_known=True, levels=3)),
        "Laws": Target(spaql.Laws, dict(problem=pendulum, seed=0, max_leaves=1, teacher=None, jobs=1, effort=1.0, observe=None, gains=None)),
        "learn": Target(lambda **given: spaql.Random(cartpole).learn(**given), dict(iterations=1, rollouts=1, callback=None, samples=None), ("iterations", "rollouts", "samples")),
        "learn_all": Target(spaql.learn_all, dict(agents=[spaql.Random(cartpole)], iterations=1, rollouts=1, jobs=1, callbacks=None, samples=None), ("iterations", "rollouts", "jobs", "samples")),
        "update": Target(lambda **given: spaql.SPAQL(cartpole).update(**given), dict(**rows, terminated=False, step=0)),
        "update of Atlas": Target(lambda **given: spaql.Atlas(cartpole).update(**given), dict(**rows, terminated=False, step=0)),
        "predict": Target(agent.predict, dict(observation=[0.0] * 4, state=None, episode_start=None, deterministic=True)),
        "evaluate": Target(agent.evaluate, dict(episodes=2, seed=0, deterministic=True), ("episodes",)),
        "episode": Target(agent.episode, dict(seed=0, rollout=0, deterministic=False), ("rollout",)),
        "policy": Target(agent.policy, dict(step=None)),
        "save": Target(agent.save, dict(path="agent.spaql")),
        "load": Target(spaql.load, dict(path="agent.spaql", problem=None)),
        "replay": Target(lambda **given: spaql.SPAQL(cartpole).replay(**given), dict(log=frame, passes=1, gaps=False), ("passes",)),
        "replay rows": Target(lambda **columns: spaql.SPAQL(cartpole).replay({name: frame[name] for name in frame} | columns), {name: frame[name] for name in frame}),
        "replay lines": Target(lambda line, place, ending: spaql.SPAQL(cartpole).replay(spoilt(frame, line, place, ending)), dict(line="0,1,2", place=3, ending=".csv")),
        "record": Target(spaql.record, dict(who=cartpole, path=None, episodes=1, seed=0, deterministic=False), ("episodes",)),
        "coverage": Target(spaql.coverage, dict(problem=cartpole, log=frame, reach=0, gaps=False), ("reach",)),
        "check_proof": Target(spaql.check_proof, dict(certificate="no.such", policy=law, problem=None)),
        "compare": Target(spaql.compare, dict(controllers={"a": table, "b": tree}, episodes=2, seed=0), ("episodes",)),
        "differences": Target(spaql.differences, dict(a=table.rules, b=tree.rules, most=2, tolerance=0.0, low=None, high=None), ("most",)),
        "evaluate_vector": Target(spaql.evaluate_vector, dict(agent=spaql.Random(env), make_env=Line, episodes=1, n_envs=1, seed=0, deterministic=True, asynchronous=False, horizon=2), ("episodes", "n_envs", "horizon", "asynchronous")),
        "sweep": Target(lambda **given: spaql.sweep(**given, trials=0), dict(problem="cartpole", algorithm="spaql", options=["xi=0.1..10"], store="store", seeds=1, best=1, final_seeds=1)),
        "Rig": Target(lambda folder, seed: rig_of(folder).next(seed), dict(folder="rig", seed=0)),
        "Rig.new": Target(lambda description: spaql.Rig.new(Path(tempfile.mkdtemp(dir=".")) / "rig", description), dict(description=EXAMPLE)),
        "Rig.add": Target(lambda log, trial: rig_of(Path(tempfile.mkdtemp(dir="."))).add(log, trial), dict(log={"time": [0.02 * n for n in range(30)], "position": [0.001 * n for n in range(30)], "target": [0.1] * 30, "voltage": [0.1] * 30}, trial=0)),
        "law": Target(spaql.law, dict(problem=pendulum, gains={"velocity": -1.0}, offset=0.0, name="law")),
        "lqr": Target(spaql.lqr, dict(problem=pendulum, Q={"velocity": 1.0}, R=1.0, at=None, action=None, discount=1.0, model=None)),
        "tune": Target(
            spaql.tune,
            dict(problem=looped, form="P", overshoot=10.0, settling_time=None, gain_margin=None, phase_margin=None, ms=1.6, reference=None,
                 action=None, inner=None, model=None, input=None, output=None, limits=None, dt=None, integrating=None),
        ),
        "pid": Target(spaql.pid, dict(problem=looped, kp=1.0, ki=0.1, kd=0.0, of=None, set_point=None, action=None, bias=0.0, limit=None, dt=None)),
        "Controller": Target(spaql.Controller, dict(problem=env, function=nothing, name="mine")),
        "Controller.predict": Target(spaql.Controller(env, nothing).predict, dict(observation=[0.0], state=None, episode_start=None, deterministic=True)),
        "problems": Target(lambda **given: spaql.problems(), dict(nothing=None)),
        "Policy": Target(spaql.Policy, dict(problem=cartpole, rules=tree.rules, kind="tree", origin="hand")),
        "Policy.predict": Target(law.predict, dict(observation=[1.0, 0.0, 0.0], state=None, episode_start=None, deterministic=True)),
        "Policy.evaluate": Target(law.evaluate, dict(episodes=2, seed=0, device="cpu"), ("episodes",)),
        "Policy.why": Target(tree.why, dict(observation=[0.0] * 4)),
        "Policy.certify": Target(law.certify, dict(episodes=2, seed=0, confidence=0.95, device="cpu"), ("episodes",)),
        "Policy.tolerance": Target(law.tolerance, dict(fall=0.5, episodes=2, seed=0, device="cpu"), ("episodes",)),
        "Policy.compress": Target(table.compress, dict(max_leaves="two", laws=False, budget=1000, oblique=False, episodes=2, seed=0, device="cpu"), ("budget", "episodes")),
        "Policy.episode": Target(law.episode, dict(seed=0, rollout=0), ("rollout",)),
        "Policy.export": Target(tree.export, dict(to="c")),
        "Policy.to_c": Target(tree.to_c, dict(name="f", precision="double", form="auto", main=False)),
        "Policy.to_python": Target(tree.to_python, dict(name="f")),
        "Atlas.model": Target(lambda **given: str(noted().model.linear(**given)), dict(at=[0.1], action=0.0, level=0.9, functions=3), ("functions",)),
        "Atlas.model.predict": Target(noted().model.predict, dict(observation=[0.1], action=0.0, level=0.9, functions=3), ("functions",)),
        "Atlas.model.save_fmu": Target(noted().model.save_fmu, dict(path="plant.fmu", version=3, start=[0.1], name="p")),
        "Policy.save_fmu": Target(law.save_fmu, dict(path="law.fmu", version=3, name="f", monitor=None, dt=0.05)),
        "Policy.save_arduino": Target(law.save_arduino, dict(folder="law", name="f", monitor=None, dt=0.05)),
        "Policy.to_st": Target(tree.to_st, dict(name="f")),
        "Monitor": Target(lambda **given: law.to_c(monitor=spaql.Monitor(**given)), dict(region={"velocity": (-1.0, 1.0)}, fallback=0.0, margin=0.1, ellipsoid=False)),
        "Monitor of a frame": Target(lambda **given: tree.to_python(monitor=spaql.Monitor(**given)), dict(region=frame, fallback=1, margin=0.1, ellipsoid=True)),
        "Monitor.evaluate": Target(functools.partial(spaql.Monitor({"velocity": (-1.0, 1.0)}, 0.0).evaluate, law), dict(episodes=2, seed=0), ("episodes",)),
        "Monitor.step": Target(spaql.Monitor({"velocity": (-1.0, 1.0)}, 0.0).run(law).step, dict(inputs=[1.0, 0.0, 0.5])),
        "Policy.from_json": Target(spaql.Policy.from_json, dict(text=text, problem=None)),
        "Policy in JSON": Target(lambda place, value: spaql.Policy.from_json(tampered(text, place, value)), dict(place=0, value=None)),
        "laws in JSON": Target(lambda place, value: spaql.Policy.from_json(tampered(law.to_json(), place, value)), dict(place=0, value=None)),
        "loop in JSON": Target(lambda place, value: spaql.Policy.from_json(tampered(loop_text(looped), place, value)), dict(place=0, value=None)),
        "step_response": Target(law_of(looped).step_response, dict(reference=None, start=None, to=None, at=None, noise=False, tolerance=0.02, episodes=1, seed=0), ("episodes",)),
        "falsify": Target(law.falsify, dict(episodes=2, seed=0, by=None, fresh=2), ("episodes", "fresh")),
        "draw_frontier": Target(tree.draw_frontier, dict(path="no.such")),
        "Evaluation": Target(lambda **given: str(spaql.Evaluation(**given)) + repr(spaql.Evaluation(**given).to_dict()), dict(returns=np.array([1.0, 2.0]), samples=3)),
        "certificate": Target(evaluation.certificate, dict(confidence=0.95, date=None)),
        "Episode.plot": Target(agent.episode().plot, dict(path="no.such")),
        "Checkpoint": Target(spaql.callbacks.Checkpoint, dict(directory="d", every=1, keep=None)),
        "CsvLog": Target(spaql.callbacks.CsvLog, dict(path="f.csv", every=1)),
        "EarlyStop": Target(spaql.callbacks.EarlyStop, dict(patience=1, target=None, gain=0.0, window=None)),
        "Progress": Target(spaql.callbacks.Progress, dict(every=1, file=None)),
        "TensorBoard": Target(spaql.callbacks.TensorBoard, dict(directory="d", every=1)),
    }  # fmt: skip
    analysis = spaql.analysis
    made |= {
        "analysis.adjusted": Target(analysis.adjusted, dict(p_values=[0.1], correction="holm")),
        "analysis.holm": Target(analysis.holm, dict(p_values=[0.1])),
        "analysis.bootstrap_interval": Target(analysis.bootstrap_interval, dict(values=two[0], statistic="mean", level=0.95, resamples=10), ("resamples",)),
        "analysis.compare": Target(analysis.compare, dict(runs={"a": two[0], "b": two[1]}, metric=None, by="algorithm", alpha=0.05, correction="holm", power=0.8, seed=0)),
        "analysis.hedges_g": Target(analysis.hedges_g, dict(a=two[0], b=two[1])),
        "analysis.iqm": Target(analysis.iqm, dict(values=two[0])),
        "analysis.mean_interval": Target(analysis.mean_interval, dict(values=two[0], level=0.95)),
        "analysis.probability_of_improvement": Target(analysis.probability_of_improvement, dict(a=two[0], b=two[1], level=0.95, seed=0, resamples=10), ("resamples",)),
        "analysis.sd_from_half_width": Target(analysis.sd_from_half_width, dict(half_width=1.0, n=5, level=0.95)),
        "analysis.seeds_needed": Target(analysis.seeds_needed, dict(a=two[0], b=two[1], power=0.8, alpha=0.05)),
        "analysis.seeds_needed_from_summary": Target(analysis.seeds_needed_from_summary, dict(difference=1.0, sd1=1.0, sd2=1.0, power=0.8, alpha=0.05)),
        "analysis.verdict": Target(analysis.verdict, dict(published_mean=1.0, published_half_width=1.0, published_n=5, ours=two[0], alpha=0.05)),
        "analysis.welch": Target(analysis.welch, dict(a=two[0], b=two[1])),
        "analysis.welch_from_summary": Target(analysis.welch_from_summary, dict(mean1=1.0, sd1=1.0, n1=3, mean2=2.0, sd2=1.0, n2=3, level=0.95)),
    }
    return made


@functools.cache
def noted():
    """An agent with a few samples."""
    plant = spaql.from_plant(begin, move, state=[spaql.Axis("x0", -1.0, 1.0)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=5)
    agent, rng = spaql.Atlas(plant), np.random.default_rng(0)
    for x, u in rng.uniform(-1.0, 1.0, (12, 2)):
        agent.update([x], [u], 0.0, [0.9 * x + 0.1 * u])
    return agent


class Spaces(Line):
    """Its spaces are what the fuzzer makes of them."""

    def __init__(self, low, high, start, n):
        super().__init__()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.observation_space = gymnasium.spaces.Box(np.float32(low), np.float32(high), (1,))
                self.action_space = gymnasium.spaces.Discrete(n, start=start)
        except Exception:  # Gymnasium itself refuses it
            pass


class Answers(Line):
    """Its answers are what the fuzzer makes of them."""

    def __init__(self, **answers):
        super().__init__()
        self.answers = answers

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return (self.answers["seen"], {}) if self.answers["reset"] is None else self.answers["reset"]

    def step(self, action):
        super().step(action)
        if self.answers["step"] is not None:
            return self.answers["step"]
        return (*(self.answers[name] for name in ("seen", "reward", "terminated", "truncated")), {})


def rig_of(folder):
    """That of the folder, or a new one."""
    made = isinstance(folder, str | Path) and "\0" not in str(folder) and len(str(folder)) < 200 and not (Path(folder) / "rig.toml").exists()
    return spaql.Rig.new(folder) if made and not os.path.isabs(folder) and ".." not in str(folder) else spaql.Rig(folder)


def law_of(problem):
    return spaql.law(problem, {"x0": -1.0})


def loop_text(problem):
    return law_of(problem).to_json()


def tampered(text, place, value):
    """JSON in which one thing is another."""
    told = json.loads(text)
    paths = list(places(told))
    spot = paths[(place if isinstance(place, int) and not isinstance(place, bool) else len(repr(type(place)))) % len(paths)]
    inner = told
    for key in spot[:-1]:
        inner = inner[key]
    if spot:
        inner[spot[-1]] = value
    try:
        return json.dumps(told if spot else value)
    except (TypeError, ValueError):
        return repr_of(value)


def places(told, at=()):
    yield at
    if isinstance(told, dict | list):
        for key, value in told.items() if isinstance(told, dict) else enumerate(told):
            yield from places(value, (*at, key))


def spoilt(frame, line, place, ending):
    """A file in which one line is another."""
    path = Path(f"log{ending if isinstance(ending, str) and ending in ('.csv', '.csv.gz', '.parquet') else '.csv'}")
    lines = frame.to_csv(index=False).splitlines()
    lines[place % len(lines) if isinstance(place, int) and not isinstance(place, bool) else 0] = line if isinstance(line, str) else ",".join(map(repr, line if isinstance(line, list) else [line]))
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return path


class Hang(BaseException):
    """The call takes too long."""


@contextmanager
def limited(seconds):
    def over(number, frame):
        raise Hang

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Count:
    """What became of the calls."""

    def __init__(self):
        self.worked, self.refused, self.faults = Counter(), Counter(), {}

    def call(self, name, changed):
        target = targets()[name]
        what = {key: repr_of(value) for key, value in changed.items()}
        try:
            with warnings.catch_warnings(), limited(SECONDS), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                target.call(**target.good | changed)
            self.worked[name] += 1
        except spaql.SpaqlError as error:
            self.refused[name] += 1
            if not (str(error).isprintable() and 0 < len(str(error)) <= LONGEST):
                self.faults.setdefault((name, "message", str(error)[:60]), what)
        except (Exception, Hang) as error:
            self.faults.setdefault((name, type(error).__name__, where(error)), {"message": str(error)[:90], **what})


def where(error):
    """The last line of ours that the error went through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/spaql/" in frame.filename]
    return f"{frames[-1].filename.partition('/spaql/')[2]}:{frames[-1].lineno}" if frames else ""


def repr_of(value):
    try:
        return repr(value)[:80]
    except Exception as error:
        return f"<{type(value).__name__}: {error}>"


@st.composite
def calls(draw, names):
    name = draw(st.sampled_from(names))
    target = targets()[name]
    keys = draw(st.lists(st.sampled_from(list(target.good)), min_size=1, max_size=2, unique=True))
    return name, {key: draw(values(key in target.work)) for key in keys}


def fuzz(amount, number, only=None):
    """So many calls; the same ones for the same number."""
    names = [name for name in targets() if only is None or name in only]
    count = Count()

    @seed(number)
    @settings(max_examples=amount, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(calls(names))
    def every(call):
        count.call(*call)

    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            every()
        finally:
            os.chdir(before)
    return count


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--calls", type=int, default=10_000)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--only", nargs="*")
    words.add_argument("--show", action="store_true", help="a line per function")
    given = words.parse_args()
    count = fuzz(given.calls, given.seed, given.only)
    for name in targets() if given.show else ():
        print(f"{name:40} worked {count.worked[name]:6} refused {count.refused[name]:6}")
    total, refused = sum(count.worked.values()) + sum(count.refused.values()) + len(count.faults), sum(count.refused.values())
    print(f"{len(targets())} functions, {total} calls: {sum(count.worked.values())} worked, {refused} refused in one line, {len(count.faults)} kinds of faults")
    for (name, kind, message), what in count.faults.items():
        print(f"FAULT {name}: {kind}: {message!r} with {what}")


if __name__ == "__main__":
    main()
