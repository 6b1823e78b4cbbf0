"""`policy.prove` from end to end: what is proven is checked by the checker and by simulation, and damaged certificates are refused."""

import json
import math

import numpy as np
import pytest

import spaql
from sliders import slider
from spaql.proofs import prove, staying_cells
from spaql.proofs import proven_cells as cells
from spaql.proofs.checked_cells import unpacked
from spaql.trees.tree import Builder, decide

BALANCES = {"position": 1.0, "velocity": 1.95, "angle": 16.1, "angular velocity": 4.25}


@pytest.fixture(scope="module")
def balancing():
    return spaql.law(spaql.make("cartpole-500"), BALANCES)


@pytest.fixture(scope="module")
def balanced(balancing):
    return balancing.prove()


@pytest.fixture(scope="module")
def climbing():
    return spaql.law(spaql.make("mountain-car"), {"velocity": 1000.0}, offset=2.0)


@pytest.fixture(scope="module")
def climbed(climbing):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prove, "PIECES", 40)
        return climbing.prove()


def state_after(policy, state, single, rng, wrong=0.0):
    plant, kind = policy.problem.plant, np.float32 if single else float
    seen = np.array(state if plant.observe is None else plant.observe(*state)) + rng.uniform(-wrong, wrong, len(policy.problem.state))
    action = decide(policy.rules, seen.astype(kind).astype(float)[None])[0]
    return plant.step(*state, *action)


def test_a_law_that_pushes_one_way_or_the_other_balances_for_ever(balanced, balancing):
    assert balanced.holds
    assert balanced.claim.steps == math.inf
    assert balanced.bound["angle"][1] < 0.2094
    assert balanced.bound["position"][1] < 2.4
    rng = np.random.default_rng(0)
    for trial in range(20):
        state = rng.choice([-0.05, 0.05], 4) if trial < 8 else rng.uniform(-0.05, 0.05, 4)
        for _ in range(1000):
            state, _, over = state_after(balancing, state, trial % 2 == 1, rng)
            assert not over
            for name, value in zip(balanced.claim.variables, state, strict=True):
                assert balanced.bound[name][0] <= value <= balanced.bound[name][1]


def test_for_a_number_of_steps_the_return_is_proven_too(balancing):
    proof = balancing.prove(steps=500)
    assert proof.holds
    assert proof.worst_return == 500.0
    assert "for 500 steps" in str(proof)


def test_wrong_sensors_make_the_bounds_wider(balancing, balanced):
    proof = balancing.prove(sensors={"angle": 0.002, "position": 0.002})
    assert proof.holds
    assert proof.bound["angle"][1] > balanced.bound["angle"][1]
    assert not balancing.prove(sensors=0.05, steps=200, seconds=2).holds


@pytest.fixture(scope="module")
def ranges(balancing):
    parameters = {"cart_mass": (0.97, 1.03), "half_length": (0.497, 0.503)}
    return balancing.prove(parameters=parameters, steps=math.inf)


def test_parameters_may_be_anything_in_ranges_together(ranges):
    assert ranges.holds
    assert ranges.claim.parameters == {"cart_mass": (0.97, 1.03), "half_length": (0.497, 0.503)}
    assert "cart_mass from 0.97 to 1.03" in str(ranges)


RANGES = {
    "as it is": None,
    "a parameter that changes more than its band": lambda part: moved(part, "band", -1, part["band"][-1] * 0.999),
    "another effect of a parameter": lambda part: scaled(part, "spread", 1.1),
    "no effect of a parameter": lambda part: scaled(part, "spread", 0.0),
    "coarser slices": lambda part: scaled(part, "pieces", 0.25),
    "half a slice": lambda part: part.update(pieces=[1.5, 1.0]),
    "too many slices": lambda part: part.update(pieces=[1e9, 1.0]),
    "a narrower range": lambda part: moved(part, "start", (4, 1), 1.02),
}


