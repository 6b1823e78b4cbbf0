"""Differential equations: accurately integrated episodes lie in the prover's sets and in the checker's, at samples and between them, and what
would make the sets too small is noticed."""

import json
import math

import numpy as np
import pytest

import spaql
from spaql.proofs import checked_flows, checked_kernels
from spaql.proofs.checked_sets import box_of, many
from spaql.proofs.checker import CheckedLoop
from spaql.proofs.questions import question
from spaql.trees.tree import decide

STEPS, FINE = 6, 40  # samples; states that are looked at in each of them


def swing(angle, rate, torque):
    return rate, 2.0 * np.sin(angle) + 8.0 * torque


def van_der_pol(x, v, u):
    return v, (1.0 - x * x) * v - x + u


def turning(x, v, u):
    return v, -x + u


def growing(x, u):
    return (0.5 * x + u,)


def nothing(*numbers):
    return 0.0


def no_reward(x, v, u):
    return 0.0


def no_reward_of_x(x, u):
    return 0.0


def plant(derivative, start, dt, most=1.0, substeps=2, **options):
    reward = no_reward if len(start) == 2 else no_reward_of_x
    actions = spaql.Continuous((-most,), (most,), ("u",))
    return spaql.from_ode(derivative, start=start, actions=actions, dt=dt, horizon=STEPS, reward=reward, substeps=substeps, name=derivative.__name__, **options)


PENDULUM = spaql.law(plant(swing, {"angle": (1.0, 1.1), "rate": (-0.1, 0.1)}, 0.05), {"angle": -7.0, "rate": -1.5}, offset=3.5)
OSCILLATOR = spaql.law(plant(van_der_pol, {"x": (1.2, 1.3), "v": (0.4, 0.5)}, 0.2), {"x": -0.5, "v": -1.0})
LINEAR = spaql.law(plant(turning, {"x": (0.9, 1.1), "v": (-0.1, 0.1)}, 0.3, most=5.0), {"x": -0.2, "v": -0.4})
POLICIES = {"pendulum": PENDULUM, "van der pol": OSCILLATOR, "linear": LINEAR}


