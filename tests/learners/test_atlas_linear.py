"""The model of Atlas at a point: A, B and offset of the plant lie in their intervals; python-control takes them."""

import ctypes
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

import spaql
from exported_programs import COMPILERS, needs_compiler
from spaql.ground.errors import SpaqlError
from spaql.policy.linear import linear_model

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


def test_as_a_problem_it_is_a_plant_that_can_be_linearised(quiet):
    problem = quiet.model.to_problem()
    near = linear_model(problem, problem.plant, np.array([0.1, 0.0]), None)
    assert near.a[:2, :2] == pytest.approx(A, abs=2e-3)
    assert near.b[:2] == pytest.approx(B, abs=2e-3)


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


# -- the model as an FMU -----------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("version", [2, 3])
def test_the_model_as_an_fmu_moves_as_the_model_predicts(version, tmp_path):
    """Of a pendulum: sine and cosine stay on their circle."""
    problem = spaql.make("pendulum", horizon=30)
    learner = spaql.Atlas(problem, seed=0)
    log = spaql.record(problem, episodes=5, seed=1)
    names = ["cos", "sin", "velocity"]
    for row in log.itertuples():
        after = [getattr(row, f"next_{name}") for name in names] if hasattr(row, "next_cos") else None
        if after is not None and np.isfinite(after).all():
            learner.update([getattr(row, name) for name in names], [row.torque], 0.0, after, step=row.step)
    assert learner.state.memory.n > 100
    start = learner.state.memory.states[3]
    learner.model.save_fmu(tmp_path / "plant.fmu", version, start=start)
    with zipfile.ZipFile(tmp_path / "plant.fmu") as archive:
        archive.extractall(tmp_path)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared"]
    subprocess.run([COMPILERS[0], *flags, tmp_path / "sources/fmu.c", "-o", tmp_path / "plant.so", "-lm"], check=True)
    described = (tmp_path / "modelDescription.xml").read_text()
    assert 'name="torque"' in described
    if version == 3:
        return
    library = ctypes.CDLL(str(tmp_path / "plant.so"))
    library.fmi2Instantiate.restype = ctypes.c_void_p
    fmu, out = ctypes.c_void_p(library.fmi2Instantiate(b"", 1, b"", b"", None, 0, 0)), (ctypes.c_uint * 3)(1, 2, 3)
    x = start
    for k, torque in enumerate([0.5, -1.0, 2.0]):
        library.fmi2SetReal(fmu, (ctypes.c_uint * 1)(0), ctypes.c_size_t(1), (ctypes.c_double * 1)(torque))
        shown = (ctypes.c_double * 3)()
        library.fmi2GetReal(fmu, out, ctypes.c_size_t(3), shown)
        assert list(shown) == pytest.approx(x.tolist(), abs=1e-4)
        library.fmi2DoStep(fmu, ctypes.c_double(0.05 * k), ctypes.c_double(0.05), 0)
        x = learner.model.predict(x, torque, functions=2).mean
