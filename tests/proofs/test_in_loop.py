"""Theorems about loops: references, memory, delay, limited changes, wrong sensors, parameters, functions as controllers.

Each is proven, checked, and compared with many episodes of the loop itself.
"""

import json
import math

import numpy as np
import pytest

import spaql
from spaql.proofs.questions import question
from spaql.trees.tree import decide


@spaql.reset
def part_full(u):
    return (0.4 + 0.4 * u,)


@spaql.step
def fill(level, inflow, leak):
    return (level + 0.1 * (inflow - leak * level),), 0.0, False


@spaql.reset
def upright(u, v):
    return 0.04 * u - 0.02, 0.04 * v - 0.02


@spaql.step
def fall(angle, rate, torque):
    rate = rate + 0.02 * (10.0 * math.sin(angle) + torque)
    angle = angle + 0.02 * rate
    return (angle, rate), 1.0, abs(angle) > 0.2


def level_error_counts(level_error):
    return -abs(level_error)


PI = {"kp": 0.8, "ki": 0.4}


def tank(leak=1.0, **stated):
    plant = spaql.from_plant(
        part_full, fill, name="tank", horizon=100, state=[spaql.Axis("level", 0, 3)], parameters={"leak": leak},
        actions=spaql.Continuous((0.0,), (2.0,), ("inflow",)),
    )  # fmt: skip
    around = {"references": [spaql.Reference("target", 0.7, 0.8, of="level")], "memory": ["integral(level_error)"], "dt": 0.1}
    return spaql.loop(plant, reward=level_error_counts, **(around | stated))


def pole(**stated):
    plant = spaql.from_plant(
        upright, fall, name="pole", horizon=200, state=[spaql.Axis("angle", -1, 1), spaql.Axis("rate", -5, 5)],
        actions=spaql.Continuous((-5.0,), (5.0,), ("torque",)), ends="failure",
    )  # fmt: skip
    return spaql.loop(plant, **stated)


BALANCES = {"angle": -25.0, "rate": -6.0}


def proven(policy, folder, **asked):
    proof = policy.prove(**asked)
    assert proof.holds, str(proof)
    proof.save(folder / "x.json")
    assert spaql.check_proof(folder / "x.json", policy).holds
    return proof


def orbits(policy, proof, steps, count=40, sensors=0.0, parameters=None):
    """States of what is proven about, by the names of the proof: (steps + 1, episodes, variables)."""
    law = None if isinstance(policy, spaql.Controller) else policy.rules
    about, claim = policy if law is None else policy.problem, proof.claim
    asked = question(about, claim.never, claim.reach, claim.start, math.inf, parameters or {}, sensors, True, 1.0, None, law)
    plant, rng = asked.problem.plant, np.random.default_rng(0)
    share = rng.choice([0.0, 1.0, 0.3], (count, len(asked.start)))
    states = asked.start[:, 0] + share * np.diff(asked.start, axis=1)[:, 0]
    seen = [states]
    for _ in range(steps):
        actions = decide(asked.rules, np.array([plant.observe(*state) for state in states.tolist()], float))
        noise = rng.choice([0.0, 1.0], (count, plant.step_noise)).tolist()
        after = [plant.step(*state, *action, *more) for state, action, more in zip(states.tolist(), actions.tolist(), noise, strict=True)]
        assert not any(over for _, _, over in after)
        states = np.array([state for state, _, _ in after])
        seen.append(states)
    return np.array(seen)


def keeps(proof, seen):
    for name, (low, high) in proof.bound.items():
        column = seen[..., proof.claim.variables.index(name)]
        assert low <= column.min()
        assert column.max() <= high


# -- the statement: what is proven about is the loop -------------------------------------------------------------------


STATED = {
    "a PI controller": {},
    "late": {"delay": {"actuator": 2, "sensor": 1}},
    "limited changes": {"rates": 0.3},
    "changes": {"increments": 0.3},
    "memory": {"memory": ["average(level, 3)", "difference(level_error)", "previous(inflow, 2)", "integral(level_error, 0.2)"]},
    "an interlock": {"interlocks": [spaql.Interlock("level", above=0.75, high=0.5)]},
    "a trip": {"trips": [spaql.Limit("level", high=1.5)], "trip_cost": 100.0},
}