def episodes(policy, count=1500, inner=4):
    """States (samples, times within a sample, episodes, variables), by Runge-Kutta with steps of dt / 160: off by less than 1e-10."""
    rng, flow = np.random.default_rng(0), policy.problem.plant.flow
    low, high = np.array(flow.start).T
    x = rng.uniform(low, high, (count, len(low)))
    x[: count // 3] = np.where(rng.random((count // 3, len(low))) < 0.5, low, high)
    h, samples = flow.dt / (FINE * inner), []

    def f(x, u):
        return np.stack(flow.derivative(*x.T, *u.T), axis=1)

    for _ in range(STEPS):
        u, times = decide(policy.rules, np.ascontiguousarray(x)), [x]
        for _ in range(FINE):
            for _ in range(inner):
                p = f(x, u)
                q = f(x + 0.5 * h * p, u)
                r = f(x + 0.5 * h * q, u)
                x = x + h / 6.0 * (p + 2.0 * q + 2.0 * r + f(x + h * r, u))
            times.append(x)
        samples.append(np.stack(times))
    return np.stack(samples)


@pytest.fixture(scope="module", params=list(POLICIES))
def integrated(request):
    return POLICIES[request.param], episodes(POLICIES[request.param])


def tried(policy, **asked):
    """A proof for which there is little time, but in which at least one box was followed."""
    proof = policy.prove(seconds=0.03, **asked)
    assert proof.evidence or len(proof.open) > 1
    return proof


def test_what_an_episode_breaks_by_a_billionth_is_never_proven(integrated):
    policy, states = integrated
    names, dt = policy.problem.plant.flow.names, policy.problem.dt
    for j, name in enumerate(names):
        for step in (1, 3, STEPS):
            at_the_end, on_the_way = states[step - 1, -1, :, j], states[step - 1, :, :, j]
            for sign, extreme in ((1.0, np.max), (-1.0, np.min)):
                for seen, when in ((at_the_end, step * dt), (on_the_way, ((step - 1) * dt, step * dt))):
                    bound = sign * extreme(seen) - 1e-9
                    ends = (-1e6, bound) if sign > 0 else (-bound, 1e6)
                    if when != step * dt and step == 1:
                        continue  # the start states themselves
                    proof = tried(policy, at={when: {name: ends}})
                    assert not proof.holds, (name, step, when)


def test_bounds_a_little_wider_than_what_is_seen_are_proven_in_one_piece(integrated):
    policy, states = integrated
    for j, name in enumerate(policy.problem.plant.flow.names):
        low, high = states[..., j].min(), states[..., j].max()
        more = 0.08 * (high - low)
        proof = policy.prove(never={name: (low - more, high + more)})
        assert proof.holds, name
        assert len(proof.evidence[0]["boxes"]) <= 16


def test_the_sets_of_the_checker_hold_all_states_at_samples_and_between(integrated):
    policy, states = integrated
    loop = CheckedLoop(policy.problem, policy.rules, np.zeros(2), True)
    sets = many(np.array(policy.problem.plant.flow.start)[None])
    for step in range(STEPS):
        _, wider = checked_flows.flowed(loop, sets, 2)  # the box around the way is enough where nothing is asked
        sets, way = checked_flows.flowed(loop, sets, 2, bounds=np.zeros((2, 2)))
        assert (wider[..., 0] <= way[..., 0]).all()
        assert (way[..., 1] <= wider[..., 1]).all()
        box, seen = box_of(sets)[0], states[step]
        assert (box[:, 0] <= seen[-1].min(axis=0) + 1e-9).all()
        assert (seen[-1].max(axis=0) - 1e-9 <= box[:, 1]).all()
        assert (way[0, :, 0] <= seen.min(axis=(0, 1)) + 1e-9).all()
        assert (seen.max(axis=(0, 1)) - 1e-9 <= way[0, :, 1]).all()
        width = np.ptp(seen[-1], axis=0)
        assert (box[:, 1] - box[:, 0] <= 1.8 * width).all()


# -- cases in which the rest, the box around the way, or the time between samples decides --------------------------------------------------------------


@pytest.fixture(scope="module")
def alone():
    """x' = x / 2 from 1 for one second in a single Taylor step: 1.6487213; the polynomial says 1.6486979, with the rest at the start 1.6487196."""
    return spaql.law(plant(growing, {"x": 1.0}, 1.0, substeps=1), {"x": 0.0})


@pytest.mark.parametrize(("bound", "holds"), [(1.64871, False), (1.6487205, False), (1.648721, False), (1.64876, True)])
def test_the_rest_is_that_of_the_whole_way(alone, bound, holds, tmp_path):
    asked = {"at": {1.0: {"x": (0.0, bound)}}, "steps": 1}
    if holds:
        proof = alone.prove(**asked)
        assert proof.holds
        proof.save(tmp_path / "x.json")
        assert spaql.check_proof(tmp_path / "x.json", alone).holds
        return
    assert not alone.prove(**asked, seconds=1.0).holds
    true = alone.prove(at={1.0: {"x": (0.0, 1.65)}}, steps=1)
    forged(true, tmp_path, lambda content: content["claim"].update(at=[[1.0, 1.0, {"x": [0.0, bound]}]]))
    refused(tmp_path, alone, "elsewhere")


def forged(proof, folder, change):
    proof.save(folder / "x.json")
    content = json.loads((folder / "x.json").read_text())
    change(content)
    (folder / "x.json").write_text(json.dumps(content))


def refused(folder, policy, match, problem=None):
    with pytest.raises(spaql.SpaqlError, match=match):
        spaql.check_proof(folder / "x.json", policy, problem)


@pytest.fixture(scope="module")
def half_turns():
    """From x = 0 and v = 1 the oscillator is at x = 0 again after half a turn, and at x = 1 in between, which no substep ends at."""
    return spaql.law(plant(turning, {"x": 0.0, "v": 1.0}, math.pi, substeps=7), {"x": 0.0})


def test_bounds_hold_between_samples_too(half_turns, tmp_path):
    assert half_turns.prove(at={math.pi: {"x": (-0.01, 0.01)}}, steps=1).holds
    assert not half_turns.prove(never={"x": (-1.1, 0.99)}, steps=1, seconds=1.0).holds
    proof = half_turns.prove(never={"x": (-0.1, 1.01)}, steps=1)
    assert proof.holds
    forged(proof, tmp_path, lambda content: [content["claim"].update(never={"x": [-0.1, 0.99]}), content.update(bound={"x": [-0.1, 0.99]})])
    refused(tmp_path, half_turns, "leaves the bounds")


def high_up(x, v):
    return x > 0.99


def test_an_end_between_samples_is_an_end(tmp_path):
    problem = plant(turning, {"x": 0.0, "v": 1.0}, math.pi, substeps=7, over=high_up, ends="failure")
    policy = spaql.law(problem, {"x": 0.0})
    assert not policy.prove(steps=1, seconds=1.0).holds
    loop = CheckedLoop(problem, policy.rules, np.zeros(2), False)
    assert checked_flows.flowed(loop, many(np.array([[[0.0, 0.0], [1.0, 1.0]]])), 7).sets.over[0, 0]


def above_the_line(x, v):
    return x + v > 1.9


def test_what_never_holds_may_combine_variables(tmp_path):
    """x + v is at most 1.1 sqrt(2) + ... on the way: a box around both would allow 2.2."""
    problem = plant(turning, {"x": (0.9, 1.1), "v": (-0.1, 0.1)}, 0.3, most=5.0, over=above_the_line, ends="failure")
    policy = spaql.law(problem, {"x": -0.2, "v": -0.4})
    proof = policy.prove()
    assert proof.holds
    assert "the episode does not end for 6 steps (1.8 s)" in str(proof)
    proof.save(tmp_path / "x.json")
    assert spaql.check_proof(tmp_path / "x.json", policy).holds


# -- what is said, and certificates -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certified():
    proof = PENDULUM.prove(at={(0.2, 0.3): {"angle": (0.0, 1.2)}}, never={"angle": (0.0, 1.5)})
    assert proof.holds
    return proof


def test_the_certificate_says_that_it_is_about_the_differential_equation(certified):
    text = str(certified)
    assert "About   the differential equation, between samples too, the action held for 0.05 s" in text
    assert "angle in [0, 1.2] from 0.2 to 0.3 s" in text
    assert "discretisation" not in text
    discrete = spaql.law(spaql.make("cartpole-500"), {"angle": 10.0}).prove(steps=1)
    assert "About   the discrete-time equations" in str(discrete)
    assert "the differential equation between the steps" in str(discrete)


def test_the_certificate_is_accepted(certified, tmp_path):
    certified.save(tmp_path / "x.json")
    assert spaql.check_proof(tmp_path / "x.json", PENDULUM).claim.dt == 0.05


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"dt": 0.04}, "other equations"),
        ({"dt": None}, "other equations"),
        ({"at": [[0.2, 0.3, {"angle": [0.9, 1.2]}]]}, "elsewhere"),
        ({"at": [[0.2, 9.0, {"angle": [0.0, 1.2]}]]}, "after"),
        ({"at": [[0.21, 0.3, {"angle": [0.0, 1.2]}]]}, "end of a sample"),
        ({"never": {"angle": [0.95, 1.5]}}, "leaves the bounds"),
        ({"plant": "0" * 64}, "another plant"),
        ({"policy": "0" * 64}, "another controller"),
        ({"start": [[0.9, 1.1], [-0.1, 0.1]]}, "cover the starts"),
        ({"steps": None}, "number of steps"),
        ({"goes_on": True}, "episodes end"),
    ],
)  # fmt: skip
def test_a_certificate_that_says_more_is_refused(certified, change, match, tmp_path):
    forged(certified, tmp_path, lambda content: content["claim"].update(change))
    refused(tmp_path, PENDULUM, match)