@pytest.mark.parametrize("damage", RANGES)
def test_what_ranges_of_parameters_do_to_the_loop_is_checked(ranges, balancing, damage, tmp_path):
    ranges.save(tmp_path / "x.json")
    if RANGES[damage] is None:
        assert spaql.check_proof(tmp_path / "x.json", balancing).holds
        return
    content = json.loads((tmp_path / "x.json").read_text())
    for part in content["evidence"]:
        part["pieces"] = np.array(part["pieces"], float).tolist()
        RANGES[damage](part)
    _refused(content, balancing, tmp_path)


def test_every_start_of_the_car_arrives_and_its_return_is_bounded(climbed, climbing):
    assert climbed.holds
    rng, plant = np.random.default_rng(0), climbing.problem.plant
    returns = []
    for x in [-0.6, -0.4, *rng.uniform(-0.6, -0.4, 60)]:
        state, total, over = (x, 0.0), 0.0, False
        while not over:
            state, reward, over = plant.step(*state, *decide(climbing.rules, np.array([state]))[0])
            total += reward
        returns.append(total)
    assert climbed.worst_return <= min(returns)
    assert climbed.within >= -min(returns)
    assert climbed.best_return >= max(returns)
    assert climbed.worst_return >= min(returns) - 8


def test_a_counterexample_is_an_answer():
    policy = spaql.law(spaql.make("cartpole-500"), {"angle": -1.0})
    proof = policy.prove(steps=200, seconds=5)
    assert not proof.holds
    assert proof.open
    assert "FOUND   from (" in str(proof)
    assert "the episode ends after" in str(proof)
    assert str(proof).startswith("NOT PROVEN")


# -- reach and stay, on a small plant ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sliding():
    return slider()


def slide(sliding, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staying_cells, "FINE", 40)
        patch.setattr(cells, "COARSE", 40)
        patch.setattr(cells, "HALVINGS", 1)
        return sliding.prove(reach={"x": (-0.2, 0.2)}, **options)


@pytest.fixture(scope="module")
def slid(sliding):
    return slide(sliding)