@pytest.mark.parametrize("name", STATED)
def test_the_plant_that_is_proven_about_does_what_the_loop_does(name):
    problem = tank(**STATED[name])
    rng = np.random.default_rng(0)
    law = spaql.law(problem, rng.normal(size=len(problem.state)))
    asked = question(problem, {"level": (-9, 9)}, None, None, 10, {}, 0.0, True, 1.0, None, law.rules)
    loop, whole = problem.plant, asked.problem.plant
    for seed in range(5):
        draws = rng.random(loop.reset_noise).tolist()
        state, other = loop.reset(*draws), whole.reset(*draws)
        for step in range(30):
            action = decide(law.rules, np.array([loop.observe(*state)], float))[0].tolist()
            chosen = decide(asked.rules, np.array([whole.observe(*other)], float))[0].tolist()
            state, reward, over = loop.step(*state, *action)
            other, paid, ended = whole.step(*other, *chosen)
            assert abs(other[0] - state[0]) < 1e-12, (seed, step)
            assert abs(reward - paid) < 1e-12
            assert over == ended


def test_names_say_what_a_variable_is():
    law = spaql.law(tank(delay={"actuator": 1, "sensor": 1}), {"level_error": 1.0})
    proof = law.prove(never={"level_error": (-3, 3)}, steps=2, sensors={"level": 0.01}, start={"level": (0.7, 0.71)})
    assert proof.claim.variables == ("level", "target", "level as seen", "level as seen 1 later", "inflow to apply", "level_error")
    assert "level as seen in [0.69, 0.72]" in str(proof)  # memory begins with what was measured
    assert "level wrong by up to 0.01, sensors late by 1 step, actions late by 1 step, target held" in str(proof)


# -- theorems ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    policy = spaql.pid(tank(), **PI)
    return policy, proven(policy, tmp_path_factory.mktemp("kept"), never={"level": (0.0, 1.6)})


def test_a_level_never_leaves_its_bounds(kept):
    policy, proof = kept
    assert proof.claim.steps == math.inf
    keeps(proof, orbits(policy, proof, 300))


@pytest.fixture(scope="module")
def arrived(tmp_path_factory):
    policy = spaql.pid(tank(), **PI)
    some = {"level": (0.55, 0.6), "target": (0.745, 0.755)}
    folder = tmp_path_factory.mktemp("arrived")
    return policy, proven(policy, folder, reach={"level_error": (-0.1, 0.1)}, start=some)


def test_a_band_around_the_reference_is_reached_for_ever(arrived):
    policy, proof = arrived
    seen = orbits(policy, proof, proof.within + 200)
    error = seen[proof.within :, :, proof.claim.variables.index("level_error")]
    assert error.min() >= -0.1
    assert error.max() <= 0.1
    assert np.abs(seen[0, :, -1]).max() > 0.1


@pytest.mark.slow
def test_a_band_is_reached_where_an_action_is_late_and_a_sensor_wrong(tmp_path):
    policy = spaql.pid(tank(delay={"actuator": 1}), **PI)
    wrong = {"level": 0.01}
    proof = proven(policy, tmp_path, reach={"level_error": (-0.1, 0.1)}, sensors=wrong)
    seen = orbits(policy, proof, proof.within + 100, sensors=wrong)
    error = seen[proof.within :, :, proof.claim.variables.index("level_error")]
    assert error.min() >= -0.1
    assert error.max() <= 0.1


def test_an_action_that_is_late_balances(tmp_path):
    policy = spaql.law(pole(delay={"actuator": 1}), BALANCES)
    proof = proven(policy, tmp_path)
    assert proof.claim.steps == math.inf
    keeps(proof, orbits(policy, proof, 500))
    assert proof.bound["torque to apply"][1] <= 5.0 + 1e-6  # by its range, not by sums
    assert proven(policy, tmp_path, steps=500).worst_return == 500.0


@pytest.mark.slow
def test_changes_are_limited(tmp_path):
    policy = spaql.pid(tank(rates=0.2), **PI)
    proof = proven(policy, tmp_path, never={"level": (0.0, 1.6)}, start={"target": (0.74, 0.76)})
    seen = orbits(policy, proof, 300)
    level = seen[..., 0]
    assert level.min() >= 0.0
    assert level.max() <= 1.6
    applied = seen[..., proof.claim.variables.index("previous(inflow)")]
    assert np.abs(np.diff(applied, axis=0)).max() > 0.199  # the limit is active