@pytest.mark.parametrize("substeps", [0, 1.5, -1, 10**6, None, math.nan])
def test_damaged_evidence_is_refused(certified, substeps, tmp_path):
    forged(certified, tmp_path, lambda content: content["evidence"][0].update(substeps=substeps))
    refused(tmp_path, PENDULUM, "substeps")


def test_boxes_of_evidence_are_checked(certified, tmp_path):
    forged(certified, tmp_path, lambda content: content["evidence"][0].update(boxes=[[[1.0, 1.05], [-0.1, 0.1]]]))
    refused(tmp_path, PENDULUM, "cover the starts")
    forged(certified, tmp_path, lambda content: content["evidence"][0].update(kind="followed"))
    refused(tmp_path, PENDULUM, "not about these equations")


def faster(angle, rate, torque):
    return rate, 2.001 * np.sin(angle) + 8.0 * torque


def test_a_certificate_is_of_one_plant(certified, tmp_path):
    certified.save(tmp_path / "x.json")
    other = plant(faster, {"angle": (1.0, 1.1), "rate": (-0.1, 0.1)}, 0.05)
    refused(tmp_path, PENDULUM, "another plant", other)
    certified.save(tmp_path / "x.json")
    slower = plant(swing, {"angle": (1.0, 1.1), "rate": (-0.1, 0.1)}, 0.1)
    refused(tmp_path, PENDULUM, "other equations|another sample|end of a sample", slower)


# -- mutants of the checker: each is noticed by the cases above ---------------------------------------------------------------------------------------


def accepts(policy, bound, folder):
    true = policy.prove(at={1.0: {"x": (0.0, 1.65)}}, steps=1)
    forged(true, folder, lambda content: content["claim"].update(at=[[1.0, 1.0, {"x": [0.0, bound]}]]))
    try:
        return spaql.check_proof(folder / "x.json", policy).holds
    except spaql.SpaqlError:
        return False


