"""A law behind a monitor: C, Python and Structured Text switch alike, over whole episodes."""

import ctypes
import itertools
import math
import subprocess
from dataclasses import replace

import numpy as np
import pandas
import pytest

import spaql
from exported_programs import COMPILERS, STRICT, needs_compiler
from loop_controllers import LOOPS, controller
from loops import motor
from spaql.ground.errors import SpaqlError
from spaql.proofs.one_plant import of_rules
from spaql.proofs.proof import Claim, Proof
from structured_blocks import monitored

NAN, FAR = math.nan, 1e101


def pendulum():
    problem = spaql.make("pendulum", horizon=60)
    law = spaql.law(problem, {"sin": -8.0, "velocity": -2.0})
    return law, spaql.law(problem, {"velocity": -0.7}, 0.1)


def two_axes():
    """An ellipsoid, two actions, and a constant fallback for each."""
    axes = tuple(spaql.Axis(name, -2.0, 2.0) for name in ("x", "y"))
    actions = spaql.Continuous((-1.0, -3.0), (1.0, 3.0), ("u", "v"))
    problem = replace(spaql.cube(2, 2, 10), state=axes, actions=actions)
    return spaql.law(problem, {"u": {"x": -1.0}, "v": {"x": 0.3, "y": -2.0}})


def made(name):
    """A policy and its monitor."""
    law, damping = pendulum()
    in_loop = controller(LOOPS["rate limit and interlock"])
    changes = controller(LOOPS["increments and all of the memory"])
    ball = ([0.1, -0.2], [[4.0, 1.0], [1.0, 2.0]])
    return {
        "a law": lambda: (law, spaql.Monitor({"velocity": (-1.5, 2.0)}, damping)),
        "a constant": lambda: (law, spaql.Monitor({"velocity": (-math.inf, 2.0), "cos": (-0.9, 1.0)}, 0.5)),
        "a PI behind a law without a loop": lambda: (law, spaql.Monitor({"velocity": (-1.5, 1.5)}, spaql.pid(law.problem, 2.0, 1.0, 0.1, of="sin", set_point=0.3))),
        "an ellipsoid": lambda: (two_axes(), spaql.Monitor({"x": (-0.4, 0.6)}, {"u": 0.5, "v": -1.0}, ellipsoid=ball)),
        "finite actions": lambda: (spaql.law(spaql.make("cartpole", horizon=60), {"angle": 10.0, "angular velocity": 1.0}), spaql.Monitor({"position": (-0.02, 0.03)}, 1)),
        "a PI in a loop": lambda: (in_loop, spaql.Monitor({"current": (-2.0, 3.0)}, spaql.pid(in_loop.problem, 0.05, 0.1))),
        "a constant in a loop": lambda: (in_loop, spaql.Monitor({"speed_error": (-8.0, 140.0)}, 1.5)),
        "a law of what is measured": lambda: (in_loop, spaql.Monitor({"current": (-2.0, 3.0)}, spaql.law(motor(), {"speed": -0.1, "current": -0.2}, 2.0))),
        "increments": lambda: (changes, spaql.Monitor({"speed": (-5.0, 8.0)}, spaql.pid(changes.problem, 0.05, 0.1))),
        "increments, then a constant": lambda: (changes, spaql.Monitor({"speed": (-5.0, 8.0)}, -2.0)),
    }[name]()


NAMES = (
    "a law", "a constant", "a PI behind a law without a loop", "an ellipsoid", "finite actions", "a PI in a loop", "a constant in a loop", "a law of what is measured",
    "increments", "increments, then a constant",
)  # fmt: skip


def inputs_of(policy, n=500, seed=2):
    """Wandering measurements, some of them no numbers or far away, and what is asked for: (row, request, reset)."""
    rng = np.random.default_rng(seed)
    axes = policy.problem.measured if policy.problem.signals is None else policy.problem.signals.inputs
    size = np.array([1.0 / axis.slope if axis.slope is not None else axis.high - axis.low for axis in axes])
    rows = rng.normal(size=(n, len(axes)))
    for k in range(1, n):
        rows[k] = 0.8 * rows[k - 1] + 0.6 * rows[k]
    rows *= size * (0.01 if policy.problem.signals or policy.problem.actions.values else 0.1)
    odd = rng.random(n) < 0.12
    rows[odd, rng.integers(len(axes), size=n)[odd]] = rng.choice([NAN, math.inf, -FAR], n)[odd]
    return [(row, rng.random() < 0.05, rng.random() < 0.25) for row in rows.tolist()]