def test_sensors_are_wrong_in_every_step(tmp_path, kept):
    policy = spaql.pid(tank(noise={"level": 0.005}), **PI)
    with pytest.raises(spaql.SpaqlError, match=r"normal, which has no bounds: .*sensors=\{'level'"):
        policy.prove(never={"level": (0.0, 1.6)})
    proof = proven(policy, tmp_path, never={"level": (0.0, 1.6)}, sensors={"level": 0.02})
    assert proof.bound["level"][1] > kept[1].bound["level"][1]
    keeps(proof, orbits(policy, proof, 300, sensors={"level": 0.02}))


def test_parameters_are_in_ranges(tmp_path, kept):
    policy, _ = kept
    proof = proven(policy, tmp_path, never={"level": (0.0, 1.8)}, parameters={"leak": (0.98, 1.02)})
    assert proof.claim.variables == ("level", "leak", "target", "integral(level_error)")
    keeps(proof, orbits(policy, proof, 200, parameters={"leak": (0.98, 1.02)}))


def test_a_reference_that_changes_is_anywhere_in_its_range(tmp_path):
    problem = tank(references=[spaql.Reference("target", 0.7, 0.8, of="level", hold=(5, 9), rate=0.05)])
    policy = spaql.pid(problem, **PI)
    proof = proven(policy, tmp_path, never={"level": (0.0, 1.6)})
    assert "target from 0.7 to 0.8 in every step" in str(proof)
    keeps(proof, orbits(policy, proof, 300))
    rng, loop = np.random.default_rng(0), policy.problem.plant
    low, high = proof.bound["level"]
    for _ in range(10):  # episodes of the loop itself
        state = loop.reset(*rng.random(loop.reset_noise).tolist())
        for _ in range(100):
            action = decide(policy.rules, np.array([loop.observe(*state)]))[0].tolist()
            state, _, _ = loop.step(*state, *action, *rng.random(loop.step_noise).tolist())
            assert low <= state[0] <= high


# -- controllers -------------------------------------------------------------------------------------------------------


def by_hand(level_error, integral, level):
    return 0.8 * level_error + 0.4 * integral + 0.01 * math.tanh(level)


def with_branches(angle, rate):
    return -25.0 * angle - 6.0 * rate if abs(angle) < 0.1 else (-5.0 if angle > 0.0 else 5.0)


def wholes(angle, rate):
    return float(int(angle)) + rate


def test_a_function_with_memory_is_proven_about(tmp_path):
    controller = spaql.Controller(tank(observe=["level_error", "integral(level_error)", "level"]), by_hand)
    proof = proven(controller, tmp_path, never={"level": (0.0, 1.6)})
    assert "controller in double precision" in str(proof)
    keeps(proof, orbits(controller, proof, 200))
    other = spaql.Controller(controller.problem, lambda e, i, level: 0.81 * e + 0.4 * i + 0.01 * math.tanh(level))
    with pytest.raises(spaql.SpaqlError, match="another controller"):
        spaql.check_proof(tmp_path / "x.json", other)


@pytest.mark.slow
def test_a_function_with_branches_is_followed(tmp_path):
    proof = proven(spaql.Controller(pole(), with_branches), tmp_path, steps=20, start={"angle": (0.0, 0.01), "rate": (0.0, 0.01)})
    assert proof.claim.goes_on


def test_a_function_that_returns_a_truth_is_refused():
    with pytest.raises(spaql.SpaqlError, match="returns a truth"):
        spaql.Controller(spaql.make("cartpole-500"), lambda x, v, angle, rate: angle + rate > 0.0).prove()


@pytest.mark.slow
def test_a_function_is_followed_in_a_plant_that_is_in_no_loop(tmp_path):
    push = spaql.Controller(spaql.make("cartpole-500"), lambda x, v, angle, rate: 1 if 4 * angle + rate > 0.0 else 0)
    some = {"position": (0, 0), "velocity": (0, 0), "angle": (0.01, 0.011), "angular velocity": (0.01, 0.011)}
    assert proven(push, tmp_path, steps=8, start=some).worst_return > 7.999


def test_a_function_that_cannot_be_traced_is_refused_with_its_line():
    with pytest.raises(spaql.SpaqlError, match=r"wholes cannot be traced, line \d+ of test_in_loop.py") as told:
        spaql.Controller(pole(), wholes).prove()
    assert "\n" not in str(told.value)


def test_a_regulator_is_proven_about(tmp_path):
    regulator = spaql.lqr(tank(), Q={"level_error": 1.0, "integral(level_error)": 0.2}, R=1.0)
    proof = proven(regulator, tmp_path, never={"level": (0.0, 1.8)})
    keeps(proof, orbits(regulator, proof, 200))