def with_rest(monkeypatch, change):
    """The checker with another t^K x[K] than that over the whole way."""
    enclose = checked_flows.enclose_ways

    def enclosed(work, equation, box, w):
        why = enclose(work, equation, box, w)
        change(box, w.lagrange)
        return why

    monkeypatch.setattr(checked_flows, "enclose_ways", enclosed)


def test_a_dropped_rest_would_be_noticed(alone, monkeypatch, tmp_path):
    assert not accepts(alone, 1.64871, tmp_path)
    with_rest(monkeypatch, lambda _, rest: rest.fill(0.0))
    assert accepts(alone, 1.64871, tmp_path)


def test_a_rest_at_the_start_alone_would_be_noticed(alone, monkeypatch, tmp_path):
    assert not accepts(alone, 1.6487205, tmp_path)

    def at_the_start(box, rest):
        rest[0, 0] = 0.0, (1.0 + 1e-9) / (2.0**6 * math.factorial(6)) * box[0, 0, 1]

    with_rest(monkeypatch, at_the_start)
    assert accepts(alone, 1.6487205, tmp_path)


def test_a_box_that_is_not_mapped_into_itself_is_refused(monkeypatch, alone, tmp_path):
    true = alone.prove(at={1.0: {"x": (0.0, 1.65)}}, steps=1)
    true.save(tmp_path / "x.json")
    monkeypatch.setattr(checked_flows, "enclose_ways", lambda *given: checked_kernels.WHY.index("no box around a way is mapped into itself"))
    refused(tmp_path, alone, "mapped into itself")


# -- bad input ----------------------------------------------------------------------------------------------------------------------------------------


def branching(x, v, u):
    return v, -x if x > 0.0 else u


def with_corners(x, v, u):
    return v, -abs(x)


@pytest.mark.parametrize(("derivative", "match"), [(branching, "branches"), (with_corners, "not smooth: `abs`")])
def test_what_has_no_taylor_series_is_refused(derivative, match):
    policy = spaql.law(plant(derivative, {"x": (0.9, 1.1), "v": (-0.1, 0.1)}, 0.3), {"x": -0.2})
    with pytest.raises(spaql.SpaqlError, match=match):
        policy.prove(never={"x": (-5, 5)})


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"at": {0.07: {"angle": (0, 1)}}}, "not the end of a sample"),
        ({"at": {9.0: {"angle": (0, 1)}}}, "after 6 samples"),
        ({"at": {-0.05: {"angle": (0, 1)}}}, "not the end of a sample"),
        ({"at": {(0.2, 0.1): {"angle": (0, 1)}}}, "low must not be above high"),
        ({"at": {0.1: {"speed": (0, 1)}}}, "no variable 'speed'"),
        ({"at": {0.0: {"angle": (0, 1.01)}}}, "start states are outside"),
        ({"at": {}}, "at gives bounds by time"),
        ({"at": 3}, "at gives bounds by time"),
        ({"at": {"late": {"angle": (0, 1)}}}, "at"),
        ({"at": {math.nan: {"angle": (0, 1)}}}, "at"),
        ({"at": {0.1: {"angle": (0, 1)}}, "steps": math.inf}, "not for ever"),
        ({}, "say what to prove"),
    ],
)
def test_a_bad_question_is_one_line(asked, match):
    with pytest.raises(spaql.SpaqlError, match=match) as caught:
        PENDULUM.prove(**asked)
    assert "\n" not in str(caught.value)


def test_only_differential_equations_have_times():
    with pytest.raises(spaql.SpaqlError, match="from_ode"):
        spaql.law(spaql.make("pendulum"), {"velocity": 1.0}).prove(at={1.0: {"angle": (0, 1)}})


def test_wrong_sensors_and_parameters_in_ranges():
    assert not PENDULUM.prove(at={0.3: {"angle": (0.72, 1.0)}}, sensors={"angle": 0.3}, seconds=0.3).holds
    assert PENDULUM.prove(at={0.3: {"angle": (0.5, 1.0)}}, sensors={"angle": 0.01}).holds


def test_questions_are_kept_in_samples():
    asked = question(PENDULUM.problem, None, None, None, None, {}, 0.0, True, 60.0, {(0.1, 0.2): {"angle": (0, 2)}})
    assert asked.at == ((0.1, 0.2, {"angle": (0.0, 2.0)}),)
    assert asked.start.tolist() == [[1.0, 1.1], [-0.1, 0.1]]