def test_who_asks_for_a_number_of_steps_hears_of_the_starts_that_arrive_in_time(slid, sliding, tmp_path):
    soon = slide(sliding, steps=slid.within // 2)
    assert soon.within <= slid.within // 2 == soon.return_steps
    assert 0.1 < soon.share < slid.share - 0.1
    assert soon.worst_return > slid.worst_return
    soon.save(tmp_path / "soon.json")
    assert spaql.check_proof(tmp_path / "soon.json", sliding).share == soon.share


def test_no_return_falls_below_the_bound_and_the_bound_is_near(slid, sliding):
    rng, least = np.random.default_rng(1), 0.0
    for trial in range(40):
        state, total = tuple(rng.choice([-1.0, 1.0], 2) if trial < 8 else rng.uniform(-1, 1, 2)), 0.0
        for _ in range(slid.return_steps):
            action = decide(sliding.rules, np.array([state]))[0]
            state, reward, _ = sliding.problem.plant.step(*state, *action)
            total += reward
        least = min(least, total)
    assert slid.return_steps == 100
    assert 1.5 * least < slid.worst_return <= least  # of 40 cells along a side


def test_most_starts_return_more_than_the_worst(slid, sliding):
    rng, returns = np.random.default_rng(2), []
    for _ in range(100):
        state, total = tuple(rng.uniform(-1, 1, 2)), 0.0
        for _ in range(slid.return_steps):
            state, reward, _ = sliding.problem.plant.step(*state, *decide(sliding.rules, np.array([state]))[0])
            total += reward
        returns.append(total)
    assert [share for share, _ in slid.return_shares] == [0.99, 0.9, 0.5]
    bounds = [slid.worst_return, *(bound for _, bound in slid.return_shares)]
    assert bounds == sorted(bounds)
    assert 3.0 * np.median(returns) < bounds[-1] < np.quantile(returns, 0.7)
    assert f"from 50 % of all starts at least {bounds[-1]:.4g}"[:-1] in str(slid)


def test_a_goal_is_reached_and_kept(slid, sliding):
    assert slid.share > 0.99
    rng = np.random.default_rng(0)
    for _ in range(30):
        state = tuple(rng.uniform(-1, 1, 2))
        if any(all(low <= s <= high for s, (low, high) in zip(state, box, strict=True)) for box in slid.open):
            continue
        for step in range(slid.within + 100):
            state, _, _ = state_after(sliding, state, False, rng)
            assert step < slid.within or abs(state[0]) <= 0.2


# -- the checker -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(balanced, balancing, climbed, climbing, slid, sliding, tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    pairs = {"balanced": (balanced, balancing), "climbed": (climbed, climbing), "slid": (slid, sliding)}
    for name, (proof, _) in pairs.items():
        proof.save(folder / f"{name}.json")
    return {name: (folder / f"{name}.json", policy) for name, (_, policy) in pairs.items()}


@pytest.mark.parametrize("name", ["balanced", "climbed", "slid"])
def test_the_checker_accepts_what_the_prover_writes(certificates, name):
    path, policy = certificates[name]
    proof = spaql.check_proof(path, policy)
    assert proof.share > 0.99
    assert str(proof).startswith("PROVEN")


def scaled(part, key, factor):
    part[key] = (np.array(part[key]) * factor).tolist()


def moved(part, key, place, value):
    array = np.array(part[key])
    array[place] = value
    part[key] = array.tolist()


LINEAR = {
    "a band too small by a little": lambda part: scaled(part, "band", 0.999),
    "a rest too small by a little": lambda part: scaled(part, "rest", 0.999),
    "a box too small by a little": lambda part: scaled(part, "box", 0.995),
    "lines too short": lambda part: scaled(part, "lines", 0.98),
    "a column lost": lambda part: scaled(part, "columns", 0.0),
    "another matrix": lambda part: scaled(part, "matrix", 1.001),
    "other gains": lambda part: scaled(part, "gains", 1.01),
    "another centre": lambda part: moved(part, "centre", 2, 0.01),
    "larger starts": lambda part: scaled(part, "start", 40.0),
    "a held variable that moves": lambda part: moved(part, "held", 0, 1.0),
    "not a number": lambda part: moved(part, "rest", 0, None),
    "nothing": lambda part: part.clear(),
}
WHOLE = {
    "another controller": lambda c: c["claim"].update(policy="0" * 64),
    "another plant": lambda c: c["claim"].update(plant="0" * 64),
    "another problem": lambda c: c["claim"].update(problem="cartpole"),
    "tighter bounds": lambda c: c["bound"].update(angle=[-0.05, 0.05]),
    "a larger start": lambda c: c["claim"].update(start=[[-0.06, 0.06]] * 4),
    "no evidence": lambda c: c.update(evidence=[]),
    "something to reach": lambda c: c["claim"].update(reach={"angle": [-0.2, 0.2]}),
    "wrong sensors": lambda c: c["claim"].update(sensors=[0.1] * 4),
    "a bound to keep": lambda c: c["claim"].update(never={"angle": [-0.01, 0.01]}),
    "a return": lambda c: c.update(worst_return=501.0),
    "another format": lambda c: c.update(format="spaql proof 0"),
}


@pytest.mark.parametrize("damage", [*LINEAR, *WHOLE])
def test_a_damaged_certificate_is_refused(certificates, damage, tmp_path):
    path, policy = certificates["balanced"]
    content = json.loads(path.read_text())
    if damage in LINEAR:
        LINEAR[damage](content["evidence"][0])
    else:
        WHOLE[damage](content)
    _refused(content, policy, tmp_path)


def _refused(content, policy, folder, why=""):
    (folder / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError, match=why) as told:
        spaql.check_proof(folder / "x.json", policy)
    assert "\n" not in str(told.value)


def test_a_certificate_for_another_controller_or_plant_is_refused(certificates, balancing):
    path, _ = certificates["balanced"]
    other = spaql.law(balancing.problem, BALANCES | {"angle": 16.2})
    with pytest.raises(spaql.SpaqlError, match="another controller"):
        spaql.check_proof(path, other)
    with pytest.raises(spaql.SpaqlError, match="another plant"):
        spaql.check_proof(path, balancing, spaql.make("cartpole-500", force=10.5))


@pytest.mark.parametrize("change", [{"within": 100}, *(pytest.param(change, marks=pytest.mark.slow) for change in ({"worst_return": -100.0}, {"best_return": -115.0}, {"open": []}))])
def test_of_start_boxes_no_line_may_be_better(certificates, climbed, change, tmp_path):
    path, policy = certificates["climbed"]
    content = json.loads(path.read_text())
    if "open" in change:
        content["evidence"][0]["boxes"].pop(3)
    _refused(content | change, policy, tmp_path)


@pytest.mark.slow
def test_of_cells_no_number_may_be_better(certificates, tmp_path):
    path, policy = certificates["slid"]
    content = json.loads(path.read_text())
    reach, stay, count = content["evidence"][0]["reach"], content["evidence"][0]["stay"], content["evidence"][0]["blocks"]
    bounds, values = (unpacked(reach[key], count).astype(int) for key in ("bound", "value"))
    cells_in = int(np.prod(stay["shape"]))
    for part, key, wrong in (
        (reach, "bound", np.where(bounds > 4, bounds // 2, bounds)),
        (reach, "bound", np.where(bounds > 0, 1, bounds)),
        (reach, "value", values + 1 - (values == 0)),
        (reach, "value", values * 99 // 100),
        (stay, "bound", np.zeros(cells_in)),
        (stay, "value", np.zeros(cells_in)),
    ):
        before, part[key] = part[key], cells.packed(wrong)
        _refused(content, policy, tmp_path)
        part[key] = before
    kept = np.flatnonzero((unpacked(stay["bound"], cells_in).reshape(np.array(stay["shape"], int)) >= 0).any(axis=1))
    content["claim"]["reach"]["x"][0] = stay["low"][0] + kept[0] * stay["step"][0] + 1e-9
    _refused(content, policy, tmp_path, "not in the goal")
    content = json.loads(path.read_text())
    more = [[0.5, 0.999 * content["return_shares"][2][1]]]
    for better in ({"share": 1.01}, {"within": content["within"] - 1}, {"worst_return": 0.999 * content["worst_return"]}, {"return_steps": 101}, {"return_shares": more}, {"return_shares": [[math.nan, -9.0]]}, {"worst_return": None}):
        _refused(content | better, policy, tmp_path)


# -- bad input: one line each ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"never": {"speed": (0, 1)}}, "no variable 'speed'"),
        ({"never": {}}, "names no variable"),
        ({"never": {"angle": (1, 0)}}, "low must not be above high"),
        ({"start": [[0, 1]]}, "start"),
        ({"steps": 0}, "steps"),
        ({"parameters": {"mass": (1, 2)}}, "no parameter 'mass'"),
        ({"parameters": 3}, "by name"),
        ({"sensors": -1.0}, "sensors"),
        ({"sensors": {"speed": 0.1}}, "not observed"),
        ({"seconds": -1}, "seconds"),
        ({"single": 2}, "single"),
    ],
)
def test_bad_input_is_one_line(balancing, options, said):
    with pytest.raises(spaql.SpaqlError, match=said) as told:
        balancing.prove(**options)
    assert "\n" not in str(told.value)


def test_no_time_proves_nothing_and_says_so(climbing):
    proof = climbing.prove(seconds=0)
    assert not proof.holds
    assert proof.share == 0.0
    assert proof.open


def test_unbounded_noise_and_loops_are_refused(balancing):
    noisy = spaql.make("cartpole-500", process_noise={"angular velocity": 0.001})
    with pytest.raises(spaql.SpaqlError, match="not bounded"):
        spaql.law(noisy, BALANCES).prove()
    with pytest.raises(spaql.SpaqlError, match="say what to prove"):
        spaql.law(spaql.make("pendulum"), {"sin": -1.0}).prove()


def test_trees_of_constants_are_followed_too():
    builder = Builder(2, 1)
    root = builder.test(1, -0.001)
    low = builder.leaf(0.0)
    builder.join(root, low, builder.leaf(2.0))
    policy = spaql.Policy(spaql.make("mountain-car"), builder.tree(), "tree", "hand")
    proof = policy.prove()
    assert proof.holds
    assert 100 < proof.within < 200
