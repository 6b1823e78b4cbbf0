"""Agent files: what is saved comes back, and no file can do harm."""

import io
import json
import random
import struct
import threading
import zipfile

import numpy as np
import pytest

import spaql
from hostile_files import (
    array_bytes,
    array_of,
    load_bytes,
    members,
    mutated_bytes,
    mutated_description,
    mutated_numbers,
    packed,
    refusals,
)  # fmt: skip
from spaql.learners.files import VERSION


@pytest.fixture(scope="module")
def agent():
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=3)
    agent.learn(15, rollouts=5)
    return agent


@pytest.fixture(scope="module")
def content(agent, tmp_path_factory):
    path = tmp_path_factory.mktemp("agent") / "a.spaql"
    agent.save(path)
    return path.read_bytes()


def test_random_predictions_go_on_after_loading(agent, tmp_path):
    agent.save(tmp_path / "a.spaql")
    other = spaql.load(tmp_path / "a.spaql")
    x = np.zeros((50, 4))
    assert np.array_equal(agent.predict(x, deterministic=False)[0], other.predict(x, deterministic=False)[0])


def test_options_and_seed_are_in_the_file(tmp_path):
    problem = spaql.make("pendulum")
    given = {"xi": 3.5, "lam": 0.7, "reference": (0.5, 0.0, 1.0), "distance": "sup", "bootstrap": "terminate", "temperature_rule": "paper"}
    agent = spaql.SPAQLTS(problem, seed=77, **given)
    agent.save(tmp_path / "a.spaql")
    other = spaql.load(tmp_path / "a.spaql")
    assert other.seed == 77
    assert other.options == agent.options
    assert other.rule[:4] == agent.rule[:4]
    assert np.array_equal(other.rule.reference, agent.rule.reference)


def test_an_agent_without_its_plant_still_predicts_and_says_what_is_missing(tmp_path):
    import gymnasium

    class Unknown(gymnasium.Wrapper):
        spec = None

    problem = spaql.from_gym(Unknown(gymnasium.make("MountainCar-v0")), horizon=50)
    agent = spaql.SPAQL(problem)
    agent.learn(2, rollouts=1)
    agent.save(tmp_path / "a.spaql")
    alone = spaql.load(tmp_path / "a.spaql")
    x = np.array([-0.5, 0.01])
    assert alone.predict(x)[0] == agent.predict(x)[0]
    with pytest.raises(spaql.SpaqlError, match="problem="):
        alone.learn(1)
    again = spaql.load(tmp_path / "a.spaql", problem=problem)
    assert len(again.learn(1, rollouts=1)) == 3


def test_a_gymnasium_agent_finds_its_environment_again(tmp_path):
    agent = spaql.SPAQL(spaql.from_gym("CartPole-v1", horizon=50))
    agent.learn(2, rollouts=2)
    agent.save(tmp_path / "a.spaql")
    assert np.array_equal(spaql.load(tmp_path / "a.spaql").evaluate(3).returns, agent.evaluate(3).returns)


def test_loading_with_a_problem_that_does_not_fit_is_refused(content, tmp_path):
    (tmp_path / "a.spaql").write_bytes(content)
    with pytest.raises(spaql.SpaqlError, match="differs"):
        spaql.load(tmp_path / "a.spaql", problem=spaql.make("pendulum"))


