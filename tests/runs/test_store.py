"""The store of runs: whole files only, checked when read, shared without locks."""

import contextlib
import json
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spaql
from spaql_studies.runs.compute import compute
from spaql_studies.runs.rows import DamagedError, digest_of, read_rows, write_rows
from spaql_studies.runs.spec import Spec, spec_from
from spaql_studies.runs.store import Store

SPEC = Spec("cartpole", "SPAQL", 3, 4, 2, 6, (("xi", 20.0),))


@pytest.fixture(scope="module")
def row():
    return compute(SPEC)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def fresh_read(store, spec):
    """As another process reads it."""
    return Store(store.folder, create=False).read(spec)


def test_a_run_read_back_is_the_run_written(store, row):
    written = store.write(SPEC, row)
    found = fresh_read(store, SPEC)
    assert found.digest == written.digest
    agent = spaql.SPAQL(spaql.make("cartpole"), xi=20.0, seed=3)
    history = agent.learn(4, 2)
    np.testing.assert_array_equal(found.best_seen_curve, history.best_seen)
    np.testing.assert_array_equal(found.eval_samples_curve, history.eval_samples)
    np.testing.assert_array_equal(found.fresh_returns, agent.evaluate(6, seed=3).returns)
    assert found.best_seen == history.best_seen[-1]
    assert found.arms == agent.arms


def test_the_recorded_episode_is_the_one_with_the_median_fresh_return(row):
    assert len(row["episode_actions"]) == np.sort(row["fresh_returns"])[2]  # CartPole: the return is the number of steps
    assert row["episode_states"].reshape(-1, 4).shape[0] == len(row["episode_actions"]) + 1


@pytest.mark.parametrize("create", [True, False])
def test_a_store_that_has_lost_its_mark_is_found_again(store, row, create):
    store.write(SPEC, row)
    (store.folder / "store.json").unlink()
    with pytest.warns(spaql.SpaqlWarning, match="store.json of .* was missing; the 1 runs there are used"):
        again = Store(store.folder, create)
    assert again.read(SPEC).key == SPEC.key
    assert (store.folder / "store.json").exists() == create


def test_a_damaged_mark_says_what_to_do(store, row):
    store.write(SPEC, row)
    (store.folder / "store.json").write_text("{")
    with pytest.raises(spaql.SpaqlError, match=r"store.json is missing or damaged\): remove it, and its 1 runs are found"):
        Store(store.folder)


def test_other_parquet_files_are_no_store(tmp_path):
    (tmp_path / "runs").mkdir()
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "runs" / "mine.parquet")
    with pytest.raises(spaql.SpaqlError, match="is not empty and not a store"):
        Store(tmp_path)
    with pytest.raises(spaql.SpaqlError, match="is not a store of results"):
        Store(tmp_path, create=False)


def test_pandas_and_polars_read_it_in_one_line(store, row):
    pl = pytest.importorskip("polars")
    store.write(SPEC, row)
    other = replace(SPEC, seed=4)
    store.write(other, compute(other))
    frame = pd.read_parquet(store.runs)
    assert sorted(frame.seed) == [3, 4]
    assert list(frame.best_seen) == [curve[-1] for curve in frame.best_seen_curve]
    assert pl.read_parquet(f"{store.runs}/*.parquet").sort("seed")["fresh"].to_list() == frame.sort_values("seed").fresh.tolist()


def test_the_key_depends_on_everything_that_decides_about_the_result():
    changes = {"problem": "pendulum", "algorithm": "AQL", "seed": 4, "iterations": 5, "rollouts": 3, "fresh": 7, "options": (("xi", 4.0),)}
    keys = {SPEC.key, SPEC.key_by("another version of the code"), *(replace(SPEC, **{name: value}).key for name, value in changes.items())}
    assert len(keys) == len(changes) + 2


def test_a_spec_survives_json():
    from dataclasses import asdict

    assert spec_from(json.loads(json.dumps(asdict(SPEC)))) == SPEC


def test_the_digest_leaves_out_when_and_where(row):
    assert digest_of(row | {"seconds": 1.0, "host": "elsewhere"}) == digest_of(row)
    assert digest_of(row | {"fresh": row["fresh"] + 1e-12}) != digest_of(row)


def test_a_run_by_other_code_is_refused(store, row):
    with pytest.raises(spaql.SpaqlError, match="install the same spaql"):
        store.write(SPEC, row | {"key": SPEC.key_by("old"), "code": "old"})
    assert fresh_read(store, SPEC) is None


