"""A real Dask cluster: a scheduler and two worker processes."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pandas as pd
import pytest

import spaql
from spaql_studies.reproduce import Request, reproduce
from spaql_studies.sweep import run_sweep
from spaql_studies.sweep_table import Sweep

pytest.importorskip("distributed", reason="no Dask here: pip install 'spaql[dask]'")
running = []  # schedulers that were started
PART, SEEDS = "main-cartpole", 2  # 6 runs


def start(*words):
    program = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
    return subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def read_until(process, pattern):
    for line in process.stderr:
        found = re.search(pattern, line)
        if found:
            threading.Thread(target=process.stderr.read, daemon=True).start()  # so that it never blocks on a full pipe
            return found.group(1)
    raise AssertionError(f"ended without saying {pattern}")


@contextmanager
def new_scheduler():
    process = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    running.append(process)
    try:
        yield read_until(process, r"Scheduler at:\s+tcp://(\S+)")
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def scheduler():
    with new_scheduler() as address:
        yield address


@pytest.fixture(scope="module")
def workers(scheduler):
    """Two for all tests; the last test kills one of them."""
    pair = [start("dask_worker", f"tcp://{scheduler}", "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in range(2)]
    for process in pair:
        read_until(process, r"(Registered to)")
    yield pair
    for process in pair:
        process.kill()
        process.wait()


def digests(store):
    frame = pd.read_parquet(store / "runs")
    return dict(zip(frame.key, frame.digest, strict=True))


@pytest.mark.slow
def test_a_sweep_on_a_cluster_finds_the_same(tmp_path, scheduler, workers):
    asked = Sweep("cartpole", "spaql", ("xi=0.1..10:log",), tmp_path / "here", 2, 2, 1, 2, iterations=5, rollouts=2, fresh=20, jobs=1)
    here = run_sweep(asked)
    there = run_sweep(replace(asked, store=tmp_path / "there", jobs=None, executor=f"dask://{scheduler}"))
    assert there.computed == here.computed > 0
    assert [trial.options for trial in there.best] == [trial.options for trial in here.best]
    assert digests(tmp_path / "there") == digests(tmp_path / "here")


def test_a_cluster_without_workers_is_one_line(tmp_path):
    with new_scheduler() as address, pytest.raises(spaql.SpaqlError, match="has no workers"):
        reproduce(Request(tmp_path / "s", (PART,), quick=True, seeds=2, executor=f"dask://{address}"), progress=False)


def test_a_scheduler_killed_in_the_middle_is_one_line_and_costs_nothing(tmp_path, capfd):
    store = tmp_path / "s"
    with new_scheduler() as address:
        scheduler = running[-1]
        worker = start("dask_worker", f"tcp://{address}", "--nthreads", "1", "--no-nanny", "--no-dashboard")
        read_until(worker, r"(Registered to)")

        def kill():
            while len(list((store / "runs").glob("*.parquet")) if store.exists() else []) < 1:
                time.sleep(0.01)
            scheduler.kill()

        watcher = threading.Thread(target=kill)
        watcher.start()
        capfd.readouterr()
        with pytest.raises(spaql.SpaqlError, match=r"the scheduler of the runs is gone: start it .*\(\d+ finished runs are kept\)"):
            reproduce(Request(store, (PART,), quick=True, seeds=6, executor=f"dask://{address}"), progress=False)
        watcher.join()
        assert capfd.readouterr().err == ""  # Dask itself would show forty lines of tracebacks
        worker.kill()
        worker.wait()
    assert 1 <= len(digests(store)) < 18


def test_jobs_make_no_sense_with_a_cluster(tmp_path):
    with pytest.raises(spaql.SpaqlError, match="--jobs is for local processes"):
        reproduce(Request(tmp_path / "s", (PART,), executor="dask://127.0.0.1:8786", jobs=2), progress=False)


@pytest.mark.slow
def test_one_worker_killed_in_the_middle_all_runs_complete_with_the_same_bits(tmp_path, scheduler, workers):
    here, there = tmp_path / "here", tmp_path / "there"
    reproduce(Request(here, (PART,), quick=True, seeds=SEEDS, jobs=1), progress=False)
    killed = []

    def kill_one():
        while len(list((there / "runs").glob("*.parquet")) if there.exists() else []) < 2:
            time.sleep(0.01)
        os.kill(workers[0].pid, signal.SIGKILL)
        killed.append(len(list((there / "runs").glob("*.parquet"))))

    watcher = threading.Thread(target=kill_one)
    watcher.start()
    summary = reproduce(Request(there, (PART,), quick=True, seeds=SEEDS, executor=f"dask://{scheduler}"), progress=False)
    watcher.join()
    assert killed[0] < 3 * SEEDS  # it was in the middle
    assert workers[0].wait() == -signal.SIGKILL
    assert summary.computed == 3 * SEEDS
    assert digests(there) == digests(here)