def python_run(policy, monitor):
    """What the exported Python applies: (action..., fallback, trips, cause) of every step."""
    scope, told = {}, []
    exec(policy.to_python(monitor=monitor), scope)
    memory = scope["controller_init"]()
    for row, request, reset in inputs_of(policy):
        if reset:
            scope["controller_reset"](memory)
        if request:
            scope["controller_request"](memory)
        told.append((*np.atleast_1d(scope["controller_step"](memory, row)).tolist(), bool(memory["fallback"]), memory["trips"], memory["cause"]))
    return told


@pytest.fixture(params=NAMES, scope="module")
def case(request):
    policy, monitor = made(request.param)
    told = python_run(policy, monitor)
    acts = [step[-3] for step in told]
    assert {True, False} == set(acts), "both act"
    assert {1, 2, 3} <= {step[-1] for step in told}, "every cause is there"
    return policy, monitor, told


HARNESS = """
int fallback_of(const controller_memory *memory); int fallback_of(const controller_memory *memory) { return memory->fallback; }
int cause_of(const controller_memory *memory); int cause_of(const controller_memory *memory) { return memory->cause; }
long trips_of(const controller_memory *memory); long trips_of(const controller_memory *memory) { return (long)memory->trips; }
int size_of(void); int size_of(void) { return (int)sizeof(controller_memory); }
"""


@needs_compiler
def test_c_switches_as_python_does(case, tmp_path):
    policy, monitor, told = case
    (tmp_path / "controller.c").write_text(policy.to_c(monitor=monitor) + HARNESS)
    subprocess.run([COMPILERS[0], *STRICT, "-O2", "-fPIC", "-shared", tmp_path / "controller.c", "-o", tmp_path / "c.so"], check=True)
    library, axes = ctypes.CDLL(str(tmp_path / "c.so")), len(told[0]) - 3
    memory, output = ctypes.create_string_buffer(library.size_of()), (ctypes.c_double * axes)()
    library.controller_init(memory)
    seen = []
    for row, request, reset in inputs_of(policy):
        if reset:
            library.controller_reset(memory)
        if request:
            library.controller_request(memory)
        library.controller_step(memory, (ctypes.c_double * len(row))(*row), output)
        seen.append((*output, bool(library.fallback_of(memory)), library.trips_of(memory), library.cause_of(memory)))
    assert seen == told


def test_structured_text_switches_as_python_does(case):
    policy, monitor, told = case
    axes = policy.problem.measured if policy.problem.signals is None else policy.problem.signals.inputs
    step, block = monitored(policy.to_st(monitor=monitor), len(axes))
    seen = []
    for row, request, reset in inputs_of(policy):
        block.was_reset = False  # the button was let go
        seen.append((*step(row, request, reset), block.fallback, block.trips, block.cause))
    assert seen == told


@needs_compiler
@pytest.mark.parametrize("name", ["an ellipsoid", "a PI in a loop"])
def test_c_in_single_precision_and_its_main_compile(name, tmp_path):
    policy, monitor = made(name)
    (tmp_path / "controller.c").write_text(policy.to_c(monitor=monitor, precision="single", main=True))
    for compiler in COMPILERS:
        subprocess.run([compiler, *STRICT, tmp_path / "controller.c", "-o", tmp_path / "controller"], check=True)


@pytest.mark.parametrize("name", ["a law", "a PI in a loop", "increments, then a constant", "finite actions"])
def test_over_whole_episodes_the_law_acts_until_it_leaves(name):
    """Against `predict` and the plant: as long as the law acts nothing is changed, then the fallback acts to the end."""
    policy, monitor = made(name)
    watched = monitor.evaluate(policy, episodes=10, seed=3)
    assert watched.evaluation.samples == watched.evaluation.lengths.sum()
    for j in range(3):
        alone, at = policy.episode(seed=3, rollout=j), int(watched.took_over[j])
        region = monitor.region_of(policy)
        inside = ((alone.observations >= region.low) & (alone.observations <= region.high)).all(axis=1)
        assert at == (int(np.argmin(inside)) if not inside[:-1].all() else -1)
    assert 0.0 < watched.share <= 1.0
    assert "the fallback took over in" in str(watched)


def test_a_region_that_is_never_left_changes_nothing():
    policy, _ = pendulum()
    watched = spaql.Monitor({"velocity": (-100.0, 100.0)}, 0.0).evaluate(policy, 20)
    assert watched.evaluation.returns.tolist() == pytest.approx(policy.evaluate(20).returns.tolist())
    assert "never took over in 20 episodes" in str(watched)


