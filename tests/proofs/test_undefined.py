"""Attacks with values that do not exist, and goals without an inside: each was a false claim that was printed as PROVEN."""

import json
import math

import pytest

import spaql
from sliders import slider
from spaql.proofs import one_plant, staying_cells
from spaql.proofs import proven_cells as cells


@spaql.reset
def partly_below(u, v):
    return 1.5 * u - 0.5, 2.0 * v - 1.0


@spaql.step
def shrinks(x, v, u):
    return (0.5 * x + 0.1 * u, 0.5 * v), 1.0, False


@spaql.step
def earns_what_is_none(x, v, u):
    return (0.5 * x + 0.1 * u, 0.5 * v), math.sin(math.log(x)), False


@spaql.step
def moves_by_what_is_none(x, v, u):
    return (0.5 * x + 0.1 * u, min(math.sin(math.log(x)) + 5.0, 1.0) * 0.5 * v), 1.0, False


@spaql.observe
def waves(x, v):
    return math.sin(math.log(x)), v


def small(step, observe=None, start=partly_below):
    axes = [spaql.Axis(name, -3.0, 3.0) for name in ("x", "v")]
    actions = spaql.Continuous((-1.0,), (1.0,))
    problem = spaql.from_plant(start, step, observe=observe, state=axes, actions=actions, horizon=5, name="small")
    return spaql.law(problem, {"x": -0.1})


@pytest.fixture
def coarse(monkeypatch):
    monkeypatch.setattr(staying_cells, "FINE", 12)
    monkeypatch.setattr(cells, "COARSE", 16)
    monkeypatch.setattr(cells, "HALVINGS", 1)


# -- goals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("goal", [(0.0, 0.0), (0.1 + 1e-11, 0.1 + 3e-11), (0.25, 0.25)])
def test_a_goal_without_an_inside_is_not_reached(goal, coarse):
    """Cells of a negative width had no states, so that none of these left them."""
    proof = slider().prove(reach={"x": goal}, seconds=1)
    assert not proof.holds
    assert not proof.evidence


def test_a_start_on_a_side_of_cells_is_in_both(coarse, tmp_path):
    """x = 0 is a side of the 16 blocks; the checker asks for the bounds of the cells before and after it."""
    policy = slider()
    proof = policy.prove(reach={"x": (-0.4, 0.4)}, start={"x": (0.0, 0.0), "v": (-1.0, 1.0)}, seconds=5)
    assert proof.evidence
    proof.save(tmp_path / "x.json")
    assert spaql.check_proof(tmp_path / "x.json", policy).share == proof.share


# -- plants in steps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [earns_what_is_none, moves_by_what_is_none])
@pytest.mark.parametrize("steps", [5, math.inf])
def test_what_a_step_gives_is_defined_everywhere(step, steps, tmp_path):
    asked = {"never": {"x": (-2.0, 2.0), "v": (-2.0, 2.0)}, "steps": steps, "seconds": 0.3}
    assert not small(step).prove(**asked).holds
    allowed = small(shrinks)
    proof = allowed.prove(**asked)
    assert proof.holds
    accepted_of_another(proof, allowed, small(step), tmp_path)


def test_what_is_observed_is_defined_everywhere(tmp_path):
    for asked in ({"never": {"x": (-2.0, 2.0)}, "steps": 5}, {"never": {"x": (-2.0, 2.0)}, "steps": math.inf}):
        assert not small(shrinks, waves).prove(seconds=0.3, **asked).holds
        allowed = small(shrinks)
        accepted_of_another(allowed.prove(seconds=0.3, **asked), allowed, small(shrinks, waves), tmp_path)


def accepted_of_another(proof, policy, hostile, folder):
    """The certificate of a plant that is defined everywhere, told of one that is not, is refused."""
    proof.save(folder / "x.json")
    assert spaql.check_proof(folder / "x.json", policy).holds
    content = json.loads((folder / "x.json").read_text())
    content["claim"]["plant"] = one_plant.of_plant(hostile.problem)
    (folder / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError, match="not defined everywhere"):
        spaql.check_proof(folder / "x.json", hostile)


# -- differential equations -------------------------------------------------------------------------------------------


def decays(x, v, u):
    return -x, u - v


def no_reward(x, v, u):
    return 0.0


def far_or_wavy(x, v):
    return (x > 100.0) | (math.sin(math.log(x)) > 2.0)


def never_above(x, v):
    return min(math.atan(1.0 / x), 0.0) > 0.5


def flowing(low, over=None, observe=None):
    options = {"state": [spaql.Axis(name, -3.0, 3.0) for name in ("x", "v")]} if observe else {}
    actions = spaql.Continuous((-5.0,), (5.0,), ("u",))
    problem = spaql.from_ode(
        decays, start={"x": (low, 1.0), "v": (-0.1, 0.1)}, actions=actions, dt=0.1, horizon=3, reward=no_reward, over=over,
        observe=observe, ends="failure" if over else "", name="decaying", **options,
    )  # fmt: skip
    return spaql.law(problem, {"x": -0.1})


@pytest.mark.parametrize("options", [{"over": far_or_wavy}, {"over": never_above}, {"observe": waves}])
def test_what_an_equation_is_asked_is_defined_on_the_way(options, tmp_path):
    asked = {} if "over" in options else {"never": {"v": (-4.0, 4.0)}}
    allowed, hostile = flowing(0.5, **options), flowing(-0.5, **options)
    proof = allowed.prove(**asked)
    assert proof.holds
    assert not hostile.prove(seconds=0.2, **asked).holds
    proof.save(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text())
    content["claim"]["start"][0][0] = -0.5
    content["evidence"][0]["boxes"] = [content["claim"]["start"]]
    content["claim"]["plant"] = one_plant.of_plant(hostile.problem)
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError, match=r"may end|not defined"):
        spaql.check_proof(tmp_path / "x.json", hostile)


# -- certificates that say what nobody has checked --------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    policy = small(shrinks)
    proof = policy.prove(never={"x": (-2.0, 2.0)}, steps=5)
    assert proof.worst_return == 5.0
    path = tmp_path_factory.mktemp("certificates") / "x.json"
    proof.save(path)
    return json.loads(path.read_text()), policy


@pytest.mark.parametrize(
    "change",
    [
        {"return_steps": 1}, {"return_steps": "end"}, {"return_steps": True}, {"within": "soon"}, {"within": 1.5},
        {"seconds": "long"}, {"bound": {"speed": [0.0, 1.0]}}, {"claim": None},
    ],
)  # fmt: skip
def test_no_line_of_a_certificate_goes_unchecked(certificate, change, tmp_path):
    content, policy = certificate
    content = {key: value for key, value in (content | change).items() if value is not None or key != "claim"}
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(spaql.SpaqlError):
        spaql.check_proof(tmp_path / "x.json", policy)


def test_an_episode_that_a_file_tells_of_is_not_repeated(certificate, tmp_path):
    content, policy = certificate
    (tmp_path / "x.json").write_text(json.dumps(content | {"counterexample": "from nowhere"}))
    assert spaql.check_proof(tmp_path / "x.json", policy).counterexample is None