# -- attacks -----------------------------------------------------------------------------------------------------------


ATTACKS = {
    "memory that begins elsewhere": lambda c: c["claim"]["start"].__setitem__(2, [0.1, 0.1]),
    "a reference beyond its box": lambda c: c["claim"]["start"].__setitem__(1, [0.7, 0.9]),
    "fewer errors of sensors": lambda c: c["claim"].update(sensors=[]),
    "wrong sensors": lambda c: c["claim"].update(sensors=[0.01]),
    "single precision": lambda c: c["claim"].update(single=True),
    "another name": lambda c: c["claim"]["variables"].__setitem__(2, "previous(inflow)"),
    "a tighter bound": lambda c: c["bound"]["level"].__setitem__(1, 0.8),
    "a box that is not reached": lambda c: c["evidence"][0]["box"][0].__setitem__(1, 0.81),
}


SETTLED = {
    "fewer steps": lambda c: c["evidence"][0].update(steps=c["evidence"][0]["steps"] // 2),
    "fewer steps until it is reached": lambda c: c.update(within=c["within"] - 1),
    "a tighter band": lambda c: c["claim"].update(reach={"level_error": [-0.02, 0.02]}),
    "a wider box": lambda c: c["evidence"][0]["region"]["start"].__setitem__(0, [0.0, 3.0]),
    "a start that is left out": lambda c: c["evidence"][0]["boxes"][0].__setitem__(0, [0.55, 0.57]),
    "no region": lambda c: c["evidence"][0].pop("region"),
    "a smaller region": lambda c: c["evidence"][0]["region"]["box"].__setitem__(0, [0.74, 0.76]),
    "a number of steps": lambda c: c["claim"].update(steps=100.0),
    "an end": lambda c: c["claim"].update(reach="end"),
    "that it goes on": lambda c: c["claim"].update(goes_on=True),
    "a return": lambda c: c.update(worst_return=-1.0),
    "a bound": lambda c: c["bound"].update(level=[0.0, 1.0]),
}


@pytest.mark.parametrize("name", SETTLED)
def test_a_certificate_that_says_more_of_what_is_reached_is_refused(arrived, name, tmp_path):
    policy, proof = arrived
    proof.save(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text())
    SETTLED[name](content)
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError):
        spaql.check_proof(tmp_path / "x.json", policy)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_certificate_that_says_more_is_refused(kept, name, tmp_path):
    policy, proof = kept
    proof.save(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text())
    ATTACKS[name](content)
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError) as told:
        spaql.check_proof(tmp_path / "x.json", policy)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("stated", "gains"),
    [
        ({"delay": {"actuator": 1}}, PI),
        ({"delay": {"sensor": 1}}, PI),
        ({"rates": 0.2}, PI),
        ({"references": [spaql.Reference("target", 0.7, 0.8, of="level", hold=9)]}, PI),
        ({"dt": 0.2}, PI),
        ({"leak": 1.01}, PI),
        ({}, PI | {"ki": 0.41}),
    ],
)
def test_a_certificate_of_another_loop_or_controller_is_refused(kept, stated, gains, tmp_path):
    kept[1].save(tmp_path / "x.json")
    with pytest.raises(spaql.SpaqlError, match=r"refused|begins with|start"):
        spaql.check_proof(tmp_path / "x.json", spaql.pid(tank(**stated), **gains))


def test_memory_may_begin_anywhere_around_where_it_does_begin(kept, tmp_path):
    policy, _ = kept
    wider = proven(policy, tmp_path, never={"level": (0.0, 1.6)}, start={"integral(level_error)": (-0.1, 0.1)})
    assert wider.claim.start[2] == (-0.1, 0.1)
    with pytest.raises(spaql.SpaqlError, match="begins with 0, which is not within 1 to 2"):
        policy.prove(never={"level": (0.0, 1.6)}, start={"integral(level_error)": (1, 2)})


def test_what_was_applied_was_within_its_range():
    with pytest.raises(spaql.SpaqlError, match=r"previous\(inflow\) is always within 0 to 2"):
        spaql.pid(tank(rates=0.2), **PI).prove(never={"level": (0.0, 1.6)}, start={"previous(inflow)": (-1.0, 1.0)})


def test_what_an_episode_breaks_is_not_proven(kept):
    policy, proof = kept
    least = float(orbits(policy, proof, 300)[..., 0].min())
    assert least < 0.4
    assert not policy.prove(never={"level": (least + 1e-9, 1.6)}, seconds=2).holds
