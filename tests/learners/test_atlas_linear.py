"""The model of Atlas at a point: A, B and offset of the plant lie in their intervals; python-control takes them."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import spaql
from spaql.ground.errors import SpaqlError

A, B, OFFSET = np.array([[1.0, 0.1], [-0.05, 0.9]]), np.array([[0.0], [0.2]]), np.array([0.0, 0.03])


@spaql.reset
def begin(u, v):
    return 2.0 * u - 1.0, 2.0 * v - 1.0


@spaql.step
def move(x, v, force):
    return (x + 0.1 * v, v - 0.05 * x - 0.1 * v + 0.2 * force + 0.03), -x * x, False


def agent(noise, seed, samples=160):
    """Samples of the equations, with noise of the plant."""
    axes = [spaql.Axis("position", -9.0, 9.0, unit="m"), spaql.Axis("speed", -9.0, 9.0, unit="m/s")]
    problem = spaql.from_plant(begin, move, state=axes, actions=spaql.Continuous((-1.0,), (1.0,), ("force",)), horizon=20, name="cart")
    learner, rng = spaql.Atlas(problem, seed=seed), np.random.default_rng(seed)
    x = np.zeros(2)
    for k in range(samples):
        x = rng.uniform(-1.0, 1.0, 2) if k % 20 == 0 else x
        u = rng.uniform(-1.0, 1.0, 1)
        after = A @ x + B @ u + OFFSET + noise * rng.normal(size=2)
        learner.update(x, u, 0.0, after, step=k % 20)
        x = after
    return learner


@pytest.fixture(scope="module")
def quiet():
    return agent(0.0, 0)


def test_without_noise_the_linear_model_is_the_plant(quiet):
    local = quiet.model.linear({"position": 0.1, "speed": 0.0}, action={"force": 0.2})
    assert local.A.mean == pytest.approx(A, abs=2e-3)
    assert local.B.mean == pytest.approx(B, abs=2e-3)
    assert local.offset.mean == pytest.approx(OFFSET, abs=2e-3)
    assert "near position = 0.1, speed = 0, force = 0.2:" in str(local)
    assert "a step is 1 s" in str(local)


def test_with_noise_the_plant_lies_in_the_intervals():
    inside = []
    for seed in range(3):
        local = agent(0.02, seed).model.linear([0.1, 0.0], functions=100)
        for known, true in ((local.A, A), (local.B, B), (local.offset, OFFSET)):
            inside += ((known.low <= true) & (true <= known.high)).ravel().tolist()
            assert (known.low <= known.mean).all()
            assert (known.mean <= known.high).all()
            assert (known.high - known.low).max() < 0.2
    assert np.mean(inside) >= 0.85


def test_more_data_make_the_intervals_narrower():
    wide, narrow = (agent(0.02, 1, samples).model.linear([0.1, 0.0], functions=100) for samples in (60, 300))
    assert (narrow.A.high - narrow.A.low).sum() < 0.7 * (wide.A.high - wide.A.low).sum()


def test_the_next_observation_is_predicted_with_its_interval(quiet):
    told = quiet.model.predict([0.2, -0.1], 0.5)
    assert told.mean == pytest.approx(A @ [0.2, -0.1] + B @ [0.5] + OFFSET, abs=2e-3)
    assert (told.low <= told.mean).all()


def test_the_same_samples_give_the_same_model(quiet):
    first, again = (quiet.model.linear([0.1, 0.0], functions=20) for _ in range(2))
    assert str(first) == str(again)
    assert np.array_equal(first.A.high, again.A.high)


def test_python_control_takes_it(quiet):
    control = pytest.importorskip("control", reason="no python-control: pip install control")
    system = quiet.model.linear([0.1, 0.0], functions=5).to_control()
    assert isinstance(system, control.StateSpace)
    assert system.dt == 1.0
    assert np.abs(np.asarray(system.A) - A).max() < 2e-3
    assert (system.state_labels, system.input_labels) == (["position", "speed"], ["force"])


def test_python_control_is_given_matrices_and_labels(quiet, monkeypatch):
    taken = []
    monkeypatch.setitem(sys.modules, "control", SimpleNamespace(ss=lambda *matrices, **labels: taken.append((matrices, labels))))
    quiet.model.linear([0.1, 0.0], functions=5).to_control()
    (matrices, labels) = taken[0]
    assert [np.shape(matrix) for matrix in matrices] == [(2, 2), (2, 1), (2, 2), (2, 1), ()]
    assert labels["outputs"] == ["position", "speed"]
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(SpaqlError, match="pip install control"):
        quiet.model.linear([0.1, 0.0], functions=5).to_control()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"at": [5.0, 0.0]}, "position = 5 is beyond all samples"),
        ({"at": {"position": 0.0}}, "at lacks speed"),
        ({"at": {"place": 0.0}}, "there is no 'place'"),
        ({"at": [0.0]}, "at must have shape 2"),
        ({"at": [0.0, 0.0], "action": [0.0, 1.0]}, "action must have shape 1"),
        ({"at": [0.0, 0.0], "level": 1.0}, "level"),
        ({"at": [0.0, 0.0], "functions": 1}, "functions"),
    ],
)
def test_a_point_that_cannot_be_is_refused_in_one_line(quiet, given, words):
    with pytest.raises(SpaqlError, match=words):
        quiet.model.linear(**given)


def test_without_samples_there_is_no_model():
    with pytest.raises(SpaqlError, match="no data yet"):
        spaql.Atlas(spaql.make("pendulum")).model.linear([1.0, 0.0, 0.0])