@pytest.mark.parametrize("position", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
@pytest.mark.parametrize("kind", ["flip", "cut", "empty"])
def test_a_damaged_file_is_named_and_never_used(store, row, position, kind):
    store.write(SPEC, row)
    path, data = store.path(SPEC), bytearray(store.path(SPEC).read_bytes())
    at = int(position * (len(data) - 1))
    if kind == "flip":
        data[at] ^= 0x55
    path.write_bytes(data if kind == "flip" else data[:at] if kind == "cut" else b"")
    with contextlib.suppress(DamagedError):
        # some bytes mean nothing (padding, the name of the program that wrote it): then nothing has changed either
        assert fresh_read(store, SPEC).digest == digest_of(row)
        return
    with pytest.raises(DamagedError, match=f"{path} is damaged .* --repair"):
        fresh_read(store, SPEC)


def test_a_value_changed_by_hand_is_found(store, row):
    run = store.write(SPEC, row)
    write_rows(store.path(SPEC), [replace(run, fresh=500.0)])
    with pytest.raises(DamagedError, match="checksum"):
        fresh_read(store, SPEC)


def test_a_run_under_a_wrong_name_is_found(store, row):
    store.write(SPEC, row)
    other = replace(SPEC, seed=9)
    os.rename(store.path(SPEC), store.path(other))
    with pytest.raises(DamagedError, match="another run"):
        fresh_read(store, other)


def test_a_failed_write_leaves_nothing_behind(store, row, monkeypatch):
    import pyarrow.parquet

    def full(table, file, **options):
        file.write(b"half a file")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pyarrow.parquet, "write_table", full)
    with pytest.raises(spaql.SpaqlError, match="No space left on device"):
        store.write(SPEC, row)
    assert list(store.runs.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_one_line(store, row, monkeypatch):
    monkeypatch.setattr(spaql.ground.writing, "open", lambda path, mode: Path("/dev/full").open(mode="wb"), raising=False)  # noqa: SIM115
    with pytest.raises(spaql.SpaqlError, match=r"cannot write .*No space left on device"):
        store.write(SPEC, row)


@pytest.mark.slow
def test_many_processes_may_write_the_same_run_at_once(store, row):
    program = f"""
        from pathlib import Path
        from spaql_studies.runs.compute import compute
        from spaql_studies.runs.spec import Spec
        from spaql_studies.runs.store import Store
        store, spec = Store(Path({str(store.folder)!r})), Spec("cartpole", "SPAQL", 3, 4, 2, 6, (("xi", 20.0),))
        row = compute(spec)
        for _ in range(20):
            store.write(spec, row)
            assert Store(store.folder).read(spec) is not None
    """
    children = [subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)]) for _ in range(3)]
    assert [child.wait(timeout=120) for child in children] == [0, 0, 0]
    assert len(list(store.runs.iterdir())) == 1
    assert fresh_read(store, SPEC).digest == digest_of(row)


def test_many_may_make_the_same_store_at_once(tmp_path):
    with ThreadPoolExecutor(8) as makers:
        for turn in range(50):
            made = [makers.submit(Store, tmp_path / str(turn)) for _ in range(8)]
            assert all(one.exception() is None for one in made)


def test_a_store_whose_maker_was_killed_can_be_made_again(tmp_path):
    for name in ("runs", "plans", "claims"):
        (tmp_path / name).mkdir()
    (tmp_path / ".k2x.part").write_text('{"form')  # half of store.json
    Store(tmp_path)


def test_only_one_gets_a_claim_and_it_can_be_given_back(store):
    assert store.claim(SPEC)
    assert not store.claim(SPEC)
    store.release(SPEC)
    assert store.claim(SPEC)


def test_what_killed_processes_left_is_tidied_after_a_day(store):
    old, young = store.runs / ".a.part", store.runs / ".b.part"
    for path in (old, young):
        path.touch()
    os.utime(old, (0, 0))
    store.tidy()
    assert not old.exists()
    assert young.exists()


@pytest.mark.parametrize("text", ['{"format": 99}', '{"format": 0}'])
def test_a_store_of_another_format_is_refused(tmp_path, text):
    Store(tmp_path / "s")
    (tmp_path / "s" / "store.json").write_text(text)
    with pytest.raises(spaql.SpaqlError, match=r"format \d+, this spaql reads format 1"):
        Store(tmp_path / "s")


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_store_with_a_damaged_mark_is_refused(tmp_path, text):
    Store(tmp_path / "s")
    (tmp_path / "s" / "store.json").write_text(text)
    with pytest.raises(spaql.SpaqlError, match="not a store"):
        Store(tmp_path / "s", create=False)


def test_a_folder_with_other_things_in_it_is_not_made_a_store(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(spaql.SpaqlError, match="not empty"):
        Store(tmp_path)


def test_a_folder_that_only_looks_like_a_store_is_left_alone(tmp_path):
    for name in ("runs", "figures"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.txt").touch()
    with pytest.raises(spaql.SpaqlError, match="not empty"):
        Store(tmp_path)


def test_empty_rooms_that_were_lost_are_made_again(store):
    store.claims.rmdir()
    Store(store.folder).tidy()
    assert store.claims.is_dir()


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1, 2]", '{"code": 5, "runs": [1]}', '{"code": {}, "runs": null}',
                                  '{"code": {"AQL": "x"}, "runs": [{"problem": "cartpole", "extra": 1}]}'])  # fmt: skip
def test_a_damaged_plan_is_named(store, text):
    (store.plans / "main-cartpole.json").write_text(text)
    with pytest.raises(spaql.SpaqlError, match=r"main-cartpole\.json is damaged"):
        store.read_plans()


def test_links_are_followed_and_pipes_are_not_replaced(tmp_path):
    from spaql.ground.writing import write_whole

    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", lambda file: file.write(b"x"))
    assert (tmp_path / "real").read_bytes() == b"x"
    assert (tmp_path / "link").is_symlink()
    write_whole(Path(os.devnull), lambda file: file.write(b"x"))
    assert not Path(os.devnull).is_file()


def test_a_store_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(spaql.SpaqlError, match="cannot make the store"):
        Store(tmp_path / "file" / "store")


def test_the_published_trpo_runs_are_sound():
    from spaql_studies.load import published_runs

    runs = published_runs()
    assert {(run.problem, run.seed) for run in runs} == {(problem, seed) for problem in ("pendulum", "cartpole") for seed in range(20)}
    assert all(run.algorithm == "TRPO" and run.train_samples == 400_000 and run.eval_samples == 0 for run in runs)
    assert all(len(run.evaluation_curve) == 100 and len(run.fresh_returns) == 1000 for run in runs)


def test_reading_a_file_of_several_runs_gives_them_all(tmp_path, row):
    from spaql_studies.runs.rows import run_from

    write_rows(tmp_path / "two.parquet", [run_from(row), run_from(row)])
    assert len(read_rows(tmp_path / "two.parquet")) == 2
