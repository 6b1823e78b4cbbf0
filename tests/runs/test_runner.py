"""The runner over executors that misbehave."""

import warnings
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

import spaql
from spaql.ground.workers import worker_processes
from spaql_studies.runs.runner import run_missing
from spaql_studies.runs.spec import Spec
from spaql_studies.runs.store import Store

SPECS = [Spec("cartpole", "SPAQL", seed, 2, 2, 3, (("xi", 20.0),)) for seed in range(6)]


class Fragile(Executor):
    """Breaks at its n-th task: when it is handed in, or when it is computed."""

    def __init__(self, breaks_at, when):
        self.left, self.when, self.pool = breaks_at, when, ThreadPoolExecutor(1)

    def submit(self, function, /, *args):
        self.left -= 1
        if self.left < 0:
            if self.when == "handing in":
                raise BrokenExecutor("a worker was killed")
            future = Future()
            future.set_exception(BrokenExecutor("a worker was killed"))
            return future
        return self.pool.submit(function, *args)


@pytest.mark.parametrize("when", ["handing in", "computing"])
@pytest.mark.parametrize("breaks_at", [2, 3, 5])
def test_no_run_is_lost_when_an_executor_breaks(tmp_path, breaks_at, when):
    store, done = Store(tmp_path / "s"), []

    @contextmanager
    def fragile():
        yield Fragile(breaks_at, when), 1

    outcome = run_missing(SPECS, store, fragile, done.append)
    assert outcome.error is None
    assert all(store.has(spec) for spec in SPECS)
    assert sorted(spec.seed for spec in done) == [0, 1, 2, 3, 4, 5]
    assert list(store.claims.iterdir()) == []


def test_an_executor_that_always_breaks_is_given_up_with_one_line(tmp_path):
    @contextmanager
    def hopeless():
        yield Fragile(0, "computing"), 1

    outcome = run_missing(SPECS, Store(tmp_path / "s"), hopeless, lambda spec: None)
    assert "the workers keep dying" in str(outcome.error)


def test_a_failing_run_is_named_and_the_others_under_way_are_kept(tmp_path):
    bad = Spec("no such problem", "SPAQL", 0, 1, 1, 1)

    @contextmanager
    def threads():
        with ThreadPoolExecutor(2) as pool:
            yield pool, 2

    store = Store(tmp_path / "s")
    outcome = run_missing([SPECS[0], bad, SPECS[1]], store, threads, lambda spec: None)
    assert outcome.spec == bad
    assert "unknown problem" in str(outcome.error)
    assert store.has(SPECS[0])


def test_a_run_somebody_else_has_claimed_comes_last_but_comes(tmp_path):
    store, done = Store(tmp_path / "s"), []
    store.claim(SPECS[0])

    @contextmanager
    def threads():
        with ThreadPoolExecutor(1) as pool:
            yield pool, 1

    run_missing(SPECS[:3], store, threads, done.append)
    assert [spec.seed for spec in done] == [1, 2, 0]


def test_workers_do_not_repeat_for_every_run_what_a_controller_lacks(capfd):
    with worker_processes(1) as pool:
        pool.submit(warnings.warn, "allow more leaves", spaql.SpaqlWarning).result()
    assert capfd.readouterr().err == ""
