"""Regions of attraction of differential equations: accurately integrated episodes do what is proven, and no certificate that says more is accepted."""

import base64
import json
import math
import zlib

import numpy as np
import pytest

import spaql
from spaql.proofs import checked_attraction, contraction, counterexamples, prove
from spaql.proofs.check_proof import check_proof
from spaql.proofs.checker import CheckedLoop, RefusedError
from spaql.proofs.loop_model import closed_loop
from spaql.proofs.over_boxes import workplace
from spaql.trees.tree import decide

FINE = 60  # Runge-Kutta steps per sample: off by less than 1e-10


def swing(angle, rate, torque):
    return rate, np.sin(angle) - 0.2 * rate + 2.0 * torque


def heavy(angle, rate, torque):
    """The torque holds it up to 0.52 rad."""
    return rate, 4.0 * np.sin(angle) - 0.2 * rate + 2.0 * torque


def no_reward(angle, rate, torque):
    return 0.0


def fast(angle, rate):
    return rate > 0.9


def plant(start=(1.2, 1.0), derivative=swing, **options):
    actions = spaql.Continuous((-1.0,), (1.0,), ("torque",))
    starts = {"angle": (-start[0], start[0]), "rate": (-start[1], start[1])}
    return spaql.from_ode(derivative, start=starts, actions=actions, dt=0.2, horizon=50, reward=no_reward, name="swing", **options)


POLICY = spaql.law(plant(), {"angle": -1.5, "rate": -1.2})
WEAK = spaql.law(plant((1.0, 1.5), heavy), {"angle": -3.0, "rate": -1.5})
GOAL = {"angle": (-0.8, 0.8)}


