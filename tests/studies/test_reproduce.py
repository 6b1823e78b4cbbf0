"""`spaql reproduce`: interrupted, killed, repaired, shared, and always the same bits in the end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import command_line
from spaql_studies.load import load_results
from spaql_studies.paper.plan import main_runs
from spaql_studies.parts import all_parts, chosen_parts, needed_parts, specs_of
from spaql_studies.reproduce import Request, reproduce
from spaql_studies.runs.store import Store
from spaql_studies.study import QUICK, WHOLE, Part

WITH_REPORT = ("--quick", "--only", "main-cartpole", "--seeds", "3", "--jobs", "2")  # 9 runs
SMALL = (*WITH_REPORT, "--no-report")
ALONE = (*SMALL, "--jobs", "1")  # where it does not matter how many compute: to start a worker takes longer than a run


def command(store, *options):
    return [sys.executable, "-m", "spaql.cli", "reproduce", "--store", str(store), *options]


def run(store, *options):
    return command_line.run("reproduce", "--store", store, *options)


def digests(store):
    frame = pd.read_parquet(store / "runs")
    return dict(zip(frame.key, frame.digest, strict=True))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store computed without any trouble, by one process."""
    store = tmp_path_factory.mktemp("whole") / "store"
    reproduce(Request(store, ("main-cartpole",), quick=True, seeds=3, jobs=1), progress=False)
    return store


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A store computed by two commands at once, and what they said."""
    store = tmp_path_factory.mktemp("shared") / "store"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    pair = [subprocess.Popen(command(store, *ALONE, "--json"), **pipes) for _ in range(2)]
    said = [child.communicate(timeout=300) for child in pair]
    return store, [child.returncode for child in pair], said


@pytest.fixture(scope="module")
def reported(tmp_path_factory, whole):
    """The store computed without any trouble, with its report."""
    store = tmp_path_factory.mktemp("reported") / "store"
    shutil.copytree(whole, store)
    assert command_line.run("report", store, "--quiet").returncode == 0
    return store


def started(store, *options, runs=1):
    """The command, after it has finished some runs."""
    child = subprocess.Popen(
        command(store, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while (
        child.poll() is None
        and len(list((store / "runs").glob("*.parquet")) if (store / "runs").exists() else []) < runs
    ):
        time.sleep(0.01)
    return child


def all_gone(group):
    """Whether a process group ends, given a moment."""
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs /proc")
def test_killed_at_any_moment_it_goes_on_and_ends_with_the_same_bits(tmp_path, whole):
    store = tmp_path / "store"
    for finished in (1, 5):
        child = started(store, *SMALL, runs=finished)
        workers = children_of(child.pid)
        child.kill()
        child.wait()
        deadline = time.monotonic() + 60
        while any(os.path.exists(f"/proc/{pid}") for pid in workers) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)  # nobody goes on computing for nobody
    there = {path: path.stat().st_mtime_ns for path in (store / "runs").glob("*.parquet")}
    assert len(there) >= 5
    done = run(store, *ALONE, "--json")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in there} == there  # finished runs are not computed again
    assert digests(store) == digests(whole)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_keep_what_is_finished_and_the_same_command_goes_on(number, code, tmp_path, whole):
    store = tmp_path / "store"
    child = started(store, *SMALL)
    os.killpg(child.pid, number)  # as the terminal does: to all of them
    _, errors = child.communicate(timeout=120)
    assert child.returncode == code
    assert errors.strip().splitlines()[-1].startswith("interrupted: ")
    assert "Traceback" not in errors
    assert all_gone(child.pid)
    assert 1 <= len(digests(store)) < 9
    assert run(store, *ALONE).returncode == 0
    assert digests(store) == digests(whole)


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs /proc")
@pytest.mark.slow
def test_a_killed_worker_costs_only_its_run(tmp_path, whole):
    store = tmp_path / "store"
    child = started(store, *SMALL)
    workers = [pid for pid in children_of(child.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(workers[0], signal.SIGKILL)
    _, errors = child.communicate(timeout=240)
    assert child.returncode == 0, errors
    assert digests(store) == digests(whole)


@pytest.mark.slow
def test_two_at_once_share_a_store(shared, whole):
    store, codes, said = shared
    assert codes == [0, 0], said
    assert digests(store) == digests(whole)


def test_a_damaged_file_stops_it_until_repair_is_asked_for(tmp_path, whole):
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    victim = next((store / "runs").glob("cartpole-spaql-1-*.parquet"))
    victim.write_bytes(victim.read_bytes()[:-20])
    refused = run(store, *SMALL)
    assert refused.returncode == 2
    assert refused.stderr.strip().count("\n") == 0
    assert str(victim) in refused.stderr
    report = command_line.run("report", store)
    assert report.returncode == 2
    assert str(victim) in report.stderr
    assert run(store, *ALONE, "--repair").returncode == 0
    assert digests(store) == digests(whole)


@pytest.mark.slow
def test_the_report_of_a_store_is_the_same_bits_whoever_computed_it(tmp_path, shared, reported):
    other = tmp_path / "other"
    shutil.copytree(shared[0], other)
    assert run(other, *WITH_REPORT).returncode == 0
    for kind in ("tables", "figures"):
        names = sorted(path.name for path in (reported / kind).iterdir())
        assert names
        assert names == sorted(path.name for path in (other / kind).iterdir())
        assert all((reported / kind / name).read_bytes() == (other / kind / name).read_bytes() for name in names)
    assert (other / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_a_report_of_half_a_store_says_what_is_missing(tmp_path, whole):
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    for victim in list((store / "runs").glob("cartpole-spaql-ts-*.parquet"))[:2]:
        victim.unlink()
    said = command_line.run("report", store)
    assert said.returncode == 0, said.stderr
    assert "main-cartpole: 2 runs are missing" in said.stdout


def test_results_of_older_code_are_still_reported_but_not_taken_for_new_ones(tmp_path, whole, monkeypatch):
    from spaql_studies.runs import spec

    monkeypatch.setattr(spec, "code_version", lambda algorithm: "newer")
    assert all(not Store(whole).has(one) for one in specs_of(Part("main", "cartpole"), QUICK))
    results = load_results(Store(whole, create=False))
    assert len(main_runs(results, "cartpole")) == 9
    assert results.missing == {}


@pytest.mark.slow
def test_tuned_runs_take_the_best_xi_of_the_study_on_other_seeds(tmp_path):
    store = tmp_path / "store"
    said = run(store, "--quick", "--only", "main-cartpole", "--tuned", "--seeds", "2", "--jobs", "1", "--no-report")
    assert said.returncode == 0, said.stderr
    results = load_results(Store(store, create=False))
    study, tuned = results.runs("scaling", "cartpole"), results.runs("tuned", "cartpole")
    assert not {run.seed for run in study} & {run.seed for run in tuned}
    for algorithm in ("AQL", "SPAQL", "SPAQL-TS"):
        scores = {}
        for one in study:
            if one.algorithm == algorithm:
                scores.setdefault(one.xi, []).append(one.fresh)
        best = max(scores, key=lambda xi: sum(scores[xi]))
        assert {one.xi for one in tuned if one.algorithm == algorithm} == {best}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--only", "figure-9"), "unknown experiment 'figure-9'"),
        (("--executor", "slurm"), "unknown executor 'slurm'"),
        (("--executor", "dask://"), "unknown executor"),
        (("--executor", "dask://127.0.0.1:1"), "no Dask scheduler answers"),
        (("--seeds", "1"), "seeds"),
        (("--jobs", "0"), "jobs"),
        (("main",), "--only main"),
    ],
)
def test_bad_requests_are_one_line_and_exit_code_2(tmp_path, options, words):
    said = run(tmp_path / "store", *options)
    assert said.returncode == 2
    assert said.stderr.strip().count("\n") == 0, said.stderr
    assert words in said.stderr


def test_a_store_without_write_permission_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    said = run(tmp_path / "file" / "store", "--quick")
    assert said.returncode == 2
    assert said.stderr.startswith("spaql: cannot make the store")
    assert said.stderr.strip().count("\n") == 0


@pytest.mark.slow
def test_a_report_removes_only_what_an_earlier_report_has_written(tmp_path, reported):
    store = tmp_path / "store"
    shutil.copytree(reported, store)
    (store / "figures" / "mine.png").touch()
    (store / "tables" / "old.md").touch()
    memory = json.loads((store / "report.json").read_text())
    (store / "report.json").write_text(json.dumps([*memory, "tables/old.md", "runs", "../store.json"]))
    assert command_line.run("report", store, "--quiet").returncode == 0
    assert (store / "figures" / "mine.png").exists()
    assert not (store / "tables" / "old.md").exists()
    assert (store / "runs").is_dir()


def test_a_report_of_nothing_is_one_line(tmp_path):
    said = command_line.run("report", tmp_path)
    assert said.returncode == 2
    assert "spaql reproduce" in said.stderr


# -- the plan ------------------------------------------------------------------------------------------------------------------------


def test_the_scaling_study_is_the_papers():
    for problem in ("pendulum", "pendulum-scaled", "cartpole"):
        specs = specs_of(Part("scaling", problem), WHOLE)
        assert len(specs) == 13 * 3 * 20
        assert {spec.iterations for spec in specs} == {100}
        assert {spec.rollouts for spec in specs} == {20}


@pytest.mark.parametrize(
    ("problem", "rollouts"), [("pendulum", 20), ("pendulum-scaled", 20), ("pendulum-5", 20), ("cartpole", 100)]
)
def test_the_main_runs_are_the_papers(problem, rollouts):
    specs = specs_of(Part("main", problem), WHOLE)
    assert len(specs) == 3 * 20
    assert {(spec.iterations, spec.rollouts, spec.fresh) for spec in specs} == {(2000, rollouts, 1000)}


def test_no_seed_of_the_study_is_reported():
    study = {spec.seed for part in all_parts() if part.experiment == "scaling" for spec in specs_of(part, WHOLE)}
    reported = {
        spec.seed
        for part in all_parts()
        if part.experiment in ("main", "random", "trpo")
        for spec in specs_of(part, WHOLE)
    }
    assert not study & reported


def test_both_kinds_of_random_are_there():
    assert {spec.options for spec in specs_of(Part("random", "pendulum"), WHOLE)} == {(), (("low", 0.0),)}


def test_everything_but_trpo_is_the_default():
    assert {part.experiment for part in chosen_parts((), tuned=False)} == {"scaling", "main", "random"}
    assert {part.experiment for part in chosen_parts((), tuned=True)} == {"scaling", "tuned", "random"}


def test_tuned_parts_need_their_studies():
    assert needed_parts(chosen_parts(("tuned-pendulum-5",))) == [Part("scaling", "pendulum")]
