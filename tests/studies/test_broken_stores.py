"""Stores of every study that have lost their mark or hold a damaged run: one line, nothing computed twice, nothing overlooked."""

import json

import pytest

from command_line import refused, run
from made_runs import made_checked, made_run
from spaql_studies.parts import experiments, specs_of
from spaql_studies.runs.rows import write_rows
from spaql_studies.runs.store import Store
from spaql_studies.study import QUICK, Part

PARTS = [Part("main", "cartpole"), Part("atlas", "pendulum"), Part("laws", "pendulum"), Part("few", "pendulum"), Part("foreign", "InvertedPendulum-v5")]


@pytest.fixture(params=PARTS, ids=str)
def part(request):
    extra = experiments()[request.param.experiment].extras.get(request.param.problem)
    if extra is not None and not extra.there:
        pytest.skip(f"{request.param} needs the extra {extra.name}")
    return request.param


@pytest.fixture
def store(part, tmp_path):
    """All runs of a part."""
    made = Store(tmp_path / "store")
    for spec in specs_of(part, QUICK):
        write_rows(made.path(spec), [made_checked(spec, 1.0) if spec.checkpoints else made_run(spec, 1.0, 1.0)])
    return made


@pytest.mark.parametrize("how", [lambda data: data[:-20], lambda data: b"", lambda data: data[:50] + bytes([data[50] ^ 255]) + data[51:]], ids=["cut off", "empty", "one byte changed"])
def test_a_damaged_run_is_named_and_nothing_is_computed(how, part, store):
    victim = sorted(store.runs.iterdir())[-1]
    victim.write_bytes(how(victim.read_bytes()))
    before = {path: path.read_bytes() for path in store.runs.iterdir()}
    complaint = refused("reproduce", "--quick", "--only", part, "--store", store.folder)
    assert str(victim) in complaint
    assert "run again with --repair to compute it anew" in complaint
    assert {path: path.read_bytes() for path in store.runs.iterdir()} == before


def test_a_lost_mark_is_one_warning_and_the_runs_are_used(part, store):
    (store.folder / "store.json").unlink()
    words = ("reproduce", "--quick", "--only", part, "--store", store.folder, "--no-report", "--json")
    code, out, warning = run(*words)
    runs = len(list(store.runs.iterdir()))
    assert code == 0
    assert warning == f"spaql: warning: store.json of {store.folder} was missing; the {runs} runs there are used\n"
    assert {name: json.loads(out)[name] for name in ("there", "computed")} == {"there": runs, "computed": 0}
    assert run(*words).stderr == ""  # it is there again
