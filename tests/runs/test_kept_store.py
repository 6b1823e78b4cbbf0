"""A store that an earlier version has written is read, reported on, and computed again with the same results."""

import json
import shutil

import pytest

from command_line import run
from kept_files import KEPT, STORE
from spaql_studies.load import load_results, specs_in
from spaql_studies.runs.compute import compute
from spaql_studies.runs.rows import digest_of
from spaql_studies.runs.store import Store
from spaql_studies.study import Part

PLAN = json.loads((KEPT / STORE / "plans" / "main-cartpole.json").read_text())
SPECS = specs_in(PLAN)


@pytest.fixture
def store(tmp_path):
    """A copy: reports are written into it."""
    return Store(shutil.copytree(KEPT / STORE, tmp_path / STORE))


def test_all_runs_of_its_plan_are_found(store):
    results = load_results(store)
    assert len(results.parts[Part("main", "cartpole")]) == len(SPECS) == 6
    assert results.missing == {}


@pytest.mark.slow
def test_a_report_is_made_from_it(store):
    told = run("report", store.folder, "--json")
    assert told.returncode == 0, told.stderr
    assert (store.folder / "report.html").is_file()


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.algorithm}-{spec.seed}")
def test_a_kept_run_computed_again_has_the_digest_it_had(spec, store):
    """Key and code name the sources, which may have changed; what they compute may not."""
    kept = store.read(spec, PLAN["code"][spec.algorithm])
    row = compute(spec) | {"key": kept.key, "code": kept.code}
    assert digest_of(row) == kept.digest