def test_what_takes_over_in_a_loop_goes_on_from_what_was_applied_last():
    """The rate limit holds across the switch; without that the PI would begin at zero."""
    policy, _ = made("a PI in a loop")
    run = spaql.Monitor({"current": (-2.0, 3.0)}, spaql.pid(policy.problem, 0.05, 0.1)).run(policy)
    applied = [run.step([0.0, 0.0, 100.0]).item() for _ in range(4)]
    assert not run.fallback
    run.request()
    after = run.step([0.0, 0.0, -100.0]).item()
    assert (run.fallback, run.trips, run.cause) == (True, 1, "asked for")
    assert after == applied[-1] - 4.0
    run.request()
    assert run.trips == 1
    run.reset()
    assert run.step([0.0, 0.0, 100.0]).item() == applied[-1]
    assert not run.fallback


def test_a_python_function_can_be_the_fallback_in_python_only():
    policy, _ = pendulum()
    own = spaql.Controller(policy.problem, lambda cos, sin, velocity: 1.0 if velocity < 0.0 else -1.0, name="brake")
    monitor = spaql.Monitor({"velocity": (-1.0, 1.0)}, own)
    run = monitor.run(policy)
    assert run.step([1.0, 0.0, 2.0]).item() == -1.0
    assert run.step([1.0, 0.0, NAN]).item() == 0.0
    with pytest.raises(SpaqlError, match=r"brake is a Python function, .* give fallback=brake.laws\(\)"):
        policy.to_c(monitor=monitor)


# -- where the region comes from ---------------------------------------------------------------------------------------


def test_a_region_from_a_log_an_agent_and_what_the_law_visits():
    problem = spaql.make("pendulum", horizon=30)
    policy, frame = spaql.law(problem, {"velocity": -0.5}), spaql.record(problem, episodes=4)
    seen = frame[["cos", "sin", "velocity"]].to_numpy()
    region = spaql.Monitor(frame, 0.0, margin=0.1).region_of(policy)
    assert -8.0 - 1.6 <= region.low[2] <= seen[:, 2].min() - 0.1 * np.ptp(seen[:, 2])
    atlas = spaql.Atlas(problem)
    for row, after in itertools.pairwise(seen):
        atlas.update(row, [0.0], 0.0, after)
    assert spaql.Monitor(atlas, 0.0, margin=0.0).region_of(policy).high == tuple(seen.max(axis=0).tolist())
    visited = spaql.Monitor(None, 0.0).region_of(policy)
    assert "200 episodes" in visited.source
    assert visited.low[2] < visited.high[2]


def test_an_ellipsoid_around_a_log_holds_all_of_it_and_less_than_the_box():
    rng = np.random.default_rng(0)
    problem = replace(spaql.cube(2, 1, 10), state=(spaql.Axis("x", -9, 9), spaql.Axis("y", -9, 9)))
    states = rng.normal(size=(300, 1)) * [1.0, 2.0] + 0.1 * rng.normal(size=(300, 2))
    log = pandas.DataFrame({"x": states[:, 0], "y": states[:, 1], "action": np.zeros(300), "step": np.arange(300)})
    run = spaql.Monitor(log, 0.0, ellipsoid=True).run(spaql.law(problem, {"x": 1.0}))
    for row in states:
        run.step(row)
    assert run.trips == 0
    run.step([1.0, -2.0])  # in the box, far from the line
    assert run.cause == "outside the region"


def test_limits_of_the_problem_bound_the_region():
    problem = spaql.make("pendulum", limits=[spaql.Limit("velocity", -3.0, 4.0)])
    region = spaql.Monitor({"velocity": (-5.0, 2.0)}, 0.0).region_of(spaql.law(problem, {"velocity": -1.0}))
    assert (region.low[2], region.high[2]) == (-3.0, 2.0)