def test_unwritable_paths_are_one_clear_error_and_leave_nothing_behind(agent, tmp_path):
    with pytest.raises(spaql.SpaqlError, match="cannot write"):
        agent.save(tmp_path / "no" / "such" / "folder.spaql")
    with pytest.raises(spaql.SpaqlError, match="cannot write"):
        agent.save(tmp_path)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_full_disk_is_one_clear_error_and_keeps_the_old_file(agent, content, tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "a.spaql"
    path.write_bytes(content)
    import signal

    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(spaql.SpaqlError, match="cannot write"):
            agent.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["a.spaql"]


def test_missing_foreign_empty_and_truncated_files_are_refused(content, tmp_path):
    with pytest.raises(spaql.SpaqlError, match="cannot read"):
        spaql.load(tmp_path / "nothing.spaql")
    for bad in (b"", b"hello", b"PK\x03\x04" + b"\0" * 100, content[: len(content) // 2], content[100:], packed({"a.txt": b"hi"})):
        with pytest.raises(spaql.SpaqlError):
            load_bytes(tmp_path, bad)


def test_another_version_is_named(content, tmp_path):
    parts = members(content)
    meta = json.loads(parts["meta.json"])
    meta["version"] = VERSION + 1
    with pytest.raises(spaql.SpaqlError, match="version"):
        load_bytes(tmp_path, packed(parts | {"meta.json": json.dumps(meta)}))


def test_pickled_and_compressed_members_are_refused(content, tmp_path):
    parts = members(content)
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(spaql.SpaqlError):
        load_bytes(tmp_path, packed(parts | {"outer.npy": buffer.getvalue()}))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(spaql.SpaqlError, match="uncompressed"):
        load_bytes(tmp_path, buffer.getvalue())


def test_an_array_header_that_promises_terabytes_is_refused(content, tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }"
    header += b" " * (118 - len(header)) + b"\n"
    bomb = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    with pytest.raises(spaql.SpaqlError):
        load_bytes(tmp_path, packed(members(content) | {"forest_q.npy": bomb}))


def broken_children(first, how):
    first = first.copy()
    split = int(np.flatnonzero(first)[-1])
    first[split] = {"cycle": 0 if split else split, "self": split, "outside": len(first) + 5, "negative": -7, "overlap": first[0] + 1}[how]
    if how == "cycle":
        first[int(first[0])] = 1  # a child that claims its siblings
    return first


@pytest.mark.parametrize("how", ["cycle", "self", "outside", "negative", "overlap"])
@pytest.mark.parametrize("which", ["forest", "trainee"])
def test_a_partition_with_bad_indices_is_refused(content, tmp_path, how, which):
    parts = members(content)
    first = broken_children(array_of(parts[f"{which}_first.npy"]), how)
    with pytest.raises(spaql.SpaqlError, match="partition"):
        load_bytes(tmp_path, packed(parts | {f"{which}_first.npy": array_bytes(first)}))


@pytest.mark.parametrize("field", ["forest_q", "trainee_q", "outer", "history"])
def test_numbers_that_are_not_finite_are_refused(content, tmp_path, field):
    parts = members(content)
    for value in (np.inf, -np.inf):
        array = array_of(parts[f"{field}.npy"]).copy()
        array.flat[-1] = value
        with pytest.raises(spaql.SpaqlError):
            load_bytes(tmp_path, packed(parts | {f"{field}.npy": array_bytes(array)}))


@pytest.mark.slow
def test_two_thousand_mutated_files_load_or_raise_our_own_error(content, tmp_path):
    rng = random.Random(1)
    refused = refusals((mutated_bytes(content, rng) for _ in range(2000)), tmp_path)
    assert refused > 1000  # the checksums of the members catch nearly everything


def test_two_hundred_files_with_sound_checksums_but_hostile_contents(content, tmp_path):
    rng = random.Random(2)
    hostile = (mutated_description if turn % 2 else mutated_numbers for turn in range(200))
    assert 0 < refusals((mutated(content, rng) for mutated in hostile), tmp_path) < 200


# -- what a file may not hold ------------------------------------------------------------------------------------------


def saved(agent, tmp_path):
    agent.save(tmp_path / "a.spaql")
    return members((tmp_path / "a.spaql").read_bytes())


def with_meta(parts, change):
    meta = json.loads(parts["meta.json"])
    change(meta["problem"])
    return packed(parts | {"meta.json": json.dumps(meta)})


@pytest.mark.parametrize("name", ["states", "nexts"])
def test_samples_outside_the_declared_ranges_are_refused(name, tmp_path):
    agent = spaql.Atlas(spaql.make("cartpole"), seed=0, controller="table", cells=60)
    agent.learn(samples=60)
    parts = saved(agent, tmp_path)
    for row, value in ((3, 1e30), (-1, -4.81)):
        array = array_of(parts[f"{name}.npy"]).copy()
        array[row, 0] = value
        with pytest.raises(spaql.SpaqlError, match=rf"in one of its samples position is {value:g}".replace("+", r"\+")):
            load_bytes(tmp_path, packed(parts | {f"{name}.npy": array_bytes(array)}))
    array = array_of(parts[f"{name}.npy"]).copy()
    array[3, 0] = 4.8  # as training takes it
    assert load_bytes(tmp_path, packed(parts | {f"{name}.npy": array_bytes(array)})).state.memory.n == 60


def test_gains_beyond_those_of_a_policy_are_refused(tmp_path):
    agent = spaql.Laws(spaql.make("cartpole"), seed=0, max_leaves=1)
    agent.learn(samples=20_000)
    parts = saved(agent, tmp_path)
    rows = array_of(parts["rows.npy"]).copy()
    rows[-2] = 1e308
    with pytest.raises(spaql.SpaqlError, match=r"trees are malformed: .* at most 1e\+100"):
        load_bytes(tmp_path, packed(parts | {"rows.npy": array_bytes(rows)}))


@pytest.mark.parametrize("kind", ["other", None, 3, "Continuous"])
def test_an_unknown_kind_of_actions_is_refused(content, kind, tmp_path):
    with pytest.raises(spaql.SpaqlError, match="of kind 'finite' or 'continuous'"):
        load_bytes(tmp_path, with_meta(members(content), lambda told: told["actions"].update(kind=kind)))


def in_a_loop():
    """Only interlocks: what is observed and applied is as without the loop."""
    return spaql.loop(spaql.make("pendulum"), interlocks=[spaql.Interlock("velocity", above=6.0, high=0.0)])


def remembering():
    agent = spaql.Atlas(spaql.make("pendulum"), seed=0)
    agent.train(20, threading.Event())  # without the search for a controller
    return agent.with_memory(["past(velocity, 1)"])


@pytest.mark.parametrize("make", [lambda: spaql.SPAQL(in_a_loop()), remembering])
def test_a_file_that_has_lost_its_loop_is_refused(make, tmp_path):
    parts = saved(make(), tmp_path)
    assert load_bytes(tmp_path, packed(parts)).problem.signals is not None
    assert load_bytes(tmp_path, with_meta(parts, lambda told: told.update(catalog=True))).problem.signals is not None
    for lost in (lambda told: told.pop("signals"), lambda told: told.update(signals=None)):
        with pytest.raises(spaql.SpaqlError, match="the signals of the loop are missing"):
            load_bytes(tmp_path, with_meta(parts, lost))


def test_interlocks_are_not_lost_with_a_problem_that_has_none(tmp_path):
    spaql.SPAQL(in_a_loop()).save(tmp_path / "a.spaql")
    text = spaql.law(in_a_loop(), [1.0, 0.0, 0.0]).to_json()
    for load in (lambda problem: spaql.load(tmp_path / "a.spaql", problem), lambda problem: spaql.Policy.from_json(text, problem)):
        with pytest.raises(spaql.SpaqlError, match="give the problem in its loop"):
            load(spaql.make("pendulum"))
        assert load(in_a_loop()).problem.can_run


def test_a_policy_that_has_lost_its_loop_is_refused():
    told = json.loads(spaql.law(in_a_loop(), [1.0, 0.0, 0.0]).to_json())
    del told["problem"]["signals"]
    with pytest.raises(spaql.SpaqlError, match="the signals of the loop are missing"):
        spaql.Policy.from_json(json.dumps(told))