@pytest.fixture(scope="module", autouse=True)
def _few_blocks():
    """So that a proof takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prove, "BLOCKS", 16)
        patch.setattr(counterexamples, "TRIED", 8)
        patch.setattr(counterexamples, "MOST_STEPS", 60)
        yield


@pytest.fixture(scope="module")
def proven(_few_blocks):
    return POLICY.prove(reach=GOAL)


@pytest.fixture(scope="module")
def evidence(proven):
    return proven.evidence[0]


def episodes(policy, states, samples):
    """(samples, times, episodes, variables)."""
    flow, all_states = policy.problem.plant.flow, []
    h, x = flow.dt / FINE, np.array(states, float)

    def f(x, u):
        return np.stack(flow.derivative(*x.T, *u.T), axis=1)

    for _ in range(samples):
        u, times = decide(policy.rules, np.ascontiguousarray(x)), [x]
        for _ in range(FINE):
            p = f(x, u)
            q = f(x + 0.5 * h * p, u)
            r = f(x + 0.5 * h * q, u)
            x = x + h / 6.0 * (p + 2.0 * q + 2.0 * r + f(x + h * r, u))
            times.append(x)
        all_states.append(np.stack(times))
    return np.stack(all_states)


def starts_of(proof, count, seed=0):
    box = np.array(proof.claim.start)
    return np.random.default_rng(seed).uniform(box[:, 0], box[:, 1], (count, len(box)))


# -- what is proven is true ---------------------------------------------------------------------------------------------------------------------------


def test_all_starts_come_to_rest_and_no_hole_is_left_around_it(proven):
    assert proven.holds
    assert proven.volume == pytest.approx(2.4 * 2.0)
    text = str(proven)
    assert "PROVEN (a volume of 4.8)" in text
    assert "angle in [-0.8, 0.8], for ever; every sample there is" in text
    assert "between samples too, the action held for 0.2 s" in text
    rest = np.array(proven.rest)
    assert (rest[:, 0] < 0.0).all()
    assert (rest[:, 1] > 0.0).all()
    assert np.abs(rest).max() < 1e-4  # what the rounding of single precision may leave


def test_episodes_arrive_when_it_says_stay_between_samples_and_come_to_rest(proven):
    states = episodes(POLICY, starts_of(proven, 400), 120)
    late = states[proven.within :, :, :, 0]
    assert np.abs(late).max() <= 0.8
    rest = np.array(proven.rest)
    assert (rest[:, 0] <= states[-1, -1].min(axis=0)).all()
    assert (states[-1, -1].max(axis=0) <= rest[:, 1]).all()


def test_every_sample_in_the_set_at_rest_is_nearer_by_the_factor(proven, evidence):
    rng, S, z = np.random.default_rng(1), np.array(evidence["sides"]), np.array(evidence["centre"])
    directions = rng.normal(size=(500, 2))
    y = directions / np.linalg.norm(directions, axis=1, keepdims=True) * rng.random((500, 1)) ** 0.3
    states = episodes(POLICY, z + y @ S.T, 1)
    after = np.linalg.norm((states[-1, -1] - z) @ np.linalg.inv(S).T, axis=1)
    assert (after <= proven.factor * np.linalg.norm(y, axis=1) + 1e-9).all()
    loop = CheckedLoop(POLICY.problem, POLICY.rules, np.zeros(2), True)
    free = np.tile([-np.inf, np.inf], (2, 1))
    resting = checked_attraction.check_rest(loop, evidence, evidence["substeps"], free, proven.factor)
    assert (np.linalg.norm(y @ S.T @ resting.rows.T, axis=1) <= 1.0 + 1e-6).all()


def test_the_box_around_the_set_at_rest_holds_every_state_between_samples(evidence):
    free = np.tile([-np.inf, np.inf], (2, 1))
    loop = closed_loop(POLICY.problem, POLICY.rules, np.zeros(2), True, evidence["substeps"])
    place = workplace(loop, np.zeros(loop.states, bool))
    S, z = np.array(evidence["sides"]), np.array(evidence["centre"])
    held = contraction.contracts(place, z, S, free)
    turns = np.linspace(0.0, 2.0 * math.pi, 200)
    states = episodes(POLICY, z + np.stack([np.cos(turns), np.sin(turns)], axis=1) @ S.T, 1)[0]
    assert (held.box[:, 0] <= states.min(axis=(0, 1))).all()
    assert (states.max(axis=(0, 1)) <= held.box[:, 1]).all()
    assert contraction.contracts(place, z, S, np.array([[-0.9, 0.9], [-1e-3, 1e-3]])) is None
    assert contraction.contracts(place, z, 3.0 * S, free) is None  # beyond the piece of the law


@pytest.mark.slow
def test_starts_that_do_not_come_to_rest_are_open():
    proof = WEAK.prove(reach=GOAL)
    assert 0.3 < proof.share < 1.0
    starts = starts_of(proof, 600)
    last = episodes(WEAK, starts, 60)[-1, -1]
    boxes = np.array(proof.open)
    known = ~((boxes[..., 0] <= starts[:, None]) & (starts[:, None] <= boxes[..., 1])).all(axis=2).any(axis=1)
    away = np.abs(last[:, 0]) > 0.8
    assert away.any()
    assert not (known & away).any()
    assert proof.counterexample is not None


def test_the_norm_of_a_matrix_is_bounded():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 4):
        for _ in range(20):
            M, R = rng.normal(size=(n, n)), 0.1 * rng.random((n, n))
            true = max(np.linalg.norm(M + R * rng.choice([-1, 1], (n, n)), 2) for _ in range(30))
            bound = contraction.norm_of(contraction.Around(M, R))
            assert true <= bound <= np.linalg.norm(M, 2) + np.linalg.norm(R) + 1e-6
            assert checked_attraction._norm_is_below((M - R, M + R), bound * (1.0 + 1e-9))
            assert not checked_attraction._norm_is_below((M - R, M + R), true * (1.0 - 1e-9))


@pytest.mark.parametrize("h", [0.1, 1.0])
def test_exponentials_of_matrices_hold_what_time_makes_of_them(h):
    """Of matrices that change within their bounds too."""
    rng = np.random.default_rng(0)
    D, R = rng.normal(size=(3, 3)), 0.1 * rng.random((3, 3))
    mine = contraction._moved_on(contraction.Around(D, R), h)
    low, high = checked_attraction._moved_on((D - R, D + R), (h, h))
    for _ in range(30):
        v, steps = np.eye(3), 400
        for _ in range(steps):
            here = D + R * rng.uniform(-1, 1, (3, 3))
            v = v + h / steps * here @ (v + 0.5 * h / steps * here @ v)
        assert (np.abs(v - mine.middle) <= mine.radius + 1e-4).all()
        assert ((low - 1e-4 <= v) & (v <= high + 1e-4)).all()


# -- what is not true is not proven -------------------------------------------------------------------------------------------------------------------


def spinning(angle, rate, torque):
    return rate, -angle + 0.3 * rate + 0.1 * torque


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        pytest.param(spaql.law(plant(), {"angle": 1.0}), {}, marks=pytest.mark.slow),  # pushes it over
        pytest.param(spaql.law(plant(derivative=spinning), {"rate": -1.0}), {}, marks=pytest.mark.slow),  # not strong enough
        pytest.param(POLICY, {"reach": {"angle": (0.5, 0.8)}}, marks=pytest.mark.slow),  # rests elsewhere
        pytest.param(POLICY, {"sensors": 0.5}, marks=pytest.mark.slow),
        (POLICY, {"seconds": 0.0}),
    ],
)
def test_what_does_not_come_to_rest_is_not_proven(policy, options):
    proof = policy.prove(**{"reach": GOAL} | options)
    assert not proof.holds
    assert not proof.evidence
    assert proof.share == 0.0
    assert "NOT PROVEN" in str(proof)


@pytest.mark.slow
def test_in_a_little_time_a_part_is_proven():
    proof = WEAK.prove(reach=GOAL, seconds=0.25)
    assert not proof.holds
    assert sum(np.prod(np.diff(np.array(box))) for box in proof.open) == pytest.approx((1.0 - proof.share) * 6.0, rel=1e-6)


@pytest.mark.slow
def test_no_episode_ends_on_the_way_for_ever(tmp_path):
    policy = spaql.law(plant(over=fast, ends="failure"), {"angle": -1.5, "rate": -1.2})
    proof = policy.prove(steps=math.inf)
    assert 0.5 < proof.share < 1.0
    assert "the episode does not end for ever" in str(proof)
    starts = starts_of(proof, 500)
    boxes = np.array(proof.open)
    known = ~((boxes[..., 0] <= starts[:, None]) & (starts[:, None] <= boxes[..., 1])).all(axis=2).any(axis=1)
    assert episodes(policy, starts[known], 30)[..., 1].max() <= 0.9
    proof.save(tmp_path / "x.json")
    assert check_proof(tmp_path / "x.json", policy).share == proof.share


@pytest.mark.slow
def test_bounds_are_never_left_for_ever_between_samples_too(tmp_path):
    proof = POLICY.prove(never={"rate": (-1.1, 1.1)}, steps=math.inf)
    assert 0.5 < proof.share <= 1.0
    assert "rate in [-1.1, 1.1] for ever" in str(proof)
    proof.save(tmp_path / "x.json")
    assert check_proof(tmp_path / "x.json", POLICY).share == proof.share
    forged(proof, tmp_path, lambda content: (content["claim"].update(never={"rate": [-1.001, 1.001]}), content.update(bound={"rate": [-1.001, 1.001]})))
    refused(tmp_path, "leaves the")


# -- certificates -------------------------------------------------------------------------------------------------------------------------------------


def forged(proof, folder, change):
    proof.save(folder / "x.json")
    content = json.loads((folder / "x.json").read_text())
    change(content)
    (folder / "x.json").write_text(json.dumps(content))


def refused(folder, match, policy=POLICY):
    with pytest.raises(spaql.SpaqlError, match=match) as caught:
        spaql.check_proof(folder / "x.json", policy)
    assert "\n" not in str(caught.value)


def packed(numbers):
    return base64.b64encode(zlib.compress(numbers.astype("<i2").tobytes())).decode()


def unpacked(text):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i2").copy()


def test_the_certificate_is_accepted(proven, tmp_path):
    proven.save(tmp_path / "x.json")
    checked = spaql.check_proof(tmp_path / "x.json", POLICY)
    assert (checked.rest, checked.factor, checked.within) == (proven.rest, proven.factor, proven.within)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"claim": {"reach": {"angle": [-0.01, 0.01]}}}, "leaves the bounds"),
        ({"claim": {"reach": {"angle": [0.5, 0.8]}}}, "leaves the bounds"),
        ({"claim": {"reach": "end"}}, "show that episodes end"),
        ({"claim": {"steps": 10}}, "for ever"),
        ({"claim": {"start": [[-1.2, 1.2], [-1.0, 1.4]]}}, "not told|outside of its cells"),
        ({"claim": {"start": [[-1.2, 1.2], [-1.0, 9.0]]}}, "outside of its cells"),
        ({"claim": {"dt": 0.1}}, "other equations"),
        ({"claim": {"policy": "0" * 64}}, "another controller"),
        ({"claim": {"plant": "0" * 64}}, "another plant"),
        ({"claim": {"sensors": [0.5, 0.5]}}, "piece|left|nearer|rest|arrive"),
        ({"claim": {"never": {"rate": [-1.0, 1.0]}}, "bound": {"rate": [-1.0, 1.0]}}, "leaves the"),
        ({"claim": {"goes_on": True}}, "whether episodes end"),
        ({"claim": {"at": [[0.2, 0.4, {"angle": [-2, 2]}]]}}, "for ever"),
        ({"bound": {"angle": [-1.3, 1.3]}}, "bounds are told"),
        ({"within": 1}, "arrive later"),
        ({"within": None}, "arrive later"),
        ({"factor": 0.3}, "no nearer"),
        ({"factor": 0.99999999}, "left|elsewhere"),
        ({"factor": 1.0}, "its factor is none"),
        ({"factor": None}, "its factor is none"),
        ({"rest": [[-1e-12, 1e-12], [-1e-12, 1e-12]]}, "may lie elsewhere"),
        ({"rest": [[0.1, 0.2], [-1.0, 1.0]]}, "may lie elsewhere"),
        ({"rest": None}, "in the end"),
        ({"share": 1.1}, "a smaller share"),
        ({"worst_return": -3.0}, "no return"),
    ],
)  # fmt: skip
def test_a_certificate_that_says_more_is_refused(proven, change, match, tmp_path):
    def changed(content):
        for key, value in change.items():
            content[key] = content[key] | value if key == "claim" else value

    forged(proven, tmp_path, changed)
    refused(tmp_path, match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kind": "flow"}, "in the end"),
        ({"kind": "cells"}, "not about these equations"),
        ({"substeps": 0}, "substeps"),
        ({"substeps": 1e9}, "substeps"),
        ({"centre": [0.1, 0.0]}, "left|elsewhere|piece"),
        ({"centre": [0.0]}, "centre is damaged"),
        ({"sides": [[0.3, 0.0], [0.0, 0.3]]}, "nearer|left|piece"),
        ({"sides": [[0.0, 0.0], [0.0, 0.0]]}, "no parallelotope"),
        ({"sides": [[1.0, 1.0], [1.0, 1.0]]}, "no parallelotope|inverted"),
        ({"sides": [[1e-9, 0.0], [0.0, 1e9]]}, "nearer|left|piece|inverted|end|parallelotope"),
        ({"reach_steps": 1}, "does not arrive"),
        ({"blocks": 3}, "damaged"),
    ],
)
def test_wrong_evidence_is_refused(proven, change, match, tmp_path):
    forged(proven, tmp_path, lambda content: content["evidence"][0].update(change))
    refused(tmp_path, match)


def test_a_set_at_rest_that_is_scaled_is_not_the_same_set(proven, tmp_path):
    """Larger ones are not on one piece of the law; smaller ones are not reached by the cells."""
    for scale, match in ((1.5, "piece|nearer|left|bounds"), (0.05, "does not arrive|elsewhere")):
        forged(proven, tmp_path, lambda content, scale=scale: content["evidence"][0].update(sides=(scale * np.array(content["evidence"][0]["sides"])).tolist()))
        refused(tmp_path, match)


@pytest.mark.parametrize("which", ["first", "last", "middle"])
def test_a_bound_that_is_lowered_is_refused(proven, which, tmp_path):
    def lowered(content):
        reach = content["evidence"][0]["reach"]
        bounds = unpacked(reach["bound"])
        order = np.argsort(bounds, kind="stable")
        at = order[{"first": 0, "last": -1, "middle": len(order) // 2}[which]]
        bounds[at] = 0
        reach["bound"] = packed(bounds)

    forged(proven, tmp_path, lowered)
    refused(tmp_path, "does not arrive")


@pytest.mark.slow
def test_cells_that_do_not_arrive_are_refused(tmp_path):
    proof = WEAK.prove(reach=GOAL)

    def claimed(content):
        """An open cell gets a bound."""
        reach = content["evidence"][0]["reach"]
        corners, sizes, bounds = (unpacked(reach[key]) for key in ("corner", "size", "bound"))
        cell = ((np.array(proof.open[0]).mean(axis=1) - reach["low"]) / reach["step"]).astype(int)
        reach["corner"], reach["size"] = packed(np.append(corners, cell)), packed(np.append(sizes, [1, 1]))
        reach["bound"] = packed(np.append(bounds, 30000))
        content["evidence"][0]["blocks"] += 1

    forged(proof, tmp_path, claimed)
    refused(tmp_path, "does not arrive|leaves|end", WEAK)
    forged(proof, tmp_path, lambda content: content.update(open=[], share=1.0))
    refused(tmp_path, "not told", WEAK)


def test_a_certificate_is_of_one_law(proven, tmp_path):
    proven.save(tmp_path / "x.json")
    refused(tmp_path, "another controller", spaql.law(plant(), {"angle": -1.5, "rate": -1.3}))


def test_the_set_at_rest_is_checked_and_not_believed(evidence, proven):
    loop = CheckedLoop(POLICY.problem, POLICY.rules, np.zeros(2), True)
    free = np.tile([-np.inf, np.inf], (2, 1))
    with pytest.raises(RefusedError, match="nearer"):
        checked_attraction.check_rest(loop, evidence, evidence["substeps"], free, 0.9 * proven.factor)


# -- bad input ----------------------------------------------------------------------------------------------------------------------------------------


def four(a, b, c, d, u):
    return b, u, d, u


def nothing(*numbers):
    return 0.0


def no_reward_of_four(a, b, c, d, u):
    return 0.0


def test_what_cannot_be_asked_is_one_line():
    with pytest.raises(spaql.SpaqlError, match="are for a number of steps, not for ever"):
        POLICY.prove(at={0.2: {"angle": (-2, 2)}}, steps=math.inf)
    problem = spaql.from_ode(
        four, start=dict.fromkeys("abcd", (-1.0, 1.0)), actions=spaql.Continuous((-1.0,), (1.0,), ("u",)), dt=0.1, horizon=5, reward=no_reward_of_four
    )
    with pytest.raises(spaql.SpaqlError, match="4 variables are too many for cells"):
        spaql.law(problem, {"a": -1.0}).prove(reach={"a": (-0.1, 0.1)})