def test_the_comment_says_region_fallback_and_causes():
    policy, monitor = made("a PI in a loop")
    text = policy.to_c(monitor=monitor)
    assert " *   current [A] from -2 to 3\n" in text
    assert "Fallback: PI controller, voltage = clip(0.05·speed_error + 0.1·integral(speed_error), -24, 24) V" in text
    assert text == policy.to_c(monitor=monitor)
    assert policy.to_c(monitor=None) == policy.to_c()


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"region": {"velocity": (-1, 1)}}, "fallback says what acts"),
        ({"region": {}, "fallback": 0.0}, "region has no bounds"),
        ({"region": {"speed": (-1, 1)}, "fallback": 0.0}, "the law does not see 'speed', only cos, sin, velocity"),
        ({"region": {"velocity": (1, -1)}, "fallback": 0.0}, "region is empty: velocity would be from 1 to -1"),
        ({"region": {"velocity": 3}, "fallback": 0.0}, r"velocity needs \(low, high\)"),
        ({"region": {"velocity": (-1, math.nan)}, "fallback": 0.0}, "must be a finite number"),
        ({"region": {"velocity": (-1, 1)}, "fallback": 30.0}, "torque = 30 is outside -2 to 2"),
        ({"region": {"velocity": (-1, 1)}, "fallback": spaql.law(motor(), {"speed": 1.0})}, "another plant"),
        ({"region": {"velocity": (-1, 1)}, "fallback": "stop"}, "fallback"),
        ({"region": {"velocity": (-1, 1)}, "fallback": 0.0, "ellipsoid": True}, "goes with what was seen"),
        ({"region": {"velocity": (-1, 1)}, "fallback": 0.0, "ellipsoid": ([0, 0, 0], -np.eye(3))}, "negative eigenvalues"),
        ({"region": spaql.Atlas(motor()), "fallback": 0.0}, "keeps no samples"),
        ({"region": 3.0, "fallback": 0.0}, "log"),
        ({"region": {"velocity": (-1, 1)}, "fallback": 0.0, "margin": -1}, "margin"),
    ],
)
def test_what_cannot_be_a_monitor_is_refused_in_one_line(told, words):
    policy, _ = pendulum()
    with pytest.raises(SpaqlError, match=words) as refused:
        policy.to_c(monitor=spaql.Monitor(**told))
    assert "\n" not in str(refused.value)


def test_another_loop_is_refused():
    policy, _ = made("a PI in a loop")
    other = spaql.pid(spaql.loop(motor(), references=[spaql.Reference("goal", 0.0, 100.0, of="speed", hold=5)], dt=0.01), 0.1)
    with pytest.raises(SpaqlError, match=r"other rates than the loop of the law: make it of policy.problem"):
        policy.to_c(monitor=spaql.Monitor({"current": (-1, 1)}, other))
    for given in (3, "x", {"region": 1}):
        with pytest.raises(SpaqlError, match=r"must be a spaql\.Monitor"):
            policy.to_c(monitor=given)
    with pytest.raises(SpaqlError, match="md has no monitor"):
        policy.export("md", monitor=spaql.Monitor({"current": (-1, 1)}, 0.0))


@needs_compiler
def test_features_are_computed_behind_the_monitor_and_are_no_part_of_the_region(tmp_path):
    problem = spaql.make("pendulum", horizon=60, features={"energy": lambda cos, velocity: 0.5 * velocity * velocity + 10.0 * cos})
    policy = spaql.law(problem, {"energy": 0.3, "velocity": -1.0})
    monitor = spaql.Monitor({"velocity": (-2.0, 1.5)}, 0.3)
    assert len(monitor.region_of(policy).low) == 3
    told = python_run(policy, monitor)
    rows = [row for row, *_ in inputs_of(policy)]
    assert told[0][0] == pytest.approx(policy.predict(rows[0])[0].item())
    assert monitor.evaluate(policy, 5).share > 0.0
    (tmp_path / "controller.c").write_text(policy.to_c(monitor=monitor))
    subprocess.run([COMPILERS[0], *STRICT, "-c", tmp_path / "controller.c", "-o", tmp_path / "c.o"], check=True)


def test_a_log_of_measurements_is_seen_as_the_law_would_have_seen_it():
    """In a loop: errors and memory are computed along its episodes, as the plant computed them."""
    policy, _ = made("a PI in a loop")
    told = spaql.record(spaql.law(spaql.loop(motor(), dt=0.01, noise={}), {"speed": -0.1, "current": 0.3}, 2.0), episodes=2)
    told = told[[name for name in told if not name.startswith("next_")]]
    log = told.assign(target=np.where(told["step"] < 30, 40.0, 90.0))
    region = spaql.Monitor(log, 0.0, margin=0.0).region_of(policy)
    errors = log["target"] - log["speed"]
    assert region.low[0] == pytest.approx(errors.min(), abs=1e-9)
    assert (region.low[2], region.high[2]) == (log["current"].min(), log["current"].max())
    assert -5.0 <= region.low[1] <= region.high[1] <= 5.0
    assert region.high[1] > 0.0
    with pytest.raises(SpaqlError, match="target"):
        spaql.Monitor(told, 0.0).region_of(policy)


