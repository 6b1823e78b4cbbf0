"""Exported C is compiled and run: it does what the policy does, on a million states and at every corner of every region."""

import subprocess

import numpy as np
import pytest

import spaql
from exported_policies import (
    NAMES,
    built,
    corners_of,
    deep_chain,
    expected,
    leaf,
    plane,
    policies,
    random_tree,
    split,
    states_of,
)
from exported_programs import COMPILERS, MILLION, STRICT, compiled, needs_compiler
from spaql.export import export

pytestmark = needs_compiler


def assert_same(got, wanted):
    wanted = wanted.astype(got.dtype)
    assert got.tobytes() == wanted.tobytes(), f"{(got != wanted).any(axis=1).sum()} of {len(got)} states"


@pytest.mark.parametrize(("name", "precision"), [(n, p) for n in NAMES for p in ("double", "single") if (n, p) != ("oblique", "single")])
def test_it_does_what_the_policy_does(tmp_path, name, precision):
    """In single precision for every observation that is a float; weighted sums are in the next test."""
    policy, kind = policies()[name], {"double": np.float64, "single": np.float32}[precision]
    controllers = [compiled(tmp_path, export(policy, "c", precision=precision, form=form)) for form in ("ifs", "table")]
    for states in (states_of(policy, MILLION).astype(kind), corners_of(policy, kind)):
        wanted = expected(policy, states)
        for act in controllers:
            assert_same(act(states, wanted.shape[1]), wanted)


def test_single_with_weighted_sums_differs_only_beside_a_cut(tmp_path):
    policy = policies()["oblique"]
    states = states_of(policy, MILLION).astype(np.float32)
    wanted = expected(policy, states)
    tree = policy.rules
    sums = states.astype(float) @ tree.weights[tree.nodes["feature"] == 2].T - tree.nodes["cut"][tree.nodes["feature"] == 2]
    beside = (np.abs(sums) < 1e-5).any(axis=1)
    for form in ("ifs", "table"):
        text = export(policy, "c", precision="single", form=form)
        assert "Single precision: weighted sums are rounded" in text
        same = (compiled(tmp_path, text)(states, 1) == wanted.astype(np.float32)).all(axis=1)
        assert same[~beside].all()


@pytest.mark.parametrize("name", ["cartpole", "oblique"])
def test_nan_and_infinity_go_where_the_policy_sends_them(tmp_path, name):
    policy = policies()[name]
    rng = np.random.default_rng(0)
    states = states_of(policy, 20_000)
    kinds = [np.nan] if policy.rules.oblique else [np.nan, np.inf, -np.inf]
    states = np.where(rng.random(states.shape) < 0.4, rng.choice(kinds, states.shape), states)
    wanted = expected(policy, states)
    assert_same(compiled(tmp_path, export(policy, "c"))(states, 1), wanted)
    if name == "cartpole":
        narrow = states.astype(np.float32)
        assert_same(compiled(tmp_path, export(policy, "c", precision="single"))(narrow, 1), expected(policy, narrow))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("precision", ["double", "single"])
def test_sums_are_not_fused_where_the_machine_could(tmp_path, compiler, precision):
    policy = policies()["oblique"]
    path = tmp_path / "controller.c"
    for form in ("ifs", "table"):
        path.write_text(export(policy, "c", form=form, precision=precision))
        flags = ["-std=gnu11", "-O2", "-march=haswell", "-S", "-o", "-"]
        made = subprocess.run([compiler, *flags, path], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            pytest.skip("this compiler makes no code for a processor with fused multiply-add")
        assert "vfm" not in made.stdout
        assert "vfnm" not in made.stdout


def test_many_leaves_become_a_table(tmp_path):
    policy = random_tree(20_000)
    text = export(policy, "c")
    assert "malloc" not in text
    assert "static const long child[39999]" in text
    assert "while (" in text
    assert max(map(len, text.splitlines())) <= 140
    states = states_of(policy, MILLION)
    assert_same(compiled(tmp_path, text)(states, 1), expected(policy, states))
    assert "while (" not in export(random_tree(64), "c")
    assert "while (" in export(random_tree(65), "c")


def test_deep_trees(tmp_path):
    policy = deep_chain(400)
    with pytest.raises(spaql.SpaqlError, match="form='table'"):
        export(policy, "c", form="ifs")
    states = states_of(policy, 10_000)
    assert_same(compiled(tmp_path, export(policy, "c"))(states, 1), expected(policy, states))


def test_numbers_beyond_single_precision(tmp_path):
    policy = built(plane(), 2, 1, split(0, 1e300, split(1, -1e300, leaf(-1), leaf(0)), leaf(1)))
    text = export(policy, "c", precision="single")
    assert "#include <math.h>" in text
    assert "math.h" not in export(policy, "c")
    states = np.array(list(np.ndindex(5, 5)))
    values = np.array([-np.inf, -3e38, 0.0, 3e38, np.inf], np.float32)
    states = values[states]
    for form in ("ifs", "table"):
        source = export(policy, "c", precision="single", form=form)
        assert_same(compiled(tmp_path, source)(states, 1), expected(policy, states))
    with pytest.raises(spaql.SpaqlError, match="single precision"):
        export(built(plane(), 2, 1, leaf(1e39)), "c", precision="single")


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("name", ["cartpole table", "odd names"])
def test_the_program_reads_observations_and_prints_actions(tmp_path, name, precision):
    policy = policies()[name]
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(export(policy, "c", main=True, precision=precision), encoding="utf-8")
    subprocess.run([COMPILERS[0], *STRICT, "-o", program, source], check=True)
    states = states_of(policy, 500)
    if precision == "single":
        states = states.astype(np.float32)
    lines = "\n".join(" ".join(repr(float(value)) for value in state) for state in states) + "\n"
    made = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    got = np.array([[float(word) for word in line.split()] for line in made.stdout.splitlines()])
    np.testing.assert_array_equal(got, expected(policy, states).astype(states.dtype))
    for bad in ("1.0 2.0\n", "1.0 x\n"):
        assert subprocess.run([program], input=bad, capture_output=True, text=True, check=False).returncode == 1
    assert subprocess.run([program], input="", capture_output=True, text=True, check=True).stdout == ""


@pytest.mark.skipif(len(COMPILERS) < 2, reason="only one C compiler is installed: the other tests use it")
def test_another_compiler_has_no_complaint_either(tmp_path):
    path = tmp_path / "controller.c"
    for name in NAMES:
        for form in ("ifs", "table"):
            for precision in ("double", "single"):
                path.write_text(export(policies()[name], "c", form=form, precision=precision, main=True), encoding="utf-8")
                subprocess.run([COMPILERS[1], *STRICT, "-O2", "-c", "-o", "/dev/null", path], check=True)