def test_a_region_from_a_proof_is_what_is_proven_of_this_law(tmp_path):
    problem = spaql.from_plant(near, slow, state=[spaql.Axis("x", -2.0, 2.0)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=50, name="line")
    policy = spaql.law(problem, {"x": -1.0})
    proof = policy.prove(never={"x": (-1.5, 1.5)}, seconds=10)
    proof.save(tmp_path / "x.proof.json")
    for given in (proof, str(tmp_path / "x.proof.json")):
        region = spaql.Monitor(given, 0.0).region_of(policy)
        assert region.source == "proven bounds"
        assert -1.5 <= region.low[0] <= -1.0
        assert 1.0 <= region.high[0] <= 1.5
    with pytest.raises(SpaqlError, match="about another controller"):
        spaql.Monitor(proof, 0.0).region_of(spaql.law(problem, {"x": -0.9}))
    with pytest.raises(SpaqlError, match="does not hold for all of its starts"):
        spaql.Monitor(replace(proof, open=(((-1.0, -0.9),),)), 0.0).region_of(policy)


@spaql.reset
def near(u):
    return (2.0 * u - 1.0,)


@spaql.step
def slow(x, push):
    return (0.9 * x + 0.1 * push,), -x * x, False


@needs_compiler
def test_names_that_look_like_code_of_the_monitor_stay_names(tmp_path):
    names = ["sum1", "controller law", "fallback", "request", "*) trips (*", "*/ cause", "memory", "last1", "inside"]
    axes = tuple(spaql.Axis(name, -9.0, 9.0) for name in names)
    problem = replace(spaql.cube(len(names), 1, 10), state=axes, actions=spaql.Continuous((-1.0,), (1.0,), ("controller_fallback",)))
    policy = spaql.law(problem, np.linspace(0.1, 0.9, len(names)))
    monitor = spaql.Monitor(dict.fromkeys(names[:3], (-1.0, 1.0)), 0.5, ellipsoid=(np.zeros(len(names)), np.eye(len(names)) / 4.0))
    scope = {}
    exec(policy.to_python(monitor=monitor), scope)
    memory, (step, _) = scope["controller_init"](), monitored(policy.to_st(monitor=monitor), len(names))
    (tmp_path / "controller.c").write_text(policy.to_c(monitor=monitor, main=True))
    subprocess.run([COMPILERS[0], *STRICT, tmp_path / "controller.c", "-o", tmp_path / "controller"], check=True)
    rows = (0.4 * np.random.default_rng(0).normal(size=(9, len(names)))).tolist()
    text = "\n".join(" ".join(map(repr, row)) for row in rows)
    told = subprocess.run([tmp_path / "controller"], input=text, text=True, capture_output=True, check=True).stdout
    expected = [scope["controller_step"](memory, row) for row in rows]
    assert [float(value) for value in told.split()] == expected
    assert [step(row)[0] for row in rows] == expected


def test_a_region_from_a_proof_of_attraction_is_the_ellipsoid_that_no_sample_leaves():
    """Whatever starts are open: within it every sample comes nearer, so that the monitor never acts unless the plant is another one."""
    swing = spaql.from_ode(
        lambda angle, rate, torque: (rate, np.sin(angle) - 0.2 * rate + 2.0 * torque), start={"angle": (-1.2, 1.2), "rate": (-1.0, 1.0)},
        actions=spaql.Continuous((-1.0,), (1.0,), ("torque",)), dt=0.2, horizon=50, reward=lambda angle, rate, torque: 0.0, name="swing",
    )  # fmt: skip
    policy = spaql.law(swing, {"angle": -1.5, "rate": -1.2})
    sides, centre = np.array([[0.5, 0.1], [-0.2, 0.4]]), np.array([0.1, 0.0])
    claim = Claim("swing", of_rules(policy.rules), "", ("angle", "rate"), ((-1.2, 1.2), (-1.0, 1.0)), math.inf, None, False, {"angle": (-1, 1)}, (), {}, False)
    proof = Proof(claim, ({"kind": "attraction", "centre": centre.tolist(), "sides": sides.tolist()},), 0.5, (((0.0, 1.0), (0.0, 1.0)),), {})
    region = spaql.Monitor(proof, 0.0, ellipsoid=True).region_of(policy)
    around = np.linspace(0, 2 * np.pi, 50)
    for size, inside in ((0.9999, True), (1.0001, False)):
        states = centre + size * (sides @ [np.cos(around), np.sin(around)]).T
        assert ((((states - region.centre) @ np.array(region.rows).T) ** 2).sum(axis=1) <= 1.0).all() == inside
    assert "no sample leaves it" in policy.to_c(monitor=spaql.Monitor(proof, 0.0, ellipsoid=True))
    with pytest.raises(SpaqlError, match="ellipsoid=True goes with a proof of attraction"):
        spaql.Monitor(replace(proof, evidence=({"kind": "cells"},)), 0.0, ellipsoid=True).region_of(policy)
